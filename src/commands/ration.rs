//! The memory that one command with many items may take beyond the server's `maxmemory`.
//!
//! The server compares its memory with the limit before a command that may allocate, and then lets
//! it run to its end. An item of a sparse filter takes up to 64 KiB, if it must copy what the
//! filter shares with another, so a command of some kilobytes could take gigabytes. So a command
//! stops once it has itself taken [`RATION`] and the server is over its limit.
//!
//! A command that takes less is never stopped, since a server that evicts is always near its limit.
//! A million new items of a growing table take 2 MB.

use crate::commands::reply_error::ReplyError;
use splitbloom_server::allocator::{bytes_held, is_over_maxmemory};
use splitbloom_server::context::Context;
use std::cell::Cell;

/// Bytes that any command may take, even over the limit.
const RATION: u64 = 4 << 20;
/// The number of items between two checks; they take at most 4 MiB.
const ITEMS: u32 = 64;

/// The ration of the running command.
pub struct Ration<'a> {
    context: &'a Context,
    /// The least memory that the module has held since the command began: the server's background
    /// thread may free filters meanwhile.
    min_held: Cell<u64>,
    is_used_up: Cell<bool>,
}

/// Items, up to the one at which the ration was used up.
pub struct Rationed<'a, I> {
    items: I,
    ration: &'a Ration<'a>,
    /// The number of items until the next check.
    left: u32,
}

impl<'a> Ration<'a> {
    /// A ration for a command that is about to add items.
    pub fn new(context: &'a Context) -> Self {
        Self { context, min_held: Cell::new(bytes_held()), is_used_up: Cell::new(false) }
    }

    /// Returns `items`, up to the one at which the ration is used up.
    pub fn of<I>(&'a self, items: I) -> Rationed<'a, I> {
        Rationed { items, ration: self, left: ITEMS }
    }

    /// The error for the first item after the ration was used up; `None` if it was not.
    pub fn refusal(&self) -> Option<ReplyError> {
        self.is_used_up.get().then_some(ReplyError::OVER_MAXMEMORY)
    }

    /// Whether the command must stop. One from the primary or the append-only file has run before
    /// and is never stopped.
    #[cold]
    fn check(&self) -> bool {
        let (held, min) = (bytes_held(), self.min_held.get());
        self.min_held.set(min.min(held));
        let is_over = held.saturating_sub(min) >= RATION && is_over_maxmemory();
        if is_over && !self.context.is_replay() {
            self.is_used_up.set(true);
        }
        self.is_used_up.get()
    }
}

impl<I: Iterator> Iterator for Rationed<'_, I> {
    type Item = I::Item;

    #[inline]
    fn next(&mut self) -> Option<I::Item> {
        let item = self.items.next()?;
        if self.left == 0 {
            if self.ration.check() {
                return None;
            }
            self.left = ITEMS;
        }
        self.left -= 1;
        Some(item)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, self.items.size_hint().1)
    }
}
