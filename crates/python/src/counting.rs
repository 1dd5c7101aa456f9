//! Counting filters, whose items can be removed.

use crate::base::{capacity, error_rate, of_new, seed, within, Base, CountingFilter};
use crate::errors::of_add;
use crate::items::Item;
use pyo3::prelude::*;
use splitbloom_filter::filter::counting::{Adding, MAX_EXPANSION};
use splitbloom_filter::{CountingParameters, Filter, SizeLimit};

/// What a server gives a filter of CF.RESERVE without options. They are only reported.
const EXPANSION: u16 = 1;
const BUCKET_SIZE: u16 = 2;
const MAX_ITERATIONS: u16 = 20;

#[pymethods]
impl CountingFilter {
    #[new]
    #[pyo3(signature = (capacity, error_rate = 0.01, *, seed = None, expansion = None))]
    fn new(
        capacity: &Bound<'_, PyAny>,
        error_rate: f64,
        seed: Option<&Bound<'_, PyAny>>,
        expansion: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let parameters = CountingParameters {
            error_rate: self::error_rate(error_rate)?,
            capacity: self::capacity(capacity)?,
            expansion: match expansion {
                None => EXPANSION,
                Some(number) => within(number, "expansion", 0..=MAX_EXPANSION.into())? as u16,
            },
            bucket_size: BUCKET_SIZE,
            max_iterations: MAX_ITERATIONS,
            seed: self::seed(seed)?,
        };
        let filter = Filter::counting(parameters, SizeLimit::Unlimited).map_err(of_new)?;
        Ok(PyClassInitializer::from(Base::new(filter)?).add_subclass(Self))
    }

    /// Adds a copy unless there is one; returns whether it was added.
    fn add_if_absent(slf: &Bound<'_, Self>, item: Bound<'_, PyAny>) -> PyResult<bool> {
        let item = Item::of(item)?;
        let add = |filter: &mut Filter| {
            filter.add_copy(item.as_ref(), Adding::Absent, SizeLimit::Unlimited)
        };
        slf.as_super().get().write(slf.py(), add)?.map_err(of_add)
    }

    /// Removes a copy; returns whether there was one.
    ///
    /// Remove only what was added: otherwise another item may lose its copy.
    fn remove(slf: &Bound<'_, Self>, item: Bound<'_, PyAny>) -> PyResult<bool> {
        let item = Item::of(item)?;
        let remove = |filter: &mut Filter| filter.remove(item.as_ref());
        slf.as_super().get().write(slf.py(), remove)?.map_err(of_add)
    }

    /// How many copies of the item there are, or more.
    fn count(slf: &Bound<'_, Self>, item: Bound<'_, PyAny>) -> PyResult<u64> {
        let item = Item::of(item)?;
        slf.as_super().get().read(slf.py(), |filter| filter.count(item.as_ref()))
    }
}
