//! The items that come most often: HeavyKeeper.
//!
//! Yang, Gong, Zhang, Zou, Shi, Li, "HeavyKeeper: an accurate algorithm for finding top-k elephant
//! flows", USENIX ATC 2018, section 3, as RedisBloom lays it out.
//!
//! ```text
//!   buckets   row 0   {owner, count} {owner, count} …      width of them in each row
//!             row 1   {owner, count} …                     an item has one in each
//!   list      k items with the highest counts              a heap
//! ```
//!
//! An item raises the count of each of its buckets that it owns or that are empty. A bucket that
//! another item owns loses one with probability decay^count for each unit, and changes owner when
//! nothing is left. The item's count is the highest of those that it owns, and it enters the list
//! if that is not below the lowest there.
//!
//! # Error
//! A count is never above the true one, except where two items share a fingerprint of 32 bits and a
//! bucket. It misses the units that came before the item owned the bucket, and those that it has
//! lost since: theorem 2 of the paper bounds the probability that it falls short of n by more than
//! ε N by 1 / (ε w n (b - 1)), with w buckets in a row, N units in all and b = 1 / decay.
//!
//! # Equal everywhere
//! What decays is drawn from a generator whose state is part of the value. So equal commands leave
//! equal values, bit by bit.
//!
//! ```text
//!   shape    k, width, depth, decay       slice   buckets and list: the whole, or one of a window
//!   decay    what another item wears      list    the heap       index    item to entry
//!   random   the generator                rules   where an item belongs, for all slices
//!   answers  what has left the list       codec   RedisBloom's encoding, and that of windows
//! ```

mod answers;
mod codec;
mod decay;
mod index;
mod list;
mod random;
mod rules;
mod shape;
mod slice;
#[cfg(test)]
mod tests;
mod totals;

pub use answers::Answers;
pub use codec::{TYPE_NAME, WINDOW_TYPE_NAME};
pub use shape::{
    Shape, ShapeError, DEFAULT_DECAY, DEFAULT_DEPTH, DEFAULT_WIDTH, DEPTH, K, MAX_BUCKETS,
    MAX_WINDOW_READS,
};
pub use totals::{Counts, Listed, Lookup};

use crate::body::{Body, Part};
use crate::rows::steps_to_hash;
use crate::sketch::Sketch;
use crate::window::Ring;
use random::Random;
use rules::Rules;
use slice::Slice;
use splitbloom_foundation::alloc::{Mover, OutOfMemory};
use splitbloom_foundation::fields::FieldSink;
use splitbloom_foundation::span::Span;
use std::alloc::Layout;
use std::any::Any;
use std::num::NonZeroU64;
use xxhash_rust::xxh3::Xxh3;

/// The most units of an item in one add, as in RedisBloom: a bucket may take a step for each.
pub const MAX_UNITS: u32 = 100_000;

/// The most steps of the items of one command: see [`TopK::steps`]. In the largest tables each
/// takes some 45 ns, and a bucket that is worn down 100 ns for each count: a third of a second.
pub const MAX_STEPS: u64 = 1 << 22;

/// The items that come most often, of all or of those in a window.
pub struct TopK {
    rules: Rules,
    random: Random,
    body: Body<Slice>,
}

/// What items are added to: all of it, or the current slice of its window.
pub struct Open<'a> {
    rules: &'a Rules,
    random: &'a mut Random,
    slice: &'a mut Slice,
}

impl Open<'_> {
    /// Adds items, each with at most [`MAX_UNITS`] units, and notes in `answers` the item that has
    /// left the list for each; in a window, the list of the current slice.
    ///
    /// Cost: a step for each row, and 2 log2 k for the list.
    ///
    /// # Errors
    /// `OutOfMemory`: the items with an answer have been added, and no others.
    pub fn add_many<'a>(
        self,
        items: impl Iterator<Item = (&'a [u8], u32)>,
        answers: &mut Answers,
    ) -> Result<(), OutOfMemory> {
        self.slice.add_many(self.rules, self.random, items, answers)
    }
}

impl TopK {
    /// An empty top-k, for all items or for those of a `window`. Allocates the list, but no
    /// buckets; in a window, no slice.
    ///
    /// Each slice has its own buckets and list, as large as those of a top-k without a window. Item
    /// counts of slices are summed, so the error of a sum is the sum of the slices' errors, each of
    /// which is in proportion to what came in the slice; and an item must be among the k of a slice
    /// to be found. The width depends on the distinct items of a slice, not of the window.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(shape: Shape, window: Option<Span>) -> Result<Self, OutOfMemory> {
        let body = Body::new(window, || Slice::new(shape))?;
        Ok(Self { rules: Rules::new(shape)?, random: Random::default(), body })
    }

    /// Its parameters.
    pub fn shape(&self) -> Shape {
        self.rules.shape
    }

    /// The latest time that has changed it, in milliseconds since 1970; 0 before the first change,
    /// and without a window.
    pub fn latest(&self) -> u64 {
        self.body.ring().map_or(0, Ring::latest)
    }

    /// The steps that an item of `len` bytes with `units` may take: in each row one, and those of
    /// wearing down another item's bucket. With the default decay that is at most 110, with one of
    /// 0.999 or more a step for each two units.
    #[inline]
    pub fn steps(&self, len: usize, units: u32) -> u64 {
        let wear = u64::from(self.rules.decay.steps(units));
        let depth = u64::from(self.rules.shape.depth);
        depth * (1 + wear) + steps_to_hash(len as u64, depth)
    }

    /// The steps of estimating the count of an item of `len` bytes: one in each row, of each slice.
    pub fn steps_to_count(&self, len: usize) -> u64 {
        let depth = u64::from(self.rules.shape.depth);
        depth * self.body.most_parts() + steps_to_hash(len as u64, depth)
    }

    /// Advances the time to `now`, so that items can be added. Calls `over` with each slice that is
    /// over. Without a window both are ignored.
    ///
    /// # Errors
    /// `OutOfMemory`; nothing has changed.
    #[inline]
    pub fn open(&mut self, now: u64, over: impl FnMut(Slice)) -> Result<Open<'_>, OutOfMemory> {
        let Self { rules, random, body } = self;
        let (slice, _) = body.open(now, || Slice::new(rules.shape), over)?;
        Ok(Open { rules, random, slice })
    }
}

impl Part for TopK {
    fn try_clone(&mut self) -> Result<Self, OutOfMemory> {
        let rules = Rules::new(self.rules.shape)?;
        Ok(Self { rules, random: self.random, body: self.body.try_clone()? })
    }

    fn allocations(&self) -> usize {
        1 + self.body.allocations()
    }

    fn visit_allocations(&self, visit: &mut dyn FnMut(Layout, u64)) {
        visit(self.rules.decay.layout(), 1);
        self.body.visit_allocations(visit);
    }

    fn relocate(&mut self, from: u64, mover: &mut impl Mover) -> Option<NonZeroU64> {
        if from == 0 {
            self.rules.decay.relocate(mover);
        }
        self.body.relocate(from, mover)
    }
}

impl Sketch for TopK {
    fn save(&self, to: &mut impl FieldSink) -> Result<(), OutOfMemory> {
        self.encode(to)
    }

    fn digest(&self) -> u128 {
        let mut hash = Xxh3::new();
        let Shape { k, width, depth, decay } = self.rules.shape;
        let (seconds, slices) =
            self.window().map_or((0, 0), |span| (span.seconds(), span.slices()));
        let numbers = [k, width, depth, seconds, slices.into()].map(u64::from);
        for number in numbers.into_iter().chain([decay.to_bits(), self.random.0, self.latest()]) {
            hash.update(&number.to_le_bytes());
        }
        for slice in self.body.slots() {
            hash.update(&[u8::from(slice.is_some())]);
            let Some(Slice { buckets, list }) = slice else { continue };
            buckets.write_digest(&mut hash);
            for (count, entry) in list.places() {
                hash.update(&count.to_le_bytes());
                hash.update(&[u8::from(entry.is_some())]);
                if let Some(entry) = entry {
                    hash.update(&entry.path.fingerprint.to_le_bytes());
                    hash.update(&(entry.item.len() as u64).to_le_bytes());
                    hash.update(&entry.item);
                }
            }
        }
        hash.digest128()
    }

    fn window(&self) -> Option<Span> {
        self.body.ring().map(Ring::span)
    }

    fn next_change(&self, now: u64) -> Option<u64> {
        self.body.ring()?.next_change(now)
    }

    fn attachment<T: Any + Default + Send + Sync>(&mut self) -> Option<&mut T> {
        self.body.ring_mut()?.attachment.get()
    }
}
