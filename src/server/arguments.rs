//! The words of a running command.

use super::call::call;
use redis_module::raw;

/// The words of a command, its name first. They belong to the server and live as long as the
/// command runs.
#[derive(Clone, Copy)]
pub struct Arguments<'a>(pub(super) &'a [*mut raw::RedisModuleString]);

/// One word of a command, as the server holds it.
#[derive(Clone, Copy)]
pub struct Argument<'a> {
    pub(super) raw: *mut raw::RedisModuleString,
    _words: std::marker::PhantomData<&'a [*mut raw::RedisModuleString]>,
}

impl<'a> Arguments<'a> {
    /// # Safety
    /// `argv` points to `argc` strings of the server, which live and do not change for `'a`.
    pub(super) unsafe fn new(argv: *mut *mut raw::RedisModuleString, argc: i32) -> Self {
        let len = usize::try_from(argc).unwrap_or(0);
        if argv.is_null() || len == 0 {
            return Self(&[]);
        }
        // SAFETY: the caller's duty.
        Self(unsafe { std::slice::from_raw_parts(argv, len) })
    }

    /// Number of words, the name included.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Word `index`, as the server holds it.
    ///
    /// # Panics
    /// If there are not that many. The server checks the number of words before a command runs.
    pub fn at(&self, index: usize) -> Argument<'a> {
        Argument {
            raw: self.0[index],
            _words: std::marker::PhantomData,
        }
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
        let words = self.0;
        (first..words.len().max(first)).map(move |index| Arguments(words).bytes(index))
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

    /// The integer that it is for the server, if it is one.
    pub(super) fn integer(&self) -> Option<i64> {
        let mut integer = 0;
        // SAFETY: as in `bytes`; the integer is ours.
        let status = unsafe { call!(RedisModule_StringToLongLong(self.raw, &raw mut integer)) };
        (status as isize == raw::REDISMODULE_OK).then_some(integer)
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
