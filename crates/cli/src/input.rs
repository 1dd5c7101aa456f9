//! The inputs of a command: files and standard input, which [`splitbloom_input`] reads.

pub use splitbloom_input::Framing;

use crate::error::{in_one_line, Error};
use crate::output::FileId;
use clap::Args;
use indicatif::ProgressBar;
use splitbloom_input::{check, packing, Contents, Doubt, Input, InputError};
use std::fs::{File, Metadata};
use std::io::{self, stdin, BufRead, Read};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

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

/// Waits for the first bytes of standard input, if that is the first source, and refuses them if
/// they contain no items. They remain to be read.
///
/// # Errors
/// The bytes contain no items, or cannot be read.
pub fn await_standard_input(sources: &[Source], framing: Framing) -> Result<(), Error> {
    let Some(source @ Source::StandardInput) = sources.first() else {
        return Ok(());
    };
    let mut input = stdin().lock();
    let first = input.fill_buf().map_err(|error| source.refused(error.into()))?;
    if packing(first).is_none() {
        let refused = |contents| source.refused(InputError::Contents(contents));
        source.warn(&check(first, framing).map_err(refused)?);
    }
    Ok(())
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
            Self::StandardInput => "standard input".into(),
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
        let raw: Box<dyn Read + Send> = match self {
            Self::StandardInput => Box::new(stdin()),
            Self::File(path) => {
                Box::new(File::open(path).map_err(|error| self.refused(error.into()))?)
            }
        };
        let is_live = *self == Self::StandardInput;
        let input = Input::new(bar.wrap_read(raw), framing, is_live);
        let input = input.map_err(|error| self.refused(error))?;
        self.warn(input.doubts());
        Ok(input)
    }

    /// The error that reports why it is refused.
    pub fn refused(&self, error: InputError) -> Error {
        let name = self.name();
        match error {
            InputError::Io(error) if error.kind() != io::ErrorKind::InvalidData => {
                Error::File(format!("{name}: {error}"))
            }
            InputError::Contents(contents) => {
                let advice = match (contents, self) {
                    (Contents::Filter, _) => "`splitbloom push` loads it".into(),
                    (Contents::Packed(_, program), Self::StandardInput) => {
                        format!("`{program} | splitbloom …` reads them")
                    }
                    (Contents::Packed(_, program), Self::File(_)) => {
                        format!("`{program} {name} | splitbloom … -` reads them")
                    }
                };
                let contents = contents.name();
                Error::Contents(format!("{name} contains {contents}, not items: {advice}"))
            }
            error => Error::Contents(format!("{name}: {error}")),
        }
    }

    /// Warns about the first input of a kind that looks right to people and is not.
    fn warn(&self, doubts: &[Doubt]) {
        static IS_SAID: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];
        for doubt in doubts {
            let text = match doubt {
                Doubt::ByteOrderMark => {
                    "begins with a byte order mark, which is part of its first item: --text \
                     strips it"
                }
                Doubt::CarriageReturn => {
                    "has lines that end with \\r\\n, and \\r is part of each item: --text strips it"
                }
                Doubt::Wide => {
                    "looks like UTF-16, a NUL in each character: `iconv -f UTF-16 -t UTF-8` \
                     converts it"
                }
            };
            if !IS_SAID[*doubt as usize].swap(true, Ordering::Relaxed) {
                eprintln!("splitbloom: warning: {} {text}", in_one_line(&self.name()));
            }
        }
    }
}
