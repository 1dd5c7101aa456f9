//! Columns of items in memory that other libraries own, read where they are. All unsafe code of the
//! package is here.
//!
//! ```text
//!   FixedWidth   a one-dimensional NumPy array of type S: items of `width` bytes, one after
//!                another, whose NULs at the end are not part of them
//!   Arrow        offsets   0  3  3  8     little integers of 4 or 8 bytes, one more than items
//!                data      oneseven       item i is data[offset i .. offset i + 1]
//! ```
//!
//! The memory stays while it is in use: NumPy's buffer is held, and so are the two capsules of an
//! Arrow array, whose producer promises not to change it (Arrow C data interface). Nothing else of
//! an Arrow array is believed that can be checked. How much memory its data have cannot be: the
//! interface does not say it, so the last offset counts.
//!
//! Somebody who writes to a NumPy array meanwhile, on another thread, gets results for bytes that
//! the array never had, as with every function that releases the interpreter's lock on a buffer.

use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi::c_str;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyType};
use std::ffi::{c_char, c_void, CStr};
use std::ops::Range;
use std::ptr::NonNull;

/// The bytes of `len` bytes at `start`.
///
/// # Safety
/// They are allocated for `'a`, and nobody changes them meanwhile.
unsafe fn bytes_at<'a>(start: *const u8, len: usize) -> &'a [u8] {
    if len == 0 {
        return &[]; // the address may be any
    }
    // SAFETY: as the caller promises.
    unsafe { std::slice::from_raw_parts(start, len) }
}

/// The classes of NumPy, if the program uses it.
pub fn numpy(py: Python<'_>) -> PyResult<Option<Bound<'_, PyAny>>> {
    let modules = py.import("sys")?.getattr("modules")?;
    modules.call_method1("get", ("numpy",)).map(|numpy| Some(numpy).filter(|it| !it.is_none()))
}

/// Whether the object is an array of NumPy.
pub fn is_numpy(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    match numpy(object.py())? {
        Some(numpy) => object.is_instance(&numpy.getattr("ndarray")?),
        None => Ok(false),
    }
}

/// An array of NumPy's type `S`.
pub struct FixedWidth {
    buffer: PyUntypedBuffer,
    width: usize,
    len: usize,
}

impl FixedWidth {
    /// The column, if the object is one. One that is not contiguous is copied.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let Some(numpy) = numpy(object.py())? else {
            return Ok(None);
        };
        // Another class may mean something else: a masked array has items that are none.
        let is_class = |name| {
            let class = numpy.getattr(name)?.cast_into::<PyType>()?;
            PyResult::Ok(object.get_type().is(&class))
        };
        if !is_class("ndarray")? && !is_class("memmap")? {
            return Ok(None);
        }
        let kind: String = object.getattr("dtype")?.getattr("kind")?.extract()?;
        let dimensions: usize = object.getattr("ndim")?.extract()?;
        if kind != "S" || dimensions != 1 {
            return Ok(None);
        }
        let array = numpy.call_method1("ascontiguousarray", (object,))?;
        let buffer = PyUntypedBuffer::get(&array)?;
        let (width, len) = (buffer.item_size(), buffer.item_count());
        if !buffer.is_c_contiguous() || width.checked_mul(len) != Some(buffer.len_bytes()) {
            return Err(PyValueError::new_err("NumPy describes the array in an unknown way"));
        }
        Ok(Some(Self { buffer, width, len }))
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// The items of some rows.
    pub fn rows(&self, rows: Range<usize>) -> impl Iterator<Item = &[u8]> {
        let (start, len) = (self.buffer.buf_ptr().cast::<u8>(), self.buffer.len_bytes());
        // SAFETY: the buffer is contiguous, has `len` bytes, and is held as long as `self`.
        let bytes = unsafe { bytes_at(start, len) };
        rows.map(move |row| {
            let item = bytes.get(row * self.width..(row + 1) * self.width).unwrap_or_default();
            let end = item.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            &item[..end]
        })
    }
}

/// `struct ArrowSchema`, up to what is read.
#[repr(C)]
struct Schema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *const c_void,
    dictionary: *const c_void,
    release: *const c_void,
}

/// `struct ArrowArray`, up to what is read.
#[repr(C)]
#[derive(Clone, Copy)]
struct Array {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *const *const c_void,
    children: *const c_void,
    dictionary: *const c_void,
    release: *const c_void,
}

/// The buffers of a column of variable width: which items are none, offsets, data.
const BUFFERS: usize = 3;

/// Bytes of an offset.
#[derive(Clone, Copy)]
enum Offsets {
    Small = 4,
    Large = 8,
}

impl Offsets {
    /// The offset of this number.
    fn get(self, bytes: &[u8], number: usize) -> Option<usize> {
        let width = self as usize;
        let bytes = bytes.get(number.checked_mul(width)?..)?;
        let offset = match self {
            Self::Small => i32::from_ne_bytes(*bytes.first_chunk()?).into(),
            Self::Large => i64::from_ne_bytes(*bytes.first_chunk()?),
        };
        usize::try_from(offset).ok()
    }
}

/// An array of strings or byte strings of Arrow.
pub struct Arrow {
    /// They own the memory.
    _capsules: [Py<PyCapsule>; 2],
    offsets: Offsets,
    array: Array,
    len: usize,
    data_bytes: usize,
}

// SAFETY: the memory behind its pointers is only read, and the capsules keep it.
unsafe impl Send for Arrow {}
// SAFETY: the same.
unsafe impl Sync for Arrow {}

fn broken(what: &str) -> PyErr {
    PyValueError::new_err(format!("not a sound Arrow array: {what}"))
}

/// A number of items or bytes.
fn size(number: i64, what: &str) -> PyResult<usize> {
    usize::try_from(number).map_err(|_| broken(&format!("{what} is {number}")))
}

impl Arrow {
    /// The column, if the object is an Arrow array: if it has `__arrow_c_array__`.
    ///
    /// # Errors
    /// `TypeError` for arrays of other types, `ValueError` for one with nulls, or that is not
    /// sound.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let Some(export) = object.getattr_opt("__arrow_c_array__")? else {
            return Ok(None);
        };
        let capsules = export.call0()?;
        let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) = capsules.extract()?;
        let offsets = offsets_of(schema.pointer_checked(Some(c_str!("arrow_schema")))?.cast())?;
        let pointer: NonNull<Array> = array.pointer_checked(Some(c_str!("arrow_array")))?.cast();
        if !pointer.is_aligned() {
            return Err(broken("its address"));
        }
        // SAFETY: a capsule of this name has the address of such a struct, and is alive.
        let array_struct = unsafe { pointer.read() };
        let capsules = [schema.unbind(), array.unbind()];
        Self::checked(capsules, offsets, array_struct).map(Some)
    }

    fn checked(capsules: [Py<PyCapsule>; 2], offsets: Offsets, array: Array) -> PyResult<Self> {
        if array.release.is_null() {
            return Err(broken("it has been released"));
        }
        let (len, offset) = (size(array.length, "its length")?, size(array.offset, "its offset")?);
        // Also keeps what is computed from their sum in range.
        let end = offset.checked_add(len).filter(|end| *end < isize::MAX as usize / 16);
        end.ok_or_else(|| broken("its length"))?;
        if array.n_buffers != BUFFERS as i64 || array.n_children != 0 || array.buffers.is_null() {
            return Err(broken("the number of its buffers"));
        }
        if !array.buffers.is_aligned() {
            return Err(broken("the address of its buffers"));
        }
        let mut column = Self { _capsules: capsules, offsets, array, len, data_bytes: 0 };
        if len == 0 {
            return Ok(column); // its buffers may be null
        }
        column.check_validity()?;
        column.data_bytes = column.check_offsets()?;
        if column.data_bytes > 0 && column.buffer(2).is_null() {
            return Err(broken("it has no data"));
        }
        Ok(column)
    }

    /// Refuses nulls.
    fn check_validity(&self) -> PyResult<()> {
        let bitmap = self.buffer(0);
        if bitmap.is_null() || self.array.null_count == 0 {
            return match self.array.null_count {
                0 | -1 => Ok(()), // -1: not counted
                _ => Err(broken("it has nulls, and does not say where")),
            };
        }
        let offset = self.array.offset as usize;
        // SAFETY: the bitmap has a bit for each item up to the last one.
        let bits = unsafe { bytes_at(bitmap, (offset + self.len).div_ceil(8)) };
        let is_null = |row: &usize| bits[(offset + row) / 8] >> ((offset + row) % 8) & 1 == 0;
        match (0..self.len).find(is_null) {
            Some(row) => Err(PyValueError::new_err(format!(
                "item {row} of the Arrow array is null: leave nulls out, as drop_null() does"
            ))),
            None => Ok(()),
        }
    }

    /// Checks that offsets are in order; returns the last one.
    fn check_offsets(&self) -> PyResult<usize> {
        if self.buffer(1).is_null() {
            return Err(broken("it has no offsets"));
        }
        let bytes = self.offset_bytes();
        let mut before = 0;
        for row in 0..=self.len {
            let offset = self.offsets.get(bytes, row).filter(|offset| *offset >= before);
            before = offset.ok_or_else(|| broken(&format!("offset {row} is out of order")))?;
        }
        match before <= isize::MAX as usize {
            true => Ok(before),
            false => Err(broken("its last offset")),
        }
    }

    /// The offsets of the items, and one more.
    fn offset_bytes(&self) -> &[u8] {
        let (width, offset) = (self.offsets as usize, self.array.offset as usize);
        let first = self.buffer(1).wrapping_add(offset * width);
        // SAFETY: it has an offset for each item up to the last one, and one more.
        unsafe { bytes_at(first, (self.len + 1) * width) }
    }

    /// The address of one of its buffers.
    fn buffer(&self, number: usize) -> *const u8 {
        let address = self.array.buffers.wrapping_add(number.min(BUFFERS - 1));
        // SAFETY: the array has `BUFFERS` of them, at an address that is neither null nor odd.
        unsafe { address.read() }.cast()
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// The items of some rows.
    pub fn rows(&self, rows: Range<usize>) -> impl Iterator<Item = &[u8]> {
        let (offsets, data) = match self.len {
            0 => (&[][..], &[][..]),
            // SAFETY: its data reach to the last offset.
            _ => (self.offset_bytes(), unsafe { bytes_at(self.buffer(2), self.data_bytes) }),
        };
        rows.map(move |row| {
            let end = |row| self.offsets.get(offsets, row);
            let range = end(row).zip(end(row + 1));
            range.and_then(|(start, end)| data.get(start..end)).unwrap_or_default()
        })
    }
}

/// What the schema of an array says.
fn offsets_of(pointer: NonNull<Schema>) -> PyResult<Offsets> {
    if !pointer.is_aligned() {
        return Err(broken("the address of its schema"));
    }
    // SAFETY: a capsule of the right name has the address of such a struct, and is alive.
    let schema = unsafe { pointer.as_ref() };
    if schema.release.is_null() || schema.format.is_null() {
        return Err(broken("its schema has been released"));
    }
    // SAFETY: the format is a string that ends with a NUL.
    let format = unsafe { CStr::from_ptr(schema.format) };
    match format.to_bytes() {
        b"u" | b"z" if schema.dictionary.is_null() => Ok(Offsets::Small),
        b"U" | b"Z" if schema.dictionary.is_null() => Ok(Offsets::Large),
        _ => Err(PyTypeError::new_err(format!(
            "an Arrow array of string, large_string, binary or large_binary is expected, not one \
             of the format {}: cast it",
            format.to_string_lossy()
        ))),
    }
}
