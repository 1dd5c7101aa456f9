//! The lines of a file, as the tool reads them.

use crate::batch::Visit;
use crate::errors::{of_io, unfit};
use crate::reader::{Reader, READ_BYTES};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use splitbloom_input::{Doubt, Framing, Input, InputError};
use std::ffi::CString;
use std::io;
use std::path::Path;

/// Visits the lines of a file, about a mebibyte at a time, without the interpreter's lock. With
/// `is_text`, `\r` before `\n` and a byte order mark are no part of them.
///
/// # Errors
/// `OSError`, `MemoryError`; `ValueError` for what contains no lines, and for a line that is too
/// long; those of the visit; what a signal raises.
pub fn visit(py: Python<'_>, path: &Path, is_text: bool, visitor: &mut impl Visit) -> PyResult<()> {
    let framing = if is_text { Framing::Text } else { Framing::Lines };
    let file = Reader::open(py, path)?;
    let raised = file.raised();
    let failed = |error| raised.or(error, |error| of_input(py, path, error));
    let mut input = py.detach(|| Input::new(file, framing, false)).map_err(failed)?;
    for doubt in input.doubts() {
        warn(py, path, *doubt)?;
    }
    let mut block = Vec::new();
    while py.detach(|| input.next_block(framing, READ_BYTES, &mut block)).map_err(failed)? {
        py.detach(|| {
            let number = framing.items(&block).count();
            visitor.visit(framing.items(&block), number)
        })?;
        py.check_signals()?;
    }
    Ok(())
}

fn warn(py: Python<'_>, path: &Path, doubt: Doubt) -> PyResult<()> {
    let text = match doubt {
        Doubt::ByteOrderMark => {
            "begins with a byte order mark, which is part of its first line: text=True strips it"
        }
        Doubt::CarriageReturn => {
            "has lines that end with \\r\\n, and \\r is part of each: text=True strips it"
        }
        Doubt::Wide => "looks like UTF-16, with a NUL in each character",
    };
    let text = CString::new(format!("{} {text}", path.display()))?;
    PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 1)
}

/// The exception for a file that is refused.
fn of_input(py: Python<'_>, path: &Path, error: InputError) -> PyErr {
    match error {
        InputError::Io(error) if error.kind() != io::ErrorKind::InvalidData => {
            of_io(py, path, &error)
        }
        error => unfit(path, &error),
    }
}
