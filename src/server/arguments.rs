//! The words of a running command.

use super::call::call;
use redis_module::raw;
use std::marker::PhantomData;

/// The words of a command, its name first. They belong to the server and live as long as the
/// command runs.
///
/// A pointer, not a slice: in Valkey 8.1 and later `Context::redact` replaces a word in this very
/// array.
#[derive(Clone, Copy)]
pub struct Arguments<'a> {
    argv: *const *mut raw::RedisModuleString,
    len: usize,
    _words: PhantomData<&'a raw::RedisModuleString>,
}

/// One word of a command, as the server holds it.
#[derive(Clone, Copy)]
pub struct Argument<'a> {
    pub(super) raw: *mut raw::RedisModuleString,
    _words: PhantomData<&'a raw::RedisModuleString>,
}

impl<'a> Arguments<'a> {
    /// # Safety
    /// `argv` points to `argc` strings of the server. For `'a` the array lives, and so does each
    /// string that is ever in it; only [`Context::redact`](super::context::Context::redact) changes
    /// which these are.
    pub(super) unsafe fn new(argv: *mut *mut raw::RedisModuleString, argc: i32) -> Self {
        let len = usize::try_from(argc).unwrap_or(0);
        Self {
            argv,
            len: if argv.is_null() { 0 } else { len },
            _words: PhantomData,
        }
    }

    /// Number of words, the name included.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Word `index`, as the server holds it.
    ///
    /// # Panics
    /// If there are not that many. The server checks the number of words before a command runs.
    pub fn at(&self, index: usize) -> Argument<'a> {
        assert!(index < self.len, "word {index} of {}", self.len);
        // SAFETY: there are `len` words (see `Arguments::new`).
        let word = unsafe { self.argv.add(index) };
        Argument {
            // SAFETY: the array lives for `'a`, and the server does not change it meanwhile.
            raw: unsafe { word.read() },
            _words: PhantomData,
        }
    }

    /// The words from `first` up to `end`, for one call of the server that redacts none.
    ///
    /// # Panics
    /// If there are not that many.
    pub(super) fn slice(&self, first: usize, end: usize) -> &[*mut raw::RedisModuleString] {
        assert!(
            first <= end && end <= self.len,
            "words {first} to {end} of {}",
            self.len
        );
        if first == end {
            return &[];
        }
        // SAFETY: there are `len` words (see `Arguments::new`).
        let word = unsafe { self.argv.add(first) };
        // SAFETY: so many follow, and the server does not change them while it reads them.
        unsafe { std::slice::from_raw_parts(word, end - first) }
    }

    /// The bytes of word `index`.
    ///
    /// # Panics
    /// As [`Arguments::at`].
    pub fn bytes(&self, index: usize) -> &'a [u8] {
        self.at(index).bytes()
    }

    /// The bytes of each word from `first` on; `None` if there is no memory for the list, since a
    /// command may have millions of words.
    pub fn try_list_from(&self, first: usize) -> Option<Vec<&'a [u8]>> {
        let words = self.bytes_from(first);
        let mut list = Vec::new();
        list.try_reserve_exact(words.len()).ok()?;
        list.extend(words);
        Some(list)
    }

    /// The bytes of each word from `first` on.
    pub fn bytes_from(&self, first: usize) -> impl ExactSizeIterator<Item = &'a [u8]> + Clone {
        let words = *self;
        (first..words.len().max(first)).map(move |index| words.bytes(index))
    }
}

impl<'a> Argument<'a> {
    /// # Safety
    /// The string lives and does not change for `'a`.
    pub(super) unsafe fn new(raw: *mut raw::RedisModuleString) -> Self {
        Self {
            raw,
            _words: std::marker::PhantomData,
        }
    }

    /// Its bytes. Cost: one call, some 2 ns.
    pub fn bytes(&self) -> &'a [u8] {
        // SAFETY: a word of `Arguments`, which live for `'a` (see `Arguments::new`).
        unsafe { bytes_of(self.raw) }
    }
}

/// The bytes of a string of the server.
///
/// # Safety
/// The string lives and does not change for `'a`.
pub(super) unsafe fn bytes_of<'a>(string: *const raw::RedisModuleString) -> &'a [u8] {
    let mut len = 0;
    // SAFETY: the caller's duty.
    let start = unsafe { call!(RedisModule_StringPtrLen(string, &raw mut len)) };
    // SAFETY: the server says that `len` bytes are there.
    unsafe { std::slice::from_raw_parts(start.cast(), len) }
}
