//! The memory that a running command may take beyond the server's `maxmemory`.
//!
//! The server compares its memory with the limit before a command that may allocate, and then lets
//! it run to its end. A command of a few words may allocate hundreds of megabytes. So the allocator
//! refuses the block that brings the command's total to `STEP` bytes while the server is over its
//! limit. An operation that is refused memory changes nothing; those before it stay.
//!
//! A command that takes less is never stopped: a server that evicts is always near its limit. One
//! that takes more is checked again with each further `STEP` bytes.

use super::allocator::is_over_maxmemory;
use super::context::Context;
use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::thread::panicking;

/// Bytes that any command may take, even over the limit, and between two checks of the limit. Half
/// of the 8 MiB that docs/commands.md promises: the rest is for replies and for [`SMALL`] blocks.
const STEP: i64 = 4 << 20;
/// Blocks of at most this many bytes are never refused: they may be infallible allocations (see
/// [`allocator`](super::allocator)), whose failure would end the server.
const SMALL: usize = 64;

/// What the command that runs on this thread has taken.
#[derive(Clone, Copy)]
struct Account {
    /// Bytes allocated, less those freed.
    taken: i64,
    /// The limit is checked when `taken` reaches this.
    look: i64,
    is_used_up: bool,
    /// Lives as long as the account.
    context: NonNull<Context>,
}

thread_local! {
    static ACCOUNT: Cell<Option<Account>> = const { Cell::new(None) };
}

/// The ration of the running command, as long as this lives. It must be dropped.
pub struct Ration<'a>(PhantomData<&'a Context>);

impl<'a> Ration<'a> {
    /// A ration from here on. A command from the primary or the append-only file has run before,
    /// and has no limit. Cost: some 2 ns.
    pub fn begin(context: &'a Context) -> Self {
        let context = NonNull::from(context);
        ACCOUNT.set(Some(Account { taken: 0, look: STEP, is_used_up: false, context }));
        Self(PhantomData)
    }

    /// Whether memory was refused because the ration was used up.
    pub fn is_used_up(&self) -> bool {
        ACCOUNT.get().is_some_and(|account| account.is_used_up)
    }

    /// Whether some of the ration is left. For items that may allocate only small blocks.
    pub fn is_left(&self) -> bool {
        if may_end(0) {
            grants(SMALL + 1);
            given_back(SMALL + 1);
        }
        !self.is_used_up()
    }
}

impl Account {
    /// Whether the command must end.
    fn is_over(&self) -> bool {
        // SAFETY: the ration borrows the context, and closes the account when it is dropped.
        is_over_maxmemory() && !unsafe { self.context.as_ref() }.is_replay()
    }
}

impl Drop for Ration<'_> {
    fn drop(&mut self) {
        ACCOUNT.set(None);
    }
}

/// Notes that a block of `bytes` was allocated. Returns false if it must be freed again.
pub(crate) fn grants(bytes: usize) -> bool {
    let Some(mut account) = ACCOUNT.get() else {
        return true;
    };
    account.taken += bytes as i64;
    if account.taken >= account.look && bytes > SMALL && !panicking() {
        account.is_used_up = account.is_over();
        account.look = account.taken + STEP;
    }
    ACCOUNT.set(Some(account));
    !account.is_used_up || bytes <= SMALL
}

/// Notes that a block of `bytes` was freed.
pub(crate) fn given_back(bytes: usize) {
    if let Some(account) = ACCOUNT.get() {
        ACCOUNT.set(Some(Account { taken: account.taken - bytes as i64, ..account }));
    }
}

/// Whether allocating `bytes` more would lead to a check of the limit.
pub(crate) fn may_end(bytes: usize) -> bool {
    ACCOUNT.get().is_some_and(|account| account.taken + bytes as i64 >= account.look)
}

/// Runs `work` as if no command had a ration: nothing that it allocates is counted or refused.
pub(crate) fn suspended<T>(work: impl FnOnce() -> T) -> T {
    let account = ACCOUNT.take();
    let done = work();
    ACCOUNT.set(account);
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_refused_while_a_used_up_ration_is_suspended() {
        let context = NonNull::dangling();
        ACCOUNT.set(Some(Account { taken: 0, look: i64::MAX, is_used_up: true, context }));
        let granted = [grants(100), suspended(|| grants(100)), grants(100)];
        ACCOUNT.set(None);
        assert_eq!(granted, [false, true, false]);
    }
}
