//! Columns of items in memory that other libraries own, read where they are. All unsafe code of the
//! package is here.
//!
//! ```text
//!   NumPy    a one-dimensional array of type S: items of one width, one after another, whose NULs
//!            at the end are not part of them; or of integers, whose decimal digits are the items
//!   Arrow    offsets   0  3  3  8     little integers of 4 or 8 bytes, one more than items
//!            data      oneseven       item i is data[offset i .. offset i + 1]
//!            or integers
//!   Stream   Arrow arrays of one type, one after another
//! ```
//!
//! The memory stays while it is in use: NumPy's buffer is held, and the struct of an Arrow array is
//! moved out of its capsule (Arrow C data interface). The capsule keeps a struct that shares the
//! array, so another consumer of the capsule frees nothing that is read here. Everything in an
//! Arrow array that can be checked is checked. The size of its buffers cannot: the interface does
//! not tell it, so length and last offset are trusted.
//!
//! If another thread writes to a NumPy array meanwhile, results may be for bytes that the array
//! never had, as with every function that releases the interpreter's lock on a buffer.

use crate::batch::{Failure, Visit};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyImportError, PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyType};
use std::ffi::{c_char, c_int, c_void, CStr};
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

/// The bytes of `len` bytes at `start`.
///
/// # Safety
/// They are allocated for `'a`, and do not change meanwhile.
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

/// A type of integers.
#[derive(Clone, Copy)]
enum Integer {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
}

/// Integers whose digits are made at a time: on the stack, they take 10 KiB.
const DIGITS: usize = 256;

impl Integer {
    fn of(is_signed: bool, width: usize) -> Option<Self> {
        match (is_signed, width) {
            (true, 1) => Some(Self::I8),
            (true, 2) => Some(Self::I16),
            (true, 4) => Some(Self::I32),
            (true, 8) => Some(Self::I64),
            (false, 1) => Some(Self::U8),
            (false, 2) => Some(Self::U16),
            (false, 4) => Some(Self::U32),
            (false, 8) => Some(Self::U64),
            _ => None,
        }
    }

    fn width(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 => 4,
            Self::I64 | Self::U64 => 8,
        }
    }

    /// The decimal digits of the integer of this row.
    fn digits<'a>(self, bytes: &[u8], row: usize, to: &'a mut itoa::Buffer) -> &'a [u8] {
        /// `bytes` has all rows.
        fn cell<const N: usize>(bytes: &[u8], row: usize) -> [u8; N] {
            bytes.as_chunks().0.get(row).copied().unwrap_or([0; N])
        }
        let digits = match self {
            Self::I8 => to.format(i8::from_ne_bytes(cell(bytes, row))),
            Self::I16 => to.format(i16::from_ne_bytes(cell(bytes, row))),
            Self::I32 => to.format(i32::from_ne_bytes(cell(bytes, row))),
            Self::I64 => to.format(i64::from_ne_bytes(cell(bytes, row))),
            Self::U8 => to.format(u8::from_ne_bytes(cell(bytes, row))),
            Self::U16 => to.format(u16::from_ne_bytes(cell(bytes, row))),
            Self::U32 => to.format(u32::from_ne_bytes(cell(bytes, row))),
            Self::U64 => to.format(u64::from_ne_bytes(cell(bytes, row))),
        };
        digits.as_bytes()
    }

    /// Visits the digits of some rows.
    fn visit(
        self,
        bytes: &[u8],
        rows: Range<usize>,
        visitor: &mut impl Visit,
    ) -> Result<(), Failure> {
        let mut buffers = [itoa::Buffer::new(); DIGITS];
        for start in rows.clone().step_by(DIGITS) {
            let some = start..rows.end.min(start + DIGITS);
            let number = some.len();
            let items = some.zip(&mut buffers).map(|(row, to)| self.digits(bytes, row, to));
            visitor.visit(items, number)?;
        }
        Ok(())
    }
}

/// An array of NumPy, of byte strings or integers.
pub struct NumPy {
    buffer: PyUntypedBuffer,
    width: usize,
    len: usize,
    integer: Option<Integer>,
}

impl NumPy {
    /// The column, if the object is one. One that is not contiguous, or whose integers have another
    /// byte order, is copied.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let Some(numpy) = numpy(object.py())? else {
            return Ok(None);
        };
        // Another class may mean something else: a masked array has elements that do not count.
        let is_class = |name| {
            let class = numpy.getattr(name)?.cast_into::<PyType>()?;
            PyResult::Ok(object.get_type().is(&class))
        };
        if !is_class("ndarray")? && !is_class("memmap")? {
            return Ok(None);
        }
        let kind: String = object.getattr("dtype")?.getattr("kind")?.extract()?;
        let dimensions: usize = object.getattr("ndim")?.extract()?;
        if !matches!(kind.as_str(), "S" | "i" | "u") || dimensions != 1 {
            return Ok(None);
        }
        let native = object.getattr("dtype")?.call_method1("newbyteorder", ("=",))?;
        let array = numpy.call_method1("ascontiguousarray", (object, native))?;
        let buffer = PyUntypedBuffer::get(&array)?;
        // Not the buffer's number of items, which divides by their width.
        let (width, len) = (buffer.item_size(), array.len()?);
        if !buffer.is_c_contiguous() || width.checked_mul(len) != Some(buffer.len_bytes()) {
            return Err(PyValueError::new_err("NumPy describes the array in an unknown way"));
        }
        let integer = Integer::of(kind == "i", width);
        match kind.as_str() {
            "S" => Ok(Some(Self { buffer, width, len, integer: None })),
            _ => Ok(integer.map(|_| Self { buffer, width, len, integer })),
        }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// Visits the items of some rows.
    ///
    /// # Errors
    /// Those of the visit.
    pub fn visit(&self, rows: Range<usize>, visitor: &mut impl Visit) -> Result<(), Failure> {
        let (start, len) = (self.buffer.buf_ptr().cast::<u8>(), self.buffer.len_bytes());
        // SAFETY: the buffer is contiguous, has `len` bytes, and is held as long as `self`.
        let bytes = unsafe { bytes_at(start, len) };
        if let Some(integer) = self.integer {
            return integer.visit(bytes, rows, visitor);
        }
        let number = rows.len();
        let items = rows.map(|row| {
            let item = bytes.get(row * self.width..(row + 1) * self.width).unwrap_or_default();
            let end = item.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            &item[..end]
        });
        visitor.visit(items, number)
    }
}

/// `struct ArrowSchema`
#[repr(C)]
struct Schema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *const c_void,
    dictionary: *const c_void,
    release: Option<unsafe extern "C" fn(*mut Self)>,
    private_data: *mut c_void,
}

/// `struct ArrowArray`
#[repr(C)]
struct Array {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *const *const c_void,
    children: *const c_void,
    dictionary: *const c_void,
    release: Option<unsafe extern "C" fn(*mut Self)>,
    private_data: *mut c_void,
}

/// `struct ArrowArrayStream`
#[repr(C)]
struct ArrayStream {
    get_schema: Option<unsafe extern "C" fn(*mut Self, *mut Schema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut Self, *mut Array) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut Self) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut Self)>,
    private_data: *mut c_void,
}

/// A struct of the interface: whoever has it calls its `release` once, unless it is null.
///
/// # Safety
/// It is the C struct, and valid with all bits 0.
unsafe trait Released: Sized {
    fn release(&mut self) -> &mut Option<unsafe extern "C" fn(*mut Self)>;
}

// SAFETY: the struct of the interface.
unsafe impl Released for Schema {
    fn release(&mut self) -> &mut Option<unsafe extern "C" fn(*mut Self)> {
        &mut self.release
    }
}

// SAFETY: the struct of the interface.
unsafe impl Released for Array {
    fn release(&mut self) -> &mut Option<unsafe extern "C" fn(*mut Self)> {
        &mut self.release
    }
}

// SAFETY: the struct of the interface.
unsafe impl Released for ArrayStream {
    fn release(&mut self) -> &mut Option<unsafe extern "C" fn(*mut Self)> {
        &mut self.release
    }
}

/// Such a struct, owned by this package and released when dropped.
struct Owned<T: Released>(T);

// SAFETY: the interface lets a struct be used and released on any thread, one at a time; what its
// pointers lead to is only read.
unsafe impl<T: Released> Send for Owned<T> {}
// SAFETY: the same; whatever changes it needs `&mut`.
unsafe impl<T: Released> Sync for Owned<T> {}

impl<T: Released> Owned<T> {
    /// An empty struct for a producer to fill.
    fn empty() -> Self {
        // SAFETY: `Released` promises that it is valid with all bits 0.
        Self(unsafe { std::mem::zeroed() })
    }

    /// Moves the struct out of a capsule of this name, so that no other owner uses or releases it.
    fn take(capsule: &Bound<'_, PyAny>, name: &CStr) -> PyResult<Self> {
        let mut pointer = pointer_in::<T>(capsule, name)?;
        // SAFETY: a capsule of this name has the address of such a struct, and is alive. Whoever
        // moves it holds the interpreter's lock.
        let mut owned = Self(unsafe { pointer.read() });
        // SAFETY: the same.
        *unsafe { pointer.as_mut() }.release() = None;
        match owned.is_released() {
            true => Err(released()),
            false => Ok(owned),
        }
    }

    fn is_released(&mut self) -> bool {
        self.0.release().is_none()
    }
}

impl<T: Released> Drop for Owned<T> {
    fn drop(&mut self) {
        if let Some(release) = *self.0.release() {
            // SAFETY: the producer's function for this struct, of which this is the only owner.
            unsafe { release(&raw mut self.0) };
        }
    }
}

/// The address of the struct in a capsule of this name.
fn pointer_in<T>(capsule: &Bound<'_, PyAny>, name: &CStr) -> PyResult<NonNull<T>> {
    let pointer: NonNull<T> = capsule.cast::<PyCapsule>()?.pointer_checked(Some(name))?.cast();
    match pointer.is_aligned() {
        true => Ok(pointer),
        false => Err(broken("its address")),
    }
}

/// An array, released with its last owner.
type Shared = Arc<Owned<Array>>;

/// Moves the array out of its capsule, and leaves one there that shares it.
fn share(capsule: &Bound<'_, PyAny>) -> PyResult<Shared> {
    let mut pointer = pointer_in::<Array>(capsule, c"arrow_array")?;
    // SAFETY: a capsule of this name has the address of such a struct, and is alive. Whoever moves
    // it holds the interpreter's lock.
    let left = unsafe { pointer.as_mut() };
    if left.release.is_none() {
        return Err(released());
    }
    let array = Arc::new(Owned(Array { ..*left }));
    left.private_data = Arc::into_raw(array.clone()).cast_mut().cast();
    left.release = Some(release_share);
    Ok(array)
}

/// Releases the share that [`share`] has left in the capsule.
///
/// # Safety
/// The caller calls it once, as the interface requires.
unsafe extern "C" fn release_share(left: *mut Array) {
    // SAFETY: whoever releases a struct has sole access to it.
    let left = unsafe { &mut *left };
    left.release = None;
    // SAFETY: `share` has made the pointer from such an `Arc`.
    drop(unsafe { Shared::from_raw(left.private_data.cast()) });
}

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

/// The type of a column, which says what its buffers are after the bitmap of nulls.
#[derive(Clone, Copy)]
enum Layout {
    /// Offsets, and data: strings or byte strings.
    Variable(Offsets),
    /// Data.
    Integers(Integer),
}

impl Layout {
    fn num_buffers(self) -> usize {
        match self {
            Self::Variable(_) => 3,
            Self::Integers(_) => 2,
        }
    }
}

/// What a schema says.
enum Format {
    Column(Layout),
    /// Columns of their own.
    Table,
    Other(String),
}

impl Format {
    fn of(schema: &Schema) -> PyResult<Self> {
        if schema.release.is_none() || schema.format.is_null() {
            return Err(broken("its schema has been released"));
        }
        // SAFETY: the format is a string that ends with a NUL.
        let format = unsafe { CStr::from_ptr(schema.format) };
        let other = || Self::Other(format.to_string_lossy().into_owned());
        if !schema.dictionary.is_null() {
            return Ok(other());
        }
        let integer = |is_signed, width| Integer::of(is_signed, width).map(Layout::Integers);
        let layout = match format.to_bytes() {
            b"u" | b"z" => Some(Layout::Variable(Offsets::Small)),
            b"U" | b"Z" => Some(Layout::Variable(Offsets::Large)),
            b"c" => integer(true, 1),
            b"s" => integer(true, 2),
            b"i" => integer(true, 4),
            b"l" => integer(true, 8),
            b"C" => integer(false, 1),
            b"S" => integer(false, 2),
            b"I" => integer(false, 4),
            b"L" => integer(false, 8),
            b"+s" => return Ok(Self::Table),
            _ => None,
        };
        Ok(layout.map_or_else(other, Self::Column))
    }
}

/// The error for an Arrow array that is not a column of items.
fn no_column(format: &str) -> PyErr {
    PyTypeError::new_err(format!(
        "an Arrow array of string, large_string, binary, large_binary or integers is expected, not \
         one of the format {format}: cast it"
    ))
}

/// The error for an object with several columns, or without a dimension.
pub fn no_table(object: &Bound<'_, PyAny>) -> PyErr {
    let name = object.get_type().name().map(|name| name.to_string()).unwrap_or_default();
    PyTypeError::new_err(format!(
        "a column of items is expected, not a {name} of another dimension"
    ))
}

fn broken(what: &str) -> PyErr {
    PyValueError::new_err(format!("not a sound Arrow array: {what}"))
}

fn released() -> PyErr {
    broken("it has been released")
}

/// A number of items or bytes.
fn size(number: i64, what: &str) -> PyResult<usize> {
    usize::try_from(number).map_err(|_| broken(&format!("{what} is {number}")))
}

/// An array of strings, byte strings or integers of Arrow.
pub struct Arrow {
    array: Shared,
    layout: Layout,
    len: usize,
    data_bytes: usize,
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
        let (schema, array): (Bound<'_, PyAny>, Bound<'_, PyAny>) = export.call0()?.extract()?;
        let schema = pointer_in::<Schema>(&schema, c"arrow_schema")?;
        // SAFETY: a capsule of this name has the address of such a struct, and is alive, and the
        // interpreter's lock keeps others from moving it.
        match Format::of(unsafe { schema.as_ref() })? {
            Format::Column(layout) => Self::checked(layout, share(&array)?, 0).map(Some),
            Format::Table => Err(no_table(object)),
            Format::Other(format) => Err(no_column(&format)),
        }
    }

    /// The column, once it is checked; `before` is the number of items in arrays before it.
    fn checked(layout: Layout, array: Shared, before: usize) -> PyResult<Self> {
        let fields = &array.0;
        let (len, offset) =
            (size(fields.length, "its length")?, size(fields.offset, "its offset")?);
        // Also keeps what is computed from their sum in range.
        let end = offset.checked_add(len).filter(|end| *end < isize::MAX as usize / 16);
        end.ok_or_else(|| broken("its length"))?;
        let num_buffers = layout.num_buffers() as i64;
        if fields.n_buffers != num_buffers || fields.n_children != 0 || fields.buffers.is_null() {
            return Err(broken("the number of its buffers"));
        }
        if !fields.buffers.is_aligned() {
            return Err(broken("the address of its buffers"));
        }
        let mut column = Self { array, layout, len, data_bytes: 0 };
        if len == 0 {
            return Ok(column); // its buffers may be null
        }
        column.check_validity(before)?;
        column.data_bytes = match layout {
            Layout::Variable(offsets) => column.check_offsets(offsets)?,
            Layout::Integers(integer) => len * integer.width(),
        };
        if column.data_bytes > 0 && column.buffer(layout.num_buffers() - 1).is_null() {
            return Err(broken("it has no data"));
        }
        Ok(column)
    }

    /// Refuses nulls.
    fn check_validity(&self, before: usize) -> PyResult<()> {
        let (bitmap, null_count) = (self.buffer(0), self.array.0.null_count);
        if bitmap.is_null() || null_count == 0 {
            return match null_count {
                0 | -1 => Ok(()), // -1: not counted
                _ => Err(broken("it has nulls, and does not say where")),
            };
        }
        let offset = self.offset();
        // SAFETY: the bitmap has a bit for each item up to the last one.
        let bits = unsafe { bytes_at(bitmap, (offset + self.len).div_ceil(8)) };
        let is_null = |row: &usize| bits[(offset + row) / 8] >> ((offset + row) % 8) & 1 == 0;
        match (0..self.len).find(is_null) {
            Some(row) => {
                let row = before + row;
                Err(PyValueError::new_err(format!(
                    "item {row} of the Arrow array is null: leave nulls out, as drop_null() does"
                )))
            }
            None => Ok(()),
        }
    }

    /// Checks that offsets are in order; returns the last one.
    fn check_offsets(&self, offsets: Offsets) -> PyResult<usize> {
        if self.buffer(1).is_null() {
            return Err(broken("it has no offsets"));
        }
        let bytes = self.offset_bytes(offsets);
        let mut before = 0;
        for row in 0..=self.len {
            let offset = offsets.get(bytes, row).filter(|offset| *offset >= before);
            before = offset.ok_or_else(|| broken(&format!("offset {row} is out of order")))?;
        }
        match before <= isize::MAX as usize {
            true => Ok(before),
            false => Err(broken("its last offset")),
        }
    }

    /// The number of rows before its first one. It has been checked.
    fn offset(&self) -> usize {
        self.array.0.offset as usize
    }

    /// The offsets of the items, and one more.
    fn offset_bytes(&self, offsets: Offsets) -> &[u8] {
        let width = offsets as usize;
        let first = self.buffer(1).wrapping_add(self.offset() * width);
        // SAFETY: it has an offset for each item up to the last one, and one more.
        unsafe { bytes_at(first, (self.len + 1) * width) }
    }

    /// The address of one of its buffers.
    fn buffer(&self, number: usize) -> *const u8 {
        let address = self.array.0.buffers.wrapping_add(number.min(self.layout.num_buffers() - 1));
        // SAFETY: the array has that many, at an address that is neither null nor odd.
        unsafe { address.read() }.cast()
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// Visits the items of some rows.
    ///
    /// # Errors
    /// Those of the visit.
    pub fn visit(&self, rows: Range<usize>, visitor: &mut impl Visit) -> Result<(), Failure> {
        if self.len == 0 {
            return Ok(()); // its buffers may be null
        }
        let offsets = match self.layout {
            Layout::Variable(offsets) => offsets,
            Layout::Integers(integer) => {
                let start = self.buffer(1).wrapping_add(self.offset() * integer.width());
                // SAFETY: its data reach to the last item.
                let bytes = unsafe { bytes_at(start, self.data_bytes) };
                return integer.visit(bytes, rows, visitor);
            }
        };
        let bytes = self.offset_bytes(offsets);
        // SAFETY: its data reach to the last offset.
        let data = unsafe { bytes_at(self.buffer(2), self.data_bytes) };
        let number = rows.len();
        let items = rows.map(|row| {
            let end = |row| offsets.get(bytes, row);
            let range = end(row).zip(end(row + 1));
            range.and_then(|(start, end)| data.get(start..end)).unwrap_or_default()
        });
        visitor.visit(items, number)
    }
}

/// Arrays of one type, one after another: a chunked array of Arrow, or a Series of pandas.
pub struct Stream {
    stream: Owned<ArrayStream>,
    layout: Layout,
    /// Items of the arrays so far.
    before: usize,
}

impl Stream {
    /// The stream, if the object has `__arrow_c_stream__` and its arrays are columns of items.
    /// Others are iterated: the items of a Series can be of any type.
    ///
    /// # Errors
    /// `TypeError` for a table; `ValueError` for one that is not sound; those of the producer.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let Some(export) = object.getattr_opt("__arrow_c_stream__")? else {
            return Ok(None);
        };
        if has_objects(object)? {
            return Ok(None);
        }
        let capsule = match export.call0() {
            // pandas has the method, and needs pyarrow for it.
            Err(error) if error.is_instance_of::<PyImportError>(object.py()) => return Ok(None),
            capsule => capsule?,
        };
        let mut stream = Owned::<ArrayStream>::take(&capsule, c"arrow_array_stream")?;
        let mut schema = Owned::<Schema>::empty();
        let get_schema = stream.0.get_schema.ok_or_else(|| broken("its stream has no schema"))?;
        // SAFETY: the function of this stream, which fills an empty struct.
        let code = unsafe { get_schema(&raw mut stream.0, &raw mut schema.0) };
        if code != 0 {
            return Err(last_error(&mut stream, code));
        }
        match Format::of(&schema.0)? {
            Format::Column(layout) => Ok(Some(Self { stream, layout, before: 0 })),
            Format::Table => Err(no_table(object)),
            Format::Other(_) => Ok(None),
        }
    }

    /// The next array, if there is one.
    ///
    /// # Errors
    /// As [`Arrow::of`]; `OSError` of the producer.
    pub fn next(&mut self, py: Python<'_>) -> PyResult<Option<Arrow>> {
        let mut array = Owned::<Array>::empty();
        let get_next = self.stream.0.get_next.ok_or_else(|| broken("its stream has no arrays"))?;
        let (stream, to) = (&mut self.stream, &mut array);
        // The producer may need the interpreter's lock, or wait for a thread that has it.
        let code = py.detach(move || {
            let (stream, to) = (&raw mut stream.0, &raw mut to.0);
            // SAFETY: the function of this stream, which fills an empty struct.
            unsafe { get_next(stream, to) }
        });
        if code != 0 {
            return Err(last_error(&mut self.stream, code));
        }
        if array.is_released() {
            return Ok(None);
        }
        let array = Arrow::checked(self.layout, Arc::new(array), self.before)?;
        self.before = self.before.saturating_add(array.len());
        Ok(Some(array))
    }
}

/// Whether its items are Python objects, which an export as Arrow would copy, or refuse.
fn has_objects(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let (Some(numpy), Some(dtype)) = (numpy(object.py())?, object.getattr_opt("dtype")?) else {
        return Ok(false);
    };
    Ok(dtype.is_instance(&numpy.getattr("dtype")?)? && dtype.getattr("hasobject")?.is_truthy()?)
}

/// What the producer says of its error.
fn last_error(stream: &mut Owned<ArrayStream>, code: c_int) -> PyErr {
    let Some(get_last_error) = stream.0.get_last_error else {
        return PyOSError::new_err((code, "an Arrow stream failed"));
    };
    // SAFETY: the function of this stream, after an error.
    let text = unsafe { get_last_error(&raw mut stream.0) };
    if text.is_null() {
        return PyOSError::new_err((code, "an Arrow stream failed"));
    }
    // SAFETY: a string that ends with a NUL, valid until the next call.
    let text = unsafe { CStr::from_ptr(text) };
    PyOSError::new_err((code, text.to_string_lossy().into_owned()))
}
