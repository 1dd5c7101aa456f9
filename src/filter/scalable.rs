//! A filter: a series of sub-filters, newest last, that grows as items come.
//!
//! A new item goes into the newest sub-filter; when that is full, a larger one is added. An absent item is taken for present
//! if any of the sub-filters does so, so their error rates must add up to no more than the one asked for, however many there
//! will be (Almeida, Baquero, Preguiça, Hutchison, "Scalable Bloom filters", 2007):
//!
//! ```text
//!   the first       2/3 of it                          bits are cheap where the user guessed the size well
//!   the i-th more   1/3 of it * (1-r) * r^(i-1)        r = 0.85; the sum over all i is 1/3
//! ```
//!
//! (Down to a rate of 1e-15 for a sub-filter, which is the least that is sized for: see [`super::sizing::MIN_ERROR_RATE`].)
//!
//! The usual r = 0.5 halves the rate with every step, which costs 39.9 bits an item on average at a million items grown from
//! 100 at 1 %; ratios near 0.85 cost about 25.

use super::error::AddError;
use super::hash::{ItemHash, Seed};
use super::model::power;
use super::sizing::{MAX_CAPACITY, MIN_CAPACITY};
use super::split_bloom::SplitBloom;

/// The share of the error rate that the first sub-filter of a growing filter gets.
const FIRST_SHARE: f64 = 2.0 / 3.0;
/// The ratio of the error rates of one further sub-filter and the next.
const TIGHTENING: f64 = 0.85;
/// Items that are hashed and prefetched together, while those before are answered. Measured on 10^8 items in a server, ns an item in the
/// command: 41 with 8, 33 with 16, 46 with 32.
const GROUP: usize = 16;
/// Lines prefetched for an item, newest sub-filters first: those of two groups fill an L1 cache of 32 KiB.
const LINES_AHEAD: usize = 16;
/// Segments that all sub-filters together may reserve: that is 2^60 bytes, and their bits can still be counted in 64 bits.
const MAX_SEGMENTS: u64 = 1 << 44;

/// The largest factor by which a filter grows.
pub const MAX_EXPANSION: u32 = 32_768;

/// What a filter does when it is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Refuses further items.
    Fixed,
    /// Adds a sub-filter of so many times the capacity of the last one.
    Times(u32),
}

/// All that decides where the bits of a filter lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// False-positive rate asked for, above 0 and below 1.
    pub error_rate: f64,
    /// Items that the first sub-filter is made for.
    pub capacity: u64,
    pub growth: Growth,
    pub seed: Seed,
}

/// The most bytes of bits that a filter may reserve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeLimit {
    Unlimited,
    Bytes(u64),
}

/// Things worth counting that have happened to a filter since it was made or loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Sub-filters added because the last one was full.
    pub grown: u64,
    /// Sub-filters that the fill guard closed.
    pub guard_closings: u64,
}

/// One Redis key: what is asked for, and the sub-filters.
pub struct Filter {
    parameters: Parameters,
    sub_filters: Vec<SplitBloom>,
    size: Size,
    loading: Option<Loading>,
    tally: Tally,
}

/// What all sub-filters together would take with every bit in use. Kept, not counted: there may be ten thousands of them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Size {
    bits: u64,
    segments: u64,
}

/// A load in pieces that has begun and not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loading {
    /// The iterator of the piece that comes next.
    pub next: u64,
    /// Sub-filters that the pieces so far have brought. They stand first; behind them is what the filter has grown by meanwhile.
    pub sub_filters: usize,
}

impl Size {
    fn with(self, sub_filter: &SplitBloom) -> Self {
        Self {
            bits: self.bits.saturating_add(sub_filter.num_bits()),
            segments: self
                .segments
                .saturating_add(sub_filter.segments().reserved()),
        }
    }
}

impl SizeLimit {
    fn allows(self, bits: u64) -> bool {
        match self {
            Self::Unlimited => true,
            Self::Bytes(bytes) => bits / 8 <= bytes,
        }
    }
}

impl Growth {
    /// From a factor as clients, settings and files write it: 0 means that the filter does not grow.
    pub fn from_factor(factor: u32) -> Self {
        match factor {
            0 => Self::Fixed,
            factor => Self::Times(factor),
        }
    }

    /// The factor, 0 where the filter does not grow.
    pub fn factor(self) -> u32 {
        match self {
            Self::Fixed => 0,
            Self::Times(factor) => factor,
        }
    }

    /// The false-positive rate of sub-filter `index` of a filter of `error_rate`.
    fn error_rate_of(self, error_rate: f64, index: usize) -> f64 {
        match (self, index) {
            (Self::Fixed, _) => error_rate,
            (Self::Times(_), 0) => error_rate * FIRST_SHARE,
            (Self::Times(_), index) => {
                error_rate
                    * (1.0 - FIRST_SHARE)
                    * (1.0 - TIGHTENING)
                    * power(TIGHTENING, index as u64 - 1)
            }
        }
    }
}

impl Filter {
    /// An empty filter. Allocates some hundred bytes; the bits come with the items.
    ///
    /// # Errors
    /// `OverLimit` if its first sub-filter is larger than `limit`, `OutOfMemory`.
    pub fn new(parameters: Parameters, limit: SizeLimit) -> Result<Self, AddError> {
        let capacity = parameters.capacity.clamp(MIN_CAPACITY, MAX_CAPACITY);
        let error_rate = parameters.growth.error_rate_of(parameters.error_rate, 0);
        let first = SplitBloom::new(capacity, error_rate);
        let mut filter = Self::without_sub_filters(parameters);
        filter.insert_sub_filters(0, vec_of(first)?, limit)?;
        Ok(filter)
    }

    /// A filter that is still to get its first sub-filter, for the decoder.
    pub(super) fn without_sub_filters(parameters: Parameters) -> Self {
        Self {
            parameters,
            sub_filters: Vec::new(),
            size: Size::default(),
            loading: None,
            tally: Tally::default(),
        }
    }

    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The sub-filters, oldest first; at least one.
    pub fn sub_filters(&self) -> &[SplitBloom] {
        &self.sub_filters
    }

    /// Sub-filters that there is memory for.
    pub(super) fn sub_filter_slots(&self) -> usize {
        self.sub_filters.capacity()
    }

    pub(super) fn sub_filters_mut(&mut self) -> &mut Vec<SplitBloom> {
        &mut self.sub_filters
    }

    /// Puts sub-filters in at `place`.
    ///
    /// # Errors
    /// `OverLimit`, `OutOfMemory`, and nothing has changed.
    pub(super) fn insert_sub_filters(
        &mut self,
        place: usize,
        added: Vec<SplitBloom>,
        limit: SizeLimit,
    ) -> Result<(), AddError> {
        let size = self.check_size(&added, limit)?;
        // The first one, most often the only one, alone; then in steps that double.
        let reserved = match self.sub_filters.len() {
            0 => self.sub_filters.try_reserve_exact(added.len()),
            _ => self.sub_filters.try_reserve(added.len()),
        };
        reserved.map_err(|_| AddError::OutOfMemory)?;
        self.sub_filters.splice(place..place, added);
        self.size = size;
        Ok(())
    }

    /// The size that the filter would have with these sub-filters too, if it may have it.
    pub(super) fn check_size(
        &self,
        added: &[SplitBloom],
        limit: SizeLimit,
    ) -> Result<Size, AddError> {
        let size = added.iter().fold(self.size, |size, added| size.with(added));
        let is_allowed = limit.allows(size.bits) && size.segments <= MAX_SEGMENTS;
        // What is there may have come under another limit.
        if added.is_empty() || is_allowed {
            Ok(size)
        } else {
            Err(AddError::OverLimit)
        }
    }

    /// All bits, set or not, there or not.
    pub fn num_bits(&self) -> u64 {
        self.size.bits
    }

    /// Number of segments that it would have with every bit in use.
    pub fn reserved_segments(&self) -> u64 {
        self.size.segments
    }

    /// The load in pieces that has begun and not ended, if there is one.
    pub fn loading(&self) -> Option<Loading> {
        self.loading
    }

    pub(super) fn set_loading(&mut self, loading: Option<Loading>) {
        self.loading = loading;
    }

    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Items that it holds before it must grow further: the sum over the sub-filters.
    pub fn capacity(&self) -> u64 {
        let capacities = self.sub_filters.iter().map(|s| s.description().capacity);
        capacities.fold(0, u64::saturating_add)
    }

    /// Items that were new when they were added.
    pub fn items(&self) -> u64 {
        let items = self.sub_filters.iter().map(|s| s.description().items);
        items.fold(0, u64::saturating_add)
    }

    /// Whether the item is (probably) present. Cost: one line of memory for each sub-filter, a few where the error rate is
    /// below 0.4 %.
    pub fn contains(&self, item: &[u8]) -> bool {
        let hash = ItemHash::of(item, self.parameters.seed);
        if self.sub_filters.len() > 1 {
            self.prefetch_all(hash);
        }
        self.contains_hash(hash)
    }

    /// Asks for many items and calls `answer` for each in order. They are hashed and their lines prefetched in groups, a group
    /// ahead of the one that is answered, so that the memory of many is under way at any time, and no item waits for its own.
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

    /// Adds an item; answers whether it was new.
    ///
    /// # Errors
    /// `Full`, `OverLimit` or `OutOfMemory`, and nothing has changed.
    pub fn add(&mut self, item: &[u8], limit: SizeLimit) -> Result<bool, AddError> {
        let hash = ItemHash::of(item, self.parameters.seed);
        match &mut self.sub_filters[..] {
            [only] if only.fill().has_room() => return only.insert(hash),
            [_] => {}
            _ => self.prefetch_all(hash),
        }
        self.add_hash(hash, limit)
    }

    /// Adds many items and calls `answer` for each in order with whether it was new, prefetching as [`Filter::contains_many`] does.
    ///
    /// # Errors
    /// As [`Filter::add`], at the first item refused: those before it are kept, it and those after it have changed nothing.
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
            self.add_group(group.hashes(), limit, &mut answer)?;
            std::mem::swap(&mut group, &mut ahead);
        }
        Ok(())
    }

    /// A copy, whose bits are common to both until one of the two changes them: see [`super::segments::Segments::try_clone`].
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing that can be seen has changed.
    pub fn try_clone(&mut self) -> Result<Self, AddError> {
        let mut sub_filters = Vec::new();
        sub_filters
            .try_reserve_exact(self.sub_filters.len())
            .map_err(|_| AddError::OutOfMemory)?;
        for sub_filter in &mut self.sub_filters {
            sub_filters.push(sub_filter.try_clone()?);
        }
        Ok(Self {
            sub_filters,
            ..*self
        })
    }

    /// Prefetches a single item in all sub-filters. In one alone there is nothing to ask for ahead of it; and its speed there is a
    /// matter of how few instructions it takes, so this stands out of the way.
    #[inline(never)]
    fn prefetch_all(&self, hash: ItemHash) {
        self.prefetch(&[hash]);
    }

    #[inline]
    fn contains_hash(&self, hash: ItemHash) -> bool {
        match &self.sub_filters[..] {
            // No branch on the answer, which cannot be foretold: the processor goes on while the memory is waited for.
            [only] => only.contains(hash),
            all => all.iter().rev().any(|s| s.contains(hash)),
        }
    }

    /// Adds a group: in one go, as far as the newest sub-filter takes it.
    fn add_group(
        &mut self,
        hashes: &[ItemHash],
        limit: SizeLimit,
        mut answer: impl FnMut(bool),
    ) -> Result<(), AddError> {
        let mut done = 0;
        if let Some((newest, older)) = self.sub_filters.split_last_mut() {
            let known = |hash| older.iter().rev().any(|s| s.contains(hash));
            done = newest.insert_group(hashes, known, &mut answer)?;
            if done > 0 && newest.is_closed_by_guard() {
                self.tally.guard_closings += 1;
            }
        }
        for hash in &hashes[done..] {
            answer(self.add_hash(*hash, limit)?);
        }
        Ok(())
    }

    #[inline(never)]
    fn add_hash(&mut self, hash: ItemHash, limit: SizeLimit) -> Result<bool, AddError> {
        let (newest, older) = match self.sub_filters.split_last_mut() {
            Some((newest, older)) => (newest, older),
            None => return Err(AddError::Full),
        };
        if older.iter().rev().any(|s| s.contains(hash)) {
            return Ok(false);
        }
        if !newest.fill().is_full() {
            let new = newest.insert(hash)?;
            if new && newest.is_closed_by_guard() {
                self.tally.guard_closings += 1;
            }
            return Ok(new);
        }
        if newest.contains(hash) {
            return Ok(false);
        }
        let mut next = self.next_sub_filter()?;
        let new = next.insert(hash)?;
        self.insert_sub_filters(self.sub_filters.len(), vec_of(next)?, limit)?;
        self.tally.grown += 1;
        Ok(new)
    }

    /// The sub-filter that would come after the last one.
    fn next_sub_filter(&self) -> Result<SplitBloom, AddError> {
        let Growth::Times(factor) = self.parameters.growth else {
            return Err(AddError::Full);
        };
        let last = self
            .sub_filters
            .last()
            .map_or(1, |s| s.description().capacity);
        let capacity = last.saturating_mul(u64::from(factor)).min(MAX_CAPACITY);
        let index = self.sub_filters.len();
        let error_rate = self
            .parameters
            .growth
            .error_rate_of(self.parameters.error_rate, index);
        Ok(SplitBloom::new(capacity, error_rate))
    }

    #[inline]
    fn prefetch(&self, group: &[ItemHash]) {
        let mut lines = 0;
        for sub_filter in self.sub_filters.iter().rev() {
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

/// The hashes of items that are worked on together.
#[derive(Default)]
struct Group {
    hashes: [ItemHash; GROUP],
    len: usize,
}

impl Group {
    /// Hashes the next items, as many as fit: none when they are at an end.
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

/// A vector of one, or an error where the allocator refuses.
fn vec_of(sub_filter: SplitBloom) -> Result<Vec<SplitBloom>, AddError> {
    let mut vec = Vec::new();
    vec.try_reserve_exact(1)
        .map_err(|_| AddError::OutOfMemory)?;
    vec.push(sub_filter);
    Ok(vec)
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

    /// Numbers as items, those in the lowest sixteenth of the sub-bitmaps or all.
    fn numbers(crowding: bool, seed: Seed) -> impl Iterator<Item = [u8; 8]> {
        (0..)
            .map(u64::to_le_bytes)
            .filter(move |item| !crowding || ItemHash::of(item, seed).place >> 60 == 0)
    }

    #[test]
    fn batches_leave_what_their_items_leave_one_by_one() {
        for growth in [Growth::Fixed, Growth::Times(2)] {
            for (error_rate, crowding) in [(0.01, false), (0.01, true), (0.1, false)] {
                let mut batched = filter(error_rate, 10_000, growth);
                let mut one_by_one = filter(error_rate, 10_000, growth);
                let items: Vec<_> = numbers(crowding, batched.parameters.seed)
                    .take(25_000)
                    .collect();
                let mut rest = &items[..];
                for len in (1..60).cycle() {
                    let (batch, others) = rest.split_at(len.min(rest.len()));
                    rest = others;
                    // The last item of a batch is its first.
                    let batch: Vec<&[u8]> =
                        batch.iter().chain(batch.first()).map(|i| &i[..]).collect();
                    let mut answers = Vec::new();
                    let end =
                        batched.add_many(batch.iter().copied(), SizeLimit::Unlimited, |answer| {
                            answers.push(answer);
                        });
                    let mut expected = Vec::new();
                    let expected_end = batch.iter().try_for_each(|item| {
                        expected.push(one_by_one.add(item, SizeLimit::Unlimited)?);
                        Ok(())
                    });
                    assert_eq!((answers, end), (expected, expected_end));
                    assert_eq!(batched.tally(), one_by_one.tally());
                    if end.is_err() || rest.is_empty() {
                        break;
                    }
                }
                assert_eq!(batched.sub_filters().len(), one_by_one.sub_filters().len());
                for (one, other) in batched.sub_filters().iter().zip(one_by_one.sub_filters()) {
                    assert_eq!(one.description(), other.description());
                    assert_eq!(one.set_bits(), other.set_bits());
                    assert_eq!(one.fill().weight(), other.fill().weight());
                }
                assert_eq!(batched.digest(), one_by_one.digest());
                let closings = batched.tally().guard_closings;
                assert_eq!(closings > 0, crowding, "{error_rate} {growth:?}");
            }
        }
    }

    #[test]
    fn the_error_rates_of_all_sub_filters_never_add_up_to_more_than_asked_for() {
        let sum: f64 = (0..10_000)
            .map(|i| Growth::Times(2).error_rate_of(0.01, i))
            .sum();
        assert!(sum <= 0.01 * (1.0 + 1e-12), "{sum}");
        assert_eq!(Growth::Fixed.error_rate_of(0.01, 0), 0.01);
    }

    #[test]
    fn a_grown_filter_keeps_the_error_rate_and_every_item() {
        let mut grown = filter(0.01, 100, Growth::Times(2));
        for i in 0..100_000 {
            add(&mut grown, i).unwrap();
        }
        assert_eq!(grown.sub_filters().len(), 10);
        assert_eq!(grown.capacity(), 100 * 1023);
        assert!((0..100_000u64).all(|i| grown.contains(&i.to_le_bytes())));
        let rate = false_positive_rate(&grown, 100_000, 1_000_000);
        assert!(rate < 0.0101, "{rate}");
        assert_eq!(
            grown.tally(),
            Tally {
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
            .map(|s| s.description().capacity)
            .collect();
        assert_eq!(capacities, [1, 32_768, 1 << 30]);
    }

    #[test]
    fn ten_thousand_sub_filters_still_answer() {
        let mut filter = filter(0.01, 1, Growth::Times(1));
        let mut new = 0;
        for i in 0..3_000 {
            new += u64::from(add(&mut filter, i).unwrap());
        }
        assert_eq!(filter.items(), new);
        assert_eq!(filter.sub_filters().len() as u64, new);
        assert!((0..3_000u64).all(|i| filter.contains(&i.to_le_bytes())));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn copies_of_copies_live_their_own_lives(
            operations in prop::collection::vec((0usize..4, prop::option::of(0usize..4), any::<u16>()), 1..300),
            capacity in 1u64..40_000,
        ) {
            // Four filters, each with the set that it should be; now and then one becomes a copy of another.
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
