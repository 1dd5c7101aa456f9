//! Values that other threads are saving. They are not copied or defragmented meanwhile.
//!
//! A copy changes how its source is stored, because the two then share memory, and defragmentation
//! moves the memory. A server that saves on other threads lets no command write to the keys of
//! these values, but a script or another module may copy a key that it has not declared. Such a
//! copy fails.

use super::context::Context;
use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::thread::yield_now;

/// The addresses of the values that threads other than the server's are saving. Locked for the
/// whole of a copy or a step of defragmentation, so a save that begins meanwhile waits for its end.
static SAVED_BY_OTHERS: Mutex<Vec<usize>> = Mutex::new(Vec::new());

thread_local! {
    static IS_SERVERS: Cell<bool> = const { Cell::new(false) };
}

/// Marks this thread, which loads the module, as the server's own. It copies nothing while it saves
/// a value, so its saves take no lock. A child that it forks has only this thread, so a lock that
/// another thread held at the fork would stay held there forever.
pub(crate) fn register(_: &Context) {
    IS_SERVERS.set(true);
}

/// Locks `SAVED_BY_OTHERS`. Waits in a loop, for ThreadSanitizer, which does not see how the
/// standard library waits.
fn saved_by_others() -> MutexGuard<'static, Vec<usize>> {
    loop {
        match SAVED_BY_OTHERS.try_lock() {
            Ok(saved) => return saved,
            Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => yield_now(),
        }
    }
}

/// A save in progress, until it is dropped.
#[must_use]
pub(crate) struct Saving(Option<usize>);

impl Saving {
    /// Begins a save of the value at `address`. On a thread other than the server's it waits for
    /// the end of a copy or a step of defragmentation.
    pub fn of<T>(address: *const T) -> Self {
        if IS_SERVERS.get() {
            return Self(None);
        }
        saved_by_others().push(address.addr());
        Self(Some(address.addr()))
    }
}

impl Drop for Saving {
    fn drop(&mut self) {
        let Some(address) = self.0 else {
            return;
        };
        let mut saved = saved_by_others();
        if let Some(index) = saved.iter().position(|saved| *saved == address) {
            saved.swap_remove(index);
        }
    }
}

/// Calls `change` and returns its value; `None`, without a call, if another thread is saving the
/// value at `address`. No other thread begins a save during the call.
pub(crate) fn unless_saved<T, C>(
    address: *const T,
    change: impl FnOnce() -> Option<C>,
) -> Option<C> {
    let saved = saved_by_others();
    if saved.contains(&address.addr()) {
        return None;
    }
    change()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    fn copy_of(value: &u32) -> Option<u32> {
        unless_saved(value, || Some(*value))
    }

    #[test]
    fn a_value_is_not_copied_while_another_thread_saves_it() {
        let (value, other) = (7, 8);
        thread::scope(|threads| {
            let saves = threads.spawn(|| [Saving::of(&value), Saving::of(&value)]);
            let [first, second] = saves.join().unwrap();
            assert_eq!((copy_of(&value), copy_of(&other)), (None, Some(8)));
            drop(first);
            assert_eq!(copy_of(&value), None);
            drop(second);
            assert_eq!(copy_of(&value), Some(7));
        });
    }

    #[test]
    fn a_save_on_the_servers_thread_takes_no_lock() {
        let value = 9;
        thread::spawn(move || {
            IS_SERVERS.set(true);
            let locked = saved_by_others();
            drop(Saving::of(&value));
            drop(locked);
            let _saving = Saving::of(&value);
            assert_eq!(copy_of(&value), Some(9));
        })
        .join()
        .unwrap();
    }
}
