//! A module that saves a value on threads of its own while the server runs commands, as a server
//! does that saves without forking (Valkey from 9.2 on).
//!
//! ```text
//!   SAVER.START key     saves the value, then again and again on several threads
//!   SAVER.SAVES         the number of saves so far
//!   SAVER.STOP          ends the threads; the number of saves with other bytes than the first
//! ```
//!
//! As with such a server, the caller of SAVER.START writes nothing to the key before SAVER.STOP.

#![allow(unsafe_code, reason = "the module API is unsafe, and the crate has no safe form of it")]

use redis_module::{raw, redis_module, Context, RedisError, RedisResult, RedisString, RedisValue};
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// With the server's own thread, as many as the module has buffers for.
const THREADS: usize = 3;

static IS_OVER: AtomicBool = AtomicBool::new(false);
static SAVES: AtomicI64 = AtomicI64::new(0);
static UNEQUAL: AtomicI64 = AtomicI64::new(0);
static RUNNING: Mutex<Vec<JoinHandle<()>>> = Mutex::new(Vec::new());

/// A value and its type, as the server knows them.
#[derive(Clone, Copy)]
struct Saved {
    value: *mut c_void,
    native: *mut raw::RedisModuleType,
}

// SAFETY: this is what is tested: other threads only save the value, and meanwhile nobody writes
// it.
unsafe impl Send for Saved {}

impl Saved {
    fn bytes(self) -> Vec<u8> {
        // SAFETY: the server's table is filled before any command runs. So below.
        let save = unsafe { raw::RedisModule_SaveDataTypeToString }.expect("the API");
        // SAFETY: as above.
        let bytes_of = unsafe { raw::RedisModule_StringPtrLen }.expect("the API");
        // SAFETY: as above.
        let free = unsafe { raw::RedisModule_FreeString }.expect("the API");
        let nobody = std::ptr::null_mut();
        // SAFETY: the value is of this type and stays until SAVER.STOP.
        let string = unsafe { save(nobody, self.value, self.native) };
        let mut len = 0;
        // SAFETY: the string is ours.
        let start = unsafe { bytes_of(string, &raw mut len) };
        // SAFETY: the server says so; they are copied before the string is freed.
        let bytes = unsafe { std::slice::from_raw_parts(start.cast::<u8>(), len) }.to_vec();
        // SAFETY: freed once, after its last use.
        unsafe { free(nobody, string) };
        bytes
    }
}

fn start(context: &Context, words: Vec<RedisString>) -> RedisResult {
    let key = words.get(1).ok_or(RedisError::WrongArity)?;
    // SAFETY: the server's table is filled before any command runs. So below.
    let open = unsafe { raw::RedisModule_OpenKey }.expect("the API");
    // SAFETY: as above.
    let type_of = unsafe { raw::RedisModule_ModuleTypeGetType }.expect("the API");
    // SAFETY: as above.
    let value_of = unsafe { raw::RedisModule_ModuleTypeGetValue }.expect("the API");
    // SAFETY: as above.
    let close = unsafe { raw::RedisModule_CloseKey }.expect("the API");
    // SAFETY: context and name are live.
    let key = unsafe { open(context.ctx, key.inner, raw::REDISMODULE_READ as i32) }.cast();
    // SAFETY: the key is open, or null. So below.
    let native = unsafe { type_of(key) };
    if native.is_null() {
        return Err(RedisError::Str("ERR no value of a module"));
    }
    // SAFETY: as above.
    let value = unsafe { value_of(key) };
    // SAFETY: closed once.
    unsafe { close(key) };
    let saved = Saved { value, native };
    let first = saved.bytes();
    IS_OVER.store(false, Ordering::SeqCst);
    SAVES.store(0, Ordering::SeqCst);
    UNEQUAL.store(0, Ordering::SeqCst);
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    running.extend((0..THREADS).map(|_| {
        let first = first.clone();
        thread::spawn(move || save_again(saved, &first))
    }));
    Ok(RedisValue::SimpleStringStatic("OK"))
}

fn save_again(saved: Saved, first: &[u8]) {
    while !IS_OVER.load(Ordering::SeqCst) {
        let is_equal = saved.bytes() == first;
        UNEQUAL.fetch_add(i64::from(!is_equal), Ordering::SeqCst);
        SAVES.fetch_add(1, Ordering::SeqCst);
    }
}

fn saves(_: &Context, _: Vec<RedisString>) -> RedisResult {
    Ok(RedisValue::Integer(SAVES.load(Ordering::SeqCst)))
}

fn stop(_: &Context, _: Vec<RedisString>) -> RedisResult {
    IS_OVER.store(true, Ordering::SeqCst);
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    for thread in running.drain(..) {
        if thread.join().is_err() {
            return Err(RedisError::Str("ERR a thread has panicked"));
        }
    }
    Ok(RedisValue::Integer(UNEQUAL.load(Ordering::SeqCst)))
}

redis_module! {
    name: "saver",
    version: 1,
    allocator: (redis_module::alloc::RedisAlloc, redis_module::alloc::RedisAlloc),
    data_types: [],
    commands: [
        ["saver.start", start, "readonly", 1, 1, 1, ""],
        ["saver.saves", saves, "readonly", 0, 0, 0, ""],
        ["saver.stop", stop, "readonly", 0, 0, 0, ""],
    ],
}
