//! What a server does with a sketch of any family: it saves, copies, measures and moves it.

use splitbloom_foundation::alloc::{Mover, OutOfMemory};
use splitbloom_foundation::fields::FieldSink;
use std::alloc::Layout;
use std::any::Any;
use std::num::NonZeroU64;

/// A sketch of one family.
pub trait Sketch: Sized {
    /// Writes its fields: RedisBloom's, or with a window our own. RedisBloom's have all counters in
    /// one string, for which this allocates memory.
    ///
    /// # Errors
    /// `OutOfMemory`, before the first field.
    fn save(&self, to: &mut impl FieldSink) -> Result<(), OutOfMemory>;

    /// A copy, which may share memory with this one.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    fn try_clone(&mut self) -> Result<Self, OutOfMemory>;

    /// A number that is equal for equal sketches only: a hash of everything but which zeros are
    /// allocated.
    fn digest(&self) -> u128;

    /// The approximate number of its allocations.
    fn allocations(&self) -> usize;

    /// Visits every kind of allocation: its layout and their number.
    fn visit_allocations(&self, visit: &mut dyn FnMut(Layout, u64));

    /// Passes its memory through `mover`, from `from` on, until it says stop. Returns where to
    /// continue, which is never 0.
    fn relocate(&mut self, from: u64, mover: &mut impl Mover) -> Option<NonZeroU64>;

    /// When replies about it change next if nothing is added, in milliseconds since 1970, later
    /// than `now`; `None` if nothing is remembered, and without a window.
    fn next_change(&self, _now: u64) -> Option<u64> {
        None
    }

    /// What its owner keeps with one that has a window, which is no part of it: copies begin
    /// without. `None` without a window, or if there is no memory for it.
    fn attachment<T: Any + Default + Send + Sync>(&mut self) -> Option<&mut T> {
        None
    }
}
