//! The progress of a load, in a file, so that the load can resume after an interruption.
//!
//! The file says what was loaded into which filter, and a place between two items before which
//! every item has been acknowledged by the server. It is replaced as a whole, at most once a
//! second.

use crate::error::Error;
use crate::feed::Mark;
use crate::input::{Framing, Source};
use serde_json::{json, Value};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const FORMAT: &str = "splitbloom checkpoint 1";

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
            let bytes = source.bytes().ok_or_else(|| {
                Error::Usage(format!(
                    "--checkpoint needs files that can be read again: {name} cannot"
                ))
            })?;
            Ok(json!({"name": name, "bytes": bytes}))
        };
        let files: Vec<Value> = sources.iter().map(file).collect::<Result<_, Error>>()?;
        let layout = match framing {
            Framing::Lines => "lines".into(),
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
        let text = match fs::read(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(|error| Error::file(&self.path, error))?,
        };
        let value: Value = serde_json::from_slice(&text).unwrap_or_default();
        let done = done_from(&value).filter(|_| value["format"] == FORMAT);
        let done = done.ok_or_else(|| self.refusal("is no checkpoint".into()))?;
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
        let Mark {
            source,
            offset,
            digest,
        } = done.mark;
        let value = json!({
            "format": FORMAT,
            "load": self.load,
            "file": source,
            "offset": offset,
            "digest": digest,
            "items": done.items,
            "new": done.new,
        });
        let mut name = self.path.clone().into_os_string();
        name.push(".new");
        let new = PathBuf::from(name);
        let written = File::create(&new).and_then(|mut file| {
            file.write_all(format!("{value:#}\n").as_bytes())?;
            file.sync_all()
        });
        let replaced = written.and_then(|()| fs::rename(&new, &self.path));
        replaced.map_err(|error| Error::file(&self.path, error))?;
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

    fn folder(name: &str) -> PathBuf {
        let name = format!("splitbloom-checkpoint-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).expect("the temporary folder is writable");
        folder
    }

    fn checkpoint(folder: &Path, key: &str, framing: Framing) -> Checkpoint {
        let sources = [Source::File(folder.join("items"))];
        Checkpoint::new(&folder.join("done"), json!({"key": key}), &sources, framing)
            .expect("a file of items")
    }

    const DONE: Done = Done {
        mark: Mark {
            source: 0,
            offset: 6,
            digest: u64::MAX,
        },
        items: 3,
        new: 2,
    };

    #[test]
    fn what_is_written_is_read_until_it_is_removed() {
        let folder = folder("written");
        fs::write(folder.join("items"), "a\nb\nc\n").expect("a file");
        let mut first = checkpoint(&folder, "k", Framing::Lines);
        assert_eq!(first.read().expect("no file"), None);
        first.write(&DONE).expect("a file");
        let second = checkpoint(&folder, "k", Framing::Lines);
        assert_eq!(second.read().expect("a file"), Some(DONE));
        second.remove().expect("a file");
        second.remove().expect("no file");
        assert_eq!(second.read().expect("no file"), None);
        fs::remove_dir_all(folder).expect("the folder");
    }

    #[test]
    fn the_checkpoint_of_another_load_is_refused() {
        let folder = folder("other");
        fs::write(folder.join("items"), "a\nb\nc\n").expect("a file");
        checkpoint(&folder, "k", Framing::Lines)
            .write(&DONE)
            .expect("a file");
        let refused = |key, framing| {
            let refusal = checkpoint(&folder, key, framing).read().err();
            let text = refusal.map(|error| error.to_string()).unwrap_or_default();
            text.contains("another load")
        };
        assert!(!refused("k", Framing::Lines));
        assert!(refused("other", Framing::Lines));
        assert!(refused("k", Framing::Fixed(2)));
        fs::write(folder.join("items"), "a\nb\nc\nd\n").expect("a file");
        assert!(refused("k", Framing::Lines), "the file has grown");
        for text in ["", "{}", "[1]", "{\"format\": \"splitbloom checkpoint 1\"}"] {
            fs::write(folder.join("done"), text).expect("a file");
            let refusal = checkpoint(&folder, "k", Framing::Lines).read().err();
            let text = refusal.map(|error| error.to_string()).unwrap_or_default();
            assert!(text.contains("is no checkpoint"), "{text}");
        }
        fs::remove_dir_all(folder).expect("the folder");
    }
}
