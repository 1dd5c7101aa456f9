//! What filters of both kinds have in common. `splitbloom/_native.pyi` declares it to users.

use crate::batch::{self, Failure, Visit};
use crate::errors::{of_add, FormatError};
use crate::file::{self, Arriving};
use crate::items::Item;
use crate::lines;
use crate::lookups::{self, Find};
use pyo3::exceptions::{PyMemoryError, PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyType};
use splitbloom_client::ForkLock;
use splitbloom_filter::bloom::sizing::{MAX_CAPACITY, MIN_CAPACITY};
use splitbloom_filter::codec::encode_chunk;
use splitbloom_filter::{AddError, Filter, Kind, Seed};
use std::hash::{BuildHasher as _, RandomState};
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// A filter of either kind.
#[pyclass(name = "_Base", module = "splitbloom", subclass, frozen)]
pub struct Base {
    filter: ForkLock<Filter, 1>,
}

/// A Bloom filter that grows: what BF.RESERVE creates on a server.
///
/// `capacity` is the number of items expected, 1 to 2^40. `error_rate` is the share of other items
/// that may be reported as present; it holds however far the filter grows. `seed`, 0 to 2^64 - 1,
/// is random by default. With `expansion=0` the filter does not grow, and refuses items when it is
/// full; any other number is only reported.
#[pyclass(name = "Filter", module = "splitbloom", extends = Base, frozen)]
pub struct BloomFilter;

/// A filter that counts copies of items and removes them: what CF.RESERVE creates on a server.
///
/// The parameters are those of `Filter`. A copy takes 12 to 16 bits at 1 %.
#[pyclass(module = "splitbloom", extends = Base, frozen)]
pub struct CountingFilter;

impl Base {
    /// The filter as an object.
    ///
    /// # Errors
    /// `MemoryError`.
    pub fn new(filter: Filter) -> PyResult<Self> {
        let filter = ForkLock::new(filter);
        Ok(Self { filter: filter.map_err(|error| PyMemoryError::new_err(error.to_string()))? })
    }

    /// Refuses a filter that is poisoned by a panic. The caller holds the lock.
    fn check(&self) -> Result<(), Failure> {
        match self.filter.is_poisoned() {
            true => Err(Failure::Poisoned),
            false => Ok(()),
        }
    }

    /// Calls `act` with the filter, which others may read, too. `act` must not run Python code.
    pub fn read<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&Filter) -> T + Send,
    ) -> PyResult<T> {
        let act = |filter: &Filter| self.check().map(|()| act(filter));
        let done = match self.filter.try_read(act) {
            Ok(done) => done,
            // The holder of the lock may need the interpreter's lock to go on.
            Err(act) => py.detach(|| self.filter.read(act)),
        };
        done.map_err(PyErr::from)
    }

    /// The same for long work: releases the interpreter's lock.
    pub fn read_detached<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&Filter) -> T + Send,
    ) -> PyResult<T> {
        let act = |filter: &Filter| self.check().map(|()| act(filter));
        py.detach(|| self.filter.read(act)).map_err(PyErr::from)
    }

    /// Calls `act` with exclusive access to the filter. `act` must not run Python code.
    pub fn write<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut Filter) -> T + Send,
    ) -> PyResult<T> {
        let act = |filter: &mut Filter| self.check().map(|()| act(filter));
        let done = match self.filter.try_write(act) {
            Ok(done) => done,
            Err(act) => py.detach(|| self.filter.write(act)),
        };
        done.map_err(PyErr::from)
    }

    /// The same for long work: releases the interpreter's lock.
    pub fn write_detached<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut Filter) -> T + Send,
    ) -> PyResult<T> {
        let act = |filter: &mut Filter| self.check().map(|()| act(filter));
        py.detach(|| self.filter.write(act)).map_err(PyErr::from)
    }

    /// A copy, which shares memory until one of the two changes.
    pub fn snapshot(&self, py: Python<'_>) -> PyResult<Filter> {
        self.write(py, Filter::try_clone)?.map_err(of_add)
    }

    fn adds(&self) -> Adds<'_> {
        Adds { base: self, new: 0 }
    }
}

impl Find for Base {
    fn find<'a>(
        &self,
        items: impl Iterator<Item = &'a [u8]>,
        answers: &mut Vec<bool>,
    ) -> Result<(), Failure> {
        self.filter.read(|filter| {
            self.check()?;
            filter.contains_many(items, |is_there| answers.push(is_there));
            Ok(())
        })
    }
}

/// Adds items, and counts those that were new.
struct Adds<'a> {
    base: &'a Base,
    new: u64,
}

impl Visit for Adds<'_> {
    fn visit<'a>(
        &mut self,
        items: impl Iterator<Item = &'a [u8]>,
        _number: usize,
    ) -> Result<(), Failure> {
        self.base.filter.write(|filter| {
            self.base.check()?;
            let answer = |is_new| self.new += u64::from(is_new);
            filter.add_many(items, answer).map_err(Failure::Add)
        })
    }
}

#[pymethods]
impl Base {
    /// Adds an item; returns whether it was new (True for each copy in a counting filter).
    fn add(&self, py: Python<'_>, item: Bound<'_, PyAny>) -> PyResult<bool> {
        let item = Item::of(item)?;
        let add = |filter: &mut Filter| filter.add(item.as_ref());
        self.write(py, add)?.map_err(of_add)
    }

    /// Adds many items; returns how many were new.
    ///
    /// If it raises, the items before the one refused have been added.
    fn update(&self, items: &Bound<'_, PyAny>) -> PyResult<u64> {
        let mut adds = self.adds();
        batch::visit(items, &mut adds)?;
        Ok(adds.new)
    }

    /// Adds the lines of a file, without their ends; returns how many were new.
    ///
    /// A file packed with gzip or zstd is unpacked. A carriage return is part of its line, except
    /// with `text`, which also strips a byte order mark.
    #[pyo3(signature = (path, *, text = false))]
    fn update_lines(&self, py: Python<'_>, path: PathBuf, text: bool) -> PyResult<u64> {
        let mut adds = self.adds();
        lines::visit(py, &path, text, &mut adds)?;
        Ok(adds.new)
    }

    /// Whether the item is (probably) in the filter.
    fn __contains__(&self, py: Python<'_>, item: Bound<'_, PyAny>) -> PyResult<bool> {
        let item = Item::of(item)?;
        self.read(py, |filter| filter.contains(item.as_ref()))
    }

    /// Looks many items up; returns for each whether it is (probably) in the filter.
    ///
    /// The result is an array for an array of NumPy, and otherwise a list.
    fn contains<'py>(&self, items: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        lookups::contains(self, items)
    }

    /// Looks the lines of a file up, which are those that `update_lines` adds.
    #[pyo3(signature = (path, *, text = false))]
    fn contains_lines<'py>(
        &self,
        py: Python<'py>,
        path: PathBuf,
        text: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        lookups::contains_lines(self, py, &path, text)
    }

    /// The number of items that were new; of copies, in a counting filter.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let items = self.read(py, Filter::items)?;
        usize::try_from(items).map_err(|error| PyOverflowError::new_err(error.to_string()))
    }

    /// The number of items that the filter was made for.
    #[getter]
    fn capacity(&self, py: Python<'_>) -> PyResult<u64> {
        self.read(py, |filter| filter.parameters().capacity)
    }

    /// The requested error rate.
    #[getter]
    fn error_rate(&self, py: Python<'_>) -> PyResult<f64> {
        self.read(py, |filter| filter.parameters().error_rate)
    }

    /// 0 if the filter does not grow. Any other number is only reported.
    #[getter]
    fn expansion(&self, py: Python<'_>) -> PyResult<u32> {
        self.read(py, |filter| filter.parameters().growth.factor())
    }

    /// Decides where bits lie. Whoever knows it can choose items that collide.
    #[getter]
    fn seed(&self, py: Python<'_>) -> PyResult<u64> {
        self.read(py, |filter| filter.parameters().seed.0)
    }

    /// The share of absent items that are reported as present now, as the bits that are set say.
    #[getter]
    fn false_positive_rate(&self, py: Python<'_>) -> PyResult<f64> {
        self.read(py, Filter::false_positive_rate)
    }

    /// Removes all items. The parameters and the seed stay.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        // The old contents are freed without any lock.
        let cleared = self.write(py, Filter::clear)?;
        py.detach(|| cleared.map(drop)).map_err(of_add)
    }

    /// Whether the two are the same filter: parameters, seed, and what was added.
    fn __eq__(&self, other: &Bound<'_, Self>) -> PyResult<bool> {
        let py = other.py();
        if std::ptr::eq(self, other.get()) {
            return Ok(true);
        }
        let (one, other) = (self.snapshot(py)?, other.get().snapshot(py)?);
        py.detach(|| file::are_equal(&one, &other)).map_err(of_add)
    }

    /// Bytes of memory that the filter takes now.
    #[getter]
    fn nbytes(&self, py: Python<'_>) -> PyResult<u64> {
        self.read(py, |filter| {
            let mut bytes = size_of::<Self>() as u64 + filter.bytes_of_pages();
            filter.visit_besides_pages(|layout, number| bytes += layout.size() as u64 * number);
            bytes
        })
    }

    /// Writes a file that the tool `splitbloom` reads. Only its owner can read it.
    ///
    /// The file has its name only when it is whole and on the disk. It takes the place of another
    /// filter, and with `replace` of any regular file.
    #[pyo3(signature = (path, *, replace = false))]
    fn save(&self, py: Python<'_>, path: PathBuf, replace: bool) -> PyResult<()> {
        file::save(py, &self.snapshot(py)?, &path, replace)
    }

    /// Reads a file that `save` or the tool `splitbloom` wrote.
    #[classmethod]
    fn open<'py>(cls: &Bound<'py, PyType>, path: PathBuf) -> PyResult<Bound<'py, PyAny>> {
        of_class(cls, file::open(cls.py(), &path)?)
    }

    /// The bytes of a file.
    fn dumps<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let snapshot = self.snapshot(py)?;
        let len = py.detach(|| snapshot.file_bytes());
        PyBytes::new_with(py, len, |bytes| {
            let written = py.detach(|| snapshot.write_to(bytes));
            written.map(drop).map_err(|error| PyMemoryError::new_err(error.to_string()))
        })
    }

    /// The filter of the bytes of a file.
    #[classmethod]
    fn loads<'py>(cls: &Bound<'py, PyType>, data: &[u8]) -> PyResult<Bound<'py, PyAny>> {
        of_class(cls, file::of_bytes(cls.py(), data)?)
    }

    /// Loads the filter into a server, in chunks of at most 1 MiB.
    ///
    /// `connection` is a client of redis-py or valkey-py. The key appears when the whole filter is
    /// there. It must not exist, unless `replace` takes its place.
    #[pyo3(signature = (connection, key, *, replace = false))]
    fn push<'py>(
        &self,
        connection: Bound<'py, PyAny>,
        key: Bound<'py, PyAny>,
        replace: bool,
    ) -> PyResult<()> {
        let py = connection.py();
        let snapshot = of_kind(py, self.snapshot(py)?)?;
        let transfer = py.import("splitbloom._transfer")?;
        transfer.call_method1("push", (snapshot, connection, key, replace)).map(drop)
    }

    /// Reads a filter from a server, in chunks of at most 1 MiB.
    #[classmethod]
    fn pull<'py>(
        cls: &Bound<'py, PyType>,
        connection: Bound<'py, PyAny>,
        key: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let transfer = cls.py().import("splitbloom._transfer")?;
        let command = match is_counting(cls) {
            true => "CF.SCANDUMP",
            false => "BF.SCANDUMP",
        };
        let mut arriving = Arriving::default();
        for chunk in transfer.call_method1("chunks", (command, connection, key))?.try_iter()? {
            arriving.take(cls.py(), chunk?.cast::<PyBytes>()?.as_bytes())?;
        }
        of_class(cls, arriving.finish()?)
    }

    /// The chunk at `iterator`, and the iterator after it; None after the last.
    fn _chunk<'py>(
        &self,
        py: Python<'py>,
        iterator: u64,
    ) -> PyResult<Option<(u64, Bound<'py, PyBytes>)>> {
        let chunk = self.read_detached(py, |filter| encode_chunk(filter, iterator))?;
        let chunk = chunk.map_err(of_add)?;
        Ok(chunk.map(|chunk| (chunk.next, PyBytes::new(py, &chunk.bytes))))
    }

    /// A copy, which shares memory until one of the two changes.
    fn __copy__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        of_kind(py, self.snapshot(py)?)
    }

    fn __deepcopy__<'py>(
        &self,
        py: Python<'py>,
        _memo: Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.__copy__(py)
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let loads = slf.get_type().getattr("loads")?;
        Ok((loads, (slf.get().dumps(slf.py())?,)))
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let name = slf.get_type().name()?;
        let (parameters, items) =
            slf.get().read(slf.py(), |filter| (filter.parameters(), filter.items()))?;
        let (capacity, rate) = (parameters.capacity, parameters.error_rate);
        // Without the seed, which is a secret.
        Ok(format!("<{name} of {items} items, capacity {capacity}, error rate {rate}>"))
    }
}

/// Whether the class is that of counting filters.
fn is_counting(class: &Bound<'_, PyType>) -> bool {
    class.is(class.py().get_type::<CountingFilter>())
}

/// The filter as an object of the class of its kind.
pub fn of_kind(py: Python<'_>, filter: Filter) -> PyResult<Bound<'_, PyAny>> {
    if filter.loading().is_some() {
        return Err(FormatError::new_err("it is a filter whose load has not ended"));
    }
    match filter.kind() {
        Kind::Bloom => Bound::new(py, (BloomFilter, Base::new(filter)?)).map(Bound::into_any),
        Kind::Counting => Bound::new(py, (CountingFilter, Base::new(filter)?)).map(Bound::into_any),
        Kind::Windowed => {
            Err(FormatError::new_err("it is a filter that forgets, which lives on a server only"))
        }
    }
}

/// The filter as an object of this class.
fn of_class<'py>(class: &Bound<'py, PyType>, filter: Filter) -> PyResult<Bound<'py, PyAny>> {
    match (filter.kind(), is_counting(class)) {
        (Kind::Counting, false) => {
            Err(FormatError::new_err("it is a counting filter: take CountingFilter"))
        }
        (Kind::Bloom, true) => Err(FormatError::new_err("it is no counting filter: take Filter")),
        _ => of_kind(class.py(), filter),
    }
}

/// A whole number within a range.
///
/// # Errors
/// `TypeError`, `ValueError`.
pub fn within(number: &Bound<'_, PyAny>, name: &str, range: RangeInclusive<u64>) -> PyResult<u64> {
    let refused = |not: &str| {
        let (least, most) = (range.start(), range.end());
        PyValueError::new_err(format!("{name} must be from {least} to {most}{not}"))
    };
    match number.extract::<u64>() {
        Ok(value) if range.contains(&value) => Ok(value),
        Ok(value) => Err(refused(&format!(", not {value}"))),
        // Python may refuse to print so large a number.
        Err(error) if error.is_instance_of::<PyOverflowError>(number.py()) => Err(refused("")),
        Err(error) if error.is_instance_of::<PyTypeError>(number.py()) => {
            let kind = number.get_type().name()?;
            Err(PyTypeError::new_err(format!("{name} must be an int, not {kind}")))
        }
        Err(error) => Err(error),
    }
}

/// A capacity, in items.
pub fn capacity(number: &Bound<'_, PyAny>) -> PyResult<u64> {
    within(number, "capacity", MIN_CAPACITY..=MAX_CAPACITY)
}

/// An error rate, above 0 and below 1.
pub fn error_rate(rate: f64) -> PyResult<f64> {
    match rate > 0.0 && rate < 1.0 {
        true => Ok(rate),
        false => Err(PyValueError::new_err(format!(
            "error_rate must be above 0 and below 1, not {rate}"
        ))),
    }
}

/// The seed given, or one that is hard to guess: from the randomness that the standard library gets
/// from the system.
pub fn seed(number: Option<&Bound<'_, PyAny>>) -> PyResult<Seed> {
    match number {
        Some(number) => within(number, "seed", 0..=u64::MAX).map(Seed),
        None => Ok(Seed(RandomState::new().hash_one(std::process::id()))),
    }
}

/// The exception for a new filter that was refused.
pub fn of_new(error: AddError) -> PyErr {
    match error {
        AddError::OverLimit => PyValueError::new_err("too large: a smaller capacity is needed"),
        error => of_add(error),
    }
}
