//! One running command: its arguments, and everything it may ask of the server but replies and keys.

use super::call::call;
use super::reply::Progress;
use redis_module::raw;
use std::cell::Cell;
use std::ffi::{c_char, CStr, CString};

/// A file is being read, in the foreground or aside.
const LOADING: u32 = raw::REDISMODULE_CTX_FLAGS_LOADING | raw::REDISMODULE_CTX_FLAGS_ASYNC_LOADING;

/// The server's side of one running command.
pub struct Context {
    pub(super) raw: *mut raw::RedisModuleCtx,
    pub(super) progress: Cell<Progress>,
}

/// The words of a command, its name first. They belong to the server and live as long as the command runs.
#[derive(Clone, Copy)]
pub struct Arguments<'a>(&'a [*mut raw::RedisModuleString]);

/// One word of a command, as the server holds it.
#[derive(Clone, Copy)]
pub struct Argument<'a> {
    pub(super) raw: *mut raw::RedisModuleString,
    _words: std::marker::PhantomData<&'a [*mut raw::RedisModuleString]>,
}

impl<'a> Arguments<'a> {
    /// # Safety
    /// `argv` points to `argc` strings of the server, which live for `'a`.
    pub(super) unsafe fn new(argv: *mut *mut raw::RedisModuleString, argc: i32) -> Self {
        let len = usize::try_from(argc).unwrap_or(0);
        if argv.is_null() || len == 0 {
            return Self(&[]);
        }
        // SAFETY: the caller's duty; the server does not change the array while the command runs.
        Self(unsafe { std::slice::from_raw_parts(argv, len) })
    }

    /// Number of words, the name included.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no words at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Word `index`, as the server holds it.
    ///
    /// # Panics
    /// If there are not that many. (Commands have their number of words checked by the server.)
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

    /// The bytes of each word from `first` on, if there is memory for the list: a command may have millions of words.
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
    /// Its bytes. Cost: one call, some 2 ns.
    pub fn bytes(&self) -> &'a [u8] {
        let mut len = 0;
        // SAFETY: the string lives for `'a`, and the server neither moves nor changes it meanwhile.
        unsafe {
            let start = call!(RedisModule_StringPtrLen(self.raw, &raw mut len));
            std::slice::from_raw_parts(start.cast(), len)
        }
    }
}

/// Strings made to be replicated, given back when they are done with.
struct Strings {
    context: *mut raw::RedisModuleCtx,
    made: Vec<*mut raw::RedisModuleString>,
}

impl Drop for Strings {
    fn drop(&mut self) {
        for string in &self.made {
            // SAFETY: made by `RedisModule_CreateString` with this context, given back once.
            unsafe { call!(RedisModule_FreeString(self.context, *string)) };
        }
    }
}

impl Context {
    /// # Safety
    /// `raw` is the context of a command, or of `OnLoad`, that is running.
    pub(super) unsafe fn new(raw: *mut raw::RedisModuleCtx) -> Self {
        Self {
            raw,
            progress: Cell::new(Progress::Silent),
        }
    }

    /// The context of the module's loading, from the crate's own type.
    pub fn of_load(context: &redis_module::Context) -> Self {
        Self {
            raw: context.ctx,
            progress: Cell::new(Progress::Silent),
        }
    }

    /// Tells the server, while the module is being loaded, that the module copes with truncated files (else the server ends where
    /// one is met), says itself when a key has changed (a write command that changes nothing must break no WATCH), and can be
    /// asked while a replica loads a new copy aside.
    pub fn set_module_options(&self) {
        let options = raw::REDISMODULE_OPTIONS_HANDLE_IO_ERRORS
            | raw::REDISMODULE_OPTION_NO_IMPLICIT_SIGNAL_MODIFIED
            | raw::REDISMODULE_OPTIONS_HANDLE_REPL_ASYNC_LOAD;
        // SAFETY: the context is that of `OnLoad`.
        unsafe { call!(RedisModule_SetModuleOptions(self.raw, options as i32)) };
    }

    /// Whether what runs has happened elsewhere already: it comes from the primary or from the append-only file.
    pub fn is_replay(&self) -> bool {
        self.has_flag(LOADING | raw::REDISMODULE_CTX_FLAGS_REPLICATED)
    }

    /// Whether any of these context flags is set.
    pub(super) fn has_flag(&self, any: u32) -> bool {
        // SAFETY: the context is live.
        let flags = unsafe { call!(RedisModule_GetContextFlags(self.raw)) };
        flags as u32 & any != 0
    }

    /// Keeps word `index` of the running command out of MONITOR and SLOWLOG; what is replicated stays as it is. Its bytes must have
    /// been taken before: on Valkey the arguments are what is shown, and the word in them is gone.
    ///
    /// Not while a file is loaded: nothing is logged then, and the server (7.0's loader of append-only files) would keep the
    /// redacted words of one command for the next, which may have fewer.
    pub fn redact(&self, index: usize) {
        if !self.has_flag(LOADING) {
            // SAFETY: the context is live; the server checks the index.
            unsafe {
                call!(RedisModule_RedactClientCommandArgument(
                    self.raw,
                    index as i32
                ))
            };
        }
    }

    /// Replicates the running command as the client sent it.
    pub fn replicate_verbatim(&self) {
        // SAFETY: the context is live.
        unsafe { call!(RedisModule_ReplicateVerbatim(self.raw)) };
    }

    /// Replicates a command on `key`: `name key words…`.
    pub fn replicate(&self, name: &CStr, key: Argument<'_>, words: &[&[u8]]) {
        let mut strings = Strings {
            context: self.raw,
            made: Vec::new(),
        };
        let mut vector = vec![key.raw];
        for word in words {
            // SAFETY: the bytes are `word`'s; the server copies them.
            let string = unsafe {
                call!(RedisModule_CreateString(
                    self.raw,
                    word.as_ptr().cast::<c_char>(),
                    word.len()
                ))
            };
            strings.made.push(string);
            vector.push(string);
        }
        self.replicate_vector(name, &vector);
    }

    /// Replicates `name key words…`, where the words are those of the running command from `first` up to `end`. Takes no memory of the
    /// module's: there may be none.
    pub fn replicate_some(
        &self,
        name: &CStr,
        key: Argument<'_>,
        words: Arguments<'_>,
        first: usize,
        end: usize,
    ) {
        let some = &words.0[first..end];
        // SAFETY: "s" takes a string, "v" an array of strings and its length (a size_t); the server takes references of its own.
        unsafe {
            call!(RedisModule_Replicate(
                self.raw,
                name.as_ptr(),
                c"sv".as_ptr(),
                key.raw,
                some.as_ptr(),
                some.len()
            ));
        }
    }

    fn replicate_vector(&self, name: &CStr, vector: &[*mut raw::RedisModuleString]) {
        // SAFETY: "v" takes an array of strings and its length (a size_t); the server takes references of its own.
        unsafe {
            call!(RedisModule_Replicate(
                self.raw,
                name.as_ptr(),
                c"v".as_ptr(),
                vector.as_ptr(),
                vector.len()
            ));
        }
    }

    /// Tells the server that `key` has changed: transactions that watch it, clients that cache it, and those who subscribed to
    /// the event.
    pub fn signal_change(&self, event: &CStr, key: Argument<'_>) {
        // SAFETY: context, key and event are live.
        unsafe {
            call!(RedisModule_SignalModifiedKey(self.raw, key.raw));
            call!(RedisModule_NotifyKeyspaceEvent(
                self.raw,
                raw::REDISMODULE_NOTIFY_MODULE,
                event.as_ptr(),
                key.raw
            ));
        }
    }

    /// A random 64-bit number that nobody can guess: from the server's generator, which it seeds from the system's.
    pub fn random(&self) -> u64 {
        let mut bytes = [0u8; 8];
        // SAFETY: eight bytes of ours.
        unsafe { call!(RedisModule_GetRandomBytes(bytes.as_mut_ptr(), bytes.len())) };
        u64::from_le_bytes(bytes)
    }
}

/// A text for the server, which ends texts with a zero byte; what follows one in `text` is lost.
pub(super) fn c_text(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(&text[..end]).unwrap_or_default()
}
