//! Filters in files, as the tool `splitbloom` writes them, and in bytes of the same format.

use crate::errors::{of_chunk, of_file, of_io, FormatError};
use crate::reader::{Reader, READ_BYTES};
use pyo3::exceptions::{PyFileExistsError, PyOSError};
use pyo3::prelude::*;
use splitbloom_filter::codec::{encode_chunk, load_chunk, Chunk, FileError, FileReader};
use splitbloom_filter::{AddError, Filter, SizeLimit};
use splitbloom_output::NewFile;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

/// Writes the filter to a file that has its name only when it is whole and on the disk. It replaces
/// an existing filter, and with `replace` any regular file. Only its owner can read it, because it
/// has the seed.
///
/// # Errors
/// `FileExistsError` if the path has a file that is not a filter; `OSError`, `MemoryError`.
pub fn save(py: Python<'_>, filter: &Filter, path: &Path, replace: bool) -> PyResult<()> {
    let replace = may_be_replaced(py, path)? || replace;
    let saved = py.detach(|| write(filter, path, replace));
    saved.map_err(|error| match error {
        FileError::Io(error) if error.kind() == io::ErrorKind::AlreadyExists => exists(path),
        error => of_file(py, Some(path), error),
    })
}

/// Whether `path` holds a filter.
///
/// # Errors
/// `OSError` if it is no regular file.
fn may_be_replaced(py: Python<'_>, path: &Path) -> PyResult<bool> {
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_file() => {
            Ok(File::open(path).is_ok_and(|file| FileReader::new(file).is_ok()))
        }
        Ok(_) => Err(PyOSError::new_err(format!("{}: it is not a regular file", path.display()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(of_io(py, path, &error)),
    }
}

fn exists(path: &Path) -> PyErr {
    let path = path.display();
    PyFileExistsError::new_err(format!("{path} exists already: replace=True takes its place"))
}

fn write(filter: &Filter, path: &Path, replace: bool) -> Result<(), FileError> {
    filter.write_to(NewFile::begin(path)?)?.finish(replace)?;
    Ok(())
}

/// Reads the filter of a file.
///
/// # Errors
/// `FormatError`, `OSError`, `MemoryError`.
pub fn open(py: Python<'_>, path: &Path) -> PyResult<Filter> {
    let file = Reader::open(py, path)?;
    let raised = file.raised();
    let filter = py.detach(|| Filter::read_from(BufReader::with_capacity(READ_BYTES, file)));
    filter.map_err(|error| raised.or(error, |error| of_file(py, Some(path), error)))
}

/// Reads the filter of a file in memory.
///
/// # Errors
/// `FormatError`, `MemoryError`.
pub fn of_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Filter> {
    py.detach(|| Filter::from_bytes(bytes)).map_err(|error| of_file(py, None, error))
}

/// A filter that comes in chunks.
#[derive(Default)]
pub struct Arriving {
    filter: Option<Filter>,
    chunks: u64,
}

impl Arriving {
    /// Loads the next chunk.
    ///
    /// # Errors
    /// `FormatError`, `MemoryError`.
    pub fn take(&mut self, py: Python<'_>, chunk: &[u8]) -> PyResult<()> {
        py.detach(|| self.load(chunk)).map_err(|error| of_chunk(self.chunks, error))
    }

    fn load(&mut self, bytes: &[u8]) -> Result<(), splitbloom_filter::DecodeError> {
        let chunk = Chunk::parse(bytes)?;
        let begun = load_chunk(self.filter.as_mut(), &chunk, SizeLimit::Unlimited)?;
        self.filter = begun.or(self.filter.take());
        self.chunks += 1;
        Ok(())
    }

    /// The filter after its last chunk.
    ///
    /// # Errors
    /// `FormatError` if there was none.
    pub fn finish(self) -> PyResult<Filter> {
        self.filter.ok_or_else(|| FormatError::new_err("there is no chunk"))
    }
}

/// Whether the files of the two have the same bytes.
///
/// # Errors
/// `OutOfMemory`.
pub fn are_equal(one: &Filter, other: &Filter) -> Result<bool, AddError> {
    let (mut iterator, mut may_be) = (0, one.items() == other.items());
    while may_be {
        let chunks = (encode_chunk(one, iterator)?, encode_chunk(other, iterator)?);
        let (Some(chunk), Some(same)) = &chunks else {
            return Ok(chunks.0.is_none() && chunks.1.is_none());
        };
        (iterator, may_be) = (chunk.next, chunk.bytes == same.bytes);
    }
    Ok(false)
}
