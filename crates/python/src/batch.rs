//! Many items, a group at a time.
//!
//! The interpreter's lock is held while the items of a group are collected, and released while the
//! filter works on them. Between two groups Ctrl-C is handled, and other threads can use the
//! filter.

use crate::columns::{self, no_table, Arrow, NumPy, Stream};
use crate::items::Item;
use pyo3::exceptions::{PyMemoryError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyList, PyMemoryView, PyString, PyTuple};
use std::ops::Range;

/// Objects of a group: their references take 160 KB, and giving the interpreter's lock back costs
/// less than a nanosecond each.
const OBJECTS: usize = 4_096;
/// Items of a column in a group, which take milliseconds.
const ROWS: usize = 1 << 16;

/// What is done with the items of a group, without the interpreter's lock.
pub trait Visit: Send {
    /// Takes the items in order, `number` at most.
    ///
    /// # Errors
    /// Those of the filter; the items before the refused one have been processed.
    fn visit<'a>(
        &mut self,
        items: impl Iterator<Item = &'a [u8]>,
        number: usize,
    ) -> Result<(), Failure>;
}

/// Why a group ended early.
pub enum Failure {
    Add(splitbloom_filter::AddError),
    Poisoned,
    /// A follower has no copy.
    NotReady(&'static str),
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Add(error) => crate::errors::of_add(error),
            Failure::Poisoned => crate::errors::poisoned(),
            Failure::NotReady(text) => crate::errors::NotReadyError::new_err(text),
        }
    }
}

/// The container of the items, and so of the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    NumPyArray,
    Other,
}

/// Visits all items of a Python object: a column, or anything that can be iterated.
///
/// # Errors
/// `TypeError` for a single item, a table, or an object that cannot be iterated; those of
/// iterating; those of the visit.
pub fn visit(items: &Bound<'_, PyAny>, visitor: &mut impl Visit) -> PyResult<Holder> {
    // To ask a list whether it is an array takes 2 microseconds, as long as looking 80 items up.
    let is_plain =
        items.is_exact_instance_of::<PyList>() || items.is_exact_instance_of::<PyTuple>();
    if is_plain {
        return each(items, visitor).map(|()| Holder::Other);
    }
    refuse_one_item(items)?;
    refuse_dimensions(items)?;
    let holder = match columns::is_numpy(items)? {
        true => Holder::NumPyArray,
        false => Holder::Other,
    };
    visit_any(items, visitor).map(|()| holder)
}

fn visit_any(items: &Bound<'_, PyAny>, visitor: &mut impl Visit) -> PyResult<()> {
    let py = items.py();
    if let Some(column) = NumPy::of(items)? {
        return in_groups(py, column.len(), |rows| column.visit(rows, visitor));
    }
    if let Some(column) = Arrow::of(items)? {
        return in_groups(py, column.len(), |rows| column.visit(rows, visitor));
    }
    let Some(mut stream) = Stream::of(items)? else {
        return each(items, visitor);
    };
    while let Some(column) = stream.next(py)? {
        in_groups(py, column.len(), |rows| column.visit(rows, visitor))?;
        py.check_signals()?;
    }
    Ok(())
}

/// Calls `visit` with one range of rows after another.
fn in_groups(
    py: Python<'_>,
    len: usize,
    mut visit: impl FnMut(Range<usize>) -> Result<(), Failure> + Send,
) -> PyResult<()> {
    let mut start = 0;
    while start < len {
        let end = len.min(start + ROWS);
        py.detach(|| visit(start..end))?;
        py.check_signals()?;
        start = end;
    }
    Ok(())
}

fn each(items: &Bound<'_, PyAny>, visitor: &mut impl Visit) -> PyResult<()> {
    let py = items.py();
    let mut objects = items.try_iter()?.enumerate();
    let mut group = Vec::new();
    loop {
        // Items before an object that is not an item are still processed.
        let mut refused = None;
        while group.len() < OBJECTS {
            let no_memory = |_| PyMemoryError::new_err("not enough memory");
            let item = objects.next().map(|(number, object)| {
                group.try_reserve(1).map_err(no_memory)?;
                Item::of(object?).map_err(|error| numbered(py, number, error))
            });
            match item {
                Some(Ok(item)) => group.push(item),
                Some(Err(error)) => {
                    refused = Some(error);
                    break;
                }
                None => break,
            }
        }
        let is_last = group.len() < OBJECTS;
        py.detach(|| visitor.visit(group.iter().map(Item::as_ref), group.len()))?;
        group.clear();
        if let Some(error) = refused {
            return Err(error);
        }
        if is_last {
            return Ok(());
        }
        py.check_signals()?;
    }
}

/// The error of an item of another type, with the item's number in front.
fn numbered(py: Python<'_>, number: usize, error: PyErr) -> PyErr {
    match error.is_instance_of::<PyTypeError>(py) {
        true => PyTypeError::new_err(format!("item {number}: {}", error.value(py))),
        false => error,
    }
}

/// Refuses tables: iterating one yields the names of its columns, or its rows.
fn refuse_dimensions(items: &Bound<'_, PyAny>) -> PyResult<()> {
    let dimensions = items.getattr_opt("ndim")?;
    match dimensions.and_then(|number| number.extract::<usize>().ok()) {
        None | Some(1) => Ok(()),
        Some(_) => Err(no_table(items)),
    }
}

/// Refuses one item: the letters of a string, or single bytes, are hardly ever meant to be items.
fn refuse_one_item(items: &Bound<'_, PyAny>) -> PyResult<()> {
    let is_one = items.is_instance_of::<PyString>()
        || items.is_instance_of::<PyBytes>()
        || items.is_instance_of::<PyByteArray>()
        || items.is_instance_of::<PyMemoryView>();
    match is_one {
        true => Err(PyTypeError::new_err(format!(
            "many items are expected, not one {}: put it into a list",
            items.get_type().name()?
        ))),
        false => Ok(()),
    }
}
