//! The arguments of a running command.

use super::allocator::try_vec;
use super::call::call;
use redis_module::raw;
use std::marker::PhantomData;
use std::ops::Range;
use std::ptr::{null, null_mut, NonNull};

/// The arguments of a command; number 0 is its name. They belong to the server and live as long as
/// the command runs.
///
/// A pointer, not a slice: in Valkey 8.1 and later `Context::redact` replaces an argument in this
/// very array.
#[derive(Clone, Copy)]
pub struct Arguments<'a> {
    pub(crate) argv: *const *mut raw::RedisModuleString,
    len: usize,
    _strings: PhantomData<&'a raw::RedisModuleString>,
}

/// One argument of a command, as the server holds it.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Argument<'a> {
    pub(crate) raw: *mut raw::RedisModuleString,
    _strings: PhantomData<&'a raw::RedisModuleString>,
}

impl<'a> Arguments<'a> {
    /// No arguments.
    pub const NONE: Self = Self { argv: null(), len: 0, _strings: PhantomData };

    /// The arguments in `these`.
    pub fn of(these: &'a [Argument<'_>]) -> Self {
        // An argument is its pointer.
        Self { argv: these.as_ptr().cast(), len: these.len(), _strings: PhantomData }
    }

    /// # Safety
    /// `argv` points to `argc` strings of the server. For `'a` the array lives, and so does each
    /// string that is ever in it; only [`Context::redact`](super::context::Context::redact) changes
    /// which these are.
    pub(crate) unsafe fn new(argv: *mut *mut raw::RedisModuleString, argc: i32) -> Self {
        let len = usize::try_from(argc).unwrap_or(0);
        Self { argv, len: if argv.is_null() { 0 } else { len }, _strings: PhantomData }
    }

    /// The number of arguments, the name included.
    #[allow(clippy::len_without_is_empty, reason = "a command has at least its name")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Argument `index`, as the server holds it.
    ///
    /// # Panics
    /// If there are not that many. Their number is checked before a command runs.
    pub fn at(&self, index: usize) -> Argument<'a> {
        assert!(index < self.len, "argument {index} of {}", self.len);
        // SAFETY: there are `len` of them (see `Arguments::new`).
        let string = unsafe { self.argv.add(index) };
        Argument {
            // SAFETY: the array lives for `'a`, and the server does not change it meanwhile.
            raw: unsafe { string.read() },
            _strings: PhantomData,
        }
    }

    /// All arguments, the name included.
    pub fn all(&self) -> impl ExactSizeIterator<Item = Argument<'a>> {
        let arguments = *self;
        (0..self.len).map(move |index| arguments.at(index))
    }

    /// The arguments in `range`.
    ///
    /// # Panics
    /// If there are not that many.
    pub fn range(&self, range: Range<usize>) -> Self {
        let Range { start, end } = range;
        assert!(start <= end && end <= self.len, "arguments {range:?} of {}", self.len);
        // SAFETY: there are `len` of them (see `Arguments::new`).
        Self { argv: unsafe { self.argv.add(start) }, len: end - start, ..*self }
    }

    /// The bytes of argument `index`.
    ///
    /// # Panics
    /// As [`Arguments::at`].
    pub fn bytes(&self, index: usize) -> &'a [u8] {
        self.at(index).bytes()
    }

    /// The bytes of each argument from `first` on; `None` if there is no memory for the list, since
    /// a command may have millions of arguments.
    pub fn try_list_from(&self, first: usize) -> Option<Vec<&'a [u8]>> {
        let all = self.bytes_from(first);
        let mut list = try_vec(all.len())?;
        list.extend(all);
        Some(list)
    }

    /// The bytes of each argument from `first` on.
    pub fn bytes_from(&self, first: usize) -> impl ExactSizeIterator<Item = &'a [u8]> + Clone {
        let arguments = *self;
        (first..arguments.len().max(first)).map(move |index| arguments.bytes(index))
    }
}

impl<'a> Argument<'a> {
    /// # Safety
    /// The string lives and does not change for `'a`.
    pub(crate) unsafe fn new(raw: *mut raw::RedisModuleString) -> Self {
        Self { raw, _strings: PhantomData }
    }

    /// Its bytes. Cost: one call, some 2 ns.
    pub fn bytes(&self) -> &'a [u8] {
        // SAFETY: the string lives and does not change for `'a` (see `Arguments::new` and `new`).
        unsafe { bytes_of(self.raw) }
    }
}

/// A string of the server that the module owns, and frees on drop.
#[repr(transparent)]
pub struct OwnedString(NonNull<raw::RedisModuleString>);

impl OwnedString {
    /// # Safety
    /// `raw` is null or a string of the server that the caller gives up.
    pub(crate) unsafe fn from_raw(raw: *mut raw::RedisModuleString) -> Option<Self> {
        NonNull::new(raw).map(Self)
    }

    /// A copy of `bytes`. The server ends if it has no memory for it.
    pub(crate) fn new(bytes: &[u8]) -> Option<Self> {
        let (start, len) = (bytes.as_ptr().cast(), bytes.len());
        // SAFETY: the server copies the bytes. A null context: the server does not free the string.
        let raw = unsafe { call!(RedisModule_CreateString(null_mut(), start, len)) };
        // SAFETY: created just now.
        unsafe { Self::from_raw(raw) }
    }

    /// The string as if it were an argument of a command.
    pub fn argument(&self) -> Argument<'_> {
        Argument { raw: self.0.as_ptr(), _strings: PhantomData }
    }
}

impl Drop for OwnedString {
    fn drop(&mut self) {
        // SAFETY: the module's own, freed once.
        unsafe { call!(RedisModule_FreeString(null_mut(), self.0.as_ptr())) };
    }
}

/// The bytes of a string of the server.
///
/// # Safety
/// The string lives and does not change for `'a`.
pub(crate) unsafe fn bytes_of<'a>(string: *const raw::RedisModuleString) -> &'a [u8] {
    let mut len = 0;
    // SAFETY: the caller's duty.
    let start = unsafe { call!(RedisModule_StringPtrLen(string, &raw mut len)) };
    // SAFETY: the server says that `len` bytes are there.
    unsafe { std::slice::from_raw_parts(start.cast(), len) }
}
