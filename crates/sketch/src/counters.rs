//! The counters, in segments small enough to be allocated, copied, moved and freed one at a time.
//!
//! A table is bytes. Its user says how many of them a counter has: a power of two, so that none
//! straddles two cache lines. Counters are little-endian, as in files: loads and saves copy bytes.
//!
//! ```text
//!   slots ──► segment ──► counters    a segment is 64 KiB, the last one as long as needed;
//!         └─► lines                   one that no item has touched is not allocated: all 0
//! ```
//!
//! While items have touched at most an eighth of a segment's cache lines, only these are allocated.
//! So the first item of a large sketch takes 130 bytes a row, and all of them at most 512 bytes for
//! each line that they have touched: the segment comes with the 129th of its lines. Sketches that
//! fit the caches have no such lists.
//!
//! A copy shares the segments; whichever of the two writes to one first copies it. So a copy of any
//! size is quick, and takes memory only as it is needed.

mod lines;
mod slot;

use lines::{Line, Lines};
use slot::{Block, Slot};
use splitbloom_foundation::alloc::{relocate_box, try_boxed, Mover, OutOfMemory};
use splitbloom_foundation::segment::{Segment, LINE_WORDS, SEGMENT_BYTES};
use splitbloom_foundation::shared::Shared;
use std::alloc::Layout;
use std::num::NonZeroU64;
use xxhash_rust::xxh3::Xxh3;

/// Sketches of more segments than this do not fit the caches of a core, so their counters are
/// prefetched. For those that do fit, prefetching would cost a third.
pub(crate) const CACHED_SEGMENTS: usize = 4;
/// Bytes of a cache line.
pub(crate) const LINE_BYTES: usize = LINE_WORDS * size_of::<u64>();
/// Lists hold at most one in this many lines of a segment. With more, filters fill a twentieth
/// slower (`crates/filter/src/storage/list.rs`).
const PART: usize = 8;

/// An array of counters.
pub struct Counters {
    slots: Box<[Slot]>,
    bytes: u64,
    /// Segments that are allocated and not shared.
    owned: usize,
}

impl Counters {
    /// Counters of `bytes` bytes in all, all 0. Allocates a list of their segments, but none of
    /// these.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(bytes: u64) -> Result<Self, OutOfMemory> {
        let slots = usize::try_from(bytes.div_ceil(SEGMENT_BYTES as u64));
        let slots = slots.map_err(|_| OutOfMemory)?;
        let slots = try_boxed(slots, |to| to.resize_with(slots, || Slot::Empty))?;
        Ok(Self { slots, bytes, owned: 0 })
    }

    /// The number of segments once every counter is in use.
    pub fn reserved(&self) -> usize {
        self.slots.len()
    }

    /// The number of segments that are allocated, whole or in part.
    pub fn allocated(&self) -> usize {
        self.slots.iter().filter(|slot| slot.part().is_some()).count()
    }

    /// The number of bytes of segment `index`.
    pub fn len_of(&self, index: usize) -> usize {
        let rest = self.bytes - (index * SEGMENT_BYTES) as u64;
        rest.min(SEGMENT_BYTES as u64) as usize
    }

    /// The number of words of segment `index`.
    fn words_of(&self, index: usize) -> usize {
        self.len_of(index).div_ceil(size_of::<u64>())
    }

    /// The most lines that segment `index` has before it is allocated whole.
    fn most_lines(&self, index: usize) -> usize {
        match self.slots.len() {
            0..=CACHED_SEGMENTS => 0,
            _ => self.len_of(index) / LINE_BYTES / PART,
        }
    }

    /// The lines of segment `index` that are allocated, in ascending order, with their numbers. The
    /// last line of the last segment has zeros after its counters.
    pub fn lines(&self, index: usize) -> impl Iterator<Item = (usize, &[u8; LINE_BYTES])> {
        self.slots[index].part().into_iter().flat_map(Block::lines)
    }

    /// Sets the counters of segment `index`, which is empty, to those of `lines`. Allocates the
    /// lines that are not 0, or the segment if they are many.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn put(
        &mut self,
        index: usize,
        lines: impl Iterator<Item = [u8; LINE_BYTES]> + Clone,
    ) -> Result<(), OutOfMemory> {
        let lines = (0..).zip(lines).filter(|(_, line)| is_touched(line));
        let block = match lines.clone().count() {
            0 => return Ok(()),
            len if len <= self.most_lines(index) => Block::few(Lines::of(lines, len)?)?,
            _ => {
                let mut segment = Segment::clear(self.words_of(index))?;
                let to = segment.cells_mut();
                lines.for_each(|(number, line): (u16, Line)| to[usize::from(number)] = line);
                self.owned += 1;
                Block::Full(segment)
            }
        };
        self.slots[index] = Slot::Own(block);
        Ok(())
    }

    /// All counters, of `N` bytes each, if they are one segment that is allocated. Going through
    /// the list of segments costs a small sketch a fifth of its time.
    #[inline]
    pub fn single<const N: usize>(&self) -> Option<&[[u8; N]]> {
        match &*self.slots {
            [slot] => match slot.part()? {
                Block::Full(segment) => Some(segment.cells()),
                Block::Few(_) => None,
            },
            _ => None,
        }
    }

    /// The same for writing, if the segment is not shared either.
    #[inline]
    pub fn single_mut<const N: usize>(&mut self) -> Option<&mut [[u8; N]]> {
        match &mut *self.slots {
            [Slot::Own(Block::Full(segment))] => Some(segment.cells_mut()),
            _ => None,
        }
    }

    /// Counter number `cell`, of `N` bytes.
    #[inline]
    pub fn get<const N: usize>(&self, cell: u64) -> [u8; N] {
        let (index, place) = place_of::<N>(cell);
        self.slots[index].part().map_or([0; N], |block| block.get(place))
    }

    /// Counter number `cell`, of `N` bytes, for writing, if it is allocated and not shared.
    #[inline]
    pub fn get_mut<const N: usize>(&mut self, cell: u64) -> Option<&mut [u8; N]> {
        let (index, place) = place_of::<N>(cell);
        self.slots[index].own_mut()?.get_mut(place)
    }

    /// Whether all counters are writable, so that [`Counters::own`] has no effect.
    #[inline]
    pub fn owns_all(&self) -> bool {
        self.owned == self.slots.len()
    }

    /// Makes counter number `cell`, of `N` bytes, writable.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    #[inline]
    pub fn own<const N: usize>(&mut self, cell: u64) -> Result<(), OutOfMemory> {
        match self.get_mut::<N>(cell) {
            Some(_) => Ok(()),
            None => {
                let (index, place) = place_of::<N>(cell);
                self.allocate(index, place * N / LINE_BYTES)
            }
        }
    }

    /// Makes line `number` of segment `index` writable: 0 if it is not allocated, a copy if it is
    /// shared. If its lines are no longer few, allocates the segment.
    #[cold]
    fn allocate(&mut self, index: usize, number: usize) -> Result<(), OutOfMemory> {
        let (words, most) = (self.words_of(index), self.most_lines(index));
        let slot = &mut self.slots[index];
        let was_owned = is_own_segment(slot);
        slot.own(Block::try_clone)?;
        let number = number as u16;
        let block = match slot {
            Slot::Own(Block::Few(lines)) => match lines.first_mut() {
                Some(lines) if lines.len() < most || lines.get(number).is_some() => {
                    return lines.insert(number)
                }
                Some(lines) => Block::full(lines, words)?,
                None => return Err(OutOfMemory),
            },
            Slot::Empty if most > 0 => {
                let mut lines = Lines::default();
                lines.insert(number)?;
                Block::few(lines)?
            }
            Slot::Empty => Block::Full(Segment::clear(words)?),
            Slot::Own(Block::Full(_)) | Slot::Shared(_) => {
                self.owned += usize::from(is_own_segment(slot) && !was_owned);
                return Ok(());
            }
        };
        *slot = Slot::Own(block);
        self.owned += usize::from(is_own_segment(slot));
        Ok(())
    }

    /// Prefetches counter number `cell`, of `N` bytes, if it is allocated.
    #[inline]
    pub fn prefetch<const N: usize>(&self, cell: u64) {
        let (index, place) = place_of::<N>(cell);
        if let Some(block) = self.slots[index].part() {
            block.prefetch::<N>(place);
        }
    }

    /// The numbers of the segments that have a counter above 0.
    pub fn touched(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.slots.len()).filter(|index| self.lines(*index).any(|(_, line)| is_touched(line)))
    }

    /// Hashes all counters above 0.
    pub fn write_digest(&self, hash: &mut Xxh3) {
        for index in 0..self.slots.len() {
            for (number, line) in self.lines(index).filter(|(_, line)| is_touched(line)) {
                hash.update(&((index * SEGMENT_BYTES / LINE_BYTES + number) as u64).to_le_bytes());
                hash.update(line);
            }
        }
    }

    /// The counters that `bytes` are. Segments that are all 0 are not allocated.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn of_bytes(bytes: &[u8]) -> Result<Self, OutOfMemory> {
        let mut counters = Self::new(bytes.len() as u64)?;
        for (index, bytes) in bytes.chunks(SEGMENT_BYTES).enumerate() {
            read_counters(&mut counters, index, bytes)?;
        }
        Ok(counters)
    }

    /// Appends all counters to `bytes`, which has room for them.
    pub fn write_all(&self, bytes: &mut Vec<u8>) {
        (0..self.reserved()).for_each(|index| self.write_segment(index, bytes));
    }

    /// Appends the counters of segment `index` to `bytes`, which has room for them.
    pub fn write_segment(&self, index: usize, bytes: &mut Vec<u8>) {
        let (start, len) = (bytes.len(), self.len_of(index));
        bytes.resize(start + len, 0);
        for (number, line) in self.lines(index) {
            let place = number * LINE_BYTES;
            let line = &line[..LINE_BYTES.min(len - place)]; // the last one may be longer
            bytes[start + place..][..line.len()].copy_from_slice(line);
        }
    }

    /// A copy, which shares the segments.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    pub fn try_clone(&mut self) -> Result<Self, OutOfMemory> {
        let mut copy = Self::new(self.bytes)?;
        self.owned = 0;
        for (to, slot) in copy.slots.iter_mut().zip(&mut self.slots) {
            *to = slot.share()?;
        }
        Ok(copy)
    }

    /// Visits every allocation. Shared segments are visited in both copies.
    pub fn visit_allocations(&self, visit: &mut dyn FnMut(Layout, u64)) {
        visit(Layout::for_value(&*self.slots), 1);
        for (index, slot) in self.slots.iter().enumerate() {
            let mut one = |layout| visit(layout, 1);
            match slot.part() {
                Some(Block::Full(_)) => {
                    Segment::layout(self.words_of(index)).into_iter().for_each(&mut one);
                }
                Some(Block::Few(lines)) => {
                    one(Layout::for_value(&**lines));
                    lines.iter().flat_map(Lines::layouts).for_each(&mut one);
                }
                None => {}
            }
            if slot.is_shared() {
                one(Shared::<Block>::layout());
            }
        }
    }

    /// Passes all allocations that are not shared through `mover`, from segment `from` on, until it
    /// says stop, but at least one of them. Returns where to continue, which is never 0.
    pub fn relocate(&mut self, from: u64, mover: &mut impl Mover) -> Option<NonZeroU64> {
        if from == 0 {
            self.slots = relocate_box(std::mem::take(&mut self.slots), mover);
        }
        for index in usize::try_from(from).unwrap_or(usize::MAX)..self.slots.len() {
            if let Some(block) = self.slots[index].own_mut() {
                block.relocate(mover);
                if mover.should_stop() {
                    return NonZeroU64::new(index as u64 + 1);
                }
            }
        }
        None
    }
}

/// Fills segment `index`, which is empty, from its bytes, as many as it has.
pub(crate) fn read_counters(
    to: &mut Counters,
    index: usize,
    bytes: &[u8],
) -> Result<(), OutOfMemory> {
    let lines = bytes.chunks(LINE_BYTES).map(|bytes| {
        let mut line = [0; LINE_BYTES];
        line[..bytes.len()].copy_from_slice(bytes);
        line
    });
    to.put(index, lines)
}

/// Whether it is a whole segment that may be written to.
fn is_own_segment(slot: &Slot) -> bool {
    matches!(slot, Slot::Own(Block::Full(_)))
}

/// Whether a line has a counter above 0.
fn is_touched(line: &[u8; LINE_BYTES]) -> bool {
    *line != [0; LINE_BYTES]
}

/// The segment of counter number `cell`, of `N` bytes, and the counter's number in it.
#[inline]
fn place_of<const N: usize>(cell: u64) -> (usize, usize) {
    let cell = cell as usize;
    (cell / (SEGMENT_BYTES / N), cell % (SEGMENT_BYTES / N))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// The sizes of allocations, the smallest first, and their numbers.
    fn allocations(counters: &Counters) -> Vec<(usize, u64)> {
        let mut sizes = BTreeMap::new();
        counters.visit_allocations(&mut |layout, times| {
            *sizes.entry(layout.size()).or_default() += times;
        });
        sizes.into_iter().collect()
    }

    /// Counters of a full segment; each has four bytes in these tests.
    const SEGMENT_CELLS: u64 = SEGMENT_BYTES as u64 / 4;

    fn zeros(cells: u64) -> Counters {
        Counters::new(4 * cells).unwrap()
    }

    fn get(counters: &Counters, cell: u64) -> u32 {
        u32::from_le_bytes(counters.get(cell))
    }

    fn set(counters: &mut Counters, cell: u64, value: u32) {
        counters.own::<4>(cell).unwrap();
        *counters.get_mut(cell).unwrap() = value.to_le_bytes();
    }

    #[test]
    fn segments_are_allocated_as_they_are_touched() {
        const CELLS: u64 = 3 * SEGMENT_CELLS + 5;
        let mut counters = zeros(CELLS);
        assert_eq!((counters.reserved(), counters.allocated()), (4, 0));
        assert_eq!(allocations(&counters), [(4 * size_of::<Slot>(), 1)]);
        assert_eq!((get(&counters, CELLS - 1), counters.get_mut::<4>(CELLS - 1)), (0, None));
        set(&mut counters, CELLS - 1, 7);
        assert_eq!(counters.lines(3).map(|(_, line)| line[16]).collect::<Vec<_>>(), [7]);
        assert_eq!(allocations(&counters), [(64, 1), (4 * size_of::<Slot>(), 1)]);
        counters.own::<4>(0).unwrap();
        counters.own::<4>(SEGMENT_CELLS).unwrap();
        assert_eq!(allocations(&counters)[1..], [(4 * size_of::<Slot>(), 1), (SEGMENT_BYTES, 2)]);
        assert_eq!(counters.touched().collect::<Vec<_>>(), [3]);
    }

    #[test]
    fn a_copy_shares_segments_until_one_of_the_two_writes() {
        // Whole segments, and lines.
        for segments in [2, 20] {
            let mut counters = zeros(segments * SEGMENT_CELLS);
            set(&mut counters, 9, 1);
            let mut copy = counters.try_clone().unwrap();
            assert!(counters.get_mut::<4>(9).is_none() && copy.get_mut::<4>(9).is_none());
            set(&mut copy, 9, 2);
            assert_eq!((get(&counters, 9), get(&copy, 9)), (1, 2));
            // The other owner is gone, so nothing is copied.
            let address = |counters: &Counters| -> *const u8 {
                counters.lines(0).next().map(|(_, line)| line.as_ptr()).unwrap()
            };
            let before = address(&counters);
            counters.own::<4>(9).unwrap();
            assert_eq!(before, address(&counters));
            assert_eq!(copy.allocated(), 1);
        }
    }

    fn bytes(counters: &Counters) -> usize {
        allocations(counters).iter().map(|(size, times)| size * *times as usize).sum()
    }

    fn digest(counters: &Counters) -> u64 {
        let mut hash = Xxh3::new();
        counters.write_digest(&mut hash);
        hash.digest()
    }

    #[test]
    fn memory_follows_the_lines_that_are_touched_and_so_do_copies_and_saves() {
        // The last segment is short, and its last line.
        const CELLS: u64 = 6 * SEGMENT_CELLS + 3 * 1024 + 7;
        let mut counters = zeros(CELLS);
        let mut model = BTreeMap::new();
        let list = bytes(&counters);
        for n in 0..6_000_u64 {
            let cell = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) % CELLS;
            assert_eq!(get(&counters, cell), model.get(&cell).copied().unwrap_or(0));
            set(&mut counters, cell, n as u32 + 1);
            model.insert(cell, n as u32 + 1);
            if !n.is_power_of_two() && n != 5_999 {
                continue;
            }
            let touched = model.keys().map(|cell| 4 * cell / LINE_BYTES as u64);
            let touched = touched.collect::<BTreeSet<_>>().len();
            assert!(bytes(&counters) <= list + 7 * 200 + 512 * touched, "{touched}");
            assert!((0..CELLS).step_by(7).chain(model.keys().copied()).all(|cell| {
                let counter = |cell| model.get(&cell).copied().unwrap_or(0).to_le_bytes();
                let pair = [cell & !1, cell | 1].map(counter);
                let is_there = counters.get::<8>(cell / 2) == *pair.as_flattened();
                is_there && counters.get(cell) == counter(cell)
            }));
            let mut saved = Vec::new();
            counters.write_all(&mut saved);
            let loaded = Counters::of_bytes(&saved).unwrap();
            assert_eq!(digest(&loaded), digest(&counters));
            assert!(bytes(&loaded) <= bytes(&counters));
            let mut copy = counters.try_clone().unwrap();
            set(&mut copy, CELLS - 1, u32::MAX);
            assert_ne!(digest(&copy), digest(&counters));
        }
        assert!(counters.owned < counters.slots.len(), "shared with the last copy");
        (0..CELLS).for_each(|cell| counters.own::<4>(cell).unwrap());
        assert!(counters.owns_all());
        assert_eq!(counters.slots.iter().filter(|slot| is_own_segment(slot)).count(), 7);
    }
}
