//! A file that has its name only when it is whole and on the disk. The tool and the Python package
//! write with it.
//!
//! Until then it has no name at all, so nothing is left of it however the process ends. File
//! systems without such files (NFS, FAT; all but Linux) have it under a temporary name meanwhile,
//! `.splitbloom-RANDOM.part` in the same folder.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::{Builder, TempPath};

/// Larger than a chunk of a filter.
const BUFFER_BYTES: usize = 4 << 20;

/// A file that is being written. Only its owner can read it. Dropped before [`NewFile::finish`], it
/// is gone.
#[derive(Debug)]
pub struct NewFile {
    file: BufWriter<File>,
    temporary: Option<TempPath>,
    path: PathBuf,
}

impl NewFile {
    /// Begins the file `path`.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn begin(path: &Path) -> io::Result<Self> {
        Self::begin_as(path, unnamed)
    }

    fn begin_as(path: &Path, unnamed: fn(&Path) -> io::Result<File>) -> io::Result<Self> {
        let folder = folder_of(path);
        let (file, temporary) = match unnamed(folder) {
            Ok(file) => (file, None),
            // For any reason: if the folder cannot be written, this attempt reports that.
            Err(_) => {
                let (file, temporary) = temporary_name().tempfile_in(folder)?.into_parts();
                (file, Some(temporary))
            }
        };
        let file = BufWriter::with_capacity(BUFFER_BYTES, file);
        Ok(Self { file, temporary, path: path.to_owned() })
    }

    /// The name that it will have.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its temporary name, if it has one: to be removed if the process ends here.
    pub fn temporary(&self) -> Option<&Path> {
        self.temporary.as_deref()
    }

    /// Gives the file its name: from now on it is there, whatever happens to the machine. Returns
    /// its length.
    ///
    /// # Errors
    /// `AlreadyExists` if the name is not free and `replace` is false; the disk's own.
    pub fn finish(self, replace: bool) -> io::Result<u64> {
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_all()?;
        let len = file.metadata()?.len();
        let folder = folder_of(&self.path);
        // No system call can give an unnamed file the name of an existing file.
        let temporary = match self.temporary {
            Some(temporary) => temporary,
            None => temporary_name().make_in(folder, |path| link(&file, path))?.into_temp_path(),
        };
        let named = match replace {
            true => temporary.persist(&self.path),
            false => temporary.persist_noclobber(&self.path),
        };
        named.map_err(|failure| failure.error)?;
        // Some file systems cannot sync a folder.
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
        Ok(len)
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

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn temporary_name() -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(".splitbloom-").suffix(".part");
    builder
}

/// A file without a name.
#[cfg(target_os = "linux")]
fn unnamed(folder: &Path) -> io::Result<File> {
    use rustix::fs::{open, Mode, OFlags};
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = File::from(open(folder, flags, Mode::RUSR | Mode::WUSR)?);
    // Without /proc it could not be given a name.
    std::fs::metadata(name_of(&file))?;
    Ok(file)
}

/// What open(2) recommends to link a file by: by the descriptor itself only root may.
#[cfg(target_os = "linux")]
fn name_of(file: &File) -> String {
    use std::os::fd::AsRawFd as _;
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// Gives a file without a name this one.
#[cfg(target_os = "linux")]
fn link(file: &File, path: &Path) -> io::Result<()> {
    use rustix::fs::{linkat, AtFlags, CWD};
    Ok(linkat(CWD, name_of(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(not(target_os = "linux"))]
fn unnamed(_: &Path) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(target_os = "linux"))]
fn link(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use tempfile::TempDir;

    fn no_unnamed(_: &Path) -> io::Result<File> {
        Err(io::ErrorKind::Unsupported.into())
    }

    const WAYS: [fn(&Path) -> io::Result<File>; 2] = [unnamed, no_unnamed];

    fn names(folder: &TempDir) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn a_file_has_its_name_when_it_is_whole_and_only_its_owner_reads_it() {
        for way in WAYS {
            let folder = TempDir::new().unwrap();
            let path = folder.path().join("file");
            let mut file = NewFile::begin_as(&path, way).unwrap();
            file.write_all(b"new").unwrap();
            assert!(!path.exists());
            assert_eq!(file.finish(false).unwrap(), 3);
            assert_eq!(fs::read(&path).unwrap(), b"new");
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
            drop(NewFile::begin_as(&path, way).unwrap());
            assert_eq!(names(&folder), 1, "what is dropped is removed");
        }
    }

    #[test]
    fn a_file_that_appears_meanwhile_is_replaced_only_on_request() {
        for way in WAYS {
            let folder = TempDir::new().unwrap();
            let path = folder.path().join("file");
            let [kept, replacing] = [(); 2].map(|()| NewFile::begin_as(&path, way).unwrap());
            fs::write(&path, "other").unwrap();
            let error = kept.finish(false).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(fs::read(&path).unwrap(), b"other");
            replacing.finish(true).unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"");
            assert_eq!(names(&folder), 1);
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn until_it_is_whole_a_file_has_no_name_so_a_killed_process_leaves_none() {
        let folder = TempDir::new().unwrap();
        let file = NewFile::begin(&folder.path().join("file")).unwrap();
        assert_eq!((names(&folder), file.temporary()), (0, None));
    }
}
