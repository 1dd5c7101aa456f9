//! Batches of lookups, and their results as Python objects.

use crate::batch::{self, Failure, Holder, Visit};
use crate::lines;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyList};
use std::path::Path;

/// Something in which items can be looked up.
pub trait Find: Sync {
    /// Appends to `answers` for each item whether it is (probably) present.
    ///
    /// # Errors
    /// A follower has no copy, or the filter cannot be read.
    fn find<'a>(
        &self,
        items: impl Iterator<Item = &'a [u8]>,
        answers: &mut Vec<bool>,
    ) -> Result<(), Failure>;
}

/// Looks items up, and notes the results.
struct Lookups<'a, F> {
    items: &'a F,
    answers: Vec<bool>,
}

impl<F: Find> Visit for Lookups<'_, F> {
    fn visit<'a>(
        &mut self,
        items: impl Iterator<Item = &'a [u8]>,
        number: usize,
    ) -> Result<(), Failure> {
        self.answers.try_reserve(number).map_err(|error| Failure::Add(error.into()))?;
        self.items.find(items, &mut self.answers)
    }
}

/// Looks many items up: the result is an array for an array of NumPy, and otherwise a list.
pub fn contains<'py>(find: &impl Find, items: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let mut lookups = Lookups { items: find, answers: Vec::new() };
    let holder = batch::visit(items, &mut lookups)?;
    let (py, answers) = (items.py(), lookups.answers);
    if holder == Holder::Other {
        return list(py, &answers).map(Bound::into_any);
    }
    let fill = |bytes: &mut [u8]| {
        let answers = answers.iter().map(|answer| u8::from(*answer));
        bytes.iter_mut().zip(answers).for_each(|(byte, answer)| *byte = answer);
        Ok(())
    };
    let bytes = PyByteArray::new_with(py, answers.len(), fill)?;
    py.import("numpy")?.call_method1("frombuffer", (bytes, "?"))
}

/// Looks the lines of a file up, without their ends.
pub fn contains_lines<'py>(
    find: &impl Find,
    py: Python<'py>,
    path: &Path,
    is_text: bool,
) -> PyResult<Bound<'py, PyList>> {
    let mut lookups = Lookups { items: find, answers: Vec::new() };
    lines::visit(py, path, is_text, &mut lookups)?;
    list(py, &lookups.answers)
}

/// The results as a list. (`PyList::new` would panic if memory is short.)
fn list<'py>(py: Python<'py>, answers: &[bool]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::new(py, [false])?.as_sequence().repeat(answers.len())?;
    let list = list.cast_into::<PyList>()?;
    for (number, _) in answers.iter().enumerate().filter(|(_, is_there)| **is_there) {
        list.set_item(number, true)?;
    }
    Ok(list)
}
