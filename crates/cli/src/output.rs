//! Files that the tool writes.
//!
//! A file has its name only when it is whole and on the disk. Nothing but a regular file is ever
//! replaced: an earlier filter, as a compiler replaces what it wrote before, and any other file if
//! that is requested. Only the owner can read a new file, because a filter holds its seed.

use crate::error::Error;
use crate::interrupt::{end_by, hold_signals, OnInterrupt};
use clap::Args;
use splitbloom_filter::codec::FileReader;
use std::fs::{self, File, FileType, Metadata};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// Names a file to write.
#[derive(Args, Clone, Debug)]
pub struct OutputArguments {
    /// The file to write. Only its owner can read it, because it holds the seed
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Replaces the file even if it is no filter
    #[arg(long)]
    replace: bool,
}

impl OutputArguments {
    /// Begins the file. `inputs` are what it is made from.
    pub fn create(&self, inputs: impl IntoIterator<Item = FileId>) -> Result<NewFile, Error> {
        let inputs: Vec<FileId> = inputs.into_iter().collect();
        NewFile::create(&self.output, self.replace, &inputs)
    }

    /// The name of the file.
    pub fn path(&self) -> &Path {
        &self.output
    }
}

/// A file under whichever name: its device and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId(u64, u64);

impl From<&Metadata> for FileId {
    fn from(metadata: &Metadata) -> Self {
        Self(metadata.dev(), metadata.ino())
    }
}

impl FileId {
    /// The file of this name, if there is one.
    pub fn of(path: &Path) -> Option<Self> {
        path.metadata().ok().map(|metadata| Self::from(&metadata))
    }
}

/// The regular file of this name; `None` if the name is free.
///
/// # Errors
/// The name is that of something else.
pub fn regular_file(path: &Path) -> Result<Option<Metadata>, Error> {
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_file() => Ok(Some(metadata)),
        Ok(metadata) => {
            let text = format!("it is {}, not a regular file", kind_of(metadata.file_type()));
            Err(Error::file(path, io::Error::other(text)))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::file(path, error)),
    }
}

fn kind_of(file: FileType) -> &'static str {
    if file.is_symlink() {
        "a symbolic link"
    } else if file.is_dir() {
        "a folder"
    } else if file.is_fifo() {
        "a named pipe"
    } else if file.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

/// A file that is being written. It does not exist if this is dropped, or the process interrupted,
/// before [`NewFile::finish`].
pub struct NewFile {
    file: splitbloom_output::NewFile,
    replace: bool,
    _on_interrupt: OnInterrupt,
}

impl NewFile {
    /// Begins the file `path`. It may replace a filter, and with `replace` another regular file,
    /// but none of the `inputs`.
    pub fn create(path: &Path, replace: bool, inputs: &[FileId]) -> Result<Self, Error> {
        let shown = path.display();
        if path.as_os_str() == "-" {
            let text = "-: a filter is written to a file with a name, not to standard output";
            return Err(Error::Usage(text.into()));
        }
        let old = regular_file(path)?;
        let replace = replace || old.is_some() && is_filter(path);
        match old {
            Some(old) if inputs.contains(&FileId::from(&old)) => {
                let text = format!("{shown} is one of the inputs: give the output another name");
                return Err(Error::Usage(text));
            }
            Some(_) if !replace => return Err(exists(path)),
            _ => {}
        }
        let signals = hold_signals();
        let begun = splitbloom_output::NewFile::begin(path);
        let file = begun.map_err(|error| Error::file(path, error))?;
        let temporary = file.temporary().map(Path::to_owned);
        let on_interrupt = signals.on_interrupt(move |signal| {
            let _ = temporary.map(fs::remove_file); // the process ends in any case
            end_by(signal);
        });
        Ok(Self { file, replace, _on_interrupt: on_interrupt })
    }

    /// The name that it will have.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Gives the file its name: from now on it is there, whatever happens to the machine. Returns
    /// its length.
    pub fn finish(self) -> Result<u64, Error> {
        let path = self.path().to_owned();
        self.file.finish(self.replace).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => exists(&path),
            _ => Error::file(&path, error),
        })
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Whether the file begins as those that the tool writes.
pub fn is_filter(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| FileReader::new(file).is_ok())
}

fn exists(path: &Path) -> Error {
    let path = path.display();
    Error::Contents(format!("{path} exists already: --replace takes its place"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use tempfile::TempDir;

    fn write(path: &Path, replace: bool, inputs: &[FileId]) -> Result<u64, Error> {
        let mut file = NewFile::create(path, replace, inputs)?;
        file.write_all(b"new").unwrap();
        file.finish()
    }

    fn names(folder: &TempDir) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn a_file_that_appears_meanwhile_is_not_replaced_without_being_requested() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("file");
        let new = NewFile::create(&path, false, &[]).unwrap();
        fs::write(&path, "other").unwrap();
        let error = new.finish().unwrap_err();
        assert!(matches!(error, Error::Contents(_)), "{error}");
        assert!(write(&path, false, &[]).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"other");
        assert_eq!(names(&folder), 1);
        write(&path, true, &[]).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }

    #[test]
    fn an_input_is_never_replaced_whatever_its_name() {
        let folder = TempDir::new().unwrap();
        let [input, link, other] = ["input", "link", "other"].map(|name| folder.path().join(name));
        fs::write(&input, "items").unwrap();
        fs::hard_link(&input, &link).unwrap();
        fs::write(&other, "other").unwrap();
        let inputs = [&other, &input].map(|path| FileId::of(path).unwrap());
        for path in [&input, &link, &folder.path().join(".").join("input")] {
            let error = write(path, true, &inputs).unwrap_err();
            assert!(matches!(error, Error::Usage(_)), "{error}");
        }
        assert_eq!(fs::read(&input).unwrap(), b"items");
        write(&other, true, &inputs[1..]).unwrap();
    }

    #[test]
    fn nothing_but_a_regular_file_is_replaced() {
        let folder = TempDir::new().unwrap();
        let [file, link, dangling] =
            ["file", "link", "dangling"].map(|name| folder.path().join(name));
        fs::write(&file, "old").unwrap();
        symlink(&file, &link).unwrap();
        symlink(folder.path().join("none"), &dangling).unwrap();
        let null = Path::new("/dev/null");
        for (path, kind) in [
            (link.as_path(), "a symbolic link"),
            (&dangling, "a symbolic link"),
            (folder.path(), "a folder"),
            (null, "a device"),
        ] {
            let error = write(path, true, &[]).unwrap_err().to_string();
            assert!(error.contains(kind), "{error}");
        }
        assert!(write(Path::new("-"), true, &[]).is_err());
        assert_eq!(fs::read(&file).unwrap(), b"old");
        assert_eq!(names(&folder), 3);
    }
}
