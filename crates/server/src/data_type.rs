//! A type of value that the server keeps for the module: a safe trait on one side, the server's
//! table of functions on the other.

use super::allocator::{is_native, try_box};
use super::arguments::{Argument, OwnedString};
use super::call::call;
use super::catch_panic::catch_panic;
use super::context::Context;
use super::dump;
use super::refused::Refused;
use super::saving::{self, Saving};
use super::values::Counter;
use redis_module::native_types::RedisType;
use redis_module::raw;
use splitbloom_foundation::alloc::Mover;
pub use splitbloom_foundation::fields::{FieldSink, Fields};
use std::alloc::Layout;
use std::ffi::{c_int, c_ulong, c_void, CStr};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::num::NonZeroU64;

/// A value that the server keeps. It must stay valid when a panic interrupts one of these methods:
/// the server goes on using it. (`Send`: the server also frees values on a background thread.
/// `Sync`: it may save a value on another thread while commands read it.)
pub trait Value: Sized + Send + Sync + 'static {
    /// The types that such values have, as the server knows them: at least one.
    fn natives() -> &'static [NativeType<Self>];
    /// The type that this value has when it is new.
    fn own_native(&self) -> &'static NativeType<Self> {
        &Self::natives()[0]
    }
    /// Writes the value. Called on any thread, and on several at once.
    fn save(&self, target: &mut RdbTarget);
    /// Writes the commands that create the value again.
    fn rewrite(&self, target: &mut AofTarget);
    /// Bytes that the value takes.
    fn memory_usage(&self) -> usize;
    /// The approximate number of allocations that freeing the value returns.
    fn free_effort(&self) -> usize;
    /// A copy, if there is memory for it. The two may share memory. Not called while another thread
    /// saves the value.
    fn try_copy(&mut self, to: &CopyTarget) -> Option<Self>;
    /// A number that is equal for equal values only.
    fn digest(&self) -> u128;
    /// Called after a command has changed the value of `key`, which may queue itself for a visit.
    fn has_changed(&mut self, _context: &Context, _key: Argument<'_>) {}
    /// Called after the server has moved the value, byte by byte, from address `from` to where it
    /// is now: something may know it by its address.
    fn has_moved(&self, _from: usize) {}
    /// Moves the value's memory through `defrag`, starting at `from`. Returns where to continue if
    /// it had to stop, which is never 0: older servers take 0 as the end, and newer ones start
    /// over, forever if the time never suffices.
    fn defragment(&mut self, defrag: &Defrag, from: u64) -> Option<NonZeroU64>;
}

/// How the server's values under one name are read as values of type `T`.
pub trait Load<T> {
    /// Reads from `source` a value of encoding version `version`; `None`, and a line in the log, if
    /// the bytes are not valid. The server may run commands meanwhile.
    fn load(source: &mut RdbSource, version: i32) -> Option<T>;
}

/// A type as the server knows it, whose values are of type `T`: only the methods of `T` get them
/// back.
pub struct NativeType<T> {
    name: &'static str,
    version: u32,
    native: RedisType,
    _values: PhantomData<fn() -> T>,
}

impl<T: Value> NativeType<T> {
    /// A type called `name`, whose values are saved in encoding version `version` and read by `L`.
    pub const fn new<L: Load<T>>(name: &'static str, version: i32) -> Self {
        Self {
            name,
            version: version as u32,
            native: RedisType::new(name, version, methods::<T, L>()),
            _values: PhantomData,
        }
    }

    /// The server's handle of the type; null before it is registered.
    pub(crate) fn handle(&self) -> *mut raw::RedisModuleType {
        // SAFETY: written once, by `register`, before any command runs.
        unsafe { *self.native.raw_type.as_ptr() }
    }

    /// Whether `handle` is this type's. A value that belongs to no module has no handle.
    pub(crate) fn is(&self, handle: *mut raw::RedisModuleType) -> bool {
        !handle.is_null() && handle == self.handle()
    }
}

/// Registers the types of `T` for the life of the process.
///
/// # Errors
/// The server already has a type of one of these names.
pub fn register<T: Value>(context: &Context) -> Result<(), Refused> {
    saving::register(context);
    T::natives().iter().try_for_each(|NativeType { name, native, .. }| {
        let created = native.create_data_type(context.raw);
        created.map_err(|_| Refused::Taken(format!("the type {name}")))
    })
}

/// An RDB file, or a dump, being read.
pub struct RdbSource(pub(crate) *mut raw::RedisModuleIO);

/// An RDB file, or a dump, being written.
pub struct RdbTarget(*mut raw::RedisModuleIO);

/// An append-only file being written.
pub struct AofTarget {
    io: *mut raw::RedisModuleIO,
    key: *mut raw::RedisModuleString,
}

/// Where a copy of a value goes.
pub struct CopyTarget(pub(crate) *mut raw::RedisModuleKeyOptCtx);

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

impl AsRef<[u8]> for Loaded {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: the server says that `len` bytes are there, and they are ours.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

impl RdbSource {
    /// Returns `value`, which was read last; `None` if reading it failed.
    fn unless_failed<T>(&self, value: T) -> Option<T> {
        // SAFETY: the source is being read.
        let failed = unsafe { call!(RedisModule_IsIOError(self.0)) } != 0;
        (!failed).then_some(value)
    }
}

impl Fields for RdbSource {
    type String = Loaded;

    fn unsigned(&mut self) -> Option<u64> {
        // SAFETY: the source is being read.
        let value = unsafe { call!(RedisModule_LoadUnsigned(self.0)) };
        self.unless_failed(value)
    }

    fn signed(&mut self) -> Option<i64> {
        // SAFETY: the source is being read.
        let value = unsafe { call!(RedisModule_LoadSigned(self.0)) };
        self.unless_failed(value)
    }

    fn double(&mut self) -> Option<f64> {
        // SAFETY: the source is being read.
        let value = unsafe { call!(RedisModule_LoadDouble(self.0)) };
        self.unless_failed(value)
    }

    fn string(&mut self) -> Option<Loaded> {
        let mut len = 0;
        // SAFETY: the source is being read.
        let start = unsafe { call!(RedisModule_LoadStringBuffer(self.0, &raw mut len)) };
        if start.is_null() {
            return None;
        }
        let loaded = Loaded { start: start.cast(), len };
        self.unless_failed(loaded)
    }
}

impl FieldSink for RdbTarget {
    fn unsigned(&mut self, value: u64) {
        // SAFETY: the target is being written.
        unsafe { call!(RedisModule_SaveUnsigned(self.0, value)) };
    }

    fn signed(&mut self, value: i64) {
        // SAFETY: the target is being written.
        unsafe { call!(RedisModule_SaveSigned(self.0, value)) };
    }

    fn double(&mut self, value: f64) {
        // SAFETY: the target is being written.
        unsafe { call!(RedisModule_SaveDouble(self.0, value)) };
    }

    fn string(&mut self, value: &[u8]) {
        // SAFETY: the target is being written; the server copies the bytes.
        unsafe { call!(RedisModule_SaveStringBuffer(self.0, value.as_ptr().cast(), value.len())) };
    }
}

impl AofTarget {
    /// Writes `command key number bytes`.
    pub fn emit(&mut self, command: &CStr, number: u64, bytes: &[u8]) {
        // A string, a long long, and bytes with their length (a size_t).
        let (format, number) = (c"slb".as_ptr(), number as std::ffi::c_longlong);
        // SAFETY: the target is being written, the key is the server's; the arguments are those of
        // the format.
        unsafe {
            call!(RedisModule_EmitAOF(
                self.io,
                command.as_ptr(),
                format,
                self.key,
                number,
                bytes.as_ptr(),
                bytes.len()
            ))
        };
    }

    /// Writes `RESTORE key 0 dump`, with what DUMP returns for `value`, which is the key's. Needs
    /// memory for two copies of it. Returns whether it was written.
    pub fn restore<T: Value>(&mut self, value: &T) -> bool {
        let native = value.own_native();
        // SAFETY: the target is being written.
        let context = unsafe { call!(RedisModule_GetContextFromIO(self.io)) };
        let value = std::ptr::from_ref(value).cast_mut().cast();
        // SAFETY: the context lives as long as the target. The server passes the value back to
        // `rdb_save`, which changes nothing.
        let fields =
            unsafe { call!(RedisModule_SaveDataTypeToString(context, value, native.handle())) };
        // SAFETY: the server leaves the string to us.
        let fields = unsafe { OwnedString::from_raw(fields) };
        let payload = fields.and_then(|fields| {
            dump::payload(native.name, native.version, fields.argument().bytes()).ok()
        });
        payload.iter().for_each(|payload| self.emit(c"RESTORE", 0, payload));
        payload.is_some()
    }
}

/// Passes memory through the server's defragmentation.
impl Mover for &Defrag {
    /// Returns the same elements, at another address if that makes the heap denser.
    fn relocate<T>(&mut self, elements: Vec<T>) -> Vec<T> {
        let is_ours = Layout::array::<T>(elements.capacity())
            .is_ok_and(|layout| layout.size() > 0 && is_native(layout));
        if !is_ours {
            return elements;
        }
        let mut elements = ManuallyDrop::new(elements);
        let (old, len, capacity) = (elements.as_mut_ptr(), elements.len(), elements.capacity());
        // SAFETY: the server knows the allocation by `old` (`is_native`). It returns null and
        // leaves the block alone, or returns a copy and frees the old block.
        let new: *mut T = unsafe { call!(RedisModule_DefragAlloc(self.0, old.cast())) }.cast();
        let elements = if new.is_null() { old } else { new };
        // SAFETY: a copy has the same size and alignment (same size class). The elements were moved
        // byte by byte, as any move does it, and the old ones are not dropped.
        unsafe { Vec::from_raw_parts(elements, len, capacity) }
    }

    /// Whether this step has used up its time.
    fn should_stop(&mut self) -> bool {
        // SAFETY: the context lives as long as the step.
        unsafe { call!(RedisModule_DefragShouldStop(self.0)) != 0 }
    }
}

/// The server's table of functions for a type of value that `L` reads. Each catches panics; after
/// one, `load` and `copy` return null, which fails the command.
const fn methods<T: Value, L: Load<T>>() -> raw::RedisModuleTypeMethods {
    raw::RedisModuleTypeMethods {
        version: raw::REDISMODULE_TYPE_METHOD_VERSION as u64,
        rdb_load: Some(rdb_load::<T, L>),
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
        copy: None, // `copy2` says where the copy goes
        defrag: Some(defrag::<T>),
        mem_usage2: None,
        free_effort2: None,
        unlink2: None,
        copy2: Some(copy::<T>),
        aux_save2: None,
    }
}

/// Values in a file, a dump or a stream that were not loaded.
pub static VALUES_REFUSED: Counter = Counter::new();

/// A value that the server passes to one of the functions below.
///
/// # Safety
/// `value` came from `load`, `copy` or `WriteKey::put` of this type, and nothing changes it
/// meanwhile.
unsafe fn borrow<'a, T: Value>(value: *const c_void) -> &'a T {
    // SAFETY: the caller's duty.
    unsafe { &*value.cast::<T>() }
}

/// The value as the server holds it; null if there is none, or no memory for it.
fn owned<T: Value>(value: Option<T>) -> *mut c_void {
    value.and_then(try_box).map_or(std::ptr::null_mut(), |value| Box::into_raw(value).cast())
}

/// Called after a panic in the middle of a value, part of which is now in the file. A child that
/// writes files for the server exits here, which fails the save and keeps the old file. Where the
/// server itself writes, for SAVE or DUMP, a module cannot make it fail.
fn give_up_writing() {
    // SAFETY: without a context, the flags are those of the process.
    let flags = unsafe { call!(RedisModule_GetContextFlags(std::ptr::null_mut())) };
    if flags as u32 & raw::REDISMODULE_CTX_FLAGS_IS_CHILD != 0 {
        // SAFETY: ends the child as the server itself does, without exit handlers.
        unsafe { libc::_exit(1) };
    }
}

/// # Safety
/// See [`borrow`].
unsafe extern "C" fn rdb_load<T: Value, L: Load<T>>(
    io: *mut raw::RedisModuleIO,
    version: c_int,
) -> *mut c_void {
    catch_panic("rdb_load", std::ptr::null_mut, || {
        let value = L::load(&mut RdbSource(io), version);
        if value.is_none() {
            VALUES_REFUSED.increment();
        }
        owned(value)
    })
}

/// # Safety
/// See [`borrow`].
unsafe extern "C" fn rdb_save<T: Value>(io: *mut raw::RedisModuleIO, value: *mut c_void) {
    catch_panic("rdb_save", give_up_writing, || {
        let _saving = Saving::of(value);
        // SAFETY: see `borrow`.
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
    catch_panic("aof_rewrite", give_up_writing, || {
        let _saving = Saving::of(value);
        // SAFETY: see `borrow`.
        unsafe { borrow::<T>(value) }.rewrite(&mut AofTarget { io, key });
    });
}

/// # Safety
/// See [`borrow`].
unsafe extern "C" fn mem_usage<T: Value>(value: *const c_void) -> usize {
    // SAFETY: see `borrow`.
    let memory_usage = || unsafe { borrow::<T>(value) }.memory_usage();
    catch_panic("mem_usage", || 0, memory_usage)
}

/// # Safety
/// See [`borrow`].
unsafe extern "C" fn free_effort<T: Value>(
    _key: *mut raw::RedisModuleString,
    value: *const c_void,
) -> usize {
    // SAFETY: see `borrow`.
    let free_effort = || unsafe { borrow::<T>(value) }.free_effort();
    catch_panic("free_effort", || 1, free_effort)
}

/// # Safety
/// See [`borrow`].
unsafe extern "C" fn copy<T: Value>(
    keys: *mut raw::RedisModuleKeyOptCtx,
    value: *const c_void,
) -> *mut c_void {
    catch_panic("copy", std::ptr::null_mut, || {
        let copied = saving::unless_saved(value, || {
            // SAFETY: see `borrow`; no other thread saves the value, and what else the server does
            // with it is done on this one.
            unsafe { &mut *value.cast_mut().cast::<T>() }.try_copy(&CopyTarget(keys))
        });
        owned(copied)
    })
}

/// # Safety
/// See [`borrow`].
unsafe extern "C" fn digest<T: Value>(digest: *mut raw::RedisModuleDigest, value: *mut c_void) {
    let write = || {
        // SAFETY: see `borrow`.
        let bytes = unsafe { borrow::<T>(value) }.digest().to_le_bytes();
        let start = bytes.as_ptr().cast();
        // SAFETY: the digest is being computed; the server copies the bytes.
        unsafe { call!(RedisModule_DigestAddStringBuffer(digest, start, bytes.len())) };
        // SAFETY: the digest is being computed.
        unsafe { call!(RedisModule_DigestEndSequence(digest)) };
    };
    catch_panic("digest", || (), write);
}

/// # Safety
/// See [`borrow`]; the server gives the value up, perhaps on another thread.
unsafe extern "C" fn free<T: Value>(value: *mut c_void) {
    // SAFETY: the caller's duty; `owned` and `WriteKey::put` take the value from a box.
    let free = || drop(unsafe { Box::from_raw(value.cast::<T>()) });
    catch_panic("free", || (), free);
}

/// # Safety
/// See [`borrow`]; `value` points to the server's pointer to the value.
unsafe extern "C" fn defrag<T: Value>(
    context: *mut raw::RedisModuleDefragCtx,
    _key: *mut raw::RedisModuleString,
    value: *mut *mut c_void,
) -> c_int {
    // SAFETY: the caller's duty; only the server's defragmentation touches its pointer now.
    let value = unsafe { &mut *value };
    let address = *value;
    let defragment = || {
        if is_native(Layout::new::<T>()) {
            // SAFETY: the server knows the allocation by this address, and frees what it copies.
            let moved = unsafe { call!(RedisModule_DefragAlloc(context, *value)) };
            if !moved.is_null() {
                *value = moved;
            }
        }
        let mut from: c_ulong = 0;
        // SAFETY: the context lives through the call.
        unsafe { call!(RedisModule_DefragCursorGet(context, &raw mut from)) };
        // SAFETY: see `borrow`; no other thread saves the value or has it now.
        let owner = unsafe { &mut *value.cast::<T>() };
        if *value != address {
            owner.has_moved(address.addr());
        }
        let next = owner.defragment(&Defrag(context), from)?;
        // SAFETY: the context lives through the call.
        unsafe { call!(RedisModule_DefragCursorSet(context, next.get())) };
        Some(1)
    };
    let unless_saved = || saving::unless_saved(address, defragment).unwrap_or(0);
    catch_panic("defrag", || 0, unless_saved)
}
