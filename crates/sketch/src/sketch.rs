//! What a server does with a sketch of any family: it saves, copies, measures and moves it.

use crate::body::Part;
use splitbloom_foundation::alloc::OutOfMemory;
use splitbloom_foundation::fields::FieldSink;
use splitbloom_foundation::span::Span;
use std::any::Any;

/// A sketch of one family.
pub trait Sketch: Part {
    /// Writes its fields: RedisBloom's, or with a window our own. RedisBloom's have all counters in
    /// one string, for which this allocates memory.
    ///
    /// # Errors
    /// `OutOfMemory`, before the first field.
    fn save(&self, to: &mut impl FieldSink) -> Result<(), OutOfMemory>;

    /// A hash that is equal for equal sketches only: of everything except which zeros are
    /// allocated.
    fn digest(&self) -> u128;

    /// Its window, if it has one.
    fn window(&self) -> Option<Span> {
        None
    }

    /// When replies about it change next if nothing is added, in milliseconds since 1970, later
    /// than `now`; `None` if nothing is remembered, and without a window.
    fn next_change(&self, _now: u64) -> Option<u64> {
        None
    }

    /// Data that the owner keeps with a windowed sketch; it is not part of the sketch, so copies
    /// begin without. `None` without a window, or if there is no memory for it.
    fn attachment<T: Any + Default + Send + Sync>(&mut self) -> Option<&mut T> {
        None
    }
}
