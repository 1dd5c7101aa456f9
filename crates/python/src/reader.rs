//! Files that are read through Python's own, so that Ctrl-C is heard while they are opened and
//! read, and their errors are Python's.

use pyo3::exceptions::PyBlockingIOError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes read at a time: the interpreter's lock is taken for each, and signals are handled.
pub const READ_BYTES: usize = 1 << 20;

/// An unbuffered file of Python.
pub struct Reader {
    file: Py<PyAny>,
    raised: Raised,
}

/// The exception that reading has raised: an `io::Error` does not carry it through the decoders.
#[derive(Clone, Default)]
pub struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    /// The exception for an error of reading: what Python raised, or else what `of` makes of it.
    pub fn or<E>(&self, error: E, of: impl FnOnce(E) -> PyErr) -> PyErr {
        let raised = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        raised.unwrap_or_else(|| of(error))
    }
}

impl Reader {
    /// Opens the file; a FIFO is waited for.
    ///
    /// # Errors
    /// `OSError`; what a signal raises.
    pub fn open(py: Python<'_>, path: &Path) -> PyResult<Self> {
        let file = py.import("io")?.call_method1("FileIO", (path.as_os_str(),))?.unbind();
        Ok(Self { file, raised: Raised::default() })
    }

    /// Holds the exception that reading raises from now on.
    pub fn raised(&self) -> Raised {
        self.raised.clone()
    }

    fn read_bytes<'py>(&self, py: Python<'py>, most: usize) -> PyResult<Bound<'py, PyBytes>> {
        py.check_signals()?;
        let read = self.file.bind(py).call_method1("read", (most.min(READ_BYTES),))?;
        match read.is_none() {
            true => Err(PyBlockingIOError::new_err("the file does not wait for what comes")),
            false => Ok(read.cast_into()?),
        }
    }
}

impl Read for Reader {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = Python::attach(|py| {
            let bytes = self.read_bytes(py, to.len())?;
            let (bytes, len) = (bytes.as_bytes(), bytes.len()?.min(to.len()));
            to[..len].copy_from_slice(&bytes[..len]);
            Ok(len)
        });
        read.map_err(|error| {
            *self.raised.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            io::Error::other("reading has raised an exception")
        })
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        // Nothing was written, so closing cannot fail in a way that matters.
        let _ = Python::attach(|py| self.file.call_method0(py, "close"));
    }
}
