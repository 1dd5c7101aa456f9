//! One sub-filter: a Bloom filter of fixed capacity whose bits are split into sub-bitmaps.
//!
//! ```text
//!   item ─XXH3─► place ──► sub-bitmap number ──► segment, first word
//!                probes ─► k bits, all inside those words
//! ```
//!
//! So one item costs one cache line (or a few), one page, one page copied during a snapshot.

use super::error::AddError;
use super::fill::Fill;
use super::fill_guard::FillGuard;
use super::hash::{multiply_high, ItemHash};
use super::segments::{Segments, SEGMENT_WORDS};
use super::sizing::Shape;
use super::sub_bitmap::{self, Inserted, Loops};

/// One sub-filter.
pub struct SplitBloom {
    shape: Shape,
    loops: Loops,
    error_rate: f64,
    fill: Fill,
    segments: Segments,
}

/// Where a sub-bitmap lies: in which segment, from which word on, and how many.
#[derive(Clone, Copy)]
struct Address {
    segment: u64,
    word: usize,
    len: usize,
}

/// What is written of a sub-filter beside its bits: all that decides where bits lie and when it is full.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Description {
    pub shape: Shape,
    /// Items it is made for.
    pub capacity: u64,
    /// False-positive rate it is made for.
    pub error_rate: f64,
    /// Weight from which on it is full, see [`Shape::guard_limit`].
    pub guard_limit: u64,
    /// Items that were new.
    pub items: u64,
}

impl SplitBloom {
    /// An empty sub-filter for `capacity` items at `error_rate`. Allocates nothing; costs the sizing.
    pub fn new(capacity: u64, error_rate: f64) -> Self {
        let shape = Shape::for_items(capacity, error_rate);
        Self::from_description(Description {
            shape,
            capacity,
            error_rate,
            guard_limit: shape.guard_limit(capacity, error_rate),
            items: 0,
        })
    }

    /// A sub-filter without bits, as described.
    pub fn from_description(description: Description) -> Self {
        let shape = description.shape;
        let guard = FillGuard::new(shape, description.error_rate, description.guard_limit);
        Self {
            shape,
            loops: Loops::for_sub_bitmaps(shape.sub_bitmap_bits, shape.num_hashes),
            error_rate: description.error_rate,
            fill: Fill::new(guard, description.capacity, description.items),
            segments: Segments::new(shape.num_bits() / 64),
        }
    }

    /// What must be kept beside the bits.
    pub fn description(&self) -> Description {
        Description {
            shape: self.shape,
            capacity: self.fill.capacity(),
            error_rate: self.error_rate,
            guard_limit: self.fill.guard().limit(),
            items: self.fill.items(),
        }
    }

    /// All bits, set or not, there or not.
    pub fn num_bits(&self) -> u64 {
        self.shape.num_bits()
    }

    /// How full it is.
    #[inline]
    pub fn fill(&self) -> &Fill {
        &self.fill
    }

    /// Number of bits that are set.
    pub fn set_bits(&self) -> u64 {
        self.fill.set_bits()
    }

    /// The storage, for reading.
    pub fn segments(&self) -> &Segments {
        &self.segments
    }

    /// The storage, for moving it.
    pub(super) fn segments_mut(&mut self) -> &mut Segments {
        &mut self.segments
    }

    /// Whether the fill guard closed it before its time: chosen items did, or chance as rarely as [`Shape::guard_limit`] says.
    ///
    /// Items taken for present by mistake are not counted, so a fair filter may be closed with up to `error_rate * capacity`
    /// items fewer than its capacity.
    pub fn is_closed_by_guard(&self) -> bool {
        let fair = self.fill.capacity() as f64 * (1.0 - self.error_rate);
        self.fill.is_closed() && (self.fill.items() as f64) < fair
    }

    /// Asks the processor for the item's sub-bitmap, so that a group of items waits for memory only once.
    #[inline]
    pub fn prefetch(&self, hash: ItemHash) {
        if self.loops.are_for_lines() {
            if let Some(line) = self.segments.line(self.sub_bitmap_of(hash)) {
                sub_bitmap::prefetch_line(&line[0]);
            }
        } else if let Some(words) = self.words(hash) {
            sub_bitmap::prefetch(words, hash.probes, self.shape.num_hashes);
        }
    }

    /// The most lines that [`SplitBloom::prefetch`] asks for.
    pub fn prefetched_lines(&self) -> usize {
        sub_bitmap::prefetched_lines(self.sub_bitmap_words())
    }

    /// Whether the item is (probably) present.
    #[inline]
    pub fn contains(&self, hash: ItemHash) -> bool {
        let num_hashes = self.shape.num_hashes;
        if self.loops.are_for_lines() {
            self.segments
                .line(self.sub_bitmap_of(hash))
                .is_some_and(|line| self.loops.contains_in_line(line, hash.probes, num_hashes))
        } else {
            self.words(hash)
                .is_some_and(|words| sub_bitmap::contains(words, hash.probes, num_hashes))
        }
    }

    /// Sets the item's bits and counts it if it was new; answers whether it was. Fullness is the caller's to ask about.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing has changed.
    #[inline]
    pub fn insert(&mut self, hash: ItemHash) -> Result<bool, AddError> {
        #[cfg(target_arch = "x86_64")]
        if self.loops == Loops::LineAvx512 {
            // SAFETY: these loops are chosen where the processor has these features.
            return unsafe { self.insert_with_avx512(hash) };
        }
        self.insert_with(self.loops, hash)
    }

    /// Does for each item that is not `known`, in order, what [`SplitBloom::insert`] does, and calls `answer` with whether it was new. Ends
    /// where it is full; answers how many items it came to.
    ///
    /// # Errors
    /// `OutOfMemory`, at the first item that finds none: those before it are in and answered.
    #[inline]
    pub fn insert_group(
        &mut self,
        hashes: &[ItemHash],
        known: impl Fn(ItemHash) -> bool,
        answer: impl FnMut(bool),
    ) -> Result<usize, AddError> {
        #[cfg(target_arch = "x86_64")]
        if self.loops == Loops::LineAvx512 {
            // SAFETY: as above.
            return unsafe { self.insert_group_with_avx512(hashes, known, answer) };
        }
        self.insert_group_with(self.loops, hashes, known, answer)
    }

    /// Compiled for AVX-512, so that the loops of a line become part of it; and so below.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512dq,avx512vpopcntdq")]
    fn insert_with_avx512(&mut self, hash: ItemHash) -> Result<bool, AddError> {
        self.insert_with(Loops::LineAvx512, hash)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512dq,avx512vpopcntdq")]
    fn insert_group_with_avx512(
        &mut self,
        hashes: &[ItemHash],
        known: impl Fn(ItemHash) -> bool,
        answer: impl FnMut(bool),
    ) -> Result<usize, AddError> {
        self.insert_group_with(Loops::LineAvx512, hashes, known, answer)
    }

    /// `loops` are its own: where they are a constant, no other loops are compiled.
    #[inline(always)]
    fn insert_group_with(
        &mut self,
        loops: Loops,
        hashes: &[ItemHash],
        known: impl Fn(ItemHash) -> bool,
        mut answer: impl FnMut(bool),
    ) -> Result<usize, AddError> {
        for (done, hash) in hashes.iter().enumerate() {
            if self.fill.is_full() {
                return Ok(done);
            }
            answer(!known(*hash) && self.insert_with(loops, *hash)?);
        }
        Ok(hashes.len())
    }

    #[inline(always)]
    fn insert_with(&mut self, loops: Loops, hash: ItemHash) -> Result<bool, AddError> {
        let inserted = match self.try_insert(loops, hash) {
            Some(inserted) => inserted,
            None => self.allocate_and_insert(hash)?,
        };
        self.fill.note(inserted);
        Ok(inserted.is_new())
    }

    /// Sets the item's bits if they are at hand: their segment is there, and can be written to.
    #[inline(always)]
    fn try_insert(&mut self, loops: Loops, hash: ItemHash) -> Option<Inserted> {
        let num_hashes = self.shape.num_hashes;
        let number = self.sub_bitmap_of(hash);
        if loops.are_for_lines() {
            let line = self.segments.line_mut(number)?;
            return Some(loops.insert_in_line(line, hash.probes, num_hashes));
        }
        let at = self.address(number);
        let words = self.segments.get_mut(at.segment)?;
        let sub_bitmap = words.get_mut(at.word..at.word + at.len)?;
        Some(sub_bitmap::insert(sub_bitmap, hash.probes, num_hashes))
    }

    #[cold]
    fn allocate_and_insert(&mut self, hash: ItemHash) -> Result<Inserted, AddError> {
        if self.contains(hash) {
            return Ok(Inserted::NOTHING); // a segment that is a copy's too can stay so
        }
        let at = self.address(self.sub_bitmap_of(hash));
        let words = self.segments.allocate(at.segment)?;
        let sub_bitmap = &mut words[at.word..at.word + at.len];
        Ok(sub_bitmap::insert(
            sub_bitmap,
            hash.probes,
            self.shape.num_hashes,
        ))
    }

    /// Makes room for the words of a segment, see [`Segments::allocate`].
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing that can be seen has changed.
    pub fn allocate(&mut self, segment: u64) -> Result<(), AddError> {
        self.segments.allocate(segment).map(drop)
    }

    /// Sets the bits that are set in `words` (little-endian bytes) in a segment that is there, and weighs what they change.
    pub fn merge(&mut self, segment: u64, words: &[u8]) {
        let len = self.sub_bitmap_words();
        let Some(segment) = self.segments.get_mut(segment) else {
            return;
        };
        for (to, from) in segment.chunks_mut(len).zip(words.chunks(len * 8)) {
            let before = sub_bitmap::count_ones(to);
            for (to, from) in to.iter_mut().zip(from.as_chunks::<8>().0) {
                *to |= u64::from_le_bytes(*from);
            }
            let after = sub_bitmap::count_ones(to);
            self.fill.note_bits(before, after);
        }
    }

    /// A copy, whose bits are common to both until one of the two changes them: see [`super::segments::Segments::try_clone`].
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing that can be seen has changed.
    pub fn try_clone(&mut self) -> Result<Self, AddError> {
        Ok(Self {
            segments: self.segments.try_clone()?,
            ..*self
        })
    }

    fn sub_bitmap_words(&self) -> usize {
        self.shape.sub_bitmap_bits as usize / 64
    }

    /// The number of the item's sub-bitmap.
    #[inline]
    fn sub_bitmap_of(&self, hash: ItemHash) -> u64 {
        multiply_high(hash.place, self.shape.num_sub_bitmaps)
    }

    #[inline]
    fn address(&self, number: u64) -> Address {
        let len = self.sub_bitmap_words();
        let word = number * len as u64;
        Address {
            segment: word / SEGMENT_WORDS as u64,
            word: (word % SEGMENT_WORDS as u64) as usize,
            len,
        }
    }

    /// The words of the item's sub-bitmap, if they are there.
    #[inline]
    fn words(&self, hash: ItemHash) -> Option<&[u64]> {
        let at = self.address(self.sub_bitmap_of(hash));
        let words = self.segments.get(at.segment)?;
        words.get(at.word..at.word + at.len)
    }
}

#[cfg(test)]
mod tests {
    use super::super::hash::Seed;
    use super::*;

    fn item(i: u64) -> ItemHash {
        ItemHash::of(&i.to_le_bytes(), Seed(1))
    }

    fn filled(capacity: u64, error_rate: f64) -> SplitBloom {
        let mut bloom = SplitBloom::new(capacity, error_rate);
        for i in 0..capacity {
            assert!(!bloom.fill.is_full() || bloom.fill.items() == capacity);
            bloom.insert(item(i)).unwrap();
        }
        bloom
    }

    #[test]
    fn every_item_put_in_is_found() {
        for (capacity, error_rate) in [(1, 0.5), (100, 0.01), (5_000, 0.001), (50_000, 1e-9)] {
            let bloom = filled(capacity, error_rate);
            assert!((0..capacity).all(|i| bloom.contains(item(i))));
        }
    }

    #[test]
    fn the_count_of_set_bits_is_the_number_of_bits_set() {
        let bloom = filled(20_000, 0.01);
        let segments = bloom.segments();
        let counted: usize = (0..segments.reserved())
            .filter_map(|i| segments.get(i))
            .map(|words| sub_bitmap::bits(words).count_ones())
            .sum();
        assert_eq!(bloom.set_bits(), counted as u64);
    }

    #[test]
    fn an_item_that_is_there_changes_nothing() {
        let mut bloom = filled(1_000, 0.01);
        let (items, set_bits) = (bloom.fill.items(), bloom.set_bits());
        assert_eq!(bloom.insert(item(7)), Ok(false));
        assert_eq!((bloom.fill.items(), bloom.set_bits()), (items, set_bits));
    }

    #[test]
    fn items_in_a_large_filter_are_put_in_once_while_its_leaves_come() {
        // 300 leaves of 64 segments; the places of the first items' leaves are taken by others as more come.
        let mut bloom = SplitBloom::new(1_000_000_000, 0.01);
        for i in 0..2_000 {
            assert_eq!(bloom.insert(item(i)), Ok(true));
            assert_eq!(bloom.insert(item(i / 2)), Ok(false), "{i}");
        }
        let segments = bloom.segments();
        let there = (0..segments.reserved()).filter_map(|i| segments.get(i));
        let counted: u32 = there.map(sub_bitmap::count_ones).sum();
        assert_eq!(bloom.set_bits(), u64::from(counted));
        assert_eq!(bloom.fill.items(), 2_000);
    }

    #[test]
    fn a_group_leaves_what_its_items_leave_one_by_one() {
        for (capacity, error_rate) in [(20_000, 0.1), (20_000, 0.01), (300_000, 0.001)] {
            let mut grouped = SplitBloom::new(capacity, error_rate);
            let mut one_by_one = SplitBloom::new(capacity, error_rate);
            let mut first = 0;
            let mut done = 0;
            while !grouped.fill.is_full() {
                // Some twice, some known elsewhere, of all lengths.
                first += done;
                let len = first as usize % 23;
                let hashes: Vec<_> = (first..).map(|i| item(i - i % 3)).take(len + 1).collect();
                let known = |hash: ItemHash| hash.place.is_multiple_of(5);
                let mut answers = Vec::new();
                let came_to = grouped.insert_group(&hashes, known, |new| answers.push(new));
                let mut expected = Vec::new();
                for hash in &hashes {
                    if one_by_one.fill.is_full() {
                        break;
                    }
                    expected.push(!known(*hash) && one_by_one.insert(*hash).unwrap());
                }
                assert_eq!(answers, expected);
                assert_eq!(came_to, Ok(answers.len()));
                done = answers.len() as u64;
            }
            assert_eq!(grouped.insert_group(&[item(0)], |_| false, |_| ()), Ok(0));
            assert!(first > capacity / 2, "{capacity} {error_rate} {first}");
            assert_eq!(grouped.description(), one_by_one.description());
            assert_eq!(grouped.set_bits(), one_by_one.set_bits());
            assert_eq!(grouped.fill.weight(), one_by_one.fill.weight());
            let (segments, others) = (grouped.segments(), one_by_one.segments());
            assert!((0..segments.reserved()).all(|i| segments.get(i) == others.get(i)));
        }
    }

    #[test]
    fn the_measured_false_positive_rate_is_the_one_asked_for() {
        // 4 million probes at 1 %: 200 expected of standard deviation, 0.5 %.
        for (capacity, error_rate) in [(1_000, 0.1), (200_000, 0.01), (300_000, 0.001)] {
            let bloom = filled(capacity, error_rate);
            let probes = 4_000_000;
            let found = (capacity..capacity + probes)
                .filter(|i| bloom.contains(item(*i)))
                .count();
            let measured = found as f64 / probes as f64;
            assert!(
                (measured / error_rate - 1.0).abs() < 0.1,
                "{error_rate}: {measured}"
            );
        }
    }

    /// The false-positive rate that its bits have, counted.
    fn exact_rate(bloom: &SplitBloom) -> f64 {
        let len = bloom.sub_bitmap_words();
        let bits = f64::from(bloom.shape.sub_bitmap_bits);
        let segments = (0..bloom.segments.reserved()).filter_map(|i| bloom.segments.get(i));
        let rates = segments.flat_map(|words| words.chunks(len)).map(|words| {
            let set = sub_bitmap::bits(words).count_ones() as f64;
            (set / bits).powi(bloom.shape.num_hashes as i32)
        });
        rates.sum::<f64>() / bloom.shape.num_sub_bitmaps as f64
    }

    /// An item of somebody who knows the seed: in the sub-bitmap of their choice, with probes that are as good as random.
    fn chosen(bloom: &SplitBloom, sub_bitmap: u64, i: u64) -> ItemHash {
        let step = u64::MAX / bloom.shape.num_sub_bitmaps;
        ItemHash {
            place: sub_bitmap * step + step / 2,
            probes: item(i).probes,
        }
    }

    const ATTACKED: [(u64, f64); 9] = [
        (1, 0.01),
        (10, 0.01),
        (100, 0.001),
        (1_000, 0.01),
        (3_400, 0.01),
        (10_000, 0.01),
        (10_000, 0.3),
        (20_000, 0.0001),
        (9_000, 0.000_001),
    ];

    #[test]
    fn items_that_share_no_bits_do_not_double_the_error_rate() {
        for (capacity, error_rate) in ATTACKED {
            let mut bloom = SplitBloom::new(capacity, error_rate);
            let mut tried = 0;
            while !bloom.fill.is_full() && tried < 100 * capacity {
                let hash = item(tried);
                tried += 1;
                let set = |bloom: &SplitBloom| bloom.words(hash).map_or(0, sub_bitmap::count_ones);
                let mut copy = bloom.words(hash).map_or(Vec::new(), <[u64]>::to_vec);
                copy.resize(bloom.sub_bitmap_words(), 0);
                let inserted = sub_bitmap::insert(&mut copy, hash.probes, bloom.shape.num_hashes);
                // All bits new, or as many as there can still be.
                let free = bloom.shape.sub_bitmap_bits - set(&bloom);
                if inserted.new_bits() >= bloom.shape.num_hashes.min(free / 4) {
                    bloom.insert(hash).unwrap();
                }
            }
            let rate = exact_rate(&bloom);
            assert!(rate <= 2.0 * error_rate, "{capacity} {error_rate}: {rate}");
        }
    }

    #[test]
    fn items_that_crowd_into_few_sub_bitmaps_do_not_double_the_error_rate() {
        for (capacity, error_rate) in ATTACKED {
            for crowded in [1, 2, 10, 100] {
                let mut bloom = SplitBloom::new(capacity, error_rate);
                let mut tried = 0;
                while !bloom.fill.is_full() && tried < 1_000 * crowded {
                    let sub_bitmap = (tried / 1_000) % bloom.shape.num_sub_bitmaps;
                    bloom.insert(chosen(&bloom, sub_bitmap, tried)).unwrap();
                    tried += 1;
                }
                let rate = exact_rate(&bloom);
                assert!(
                    rate <= 2.0 * error_rate,
                    "{capacity} {error_rate} {crowded}: {rate}"
                );
            }
        }
    }

    #[test]
    fn crowding_items_close_a_sub_filter_long_before_its_capacity() {
        let mut bloom = SplitBloom::new(100_000, 0.01);
        let mut items = 0;
        while !bloom.fill.is_full() {
            bloom.insert(chosen(&bloom, items / 200, items)).unwrap();
            items += 1;
        }
        assert!(bloom.is_closed_by_guard());
        assert!(bloom.fill.items() < 10_000, "{}", bloom.fill.items());
    }

    #[test]
    fn the_weight_is_the_exact_false_positive_rate() {
        for (capacity, error_rate) in [(50_000, 0.1), (50_000, 0.01), (20_000, 1e-9)] {
            let bloom = filled(capacity, error_rate);
            let weighed = bloom.expected_false_positive_rate();
            let off = weighed / exact_rate(&bloom) - 1.0;
            assert!(off.abs() < 0.001, "{capacity} {error_rate}: {off}");
        }
    }

    #[test]
    fn fair_items_meet_the_guard_at_their_capacity_only() {
        // 1000 filters of each kind; six deviations are reached once in 10^9.
        for (capacity, error_rate) in [(10, 0.01), (100, 0.0067), (3_400, 0.01), (2_000, 0.001)] {
            for filter in 0..1_000u64 {
                let mut bloom = SplitBloom::new(capacity, error_rate);
                for i in 0..capacity {
                    assert!(
                        !bloom.fill.is_closed(),
                        "{capacity} {error_rate} {filter} {i}"
                    );
                    bloom.insert(item(filter << 32 | i)).unwrap();
                }
            }
        }
    }
}
