//! The inputs of a command: files and standard input, which [`splitbloom_input`] reads.

pub use splitbloom_input::{packing, Framing, Items, FIRST_BYTES, MAX_ITEM_BYTES};

use crate::error::{in_one_line, Error};
use crate::output::FileId;
use clap::Args;
use indicatif::ProgressBar;
use splitbloom_input::{Contents, Doubt, InputError};
use std::fs::{File, Metadata};
use std::io::{self, stdin, BufRead, Read};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// The name of that input in messages.
pub const STANDARD_INPUT: &str = "standard input";

/// Where items come from, and where one ends.
#[derive(Args, Clone, Debug)]
pub struct InputArguments {
    /// Files of items, plain or packed with gzip or zstd; `-` or none is standard input
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Items are pieces of WIDTH bytes rather than lines
    #[arg(long, value_name = "WIDTH", value_parser = clap::value_parser!(u32).range(1..))]
    pub fixed: Option<u32>,
    /// Lines may end with \r\n, and files begin with a byte order mark: neither is part of an item
    #[arg(long, conflicts_with = "fixed")]
    pub text: bool,
}

impl InputArguments {
    /// Where an item ends.
    pub fn framing(&self) -> Framing {
        match self.fixed {
            Some(width) => Framing::Fixed(width as usize),
            None if self.text => Framing::Text,
            None => Framing::Lines,
        }
    }

    /// The inputs, in order: the files, or standard input.
    ///
    /// # Errors
    /// One of the files cannot be read, or contains no items: it is better to know before anything
    /// is done with the first.
    pub fn sources(&self) -> Result<Vec<Source>, Error> {
        let sources: Vec<Source> = match self.files.as_slice() {
            [] => vec![Source::StandardInput],
            files => files.iter().map(|file| Source::of(file)).collect(),
        };
        for source in &sources {
            if source.regular()?.is_some() {
                source.open(self.framing(), &ProgressBar::hidden())?;
            }
        }
        Ok(sources)
    }
}

/// Waits for the first bytes of standard input, if that is the first source, and refuses those that
/// belong to no items. They stay where they are.
///
/// # Errors
/// Such bytes, or none that can be read.
pub fn await_standard_input(sources: &[Source], framing: Framing) -> Result<(), Error> {
    if sources.first() != Some(&Source::StandardInput) {
        return Ok(());
    }
    let mut input = stdin().lock();
    let first = input.fill_buf().map_err(|error| refused(STANDARD_INPUT, error.into()))?;
    match packing(first) {
        Some(_) => Ok(()),
        None => check(STANDARD_INPUT, first, framing),
    }
}

/// One input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    StandardInput,
    File(PathBuf),
}

impl Source {
    fn of(file: &Path) -> Self {
        match file.as_os_str().as_encoded_bytes() {
            b"-" => Self::StandardInput,
            _ => Self::File(file.to_owned()),
        }
    }

    /// Its name in messages.
    pub fn name(&self) -> String {
        match self {
            Self::StandardInput => STANDARD_INPUT.into(),
            Self::File(path) => path.display().to_string(),
        }
    }

    /// What the system knows of it, if it is a regular file, which can be read again.
    ///
    /// # Errors
    /// There is no such file, or it is a folder.
    pub fn regular(&self) -> Result<Option<Metadata>, Error> {
        let Self::File(path) = self else {
            return Ok(None);
        };
        match path.metadata() {
            Ok(metadata) if metadata.is_dir() => {
                Err(Error::file(path, io::ErrorKind::IsADirectory.into()))
            }
            Ok(metadata) => Ok(Some(metadata).filter(Metadata::is_file)),
            Err(error) => Err(Error::file(path, error)),
        }
    }

    /// Its size before unpacking, if that is known: for progress.
    pub fn bytes(&self) -> Option<u64> {
        let metadata = self.regular().ok().flatten();
        metadata.map(|metadata| metadata.len())
    }

    /// Which file it is, whatever its name.
    pub fn id(&self) -> Option<FileId> {
        match self {
            Self::StandardInput => {
                let file = stdin().as_fd().try_clone_to_owned().map(File::from).ok()?;
                file.metadata().ok().map(|metadata| FileId::from(&metadata))
            }
            Self::File(path) => FileId::of(path),
        }
    }

    /// Opens it. The bar counts its bytes, before unpacking.
    ///
    /// # Errors
    /// It cannot be read, or contains no items.
    pub fn open(&self, framing: Framing, bar: &ProgressBar) -> Result<Input, Error> {
        let name = self.name();
        let raw: Box<dyn Read + Send> = match self {
            Self::StandardInput => Box::new(stdin()),
            Self::File(path) => {
                let file = File::open(path);
                Box::new(file.map_err(|error| refused(&name, error.into()))?)
            }
        };
        let is_live = *self == Self::StandardInput;
        let input = splitbloom_input::Input::new(bar.wrap_read(raw), framing, is_live);
        let input = input.map_err(|error| refused(&name, error))?;
        warn(&name, input.doubts());
        Ok(Input { name, input })
    }
}

/// What is said about an input of this name that is refused.
pub fn refused(name: &str, error: InputError) -> Error {
    match error {
        InputError::Io(error) if error.kind() != io::ErrorKind::InvalidData => {
            Error::File(format!("{name}: {error}"))
        }
        InputError::Contents(contents) => {
            let advice = match (contents, name) {
                (Contents::Filter, _) => "`splitbloom push` loads it".into(),
                (Contents::Packed(_, program), STANDARD_INPUT) => {
                    format!("`{program} | splitbloom …` reads them")
                }
                (Contents::Packed(_, program), _) => {
                    format!("`{program} {name} | splitbloom … -` reads them")
                }
            };
            let contents = contents.name();
            Error::Contents(format!("{name} contains {contents}, not items: {advice}"))
        }
        error => Error::Contents(format!("{name}: {error}")),
    }
}

/// Refuses an unpacked input with these first bytes if they belong to no items, and warns if the
/// items are probably others than somebody expects.
pub fn check(name: &str, first: &[u8], framing: Framing) -> Result<(), Error> {
    let checked = splitbloom_input::check(first, framing);
    warn(name, &checked.map_err(|contents| refused(name, InputError::Contents(contents)))?);
    Ok(())
}

/// Warns about the first input of a kind that looks right to people and is not.
fn warn(name: &str, doubts: &[Doubt]) {
    static IS_SAID: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];
    for doubt in doubts {
        let text = match doubt {
            Doubt::ByteOrderMark => {
                "begins with a byte order mark, which is part of its first item: --text strips it"
            }
            Doubt::CarriageReturn => {
                "has lines that end with \\r\\n, and \\r is part of each item: --text strips it"
            }
            Doubt::Wide => {
                "looks like UTF-16, a NUL in each character: `iconv -f UTF-16 -t UTF-8` converts it"
            }
        };
        if !IS_SAID[*doubt as usize].swap(true, Ordering::Relaxed) {
            eprintln!("splitbloom: warning: {} {text}", in_one_line(name));
        }
    }
}

/// An input that has been opened, and its name in messages.
pub struct Input {
    name: String,
    input: splitbloom_input::Input,
}

impl Input {
    /// Skips `bytes` unpacked bytes, showing them; returns how many there were.
    ///
    /// # Errors
    /// The input cannot be read or unpacked.
    pub fn skip(&mut self, bytes: u64, show: impl FnMut(&[u8])) -> Result<u64, Error> {
        self.input.skip(bytes, show).map_err(|error| refused(&self.name, error))
    }

    /// Replaces `block` by the next whole items: about `len` bytes, or more if an item is longer;
    /// of standard input those that have come. Returns false at the end, with an empty block.
    ///
    /// # Errors
    /// The input cannot be read or unpacked, has too long an item, or ends within an item of fixed
    /// width.
    pub fn next_block(
        &mut self,
        framing: Framing,
        len: usize,
        block: &mut Vec<u8>,
    ) -> Result<bool, Error> {
        let is_block = self.input.next_block(framing, len, block);
        is_block.map_err(|error| refused(&self.name, error))
    }
}
