//! Folding: the same items in fewer sub-bitmaps. And unfolding: in more.
//!
//! ```text
//!   from 6     │ 0 │ 1 │ 2 │ 3 │ 4 │ 5 │       an item with place h is in h * 6 / 2^64
//!                  ╲ │     ╲ │     ╲ │
//!   to 3             0       1       2         in h * 3 / 2^64: half of that, rounded down
//!
//!   to 4         0    1 │ 1   2    3 │ 3       1 and 4 are in two each: their items may be in both
//!
//!   from 3     │   0   │   1   │   2   │
//!   to 6       │ 0 │ 1 │ 2 │ 3 │ 4 │ 5 │       each is in two, as its items may be in either
//! ```
//!
//! The probes of an item depend on the size of a sub-bitmap only. So if the one number divides the
//! other, a union of neighbours is the sub-bitmap that the smaller filter would have, bit for bit.
//! (Sailhan and Stehr, "Folding and unfolding Bloom filters", 2012, fold filters that are not
//! split.) Otherwise some neighbours are in two unions, which costs what their items would cost.
//! Unfolded, a sub-bitmap is as full as the one or two whose items it may have.

use crate::bloom::blocked_bloom::{BlockedBloom, Header};
use crate::bloom::guard;
use crate::bloom::shape::Shape;
use crate::bloom::sizing::Split;
use crate::error::AddError;
use crate::hash::{multiply_high, ItemHash};
use splitbloom_foundation::alloc::try_vec;
use std::array;
use std::iter;
use std::ops::Range;

/// How many sizes are tried that do not divide the present one, each with a larger margin.
const TRIES: u32 = 3;
/// At every error rate, sizing chooses this number of sub-bitmaps for some capacity. It chooses
/// smaller numbers at some error rates only.
const SMALLEST: u64 = 129;
/// A size that divides the present one is preferred if it is larger by no more than this factor:
/// the fold is exact, so the result can shrink further.
const WORTH: f64 = 1.05;

impl Header {
    /// The header after folding to the size of one reserved for `capacity` items. `None` if it has
    /// no more sub-bitmaps than that, or if sizing never produces this header.
    pub(crate) fn folded_for(&self, capacity: u64) -> Option<Self> {
        let sizing = Split::at(self.error_rate);
        let header = self.folded_at(sizing.shape_for(capacity).num_sub_bitmaps, &sizing)?;
        Some(header).filter(|header| header.shape.num_sub_bitmaps < self.shape.num_sub_bitmaps)
    }

    /// The header after folding to `num_sub_bitmaps`; `sizing` is that of its error rate.
    fn folded_at(&self, num_sub_bitmaps: u64, sizing: &Split) -> Option<Self> {
        let shape = Shape { num_sub_bitmaps, ..self.shape };
        let capacity = sizing.capacity_of(&shape)?;
        let mut guard_limit = guard::limit(&shape, capacity, self.error_rate);
        let (from, to) = (self.shape.num_sub_bitmaps, num_sub_bitmaps);
        let is_uneven = self.guard_limit == guard::limit_of_uneven(&self.shape);
        if is_uneven || !(Division { from, to }).is_exact() {
            guard_limit = guard_limit.min(guard::limit_of_uneven(&shape));
        }
        Some(Self { shape, capacity, guard_limit, ..*self })
    }

    /// The smallest size above `above` sub-bitmaps to which it may be folded so that at least
    /// `capacity` items fit. Costs some sizings.
    pub(crate) fn smaller(&self, capacity: u64, above: u64) -> Option<Self> {
        let sizing = Split::at(self.error_rate);
        // The capacity of a header from sizing is at most this; a forged header may have any.
        let most = sizing.capacity_of(&self.shape)?;
        let is_next = |header: &Self| {
            let is_smaller = (capacity..self.capacity).contains(&header.capacity);
            is_smaller && header.shape.num_sub_bitmaps > above
        };
        let exact = self.exact_folds(capacity, most, &sizing).find(is_next);
        let inexact = self.inexact_folds(capacity, most, &sizing).find(is_next);
        let size = |header: &Self| header.shape.num_sub_bitmaps as f64;
        let is_worth_it = |inexact: &Self| {
            let largest = exact.as_ref().map_or(f64::INFINITY, size);
            size(inexact) * WORTH < largest.min(size(self))
        };
        inexact.filter(is_worth_it).or(exact)
    }

    /// The sizes that divide its own and hold at least `capacity` items, the smallest first. Its
    /// own size holds `most`.
    fn exact_folds<'a>(
        &'a self,
        capacity: u64,
        most: u64,
        sizing: &'a Split,
    ) -> impl Iterator<Item = Self> + 'a {
        let n = self.shape.num_sub_bitmaps;
        // A forged number may have any factors; one that sizing makes has an odd part below 256.
        let odd = n >> n.trailing_zeros();
        let odd_factors =
            (1..=odd.min(255)).rev().filter(move |factor| odd.is_multiple_of(*factor));
        let mut factors = [0; 1024];
        let mut len = 0;
        // At most 128 odd factors, and 46 powers of two: only sizes that hold enough items, and
        // fewer than a forged capacity, matter.
        let fewest = (capacity as f64 / most as f64 * n as f64 * 0.9) as u64;
        let most = (self.capacity as f64 / most as f64 * n as f64 * 1.1) as u64;
        for odd in odd_factors {
            for twos in 0..=n.trailing_zeros() {
                let factor = odd << twos;
                let is_near = (fewest.max(2)..=most).contains(&(n / factor));
                if factor > 1 && is_near && len < factors.len() {
                    factors[len] = factor;
                    len += 1;
                }
            }
        }
        factors[..len].sort_unstable_by(|one, other| other.cmp(one));
        let folds = factors.into_iter().take(len);
        folds.filter_map(move |factor| self.folded_at(n / factor, sizing))
    }

    /// The sizes at which it holds `capacity` items, its own included, if the items of a sub-bitmap
    /// with two images count in both. The first suffices for nearly any items, the last for all but
    /// chosen ones.
    ///
    /// n sub-bitmaps become m. At most m - 1 of these begin inside one of the n, so the share m/n
    /// of the i items counts twice. If a items must fit, and n sub-bitmaps have the capacity C,
    /// then m sub-bitmaps need the capacity c = a + i * m/n, and m/n = c/C, so c = a / (1 - i/C).
    fn inexact_folds<'a>(
        &'a self,
        capacity: u64,
        most: u64,
        sizing: &'a Split,
    ) -> impl Iterator<Item = Self> + 'a {
        let items = self.items.max(1) as f64;
        let once = (1.0 - items / most as f64).max(f64::MIN_POSITIVE);
        let (fits, own) = (capacity.max(1) as f64 / once, items / once);
        let n = self.shape.num_sub_bitmaps as f64;
        let m = fits / most as f64 * n;
        // The weight of m random sub-bitmaps deviates by 1/sqrt(m) or less, and is some high power
        // of the items: this is two deviations. And an image may unite one sub-bitmap more than
        // another, n/m + 1 in all. The variance of that number is at most a quarter; (k-1)/2 times
        // that, relative to the square of the number, is the share of its own items to spare.
        let parts = n / m + 1.0;
        let uneven = f64::from(self.shape.num_hashes) / 8.0 / (parts * parts);
        let margin = 0.25 / m.sqrt() + uneven;
        let sizes = (0..TRIES).map(move |tries| fits + own * margin * f64::from(1 << tries));
        sizes.take_while(move |fits| *fits < most as f64).filter_map(move |fits| {
            let size = sizing.shape_for(fits as u64).num_sub_bitmaps;
            self.folded_to_at_least(size, sizing)
        })
    }

    /// The header after folding to the smallest size of at least `size` sub-bitmaps. Below
    /// `SMALLEST`, sizing makes all sizes from some number on, which depends on the error rate.
    fn folded_to_at_least(&self, size: u64, sizing: &Split) -> Option<Self> {
        let (mut low, mut high) = (size, size.max(SMALLEST));
        while low < high {
            let middle = u64::midpoint(low, high);
            if self.folded_at(middle, sizing).is_some() {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        self.folded_at(low, sizing)
    }
}

/// `number * by / of`, rounded down, and whether there was a remainder.
fn scaled(number: u64, by: u64, of: u64) -> (u64, bool) {
    if let Some(product) = number.checked_mul(by) {
        return (product / of, !product.is_multiple_of(of));
    }
    let (product, of) = (u128::from(number) * u128::from(by), u128::from(of));
    (u64::try_from(product / of).unwrap_or(u64::MAX), !product.is_multiple_of(of))
}

/// How sub-bitmaps are divided among those of another sub-filter, fewer or more: each has a share
/// of the places of items, and an image in every sub-bitmap whose share overlaps with its own.
#[derive(Clone, Copy)]
pub(super) struct Division {
    /// The number of sub-bitmaps.
    pub from: u64,
    /// That of the other sub-filter.
    pub to: u64,
}

impl Division {
    /// The first image of sub-bitmap `number`.
    pub fn first_image(self, number: u64) -> u64 {
        scaled(number, self.to, self.from).0
    }

    /// Where the image `number` begins: the sub-bitmap that it shares with the image before it, or
    /// an empty range if they share none.
    fn between(self, number: u64) -> Range<u64> {
        let (next, is_divided) = scaled(number, self.from, self.to);
        next..next + u64::from(is_divided)
    }

    /// The sub-bitmaps that have an image among `images`.
    pub fn of(self, images: Range<u64>) -> Range<u64> {
        self.between(images.start).start..self.between(images.end).end
    }

    /// The images of sub-bitmap `number`.
    fn images(self, number: u64) -> Range<u64> {
        Self { from: self.to, to: self.from }.of(number..number + 1)
    }

    /// The largest number of images of a sub-bitmap.
    pub fn most_images(self) -> u64 {
        // One more than the images that fit into its share, unless they begin with it.
        self.to.div_ceil(self.from)
            + u64::from(!self.is_exact() && !self.to.is_multiple_of(self.from))
    }

    /// Whether each sub-bitmap has one image.
    pub fn is_exact(self) -> bool {
        self.from.is_multiple_of(self.to)
    }
}

/// A sub-filter that is being folded, one segment after the other.
pub(crate) struct Folding {
    folded: BlockedBloom,
    /// How its sub-bitmaps are folded.
    division: Division,
    /// The segment from which the next step goes on.
    next: u64,
    /// The union of neighbours.
    union: Vec<u64>,
}

impl Folding {
    /// Begins to fold `bloom` to an empty sub-filter of the header `header`, that of
    /// [`Header::smaller`] or [`Header::folded_for`].
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn begin(bloom: &BlockedBloom, header: Header) -> Result<Self, AddError> {
        let folded = BlockedBloom::from_header(Header { items: 0, ..header });
        let mut union = try_vec(folded.sub_bitmap_words())?;
        union.resize(folded.sub_bitmap_words(), 0);
        Ok(Self { division: bloom.division(folded.num_sub_bitmaps()), folded, next: 0, union })
    }

    /// The number of sub-bitmaps of the folded sub-filter.
    pub fn num_sub_bitmaps(&self) -> u64 {
        self.division.to
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

    /// Sets the bits of an item that was new in the sub-filter in each image of its sub-bitmap, as
    /// if it had been there before.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn add(&mut self, hash: ItemHash) -> Result<(), AddError> {
        let number = multiply_high(hash.place, self.division.from);
        self.division.images(number).try_for_each(|image| self.folded.insert_in(image, hash))
    }

    /// The folded sub-filter, after the last step. It counts the items of `bloom`; or, if
    /// sub-bitmaps are in two unions, those that would set as many bits.
    pub fn end(mut self, bloom: &BlockedBloom) -> BlockedBloom {
        let items = bloom.fill().items();
        self.folded.estimate_items(items, bloom.most_items_in(self.division.to));
        self.folded
    }
}

/// Sets in `union` the bits of all sub-bitmaps in `words`, each as long as `union`.
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
    /// Splits the allocated sub-bitmaps of `segment` by their images in a sub-filter of
    /// `num_sub_bitmaps`. Returns the number of each image and the run of sub-bitmaps that have it,
    /// in ascending order. A sub-bitmap with several images is in the run of each.
    pub(super) fn neighbours(
        &self,
        segment: u64,
        num_sub_bitmaps: u64,
    ) -> impl Iterator<Item = (u64, &[u64])> + '_ {
        let division = self.division(num_sub_bitmaps);
        let len = self.sub_bitmap_words();
        self.runs_of(segment).flat_map(move |(mut number, mut words)| {
            let mut image = division.first_image(number);
            iter::from_fn(move || {
                let left = (words.len() / len) as u64;
                if left == 0 {
                    return None;
                }
                let next = division.between(image + 1);
                let taken = left.min(next.end - number) as usize;
                let neighbours = (image, &words[..taken * len]);
                let done = left.min(next.start - number);
                words = &words[done as usize * len..];
                (number, image) = (number + done, image + 1);
                Some(neighbours)
            })
        })
    }

    /// Whether its false-positive rate is at most its error rate, as the guard weighs its bits.
    pub(crate) fn keeps_its_rate(&self) -> bool {
        self.fill().weight() <= guard::limit_of_uneven(&self.header().shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_folded_sub_bitmap_gets_all_that_may_have_its_items_and_no_other(
            to in 1..=1u64 << 38, from in 1..=1u64 << 38, place: u64,
        ) {
            let division = Division { from, to };
            let number = |of: u64| ((u128::from(place) * u128::from(of)) >> 64) as u64;
            let (number, folded) = (number(division.from), number(to));
            let its = division.of(folded..folded + 1);
            prop_assert!(its.contains(&number));
            let images = division.images(number);
            prop_assert!(images.contains(&folded) && images.start == division.first_image(number));
            prop_assert!(images.end - images.start <= division.most_images());
            // The number before the first and the one after the last belong to others.
            prop_assert!(its.start == 0 || division.of(0..folded).contains(&(its.start - 1)));
            prop_assert!(its.start == 0 || division.of(0..folded).end <= its.start + 1);
            prop_assert_eq!(division.of(0..to), 0..division.from);
        }
    }
}
