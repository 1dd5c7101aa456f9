//! A filter: a series of sub-filters, newest last, that grows as items come.
//!
//! A new item goes into the newest sub-filter; when that is full, the filter adds another one (see
//! [`growth`]). A filter is one key of a server, which may hold millions of small ones, so a filter
//! of one sub-filter is 128 bytes and its bits.

mod digest;
mod estimate;
pub mod growth;
mod loading;
mod series;

pub use growth::{Growth, MAX_EXPANSION};
pub(crate) use loading::{Arrivals, SegmentBits};
pub use series::Loading;

use crate::bloom::blocked_bloom::BlockedBloom;
use crate::bloom::sizing::{MAX_CAPACITY, MIN_CAPACITY};
use crate::error::AddError;
use crate::hash::{ItemHash, Seed};
use crate::storage::{size_class, Mover};
use series::Series;
use std::alloc::Layout;
use std::num::NonZeroU64;

/// Items in a group: hashed and prefetched together, while the group before them is answered. In
/// the command, 10^8 items in a server, ns an item: 41 with 8, 33 with 16, 46 with 32.
const GROUP: usize = 16;
/// The most lines prefetched for an item, newest sub-filters first: those of two groups fill an L1
/// cache of 32 KiB.
const LINES_AHEAD: usize = 16;
/// The most segments of all sub-filters together: 2^60 bytes, whose bits fit a count of 64 bits.
const MAX_SEGMENTS: u64 = 1 << 44;

/// The parameters that decide where the bits of a filter lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// The error rate asked for, above 0 and below 1.
    pub error_rate: f64,
    /// The capacity of the first sub-filter.
    pub capacity: u64,
    /// What it does when it is full.
    pub growth: Growth,
    /// Makes the positions of its bits unpredictable.
    pub seed: Seed,
}

/// The most bytes that a filter may take with every bit in use: its bits and all that is stored
/// besides, in blocks as the allocator rounds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeLimit {
    /// No limit.
    Unlimited,
    /// At most this many bytes.
    Bytes(u64),
}

/// A filter of items.
pub struct Filter {
    parameters: Parameters,
    series: Series,
}

/// The state of a filter's counters at one time, to compute later what has happened since.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    sub_filters: usize,
    is_newest_closed: bool,
}

/// What adding items has done to a filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Sub-filters added because the last one was full.
    pub grown: u64,
    /// Sub-filters that the fill guard closed.
    pub guard_closings: u64,
}

impl SizeLimit {
    fn allows(self, bytes: u64) -> bool {
        match self {
            Self::Unlimited => true,
            Self::Bytes(most) => bytes <= most,
        }
    }
}

impl Filter {
    /// An empty filter. It allocates no bits until items are added.
    ///
    /// # Errors
    /// `OverLimit` if the first sub-filter makes it larger than `limit`.
    pub fn new(parameters: Parameters, limit: SizeLimit) -> Result<Self, AddError> {
        let capacity = parameters.capacity.clamp(MIN_CAPACITY, MAX_CAPACITY);
        let error_rate = parameters.growth.error_rate_of(parameters.error_rate, 0);
        let first = BlockedBloom::new(capacity, error_rate);
        let mut filter = Self::without_sub_filters(parameters);
        filter.check_size(std::slice::from_ref(&first), limit)?;
        filter.series = Series::One(first);
        Ok(filter)
    }

    /// A filter without its first sub-filter yet, for the decoder.
    fn without_sub_filters(parameters: Parameters) -> Self {
        Self {
            parameters,
            series: Series::empty(),
        }
    }

    /// The parameters that it was created with.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The sub-filters, oldest first; at least one.
    #[inline]
    pub fn sub_filters(&self) -> &[BlockedBloom] {
        self.series.as_slice()
    }

    /// Inserts sub-filters at `place`.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing has changed.
    fn insert_sub_filters(
        &mut self,
        place: usize,
        added: impl ExactSizeIterator<Item = BlockedBloom>,
    ) -> Result<(), AddError> {
        self.series.insert(place, added)
    }

    /// Checks whether the filter may have these sub-filters too.
    ///
    /// # Errors
    /// `OverLimit`.
    fn check_size(&self, added: &[BlockedBloom], limit: SizeLimit) -> Result<(), AddError> {
        let segments = added.iter().map(|s| s.segments().reserved());
        let segments = segments.fold(self.reserved_segments(), u64::saturating_add);
        let bytes = added.iter().map(BlockedBloom::reserved_bytes);
        let bytes = bytes.fold(self.bytes_with(added.len()), u64::saturating_add);
        // The existing sub-filters may have come under another limit.
        if added.is_empty() || (limit.allows(bytes) && segments <= MAX_SEGMENTS) {
            Ok(())
        } else {
            Err(AddError::OverLimit)
        }
    }

    /// Bytes that it takes once every bit is in use, with room for `added` more sub-filters.
    fn bytes_with(&self, added: usize) -> u64 {
        let own = size_class(size_of::<Self>() as u64);
        own.saturating_add(self.series.reserved_bytes(added))
    }

    /// Bytes that the allocator holds for it once every bit is in use, which a [`SizeLimit`]
    /// bounds.
    pub fn reserved_bytes(&self) -> u64 {
        self.bytes_with(0)
    }

    /// Number of bits, set or not, allocated or not.
    pub fn num_bits(&self) -> u64 {
        let bits = self.sub_filters().iter().map(BlockedBloom::num_bits);
        bits.fold(0, u64::saturating_add)
    }

    /// Number of segments once every bit is in use.
    pub fn reserved_segments(&self) -> u64 {
        let segments = self.sub_filters().iter().map(|s| s.segments().reserved());
        segments.fold(0, u64::saturating_add)
    }

    /// Number of segments that are allocated.
    pub fn allocated_segments(&self) -> u64 {
        let segments = self.sub_filters().iter().map(|s| s.segments().allocated());
        segments.sum()
    }

    /// The load in chunks that has begun and not ended, if there is one.
    pub fn loading(&self) -> Option<Loading> {
        self.series.loading()
    }

    /// The state of its counters, for [`Filter::counters_since`].
    pub fn progress(&self) -> Progress {
        let newest = self.sub_filters().last();
        Progress {
            sub_filters: self.sub_filters().len(),
            is_newest_closed: newest.is_some_and(BlockedBloom::is_closed_by_guard),
        }
    }

    /// What adding items has done to it since.
    pub fn counters_since(&self, before: Progress) -> Counters {
        let since = &self.sub_filters()[before.sub_filters.saturating_sub(1)..];
        let closed = since.iter().filter(|s| s.is_closed_by_guard()).count();
        Counters {
            grown: (self.sub_filters().len() - before.sub_filters) as u64,
            guard_closings: (closed - usize::from(before.is_newest_closed)) as u64,
        }
    }

    /// Items that it holds before it must grow: the sum of the capacities of its sub-filters.
    pub fn capacity(&self) -> u64 {
        let capacities = self.sub_filters().iter().map(|s| s.fill().capacity());
        capacities.fold(0, u64::saturating_add)
    }

    /// Number of items that were new when they were added.
    pub fn items(&self) -> u64 {
        let items = self.sub_filters().iter().map(|s| s.fill().items());
        items.fold(0, u64::saturating_add)
    }

    /// Whether the item is (probably) present. It reads one cache line for each sub-filter, or a
    /// few if the error rate is below 0.4 %.
    pub fn contains(&self, item: &[u8]) -> bool {
        let hash = ItemHash::of(item, self.parameters.seed);
        if self.sub_filters().len() > 1 {
            self.prefetch_all(hash);
        }
        self.contains_hash(hash)
    }

    /// Looks up many items and calls `answer` for each in order. They are hashed and prefetched in
    /// groups, one group ahead of the one that is answered, so that the cache misses of many items
    /// overlap.
    pub fn contains_many<'a>(
        &self,
        mut items: impl Iterator<Item = &'a [u8]>,
        mut answer: impl FnMut(bool),
    ) {
        let (mut group, mut ahead) = (&mut Group::default(), &mut Group::default());
        self.prefetch(group.read(&mut items, self.parameters.seed));
        while !group.hashes().is_empty() {
            self.prefetch(ahead.read(&mut items, self.parameters.seed));
            for hash in group.hashes() {
                answer(self.contains_hash(*hash));
            }
            std::mem::swap(&mut group, &mut ahead);
        }
    }

    /// Adds an item; returns whether it was new.
    ///
    /// # Errors
    /// `Full`, `OverLimit` or `OutOfMemory`, and nothing has changed.
    pub fn add(&mut self, item: &[u8], limit: SizeLimit) -> Result<bool, AddError> {
        let hash = ItemHash::of(item, self.parameters.seed);
        if self.sub_filters().len() > 1 {
            self.prefetch_all(hash);
        }
        self.add_hash(hash, limit)
    }

    /// Adds many items and calls `answer` for each in order with whether it was new. It prefetches
    /// as [`Filter::contains_many`] does.
    ///
    /// # Errors
    /// As [`Filter::add`], at the first item refused: those before it are kept; it and those after
    /// it have changed nothing.
    pub fn add_many<'a>(
        &mut self,
        mut items: impl Iterator<Item = &'a [u8]>,
        limit: SizeLimit,
        mut answer: impl FnMut(bool),
    ) -> Result<(), AddError> {
        let (mut group, mut ahead) = (&mut Group::default(), &mut Group::default());
        self.prefetch(group.read(&mut items, self.parameters.seed));
        while !group.hashes().is_empty() {
            self.prefetch(ahead.read(&mut items, self.parameters.seed));
            for hash in group.hashes() {
                answer(self.add_hash(*hash, limit)?);
            }
            std::mem::swap(&mut group, &mut ahead);
        }
        Ok(())
    }

    /// A copy, which shares the segments until one of the two changes them: see
    /// [`crate::storage::segments::Segments::try_clone`].
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    pub fn try_clone(&mut self) -> Result<Self, AddError> {
        Ok(Self {
            series: self.series.try_clone()?,
            ..*self
        })
    }

    /// Visits every kind of allocation but the `Filter` itself: its layout and its number. It takes
    /// a step for each 4 MiB of bits and for each sub-filter.
    pub fn visit_allocations(&self, mut visit: impl FnMut(Layout, u64)) {
        self.series.visit_allocations(&mut visit);
    }

    /// Passes all allocations through `mover`, from segment number `from` on, counted over all
    /// sub-filters, until it says stop. Returns the number to continue from, or `None` at the end.
    ///
    /// Each step moves at least one segment, however little time it has. So every step makes
    /// progress, and the number to continue from is never 0, which a server takes for the end.
    pub fn relocate(&mut self, from: u64, mover: &mut impl Mover) -> Option<NonZeroU64> {
        self.series.relocate(from, mover)
    }

    /// Prefetches a single item in all sub-filters. With only one sub-filter there is no other work
    /// to overlap, and its speed depends on how few instructions it takes, so the loop is out of
    /// line.
    #[inline(never)]
    fn prefetch_all(&self, hash: ItemHash) {
        self.prefetch(&[hash]);
    }

    #[inline]
    fn contains_hash(&self, hash: ItemHash) -> bool {
        match self.sub_filters() {
            // No branch on the answer, which is unpredictable: the processor continues while the
            // cache miss is outstanding.
            [only] => only.contains(hash),
            all => all.iter().rev().any(|s| s.contains(hash)),
        }
    }

    #[inline(always)]
    fn add_hash(&mut self, hash: ItemHash, limit: SizeLimit) -> Result<bool, AddError> {
        let Some((newest, older)) = self.series.split_newest() else {
            return Err(AddError::Full);
        };
        if older.iter().rev().any(|s| s.contains(hash)) {
            return Ok(false);
        }
        if newest.fill().is_full() {
            return self.add_to_full(hash, limit);
        }
        newest.insert(hash)
    }

    /// Adds an item that no older sub-filter contains, when the newest one is full.
    #[cold]
    fn add_to_full(&mut self, hash: ItemHash, limit: SizeLimit) -> Result<bool, AddError> {
        let newest = self.sub_filters().last();
        if newest.is_some_and(|newest| newest.contains(hash)) {
            return Ok(false);
        }
        let mut next = self.next_sub_filter()?;
        self.check_size(std::slice::from_ref(&next), limit)?;
        let new = next.insert(hash)?;
        let end = self.sub_filters().len();
        self.insert_sub_filters(end, std::iter::once(next))?;
        Ok(new)
    }

    /// The sub-filter to add after the last one.
    fn next_sub_filter(&self) -> Result<BlockedBloom, AddError> {
        let Parameters {
            growth, error_rate, ..
        } = self.parameters;
        let last = self.sub_filters().last();
        let last = last.map_or(MIN_CAPACITY, |last| last.fill().capacity());
        let capacity = growth
            .next_capacity(last, self.capacity())
            .ok_or(AddError::Full)?;
        let error_rate = growth.error_rate_of(error_rate, self.sub_filters().len());
        Ok(BlockedBloom::new(capacity, error_rate))
    }

    #[inline]
    fn prefetch(&self, group: &[ItemHash]) {
        let mut lines = 0;
        for sub_filter in self.sub_filters().iter().rev() {
            for hash in group {
                sub_filter.prefetch(*hash);
            }
            lines += sub_filter.prefetched_lines();
            if lines >= LINES_AHEAD {
                return;
            }
        }
    }
}

/// The hashes of a group of items.
#[derive(Default)]
struct Group {
    hashes: [ItemHash; GROUP],
    len: usize,
}

impl Group {
    /// Hashes the next items, as many as fit; none at the end.
    #[inline]
    fn read<'a>(&mut self, items: &mut impl Iterator<Item = &'a [u8]>, seed: Seed) -> &[ItemHash] {
        self.len = 0;
        for (hash, item) in self.hashes.iter_mut().zip(items) {
            *hash = ItemHash::of(item, seed);
            self.len += 1;
        }
        self.hashes()
    }

    #[inline]
    fn hashes(&self) -> &[ItemHash] {
        &self.hashes[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn filter(error_rate: f64, capacity: u64, growth: Growth) -> Filter {
        let parameters = Parameters {
            error_rate,
            capacity,
            growth,
            seed: Seed(7),
        };
        Filter::new(parameters, SizeLimit::Unlimited).unwrap()
    }

    fn add(filter: &mut Filter, i: u64) -> Result<bool, AddError> {
        filter.add(&i.to_le_bytes(), SizeLimit::Unlimited)
    }

    fn false_positive_rate(filter: &Filter, added: u64, probes: u64) -> f64 {
        let found = (added..added + probes).filter(|i| filter.contains(&i.to_le_bytes()));
        found.count() as f64 / probes as f64
    }

    /// Numbers as items: those in the lowest sixteenth of the sub-bitmaps, or all.
    fn numbers(crowding: bool, seed: Seed) -> impl Iterator<Item = [u8; 8]> {
        (0..)
            .map(u64::to_le_bytes)
            .filter(move |item| !crowding || ItemHash::of(item, seed).place >> 60 == 0)
    }

    fn sum(counters: &mut Counters, more: Counters) {
        counters.grown += more.grown;
        counters.guard_closings += more.guard_closings;
    }

    #[test]
    fn batches_leave_what_their_items_leave_one_by_one() {
        for growth in [Growth::Fixed, Growth::Times(2)] {
            for (error_rate, crowding) in [(0.01, false), (0.01, true), (0.1, false)] {
                let mut batched = filter(error_rate, 10_000, growth);
                let mut one_by_one = filter(error_rate, 10_000, growth);
                let (mut counters, mut expected_counters) =
                    (Counters::default(), Counters::default());
                let items: Vec<_> = numbers(crowding, batched.parameters.seed)
                    .take(25_000)
                    .collect();
                let mut rest = &items[..];
                for len in (1..60).cycle() {
                    let (batch, others) = rest.split_at(len.min(rest.len()));
                    rest = others;
                    // The last item of a batch repeats its first.
                    let batch: Vec<&[u8]> =
                        batch.iter().chain(batch.first()).map(|i| &i[..]).collect();
                    let mut answers = Vec::new();
                    let progress = batched.progress();
                    let end =
                        batched.add_many(batch.iter().copied(), SizeLimit::Unlimited, |answer| {
                            answers.push(answer);
                        });
                    sum(&mut counters, batched.counters_since(progress));
                    let mut expected = Vec::new();
                    let expected_end = batch.iter().try_for_each(|item| {
                        let progress = one_by_one.progress();
                        expected.push(one_by_one.add(item, SizeLimit::Unlimited)?);
                        sum(&mut expected_counters, one_by_one.counters_since(progress));
                        Ok(())
                    });
                    assert_eq!((answers, end), (expected, expected_end));
                    assert_eq!(counters, expected_counters);
                    if end.is_err() || rest.is_empty() {
                        break;
                    }
                }
                assert_eq!(batched.sub_filters().len(), one_by_one.sub_filters().len());
                for (one, other) in batched.sub_filters().iter().zip(one_by_one.sub_filters()) {
                    assert_eq!(one.header(), other.header());
                    assert_eq!(one.set_bits(), other.set_bits());
                    assert_eq!(one.fill().weight(), other.fill().weight());
                }
                assert_eq!(batched.digest(), one_by_one.digest());
                assert_eq!(counters.grown + 1, batched.sub_filters().len() as u64);
                assert_eq!(
                    counters.guard_closings > 0,
                    crowding,
                    "{error_rate} {growth:?}"
                );
            }
        }
    }

    #[test]
    fn a_grown_filter_keeps_the_error_rate_and_every_item() {
        let mut grown = filter(0.01, 100, Growth::Times(2));
        let progress = grown.progress();
        for i in 0..100_000 {
            add(&mut grown, i).unwrap();
        }
        assert_eq!(grown.sub_filters().len(), 10);
        assert_eq!(grown.capacity(), 100 * 1023);
        assert!((0..100_000u64).all(|i| grown.contains(&i.to_le_bytes())));
        let rate = false_positive_rate(&grown, 100_000, 1_000_000);
        assert!(rate < 0.0101, "{rate}");
        assert_eq!(
            grown.counters_since(progress),
            Counters {
                grown: 9,
                guard_closings: 0
            }
        );
    }

    #[test]
    fn a_fixed_filter_refuses_what_is_new_and_knows_what_is_there() {
        let mut fixed = filter(0.001, 50, Growth::Fixed);
        let refused = (0..).find(|i| add(&mut fixed, *i).is_err());
        assert_eq!(refused, Some(50));
        assert_eq!(fixed.items(), 50);
        assert_eq!(add(&mut fixed, 3), Ok(false));
        assert_eq!(add(&mut fixed, 50), Err(AddError::Full));
        assert!(!fixed.contains(&50u64.to_le_bytes()));
    }

    #[test]
    fn a_batch_ends_at_the_first_item_refused() {
        let mut fixed = filter(0.0001, 40, Growth::Fixed);
        let items: Vec<[u8; 8]> = (0..60u64).map(u64::to_le_bytes).collect();
        let mut answers = Vec::new();
        let end = fixed.add_many(
            items.iter().map(<[u8; 8]>::as_slice),
            SizeLimit::Unlimited,
            |new| answers.push(new),
        );
        assert_eq!(end, Err(AddError::Full));
        assert_eq!(answers, [true; 40]);
    }

    #[test]
    fn growth_and_creation_stop_at_the_limit_and_change_nothing() {
        let parameters = Parameters {
            error_rate: 0.01,
            capacity: 1_000,
            growth: Growth::Times(2),
            seed: Seed(1),
        };
        let tight = SizeLimit::Bytes(1_000);
        assert_eq!(
            Filter::new(parameters, tight).err(),
            Some(AddError::OverLimit)
        );
        let room = SizeLimit::Bytes(2_000);
        let mut filter = Filter::new(parameters, room).unwrap();
        let refused = (0u64..).find(|i| filter.add(&i.to_le_bytes(), room).is_err());
        let items = filter.items();
        assert_eq!(items, 1_000);
        assert_eq!(filter.sub_filters().len(), 1);
        let refused = refused.unwrap();
        assert_eq!(
            filter.add(&refused.to_le_bytes(), room),
            Err(AddError::OverLimit)
        );
        assert_eq!(
            filter.add(&refused.to_le_bytes(), SizeLimit::Unlimited),
            Ok(true)
        );
    }

    #[test]
    fn the_largest_growth_factor_stops_at_the_largest_capacity() {
        let mut filter = filter(0.01, 1, Growth::Times(32_768));
        for i in 0..40_000 {
            add(&mut filter, i).unwrap();
        }
        let capacities: Vec<u64> = filter
            .sub_filters()
            .iter()
            .map(|s| s.header().capacity)
            .collect();
        assert_eq!(capacities, [1, 32_768, 1 << 30]);
    }

    #[test]
    fn a_filter_with_one_sub_filter_takes_little_beside_its_bits() {
        assert_eq!(size_of::<Filter>(), 128);
        let mut small = filter(0.01, 100, Growth::Times(2));
        let mut blocks = Vec::new();
        add(&mut small, 1).unwrap();
        small.visit_allocations(|layout, times| blocks.push((layout.size(), times)));
        assert_eq!(blocks, [(136, 1)]);
        assert_eq!(small.reserved_bytes(), 128 + 160);
    }

    /// A filter with a factor of 1 and the numbers below `items`, as version 0.1.0 grew it: all of
    /// its sub-filters have the capacity of the first.
    fn grown_by_0_1_0(error_rate: f64, capacity: u64, seed: Seed, items: u64) -> Filter {
        let growth = Growth::Times(1);
        let mut long = filter(error_rate, capacity, growth);
        long.parameters.seed = seed;
        for i in 0..items {
            if long
                .sub_filters()
                .last()
                .is_some_and(|s| s.fill().is_full())
            {
                let end = long.sub_filters().len();
                let next = BlockedBloom::new(capacity, growth.error_rate_of(error_rate, end));
                long.insert_sub_filters(end, std::iter::once(next)).unwrap();
            }
            add(&mut long, i).unwrap();
        }
        long
    }

    #[test]
    fn a_series_that_an_earlier_version_grew_is_what_it_was() {
        // The digest that version 0.1.0 computed for it.
        const DIGEST: u128 = 0x0a2d_5f7c_3318_f285_8bb2_f317_e189_3a06;
        let long = grown_by_0_1_0(0.000_001, 3, Seed(0x0123_4567_89ab_cdef), 2_000);
        assert_eq!(long.digest(), DIGEST);
    }

    #[test]
    fn a_series_of_thousands_of_sub_filters_answers_and_grows_by_few_more() {
        let mut long = grown_by_0_1_0(0.01, 1, Seed(7), 3_000);
        let (len, capacity) = (long.sub_filters().len(), long.capacity());
        assert!(len > 2_900, "{len}");
        for i in 3_000..6_000 {
            add(&mut long, i).unwrap();
        }
        assert_eq!(long.sub_filters().len(), len + 2);
        assert!(long.capacity() > 2 * capacity);
        assert!((0..6_000u64).all(|i| long.contains(&i.to_le_bytes())));
    }

    #[test]
    fn forty_thousand_items_take_eighteen_sub_filters_whatever_the_expansion() {
        let mut small = filter(0.01, 1, Growth::Times(1));
        let items: Vec<[u8; 8]> = (0..40_000u64).map(u64::to_le_bytes).collect();
        small
            .add_many(
                items.iter().map(<[u8; 8]>::as_slice),
                SizeLimit::Unlimited,
                |_| (),
            )
            .unwrap();
        assert_eq!(small.sub_filters().len(), 18);
        assert!(items.iter().all(|item| small.contains(item)));
        let rate = false_positive_rate(&small, 40_000, 1_000_000);
        assert!(rate < 0.0101, "{rate}");
    }

    #[test]
    fn a_full_filter_takes_no_more_than_its_limit_whatever_the_expansion() {
        for (factor, bytes) in [
            (1, 8_000),
            (1, 200_000),
            (2, 8_000),
            (2, 1 << 20),
            (4, 50_000),
        ] {
            let mut filter = filter(0.01, 1, Growth::Times(factor));
            let limit = SizeLimit::Bytes(bytes);
            let refused = (0u64..).find_map(|i| filter.add(&i.to_le_bytes(), limit).err());
            assert_eq!(refused, Some(AddError::OverLimit));
            let mut held = size_class(size_of::<Filter>() as u64);
            filter.visit_allocations(|layout, times| {
                held += size_class(layout.size() as u64) * times;
            });
            assert!(held <= bytes, "{factor}: {held} of {bytes}");
            assert!(held <= filter.reserved_bytes());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn copies_of_copies_live_their_own_lives(
            operations in prop::collection::vec((0usize..4, prop::option::of(0usize..4), any::<u16>()), 1..300),
            capacity in 1u64..40_000,
        ) {
            // Four filters, each with the set it must match; now and then one becomes a copy of
            // another.
            let mut filters: Vec<_> = (0..4)
                .map(|_| (filter(1e-6, capacity, Growth::Times(2)), HashSet::new()))
                .collect();
            for (to, copied_from, item) in operations {
                match copied_from {
                    Some(from) => {
                        let (filter, set) = &mut filters[from];
                        let copy = (filter.try_clone().unwrap(), set.clone());
                        filters[to] = copy;
                    }
                    None => {
                        let (filter, set) = &mut filters[to];
                        prop_assert_eq!(add(filter, item.into()), Ok(set.insert(item)));
                    }
                }
            }
            for (filter, set) in &filters {
                prop_assert!(set.iter().all(|item| filter.contains(&u64::from(*item).to_le_bytes())));
                prop_assert_eq!(filter.items(), set.len() as u64);
            }
        }

        #[test]
        fn a_filter_answers_like_a_set_but_for_false_positives(
            operations in prop::collection::vec((any::<bool>(), 0u16..400), 1..800),
            capacity in 1u64..200,
            factor in 1u32..5,
            batched in any::<bool>(),
        ) {
            let mut filter = filter(1e-6, capacity, Growth::Times(factor));
            let mut set = HashSet::new();
            for (is_add, item) in operations {
                let bytes = item.to_le_bytes();
                let mut answer = None;
                match (is_add, batched) {
                    (true, false) => answer = Some(filter.add(&bytes, SizeLimit::Unlimited).unwrap()),
                    (true, true) => filter
                        .add_many([&bytes[..]].into_iter(), SizeLimit::Unlimited, |a| answer = Some(a))
                        .unwrap(),
                    (false, false) => answer = Some(filter.contains(&bytes)),
                    (false, true) => filter.contains_many([&bytes[..]].into_iter(), |a| answer = Some(a)),
                }
                let expected = if is_add { set.insert(item) } else { set.contains(&item) };
                prop_assert_eq!(answer, Some(expected));
            }
            prop_assert_eq!(filter.items(), set.len() as u64);
        }
    }
}
