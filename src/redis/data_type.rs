//! A type of value that the server keeps for the module: a safe trait on one side, the server's table of functions on the other.

use super::allocator::is_native;
use super::call::call;
use super::guard::guarded;
use redis_module::native_types::RedisType;
use redis_module::raw;
use std::alloc::Layout;
use std::ffi::{c_int, c_ulong, c_void, CStr};
use std::mem::ManuallyDrop;

/// What the module says of its type of value.
/// (`Send`: the server frees values on a thread of its own too.)
pub trait Value: Sized + Send + 'static {
    /// The type as the server knows it, made with [`methods`] of this very type: the server hands values back by it.
    fn native() -> &'static RedisType;
    /// Reads a value that `save` wrote, or nothing (and a line in the log) where the bytes are not good. The server may run
    /// commands meanwhile.
    fn load(source: &mut RdbSource, version: i32) -> Option<Self>;
    /// Writes the value.
    fn save(&self, target: &mut RdbTarget);
    /// Writes the commands that make the value anew.
    fn rewrite(&self, target: &mut AofTarget);
    /// Bytes that the value takes.
    fn memory_usage(&self) -> usize;
    /// About how many allocations freeing the value gives back.
    fn free_effort(&self) -> usize;
    /// A copy, if there is memory for it. What the two have in common is nobody else's business.
    fn try_copy(&mut self) -> Option<Self>;
    /// A number that is equal for equal values only.
    fn digest(&self) -> u128;
    /// Moves the value's memory through `defrag`, from `from` on; answers where to go on if it had to stop.
    fn defragment(&mut self, defrag: &Defrag, from: u64) -> Option<u64>;
}

/// An RDB file, or a dump, being read.
pub struct RdbSource(*mut raw::RedisModuleIO);

/// An RDB file, or a dump, being written.
pub struct RdbTarget(*mut raw::RedisModuleIO);

/// An append-only file being written.
pub struct AofTarget {
    io: *mut raw::RedisModuleIO,
    key: *mut raw::RedisModuleString,
}

/// One step of the server's defragmentation.
pub struct Defrag(*mut raw::RedisModuleDefragCtx);

/// A string that the server read for us.
pub struct Loaded {
    start: *mut u8,
    len: usize,
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // SAFETY: the server allocated it for us to free.
        unsafe { call!(RedisModule_Free(self.start.cast())) };
    }
}

impl Loaded {
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the server said so many bytes are there, and they are ours.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

impl RdbSource {
    /// The next string, or nothing at the end or where the file is not sound.
    pub fn load_string(&mut self) -> Option<Loaded> {
        let mut len = 0;
        // SAFETY: the source is being read.
        unsafe {
            let start = call!(RedisModule_LoadStringBuffer(self.0, &raw mut len));
            let failed = start.is_null() || call!(RedisModule_IsIOError(self.0)) != 0;
            if !start.is_null() && failed {
                call!(RedisModule_Free(start.cast()));
            }
            (!failed).then_some(Loaded {
                start: start.cast(),
                len,
            })
        }
    }
}

impl RdbTarget {
    pub fn save_string(&mut self, bytes: &[u8]) {
        // SAFETY: the target is being written; the server copies the bytes.
        unsafe {
            call!(RedisModule_SaveStringBuffer(
                self.0,
                bytes.as_ptr().cast(),
                bytes.len()
            ))
        };
    }
}

impl AofTarget {
    /// Writes `command key number bytes`.
    pub fn emit(&mut self, command: &CStr, number: u64, bytes: &[u8]) {
        // SAFETY: the target is being written; "slb" takes a string, a long long, and bytes with their length (a size_t).
        unsafe {
            call!(RedisModule_EmitAOF(
                self.io,
                command.as_ptr(),
                c"slb".as_ptr(),
                self.key,
                number as std::ffi::c_longlong,
                bytes.as_ptr(),
                bytes.len()
            ));
        }
    }
}

impl Defrag {
    /// Whether the time for this step is used up.
    pub fn should_stop(&self) -> bool {
        // SAFETY: the context lives as long as the step.
        unsafe { call!(RedisModule_DefragShouldStop(self.0)) != 0 }
    }

    /// The same elements, at another address if that makes the heap denser.
    pub fn relocate<T>(&self, elements: Vec<T>) -> Vec<T> {
        let is_ours = Layout::array::<T>(elements.capacity())
            .is_ok_and(|layout| layout.size() > 0 && is_native(layout));
        if !is_ours {
            return elements;
        }
        let mut elements = ManuallyDrop::new(elements);
        let (old, len, capacity) = (elements.as_mut_ptr(), elements.len(), elements.capacity());
        // SAFETY: `old` is the address that the server knows the allocation by (`is_native`). It answers null and leaves it
        // alone, or a copy of the same size, aligned alike (same size class), and has freed the old one. The elements are moved
        // as any move does it, byte by byte, and the old ones are not dropped.
        unsafe {
            let new: *mut T = call!(RedisModule_DefragAlloc(self.0, old.cast())).cast();
            Vec::from_raw_parts(if new.is_null() { old } else { new }, len, capacity)
        }
    }
}

/// The server's table of functions for a type of value. Each guards against panics; `load` and `copy` then answer nothing,
/// which fails the command.
pub const fn methods<T: Value>() -> raw::RedisModuleTypeMethods {
    raw::RedisModuleTypeMethods {
        version: raw::REDISMODULE_TYPE_METHOD_VERSION as u64,
        rdb_load: Some(rdb_load::<T>),
        rdb_save: Some(rdb_save::<T>),
        aof_rewrite: Some(aof_rewrite::<T>),
        mem_usage: Some(mem_usage::<T>),
        digest: Some(digest::<T>),
        free: Some(free::<T>),
        aux_load: None,
        aux_save: None,
        aux_save_triggers: 0,
        free_effort: Some(free_effort::<T>),
        unlink: None,
        copy: Some(copy::<T>),
        defrag: Some(defrag::<T>),
        mem_usage2: None,
        free_effort2: None,
        unlink2: None,
        copy2: None,
        aux_save2: None,
    }
}

/// # Safety
/// Called by the server with a value that `load`, `copy` or `WriteKey::put` made, which nothing changes meanwhile. So for all
/// functions below.
unsafe fn borrow<'a, T: Value>(value: *const c_void) -> &'a T {
    // SAFETY: the caller's duty.
    unsafe { &*value.cast::<T>() }
}

fn owned<T: Value>(value: Option<T>) -> *mut c_void {
    value.map_or(std::ptr::null_mut(), |value| {
        Box::into_raw(Box::new(value)).cast()
    })
}

/// After a panic while a value was written: the file has only a part of it. The child that writes files for the server ends here, which
/// fails the save, and the file from before stays. (Where the server itself writes, for SAVE or DUMP, a module cannot fail it.)
fn give_up_writing() {
    // SAFETY: without a context, the flags are those of the process.
    let flags = unsafe { call!(RedisModule_GetContextFlags(std::ptr::null_mut())) };
    if flags as u32 & raw::REDISMODULE_CTX_FLAGS_IS_CHILD != 0 {
        // SAFETY: ends the child as the server itself does, without what a process does at its regular end.
        unsafe { libc::_exit(1) };
    }
}

/// # Safety
/// See [`borrow`].
unsafe extern "C" fn rdb_load<T: Value>(
    io: *mut raw::RedisModuleIO,
    version: c_int,
) -> *mut c_void {
    guarded("rdb_load", std::ptr::null_mut, || {
        owned(T::load(&mut RdbSource(io), version))
    })
}

/// # Safety
/// See [`borrow`].
unsafe extern "C" fn rdb_save<T: Value>(io: *mut raw::RedisModuleIO, value: *mut c_void) {
    // SAFETY: see `borrow`.
    guarded("rdb_save", give_up_writing, || {
        unsafe { borrow::<T>(value) }.save(&mut RdbTarget(io))
    });
}

/// # Safety
/// See [`borrow`].
unsafe extern "C" fn aof_rewrite<T: Value>(
    io: *mut raw::RedisModuleIO,
    key: *mut raw::RedisModuleString,
    value: *mut c_void,
) {
    guarded("aof_rewrite", give_up_writing, || {
        // SAFETY: see `borrow`.
        unsafe { borrow::<T>(value) }.rewrite(&mut AofTarget { io, key });
    });
}

/// # Safety
/// See [`borrow`].
unsafe extern "C" fn mem_usage<T: Value>(value: *const c_void) -> usize {
    // SAFETY: see `borrow`.
    guarded(
        "mem_usage",
        || 0,
        || unsafe { borrow::<T>(value) }.memory_usage(),
    )
}

/// # Safety
/// See [`borrow`].
unsafe extern "C" fn free_effort<T: Value>(
    _key: *mut raw::RedisModuleString,
    value: *const c_void,
) -> usize {
    // SAFETY: see `borrow`.
    guarded(
        "free_effort",
        || 1,
        || unsafe { borrow::<T>(value) }.free_effort(),
    )
}

/// # Safety
/// See [`borrow`].
unsafe extern "C" fn copy<T: Value>(
    _from: *mut raw::RedisModuleString,
    _to: *mut raw::RedisModuleString,
    value: *const c_void,
) -> *mut c_void {
    guarded("copy", std::ptr::null_mut, || {
        // SAFETY: see `borrow`; the value is one of ours, made from a `Box<T>`, and nobody else looks at it while the server copies it.
        owned(unsafe { &mut *value.cast_mut().cast::<T>() }.try_copy())
    })
}

/// # Safety
/// See [`borrow`].
unsafe extern "C" fn digest<T: Value>(digest: *mut raw::RedisModuleDigest, value: *mut c_void) {
    guarded(
        "digest",
        || (),
        || {
            // SAFETY: see `borrow`; the server copies the bytes.
            unsafe {
                let bytes = borrow::<T>(value).digest().to_le_bytes();
                call!(RedisModule_DigestAddStringBuffer(
                    digest,
                    bytes.as_ptr().cast(),
                    bytes.len()
                ));
                call!(RedisModule_DigestEndSequence(digest));
            }
        },
    );
}

/// # Safety
/// See [`borrow`]; the server has let go of the value, perhaps on another thread.
unsafe extern "C" fn free<T: Value>(value: *mut c_void) {
    // SAFETY: see above; `owned` or `WriteKey::put` made it from a box.
    guarded(
        "free",
        || (),
        || drop(unsafe { Box::from_raw(value.cast::<T>()) }),
    );
}

/// # Safety
/// See [`borrow`]; `value` points to the server's pointer to the value.
unsafe extern "C" fn defrag<T: Value>(
    context: *mut raw::RedisModuleDefragCtx,
    _key: *mut raw::RedisModuleString,
    value: *mut *mut c_void,
) -> c_int {
    guarded(
        "defrag",
        || 0,
        || {
            // SAFETY: the value is the server's and only its defragmentation touches it now. `DefragAlloc` frees what it copies.
            unsafe {
                if is_native(Layout::new::<T>()) {
                    let moved = call!(RedisModule_DefragAlloc(context, *value));
                    if !moved.is_null() {
                        *value = moved;
                    }
                }
                let mut from: c_ulong = 0;
                call!(RedisModule_DefragCursorGet(context, &raw mut from));
                let owner = &mut *(*value).cast::<T>();
                let Some(next) = owner.defragment(&Defrag(context), from) else {
                    return 0;
                };
                call!(RedisModule_DefragCursorSet(context, next));
                1
            }
        },
    )
}
