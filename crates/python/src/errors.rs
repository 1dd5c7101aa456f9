//! Exceptions, with the core's words.

use pyo3::create_exception;
use pyo3::exceptions::{
    PyException, PyMemoryError, PyOSError, PyOverflowError, PyRuntimeError, PyValueError,
};
use pyo3::prelude::*;
use splitbloom_filter::codec::FileError;
use splitbloom_filter::{AddError, DecodeError, UnionError};
use splitbloom_input::{Contents, InputError};
use std::io;
use std::path::Path;

create_exception!(
    splitbloom,
    FullError,
    PyException,
    "The filter does not grow, and is full. Items before the one refused have been added."
);
create_exception!(
    splitbloom,
    FormatError,
    PyValueError,
    "A file or a key does not hold a filter of the class, or is damaged."
);
create_exception!(
    splitbloom,
    KeyExistsError,
    PyValueError,
    "The key exists already: replace=True takes its place."
);

create_exception!(
    splitbloom,
    NotReadyError,
    PyException,
    "A follower has no copy of the filter: it is not fetched yet, or the key is missing."
);

/// The exception for an item that was refused.
pub fn of_add(error: AddError) -> PyErr {
    let text = error.to_string();
    match error {
        AddError::Full => FullError::new_err(text),
        AddError::OutOfMemory | AddError::OverLimit => PyMemoryError::new_err(text),
        AddError::Uncountable => PyOverflowError::new_err(text),
        // Filters that are only partly loaded are refused earlier.
        AddError::Loading => PyRuntimeError::new_err(text),
    }
}

/// The exception for a union that was refused.
pub fn of_union(error: UnionError) -> PyErr {
    match error {
        UnionError::Add(error) => of_add(error),
        UnionError::TooCostly | UnionError::Overfull { .. } => {
            PyValueError::new_err(error.to_string())
        }
    }
}

/// The exception for a chunk of a filter that was refused, the `number`th.
pub fn of_chunk(number: u64, error: DecodeError) -> PyErr {
    match error {
        DecodeError::OutOfMemory | DecodeError::OverLimit => {
            PyMemoryError::new_err(error.to_string())
        }
        _ => FormatError::new_err(format!("chunk {number}: {error}")),
    }
}

/// The exception for a file, or for bytes if there is no `path`.
pub fn of_file(py: Python<'_>, path: Option<&Path>, error: FileError) -> PyErr {
    match (error, path) {
        (FileError::Io(error), _) if error.kind() == io::ErrorKind::OutOfMemory => {
            PyMemoryError::new_err(error.to_string())
        }
        (FileError::Io(error), Some(path)) => of_io(py, path, &error),
        (FileError::Chunk(number, error), None) => of_chunk(number, error),
        (error @ FileError::Chunk(_, DecodeError::OutOfMemory | DecodeError::OverLimit), _) => {
            PyMemoryError::new_err(error.to_string())
        }
        (error, Some(path)) => FormatError::new_err(format!("{}: {error}", path.display())),
        (error, None) => FormatError::new_err(error.to_string()),
    }
}

/// The exception for a file whose contents are not lines.
pub fn unfit(path: &Path, error: &InputError) -> PyErr {
    let advice = match error {
        InputError::Contents(Contents::Filter) => ": open() reads it".into(),
        InputError::Contents(Contents::Packed(_, program)) => format!(": `{program}` unpacks it"),
        _ => String::new(),
    };
    PyValueError::new_err(format!("{}: {error}{advice}", path.display()))
}

/// The `OSError` of the right class, with number and name of the file as Python's own have them.
pub fn of_io(py: Python<'_>, path: &Path, error: &io::Error) -> PyErr {
    let Some(number) = error.raw_os_error() else {
        return match error.kind() {
            io::ErrorKind::OutOfMemory => PyMemoryError::new_err(error.to_string()),
            kind => io::Error::new(kind, error.to_string()).into(),
        };
    };
    let text = py.import("os").and_then(|os| os.call_method1("strerror", (number,)));
    match text {
        Ok(text) => PyOSError::new_err((number, text.unbind(), path.as_os_str().to_owned())),
        Err(error) => error,
    }
}

/// The exception after a panic in another call, which may have left the filter half changed.
pub fn poisoned() -> PyErr {
    PyRuntimeError::new_err("an earlier call on this filter panicked")
}
