//! The progress of a load, in a file, so that the load can resume after an interruption.
//!
//! The file says what was loaded into which filter, and a place between two items before which
//! every item has been acknowledged by the server. It is replaced as a whole, at most once a
//! second.
//!
//! ```text
//!   splitbloom checkpoint 2
//!   { … }                     JSON
//!   0123456789abcdef          XXH3-64 of everything before it
//! ```

use crate::error::Error;
use crate::feed::Mark;
use crate::input::{Framing, Source};
use crate::output::{regular_file, NewFile};
use serde_json::{json, Value};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use xxhash_rust::xxh3::xxh3_64;

const HEADING: &str = "splitbloom checkpoint 2\n";

/// Time between two writes: the most that a killed load repeats. Syncing a file takes milliseconds.
const INTERVAL: Duration = Duration::from_secs(1);

/// What has been acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Everything before this place.
    pub mark: Mark,
    /// Items before it.
    pub items: u64,
    /// How many of them were new.
    pub new: u64,
}

/// The file of a load.
pub struct Checkpoint {
    path: PathBuf,
    /// What is loaded, and into which filter.
    load: Value,
    written: Option<Instant>,
}

impl Checkpoint {
    /// A checkpoint of loading these files into that filter.
    ///
    /// # Errors
    /// Standard input cannot be read again, and so cannot be loaded with a checkpoint; nor can
    /// anything else that is not a file.
    pub fn new(
        path: &Path,
        filter: Value,
        sources: &[Source],
        framing: Framing,
    ) -> Result<Self, Error> {
        let file = |source: &Source| {
            let name = source.name();
            let metadata = source.regular()?.ok_or_else(|| {
                Error::Usage(format!(
                    "--checkpoint needs files that can be read again: {name} cannot"
                ))
            })?;
            Ok(json!({"name": name, "bytes": metadata.len()}))
        };
        let files: Vec<Value> = sources.iter().map(file).collect::<Result<_, Error>>()?;
        let layout = match framing {
            Framing::Lines => "lines".into(),
            Framing::Text => "text".into(),
            Framing::Fixed(width) => format!("fixed {width}"),
        };
        Ok(Self {
            path: path.to_owned(),
            load: json!({"filter": filter, "files": files, "layout": layout}),
            written: None,
        })
    }

    /// The progress of an earlier load; `None` if there is no file.
    ///
    /// # Errors
    /// The file cannot be read, is not a checkpoint, or belongs to another load.
    pub fn read(&self) -> Result<Option<Done>, Error> {
        if regular_file(&self.path)?.is_none() {
            return Ok(None);
        }
        let text = fs::read(&self.path).map_err(|error| Error::file(&self.path, error))?;
        if !text.starts_with(HEADING.as_bytes()) {
            let path = self.path.display();
            let text = format!("{path} is no checkpoint, or one of another version");
            return Err(Error::Contents(text));
        }
        let value = unsealed(&text)
            .and_then(|text| serde_json::from_slice(text.strip_prefix(HEADING.as_bytes())?).ok())
            .unwrap_or(Value::Null);
        let done = done_from(&value).ok_or_else(|| self.refusal("is damaged".into()))?;
        for what in ["filter", "files", "layout"] {
            let (then, now) = (&value["load"][what], &self.load[what]);
            if then != now {
                return Err(self.refusal(format!(
                    "is the checkpoint of another load, with {what} {then} and not {now}"
                )));
            }
        }
        Ok(Some(done))
    }

    fn refusal(&self, why: String) -> Error {
        let path = self.path.display();
        Error::Contents(format!("{path} {why}; delete it to begin anew"))
    }

    /// Replaces the file, unless that was done within the last second.
    pub fn note(&mut self, done: &Done) -> Result<(), Error> {
        match self.written {
            Some(written) if written.elapsed() < INTERVAL => Ok(()),
            _ => self.write(done),
        }
    }

    /// Replaces the file atomically.
    pub fn write(&mut self, done: &Done) -> Result<(), Error> {
        let Mark { source, offset, digest } = done.mark;
        let value = json!({
            "load": self.load,
            "file": source,
            "offset": offset,
            "digest": digest,
            "items": done.items,
            "new": done.new,
        });
        let text = format!("{HEADING}{value:#}\n");
        let mut file = NewFile::create(&self.path, true, &[])?;
        write!(file, "{text}{}", seal(text.as_bytes()))
            .map_err(|error| Error::file(&self.path, error))?;
        file.finish()?;
        self.written = Some(Instant::now());
        Ok(())
    }

    /// Removes the file of a load that is complete.
    pub fn remove(&self) -> Result<(), Error> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Error::file(&self.path, error))
            }
            _ => Ok(()),
        }
    }
}

/// What ends a file: the checksum of the text before it.
fn seal(text: &[u8]) -> String {
    format!("{:016x}\n", xxh3_64(text))
}

/// Returns the text before the checksum, or `None` if the checksum does not match.
fn unsealed(file: &[u8]) -> Option<&[u8]> {
    const SEAL_BYTES: usize = 17;
    let (text, end) = file.split_at_checked(file.len().checked_sub(SEAL_BYTES)?)?;
    (end == seal(text).as_bytes()).then_some(text)
}

fn done_from(value: &Value) -> Option<Done> {
    let number = |name: &str| value[name].as_u64();
    Some(Done {
        mark: Mark {
            source: usize::try_from(number("file")?).ok()?,
            offset: number("offset")?,
            digest: number("digest")?,
        },
        items: number("items")?,
        new: number("new")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkpoint(folder: &Path, key: &str, framing: Framing) -> Checkpoint {
        let sources = [Source::File(folder.join("items"))];
        Checkpoint::new(&folder.join("done"), json!({"key": key}), &sources, framing)
            .expect("a file of items")
    }

    const DONE: Done =
        Done { mark: Mark { source: 0, offset: 6, digest: u64::MAX }, items: 3, new: 2 };

    #[test]
    fn what_is_written_is_read_until_it_is_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        fs::write(folder.join("items"), "a\nb\nc\n").expect("a file");
        let mut first = checkpoint(folder, "k", Framing::Lines);
        assert_eq!(first.read().expect("no file"), None);
        first.write(&DONE).expect("a file");
        let second = checkpoint(folder, "k", Framing::Lines);
        assert_eq!(second.read().expect("a file"), Some(DONE));
        second.remove().expect("a file");
        second.remove().expect("no file");
        assert_eq!(second.read().expect("no file"), None);
    }

    #[test]
    fn the_checkpoint_of_another_load_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        fs::write(folder.join("items"), "a\nb\nc\n").expect("a file");
        checkpoint(folder, "k", Framing::Lines).write(&DONE).expect("a file");
        let refused = |key, framing| {
            let refusal = checkpoint(folder, key, framing).read().err();
            let text = refusal.map(|error| error.to_string()).unwrap_or_default();
            text.contains("another load")
        };
        assert!(!refused("k", Framing::Lines));
        assert!(refused("other", Framing::Lines));
        assert!(refused("k", Framing::Fixed(2)));
        fs::write(folder.join("items"), "a\nb\nc\nd\n").expect("a file");
        assert!(refused("k", Framing::Lines), "the file has grown");
        for text in ["", "a\nb\nc\n", "{}", "splitbloom checkpoint 1\n"] {
            fs::write(folder.join("done"), text).expect("a file");
            let refusal = checkpoint(folder, "k", Framing::Lines).read().err();
            let text = refusal.map(|error| error.to_string()).unwrap_or_default();
            assert!(text.contains("is no checkpoint"), "{text}");
            assert!(!text.contains("delete"), "it may be anything: {text}");
        }
    }

    #[test]
    fn a_checkpoint_with_a_flipped_bit_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        fs::write(folder.join("items"), "a\nb\nc\n").expect("a file");
        let mut written = checkpoint(folder, "k", Framing::Lines);
        written.write(&DONE).expect("a file");
        let whole = fs::read(folder.join("done")).expect("a file");
        for bit in 0..8 * whole.len() {
            let mut text = whole.clone();
            text[bit / 8] ^= 1 << (bit % 8);
            fs::write(folder.join("done"), text).expect("a file");
            let read = written.read();
            assert!(matches!(read, Err(Error::Contents(_))), "{bit}: {read:?}");
        }
        for len in 0..whole.len() {
            fs::write(folder.join("done"), &whole[..len]).expect("a file");
            assert!(written.read().is_err(), "{len}");
        }
    }
}
