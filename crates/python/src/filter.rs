//! Bloom filters.

use crate::base::{capacity, error_rate, of_kind, of_new, seed, within, Base, BloomFilter};
use crate::errors::of_union;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use splitbloom_filter::filter::{Difference, Promise, MAX_EXPANSION};
use splitbloom_filter::{Filter, Growth, Parameters, SizeLimit};
use std::mem::swap;

#[pymethods]
impl BloomFilter {
    #[new]
    #[pyo3(signature = (capacity, error_rate = 0.01, *, seed = None, expansion = None))]
    fn new(
        capacity: &Bound<'_, PyAny>,
        error_rate: f64,
        seed: Option<&Bound<'_, PyAny>>,
        expansion: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let parameters = Parameters {
            error_rate: self::error_rate(error_rate)?,
            capacity: self::capacity(capacity)?,
            growth: match expansion {
                None => Growth::Times(EXPANSION),
                Some(number) => {
                    let factor = within(number, "expansion", 0..=MAX_EXPANSION.into())?;
                    Growth::from_factor(factor as u32)
                }
            },
            seed: self::seed(seed)?,
        };
        let filter = Filter::new(parameters, SizeLimit::Unlimited).map_err(of_new)?;
        Ok(PyClassInitializer::from(Base::new(filter)?).add_subclass(Self))
    }

    /// Makes the filter as small as its items allow, or `capacity` items; returns the capacity that
    /// it has then. What the command BF.SHRINK does on a server.
    #[pyo3(signature = (capacity = None))]
    fn shrink(slf: &Bound<'_, Self>, capacity: Option<&Bound<'_, PyAny>>) -> PyResult<u64> {
        let capacity = capacity.map(self::capacity).transpose()?;
        let shrunk = slf.as_super().get().write_detached(slf.py(), |filter| {
            if !filter.may_be_united() {
                return Err(FOREIGN.into());
            }
            let items = filter.items();
            if capacity.is_some_and(|capacity| capacity < items) {
                return Err(format!("the filter has {items} items, more than that capacity"));
            }
            let shrunk = filter.shrink(capacity.unwrap_or(0), u64::MAX);
            Ok(shrunk.map(|_| filter.capacity()))
        })?;
        shrunk.map_err(PyValueError::new_err)?.map_err(of_union)
    }

    /// The union of two filters with the same error rate, expansion and seed. Raises `ValueError`
    /// if its false-positive rate would be above the error rate, unless `force` is true.
    #[pyo3(signature = (other, *, force = false))]
    fn union<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, Self>,
        force: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, base) = (slf.py(), slf.as_super().get());
        let (mut union, mut other) = (base.snapshot(py)?, other.as_super().get().snapshot(py)?);
        if other.parameters().capacity > union.parameters().capacity {
            swap(&mut union, &mut other);
        }
        let promise = if force { Promise::Waived } else { Promise::Kept };
        let union = of_kind(py, union)?;
        unite(py, union.cast::<Base>()?.get(), &other, promise)?;
        Ok(union)
    }

    /// The union that `union` returns without `force`.
    fn __or__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, Self>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Self::union(slf, other, false)
    }

    /// Adds the items of `other`, as `union` does without `force`.
    fn __ior__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, Self>) -> PyResult<()> {
        let (py, other) = (other.py(), other.as_super().get());
        unite(py, slf.as_super().get(), &other.snapshot(py)?, Promise::Kept)
    }
}

const FOREIGN: &str = "a filter from another module can be neither united nor shrunk";

/// The factor that a server gives a filter without EXPANSION. It is only reported.
const EXPANSION: u32 = 2;

/// Adds the items of `other`. It is a snapshot, so that `filter` alone is locked meanwhile.
fn unite(py: Python<'_>, filter: &Base, other: &Filter, promise: Promise) -> PyResult<()> {
    if !other.may_be_united() || !filter.read(py, Filter::may_be_united)? {
        return Err(PyValueError::new_err(FOREIGN));
    }
    if let Some(difference) = filter.read(py, |filter| filter.difference(&[other]))? {
        let name = match difference {
            Difference::ErrorRate => "error rates",
            Difference::Capacity => "capacities",
            Difference::Expansion => "expansions",
            Difference::Seed => "seeds",
        };
        let only = match difference {
            Difference::Capacity => ": only those above some 6 000 items (at 1 %) may",
            _ => "",
        };
        return Err(PyValueError::new_err(format!("the {name} of the two filters differ{only}")));
    }
    let unite =
        |filter: &mut Filter| filter.unite(&[other], SizeLimit::Unlimited, u64::MAX, promise);
    filter.write_detached(py, unite)?.map(drop).map_err(of_union)
}
