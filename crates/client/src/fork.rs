//! A lock that is free in a child of `fork`, with a consistent value.
//!
//! A child has one thread, the one that forked. A lock that another thread held at that moment
//! stays held in the child for ever, and its value may be half changed. So each fork first acquires
//! all locks of this kind, and releases them in both processes, as the C library does with those of
//! its allocator:
//!
//! ```text
//!   fork ─► prepare: acquire all ─► copy of the process ─┬─► parent: release
//!                                                        └─► child:  next generation, release
//! ```
//!
//! A fork waits for the calls in progress, and lookups pay nothing for it. There is no deadlock,
//! because a thread that holds one of these locks acquires no other, creates and drops none, and
//! does not fork.

use crossbeam_utils::CachePadded;
use std::cell::UnsafeCell;
use std::io;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, TryLockError};

/// The locks of one value: a reader acquires one of them, a writer all.
type Shards = &'static [CachePadded<RwLock<()>>];

/// All locks. They are reused, never freed, so that a fork can hold them.
struct Locks {
    all: Vec<Shards>,
    /// Those without a value.
    free: Vec<Shards>,
    are_handlers_registered: bool,
}

static LOCKS: Mutex<Locks> =
    Mutex::new(Locks { all: Vec::new(), free: Vec::new(), are_handlers_registered: false });

fn locks() -> MutexGuard<'static, Locks> {
    LOCKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The locks of a new value.
fn take_shards(number: usize) -> io::Result<Shards> {
    let mut locks = locks();
    if !locks.are_handlers_registered {
        handlers::register()?;
        locks.are_handlers_registered = true;
    }
    if let Some(place) = locks.free.iter().rposition(|shards| shards.len() == number) {
        return Ok(locks.free.swap_remove(place));
    }
    let mut shards = Vec::new();
    shards.try_reserve_exact(number)?;
    shards.resize_with(number, CachePadded::default);
    locks.all.try_reserve(1)?;
    let not_free = locks.all.len() + 1 - locks.free.len();
    locks.free.try_reserve(not_free)?; // so that it has room for all
    let shards: Shards = shards.leak();
    locks.all.push(shards);
    Ok(shards)
}

static GENERATION: AtomicU32 = AtomicU32::new(0);

/// The number of forks between the first process and this one. If it differs from an earlier
/// result, this is a child, which has none of the threads that its parent had then.
#[inline]
pub(crate) fn generation() -> u32 {
    GENERATION.load(Relaxed)
}

#[cfg(unix)]
mod handlers {
    use super::*;
    use std::cell::RefCell;
    use std::sync::RwLockWriteGuard;

    /// What a fork holds, to be released in this order.
    struct Held {
        _shards: Vec<RwLockWriteGuard<'static, ()>>,
        _locks: MutexGuard<'static, Locks>,
    }

    thread_local! {
        static HELD: RefCell<Option<Held>> = const { RefCell::new(None) };
    }

    pub fn register() -> io::Result<()> {
        // SAFETY: the handlers can be called from any thread and do not unwind. If this code is in
        // a library that is unloaded, the C library forgets them.
        let error =
            unsafe { libc::pthread_atfork(Some(prepare), Some(release), Some(enter_child)) };
        match error {
            0 => Ok(()),
            number => Err(io::Error::from_raw_os_error(number)),
        }
    }

    extern "C" fn prepare() {
        let locks = locks();
        let all = || locks.all.iter().copied().flatten();
        let mut shards = Vec::new();
        if shards.try_reserve_exact(all().count()).is_err() {
            return; // fork without protection
        }
        shards.extend(all().map(|shard| shard.write().unwrap_or_else(PoisonError::into_inner)));
        let held = Held { _shards: shards, _locks: locks };
        // A thread that is ending has no thread-locals any more: then the locks are released here.
        let _ = HELD.try_with(|place| place.replace(Some(held)));
    }

    extern "C" fn release() {
        let _ = HELD.try_with(RefCell::take);
    }

    extern "C" fn enter_child() {
        GENERATION.fetch_add(1, Relaxed);
        release();
    }
}

#[cfg(not(unix))]
mod handlers {
    pub fn register() -> std::io::Result<()> {
        Ok(())
    }
}

/// A readers-writer lock that is free in a child of `fork`, with a consistent value.
///
/// Readers on different threads acquire different ones of its `SHARDS` locks, so they do not wait
/// for each other's cache line.
///
/// While a thread has the value, it must not use, create or drop another such lock, or fork: it
/// would wait for ever.
pub struct ForkLock<T, const SHARDS: usize> {
    shards: Shards,
    value: UnsafeCell<T>,
}

// SAFETY: as for `RwLock`: readers share the value, and writers pass it from thread to thread.
unsafe impl<T: Send + Sync, const SHARDS: usize> Sync for ForkLock<T, SHARDS> {}

impl<T, const SHARDS: usize> ForkLock<T, SHARDS> {
    /// Puts a value behind a lock.
    ///
    /// # Errors
    /// There is no memory for the lock.
    pub fn new(value: T) -> io::Result<Self> {
        const { assert!(SHARDS > 0) };
        Ok(Self { shards: take_shards(SHARDS)?, value: UnsafeCell::new(value) })
    }

    /// Calls `act` with the value, which other threads may read meanwhile.
    #[inline]
    pub fn read<R>(&self, act: impl FnOnce(&T) -> R) -> R {
        let shard = &self.shards[own_shard::<SHARDS>()];
        let _guard = shard.read().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: a writer holds all shards, this thread one. The reference ends before the guard.
        act(unsafe { &*self.value.get() })
    }

    /// Calls `act` with the value, to which no other thread has access meanwhile.
    pub fn write<R>(&self, act: impl FnOnce(&mut T) -> R) -> R {
        let lock = |shard: usize| self.shards[shard].write();
        let _guards: [_; SHARDS] =
            std::array::from_fn(|shard| lock(shard).unwrap_or_else(PoisonError::into_inner));
        // SAFETY: this thread holds all shards. The reference ends before the guard.
        act(unsafe { &mut *self.value.get() })
    }

    /// Whether a call of `write` panicked.
    pub fn is_poisoned(&self) -> bool {
        self.shards.iter().any(|shard| shard.is_poisoned())
    }
}

impl<T> ForkLock<T, 1> {
    /// As [`Self::read`], but returns `act` if another thread has the value or waits for it.
    ///
    /// # Errors
    /// `act`, which was not called.
    pub fn try_read<R, F: FnOnce(&T) -> R>(&self, act: F) -> Result<R, F> {
        match self.shards[0].try_read() {
            Err(TryLockError::WouldBlock) => Err(act),
            // SAFETY: this thread holds the shard for reading. The reference ends before the guard.
            _guard => Ok(act(unsafe { &*self.value.get() })),
        }
    }

    /// As [`Self::write`], but returns `act` if another thread has the value or waits for it.
    ///
    /// # Errors
    /// `act`, which was not called.
    pub fn try_write<R, F: FnOnce(&mut T) -> R>(&self, act: F) -> Result<R, F> {
        match self.shards[0].try_write() {
            Err(TryLockError::WouldBlock) => Err(act),
            // SAFETY: this thread holds the only shard. The reference ends before the guard.
            _guard => Ok(act(unsafe { &mut *self.value.get() })),
        }
    }
}

impl<T, const SHARDS: usize> Drop for ForkLock<T, SHARDS> {
    fn drop(&mut self) {
        self.shards.iter().for_each(|shard| shard.clear_poison());
        locks().free.push(self.shards);
    }
}

/// The number of the lock that this thread acquires as a reader.
#[inline]
fn own_shard<const SHARDS: usize>() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static NUMBER: usize = NEXT.fetch_add(1, Relaxed);
    }
    match SHARDS {
        1 => 0,
        _ => NUMBER.try_with(|number| number % SHARDS).unwrap_or(0),
    }
}

#[cfg(test)]
mod tests;
