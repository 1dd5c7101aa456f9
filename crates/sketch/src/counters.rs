//! The counters, in segments small enough to be allocated, copied, moved and freed one at a time.
//!
//! ```text
//!   slots ──► segment ──► counters    a segment is 64 KiB, the last one as long as needed;
//!                                     one that no item has touched is not allocated: all 0
//! ```
//!
//! A copy shares the segments; whichever of the two writes to one first copies it. So a copy of any
//! size is quick, and takes memory only as it is needed.

use splitbloom_foundation::alloc::{relocate_box, try_boxed, Mover, OutOfMemory};
use splitbloom_foundation::prefetch::prefetch;
use splitbloom_foundation::segment::{Segment, SEGMENT_BYTES};
use splitbloom_foundation::shared::Shared;
use std::alloc::Layout;
use std::num::NonZeroU64;

/// Counters of a full segment.
pub const SEGMENT_CELLS: usize = SEGMENT_BYTES / size_of::<u32>();
/// Sketches of more segments than this do not fit the caches of a core, so their counters are
/// prefetched. For those that do fit, that would cost a third.
pub(crate) const CACHED_SEGMENTS: usize = 4;
/// Counters of a word: segments are measured in words.
const WORD_CELLS: usize = size_of::<u64>() / size_of::<u32>();

enum Slot {
    /// All 0.
    Empty,
    Own(Segment),
    /// Shared with a copy; neither of the two may write to it.
    Shared(Shared<Segment>),
}

impl Slot {
    #[inline]
    fn segment(&self) -> Option<&Segment> {
        match self {
            Self::Empty => None,
            Self::Own(segment) => Some(segment),
            Self::Shared(shared) => Some(shared),
        }
    }

    /// Makes the segment writable: `words` words of 0 if it is not allocated, a copy if it is
    /// shared. In case of an error nothing visible has changed.
    fn own(&mut self, words: usize) -> Result<(), OutOfMemory> {
        *self = match std::mem::replace(self, Self::Empty) {
            Self::Empty => Self::Own(Segment::clear(words)?),
            Self::Own(segment) => Self::Own(segment),
            Self::Shared(shared) => match shared.try_into_inner() {
                Ok(segment) => Self::Own(segment),
                Err(shared) => {
                    let copy = shared.try_clone();
                    *self = Self::Shared(shared);
                    Self::Own(copy?)
                }
            },
        };
        Ok(())
    }

    /// Shares the segment with a copy, which is returned.
    fn share(&mut self) -> Result<Self, OutOfMemory> {
        let shared = match std::mem::replace(self, Self::Empty) {
            Self::Empty => return Ok(Self::Empty),
            Self::Shared(shared) => shared,
            Self::Own(segment) => match Shared::try_new(segment) {
                Ok(shared) => shared,
                Err(segment) => {
                    *self = Self::Own(segment);
                    return Err(OutOfMemory);
                }
            },
        };
        *self = Self::Shared(shared.clone());
        Ok(Self::Shared(shared))
    }
}

/// An array of counters of 32 bits.
pub struct Counters {
    slots: Box<[Slot]>,
    cells: u64,
    /// Segments that are allocated and not shared.
    owned: usize,
}

impl Counters {
    /// `cells` counters, all 0. Allocates a list of their segments, but none of these.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(cells: u64) -> Result<Self, OutOfMemory> {
        let slots = usize::try_from(cells.div_ceil(SEGMENT_CELLS as u64));
        let slots = slots.map_err(|_| OutOfMemory)?;
        let slots = try_boxed(slots, |to| to.resize_with(slots, || Slot::Empty))?;
        Ok(Self { slots, cells, owned: 0 })
    }

    /// The number of segments once every counter is in use.
    pub fn reserved(&self) -> usize {
        self.slots.len()
    }

    /// The number of segments that are allocated.
    pub fn allocated(&self) -> usize {
        self.slots.iter().filter(|slot| slot.segment().is_some()).count()
    }

    /// The number of counters of segment `index`.
    pub fn len_of(&self, index: usize) -> usize {
        let rest = self.cells - (index * SEGMENT_CELLS) as u64;
        rest.min(SEGMENT_CELLS as u64) as usize
    }

    /// The counters of segment `index`, if it is allocated.
    pub fn segment(&self, index: usize) -> Option<&[u32]> {
        let counters = self.slots[index].segment()?.counters();
        Some(&counters[..self.len_of(index)])
    }

    /// The counters of segment `index` for writing, allocated if they were not.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    pub fn segment_mut(&mut self, index: usize) -> Result<&mut [u32], OutOfMemory> {
        let len = self.len_of(index);
        let slot = &mut self.slots[index];
        if !matches!(slot, Slot::Own(_)) {
            slot.own(len.div_ceil(WORD_CELLS))?;
            self.owned += 1;
        }
        match slot {
            Slot::Own(segment) => Ok(&mut segment.counters_mut()[..len]),
            Slot::Empty | Slot::Shared(_) => Err(OutOfMemory),
        }
    }

    /// All counters, if they are one segment that is allocated. To go by the list of segments costs
    /// a small sketch a fifth of its time.
    #[inline]
    pub fn single(&self) -> Option<&[u32]> {
        match &*self.slots {
            [slot] => slot.segment().map(Segment::counters),
            _ => None,
        }
    }

    /// The same for writing, if the segment is not shared either.
    #[inline]
    pub fn single_mut(&mut self) -> Option<&mut [u32]> {
        match &mut *self.slots {
            [Slot::Own(segment)] => Some(segment.counters_mut()),
            _ => None,
        }
    }

    /// Counter number `cell`.
    #[inline]
    pub fn get(&self, cell: u64) -> u32 {
        let (index, place) = place_of(cell);
        self.slots[index].segment().map_or(0, |segment| segment.counters()[place])
    }

    /// Counter number `cell` for writing, if its segment is allocated and not shared.
    #[inline]
    pub fn get_mut(&mut self, cell: u64) -> Option<&mut u32> {
        let (index, place) = place_of(cell);
        match &mut self.slots[index] {
            Slot::Own(segment) => Some(&mut segment.counters_mut()[place]),
            Slot::Empty | Slot::Shared(_) => None,
        }
    }

    /// Counters number `cell`, which is even, and the next one.
    #[inline]
    pub fn pair(&self, cell: u64) -> [u32; 2] {
        let (index, place) = place_of(cell);
        let segment = self.slots[index].segment();
        segment.map_or([0; 2], |segment| segment.counters().as_chunks().0[place / 2])
    }

    /// Counters number `cell`, which is even, and the next one, for writing, if their segment is
    /// allocated and not shared.
    #[inline]
    pub fn pair_mut(&mut self, cell: u64) -> Option<&mut [u32; 2]> {
        let (index, place) = place_of(cell);
        match &mut self.slots[index] {
            Slot::Own(segment) => Some(&mut segment.counters_mut().as_chunks_mut().0[place / 2]),
            Slot::Empty | Slot::Shared(_) => None,
        }
    }

    /// Whether all counters are writable, so that [`Counters::own`] has no effect.
    #[inline]
    pub fn owns_all(&self) -> bool {
        self.owned == self.slots.len()
    }

    /// Makes counter number `cell` writable.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    #[inline]
    pub fn own(&mut self, cell: u64) -> Result<(), OutOfMemory> {
        match self.get_mut(cell) {
            Some(_) => Ok(()),
            None => self.segment_mut(place_of(cell).0).map(|_| ()),
        }
    }

    /// Prefetches counter number `cell`, if it is allocated.
    #[inline]
    pub fn prefetch(&self, cell: u64) {
        let (index, place) = place_of(cell);
        if let Some(segment) = self.slots[index].segment() {
            prefetch(&segment.counters()[place]);
        }
    }

    /// The segments that have a counter above 0: their numbers, and their counters.
    pub fn touched(&self) -> impl Iterator<Item = (usize, &[u32])> {
        let segments =
            (0..self.slots.len()).filter_map(|index| Some((index, self.segment(index)?)));
        segments.filter(|(_, counters)| counters.iter().any(|counter| *counter != 0))
    }

    /// The counters that `bytes` holds, four little-endian bytes each. Segments that are all 0 are
    /// not allocated.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn of_bytes(bytes: &[u8]) -> Result<Self, OutOfMemory> {
        let mut counters = Self::new((bytes.len() / size_of::<u32>()) as u64)?;
        for (index, bytes) in bytes.chunks(SEGMENT_BYTES).enumerate() {
            read_counters(&mut counters, index, bytes)?;
        }
        Ok(counters)
    }

    /// Appends all counters to `bytes`, which has room for them.
    pub fn write_all(&self, bytes: &mut Vec<u8>) {
        for index in 0..self.reserved() {
            match self.segment(index) {
                Some(segment) => write_counters(segment, bytes),
                None => bytes.resize(bytes.len() + self.len_of(index) * size_of::<u32>(), 0),
            }
        }
    }

    /// A copy, which shares the segments.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    pub fn try_clone(&mut self) -> Result<Self, OutOfMemory> {
        let mut copy = Self::new(self.cells)?;
        self.owned = 0;
        for (to, slot) in copy.slots.iter_mut().zip(&mut self.slots) {
            *to = slot.share()?;
        }
        Ok(copy)
    }

    /// Visits every kind of allocation: its layout and their number. Shared segments are visited in
    /// both copies.
    pub fn visit_allocations(&self, visit: &mut dyn FnMut(Layout, u64)) {
        visit(Layout::for_value(&*self.slots), 1);
        let (mut full, mut shared) = (0, 0);
        for (index, slot) in self.slots.iter().enumerate() {
            let words = self.len_of(index).div_ceil(WORD_CELLS);
            match Segment::layout(words).filter(|_| slot.segment().is_some()) {
                Some(layout) if layout.size() == SEGMENT_BYTES => full += 1,
                Some(layout) => visit(layout, 1),
                None => {}
            }
            shared += u64::from(matches!(slot, Slot::Shared(_)));
        }
        if let (Some(layout), 1..) = (Segment::layout(SEGMENT_BYTES / size_of::<u64>()), full) {
            visit(layout, full);
        }
        if shared > 0 {
            visit(Shared::<Segment>::layout(), shared);
        }
    }

    /// Passes all allocations that are not shared through `mover`, from segment `from` on, until it
    /// says stop, but at least one of them. Returns where to continue, which is never 0.
    pub fn relocate(&mut self, from: u64, mover: &mut impl Mover) -> Option<NonZeroU64> {
        if from == 0 {
            self.slots = relocate_box(std::mem::take(&mut self.slots), mover);
        }
        for index in usize::try_from(from).unwrap_or(usize::MAX)..self.slots.len() {
            if let Slot::Own(segment) = &mut self.slots[index] {
                segment.relocate(mover);
                if mover.should_stop() {
                    return NonZeroU64::new(index as u64 + 1);
                }
            }
        }
        None
    }
}

/// Appends counters to `bytes`.
pub(crate) fn write_counters(counters: &[u32], bytes: &mut Vec<u8>) {
    let start = bytes.len();
    bytes.resize(start + size_of_val(counters), 0);
    let places = bytes[start..].as_chunks_mut().0;
    places.iter_mut().zip(counters).for_each(|(place, counter)| *place = counter.to_le_bytes());
}

/// Fills segment `index` from its bytes, as many as it has, unless they are all 0.
pub(crate) fn read_counters(
    to: &mut Counters,
    index: usize,
    bytes: &[u8],
) -> Result<(), OutOfMemory> {
    if bytes.iter().all(|byte| *byte == 0) {
        return Ok(());
    }
    let counters = to.segment_mut(index)?;
    let words = bytes.as_chunks().0;
    counters.iter_mut().zip(words).for_each(|(to, word)| *to = u32::from_le_bytes(*word));
    Ok(())
}

/// The segment of a counter, and the counter's place in it.
#[inline]
fn place_of(cell: u64) -> (usize, usize) {
    let cell = cell as usize;
    (cell / SEGMENT_CELLS, cell % SEGMENT_CELLS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allocations(counters: &Counters) -> Vec<(usize, u64)> {
        let mut sizes = Vec::new();
        counters.visit_allocations(&mut |layout, times| sizes.push((layout.size(), times)));
        sizes
    }

    #[test]
    fn segments_are_allocated_as_they_are_touched() {
        const CELLS: u64 = 3 * SEGMENT_CELLS as u64 + 5;
        let mut counters = Counters::new(CELLS).unwrap();
        assert_eq!((counters.reserved(), counters.allocated()), (4, 0));
        assert_eq!(allocations(&counters), [(4 * size_of::<Slot>(), 1)]);
        assert_eq!((counters.get(CELLS - 1), counters.get_mut(CELLS - 1)), (0, None));
        counters.own(CELLS - 1).unwrap();
        *counters.get_mut(CELLS - 1).unwrap() = 7;
        assert_eq!(counters.segment(3), Some([0, 0, 0, 0, 7].as_slice()));
        assert_eq!(allocations(&counters), [(4 * size_of::<Slot>(), 1), (64, 1)]);
        counters.own(0).unwrap();
        counters.own(SEGMENT_CELLS as u64).unwrap();
        assert_eq!(allocations(&counters)[1..], [(64, 1), (SEGMENT_BYTES, 2)]);
        assert_eq!(counters.touched().map(|(index, _)| index).collect::<Vec<_>>(), [3]);
    }

    #[test]
    fn a_copy_shares_segments_until_one_of_the_two_writes() {
        let mut counters = Counters::new(2 * SEGMENT_CELLS as u64).unwrap();
        counters.segment_mut(0).unwrap()[9] = 1;
        let mut copy = counters.try_clone().unwrap();
        assert!(counters.get_mut(9).is_none() && copy.get_mut(9).is_none());
        copy.segment_mut(0).unwrap()[9] = 2;
        assert_eq!((counters.get(9), copy.get(9)), (1, 2));
        // The other owner is gone, so nothing is copied.
        let before: *const u32 = &raw const counters.segment(0).unwrap()[9];
        counters.own(9).unwrap();
        assert_eq!(before, &raw const counters.segment(0).unwrap()[9]);
        assert_eq!(copy.allocated(), 1);
    }
}
