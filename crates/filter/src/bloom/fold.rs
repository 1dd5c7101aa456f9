//! Folding: the same items in fewer sub-bitmaps.
//!
//! ```text
//!   from 6     │ 0 │ 1 │ 2 │ 3 │ 4 │ 5 │       an item with place h is in h * 6 / 2^64
//!                  ╲ │     ╲ │     ╲ │
//!   to 3             0       1       2         in h * 3 / 2^64: half of that, rounded down
//!
//!   to 4         0    1 │ 1   2    3 │ 3       1 and 4 are in two each: their items may be in both
//! ```
//!
//! The probes of an item depend on the size of a sub-bitmap only. So if the one number divides the
//! other, a union of neighbours is the sub-bitmap that the smaller filter would have, bit for bit.
//! (Sailhan and Stehr, "Folding and unfolding Bloom filters", 2012, fold filters that are not
//! split.) Otherwise some neighbours are in two unions, which costs what their items would cost.

use crate::bloom::blocked_bloom::{BlockedBloom, Header};
use crate::bloom::guard::{self, UNIT};
use crate::bloom::shape::Shape;
use crate::bloom::sizing::Split;
use crate::error::AddError;
use splitbloom_foundation::alloc::try_vec;
use std::array;
use std::iter;
use std::ops::Range;

impl Header {
    /// The header after folding to `num_sub_bitmaps`: that of a sub-filter reserved so small.
    /// `None` if no capacity has so few, or if sizing never produces this header. Costs
    /// some sizings.
    pub(crate) fn folded(&self, num_sub_bitmaps: u64) -> Option<Self> {
        if num_sub_bitmaps == self.shape.num_sub_bitmaps {
            return Some(*self);
        }
        self.folded_at(num_sub_bitmaps, &Split::at(self.error_rate))
    }

    /// The same for fewer than it has, with the sizing of its error rate.
    fn folded_at(&self, num_sub_bitmaps: u64, sizing: &Split) -> Option<Self> {
        let shape = Shape { num_sub_bitmaps, ..self.shape };
        let capacity = sizing.capacity_of(&shape)?;
        let guard_limit = guard::limit(&shape, capacity, self.error_rate);
        Some(Self { shape, capacity, guard_limit, ..*self })
    }

    /// The factors from 2 on by which it may be folded so that at least `capacity` items fit, the
    /// largest first; with the header after that.
    pub(crate) fn folds_for(&self, capacity: u64) -> impl Iterator<Item = (u64, Self)> + '_ {
        let n = self.shape.num_sub_bitmaps;
        let sizing = Split::at(self.error_rate);
        // That of a header that sizing makes is at most this; a forged one may be any number.
        let most = sizing.capacity_of(&self.shape).unwrap_or(0);
        // A forged number may have any factors; one that sizing makes has an odd part below 256.
        let odd = n >> n.trailing_zeros();
        let odd_factors =
            (1..=odd.min(255)).rev().filter(move |factor| odd.is_multiple_of(*factor));
        let mut factors = [0; 1024];
        let mut len = 0;
        // 128 divisors at most, and 46 powers of two: only those that leave enough matter.
        let fewest = (capacity as f64 / most as f64 * n as f64 * 0.9) as u64;
        for odd in odd_factors {
            for twos in 0..=n.trailing_zeros() {
                let factor = odd << twos;
                if factor > 1 && n / factor >= fewest.max(2) && len < factors.len() {
                    factors[len] = factor;
                    len += 1;
                }
            }
        }
        factors[..len].sort_unstable_by(|one, other| other.cmp(one));
        let fold = move |factor| Some((factor, self.folded_at(n / factor, &sizing)?));
        let folds = factors.into_iter().take(len).filter_map(fold);
        folds.filter(move |(_, header)| (capacity..self.capacity).contains(&header.capacity))
    }
}

/// `number * by / of`, rounded down, and whether there was a rest.
fn scaled(number: u64, by: u64, of: u64) -> (u64, bool) {
    if let Some(product) = number.checked_mul(by) {
        return (product / of, !product.is_multiple_of(of));
    }
    let (product, of) = (u128::from(number) * u128::from(by), u128::from(of));
    (u64::try_from(product / of).unwrap_or(u64::MAX), !product.is_multiple_of(of))
}

/// How sub-bitmaps are divided among at most as many of a folded sub-filter.
#[derive(Clone, Copy)]
pub(super) struct Division {
    /// The number of sub-bitmaps.
    pub from: u64,
    /// That of the folded sub-filter.
    pub to: u64,
}

impl Division {
    /// The first folded sub-bitmap with items of sub-bitmap `number`.
    pub fn folded(self, number: u64) -> u64 {
        scaled(number, self.to, self.from).0
    }

    /// Where the folded sub-bitmap `folded` begins: the sub-bitmap that it shares with the folded
    /// one before it, or an empty range if they share none.
    fn between(self, folded: u64) -> Range<u64> {
        let (next, is_divided) = scaled(folded, self.from, self.to);
        next..next + u64::from(is_divided)
    }

    /// The sub-bitmaps with items of the folded ones in `folded`.
    pub fn of(self, folded: Range<u64>) -> Range<u64> {
        self.between(folded.start).start..self.between(folded.end).end
    }
}

/// A sub-filter that is being folded, one segment after the other.
pub(crate) struct Folding {
    /// The folded sub-filter, to which items may be added that are new in the other one.
    pub folded: BlockedBloom,
    /// The segment from which the next step goes on.
    next: u64,
    /// The union of neighbours.
    union: Vec<u64>,
}

impl Folding {
    /// Begins with an empty sub-filter of the header `header`, that of [`Header::folded`].
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn begin(header: Header) -> Result<Self, AddError> {
        let folded = BlockedBloom::from_header(Header { items: 0, ..header });
        let mut union = try_vec(folded.sub_bitmap_words())?;
        union.resize(folded.sub_bitmap_words(), 0);
        Ok(Self { folded, next: 0, union })
    }

    /// Takes the bits of the next allocated segment of `bloom`. Returns whether there was one.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn step(&mut self, bloom: &BlockedBloom) -> Result<bool, AddError> {
        let Some(segment) = bloom.segments().next_allocated(self.next) else {
            return Ok(false);
        };
        let mut number = 0;
        for (folded, words) in bloom.neighbours(segment, self.folded.num_sub_bitmaps()) {
            if folded != number {
                self.take_union(number)?;
                number = folded;
            }
            set_all(&mut self.union, words);
        }
        self.take_union(number)?;
        self.next = segment + 1;
        Ok(true)
    }

    /// Sets the bits of the union in sub-bitmap `number`, and clears it.
    fn take_union(&mut self, number: u64) -> Result<(), AddError> {
        if self.union.iter().any(|word| *word != 0) {
            self.folded.segments_mut().allocate(number)?;
            self.folded.set_sub_bitmap(number, &self.union);
            self.union.fill(0);
        }
        Ok(())
    }

    /// The folded sub-filter, after the last step, with as many `items` as it can count.
    pub fn end(mut self, items: u64) -> BlockedBloom {
        self.folded.set_items(items);
        self.folded
    }
}

/// Sets in `union` the bits of all sub-bitmaps in `words`, which are of its size.
pub(super) fn set_all(union: &mut [u64], words: &[u64]) {
    // A line stays in registers.
    if let Ok(union) = <&mut [u64; 8]>::try_from(&mut *union) {
        for line in words.as_chunks::<8>().0 {
            *union = array::from_fn(|n| union[n] | line[n]);
        }
        return;
    }
    for words in words.chunks_exact(union.len()) {
        union.iter_mut().zip(words).for_each(|(to, from)| *to |= from);
    }
}

impl BlockedBloom {
    /// A copy whose sub-bitmaps are unions of neighbours of this one, with the header `header`,
    /// that of [`Header::folded`]. It weighs its bits anew, and counts the same items; or, if
    /// sub-bitmaps are in two unions, the items that would set as many bits.
    ///
    /// It costs what reading this one costs, and at most the memory of `header`.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn fold(&self, header: Header) -> Result<Self, AddError> {
        let mut folding = Folding::begin(header)?;
        while folding.step(self)? {}
        let items = self.fill().items();
        let mut folded = folding.end(items);
        folded.estimate_items(items, self.most_items_in(header.shape.num_sub_bitmaps));
        Ok(folded)
    }

    /// Splits the allocated sub-bitmaps of `segment` by the sub-bitmap that each folds to in a
    /// sub-filter of `num_sub_bitmaps`, at most as many. Returns the number of that one and a run
    /// of those that fold to it, in ascending order. A sub-bitmap that folds to two is in both
    /// runs.
    pub(super) fn neighbours(
        &self,
        segment: u64,
        num_sub_bitmaps: u64,
    ) -> impl Iterator<Item = (u64, &[u64])> + '_ {
        let division = Division { from: self.num_sub_bitmaps(), to: num_sub_bitmaps };
        let len = self.sub_bitmap_words();
        self.runs_of(segment).flat_map(move |(mut number, mut words)| {
            let mut folded = division.folded(number);
            iter::from_fn(move || {
                let left = (words.len() / len) as u64;
                if left == 0 {
                    return None;
                }
                let next = division.between(folded + 1);
                let taken = left.min(next.end - number) as usize;
                let neighbours = (folded, &words[..taken * len]);
                let done = left.min(next.start - number);
                words = &words[done as usize * len..];
                (number, folded) = (number + done, folded + 1);
                Some(neighbours)
            })
        })
    }

    /// Whether its false-positive rate is at most its error rate, as the guard weighs its bits.
    pub(crate) fn keeps_its_rate(&self) -> bool {
        self.fill().weight() <= self.header().shape.num_sub_bitmaps.saturating_mul(UNIT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_folded_sub_bitmap_gets_all_that_may_have_its_items_and_no_other(
            to in 1..=1u64 << 38, more in 0..=1u64 << 38, place: u64,
        ) {
            let division = Division { from: (to + more).min(1 << 38), to };
            let number = |of: u64| ((u128::from(place) * u128::from(of)) >> 64) as u64;
            let (number, folded) = (number(division.from), number(to));
            let its = division.of(folded..folded + 1);
            prop_assert!(its.contains(&number));
            let first = division.folded(number);
            prop_assert!(first == folded || first + 1 == folded);
            // The number before the first and the one after the last belong to others.
            prop_assert!(its.start == 0 || division.of(0..folded).contains(&(its.start - 1)));
            prop_assert!(its.start == 0 || division.of(0..folded).end <= its.start + 1);
            prop_assert_eq!(division.of(0..to), 0..division.from);
        }
    }
}
