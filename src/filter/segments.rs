//! The bits of one sub-filter, in pieces that are small enough to be allocated, copied, moved and freed one at a time.
//!
//! ```text
//!   root ──► leaf ──► segment ──► words           a segment is 64 KiB, the last one just as long as needed
//!            leaf     segment                     a leaf points to 4 096 segments (256 MiB of bits)
//!            ────     ───────                     what no item has touched is not there: all its bits are clear
//! ```
//!
//! 64 KiB: touching that much fresh memory takes 24 µs (1 MiB: 390 µs, which a bystander would notice), the pointers add
//! 0.024 %, and it is a size class of jemalloc, so nothing is lost to rounding. Speed does not choose: 16 KiB to 1 MiB behind
//! pointers measured 182.0 ns an item, one flat block 181.5.
//!
//! The leaves keep a declared size from costing memory: the root of the largest sub-filter (2^40 items) takes 0.8 MiB, and only
//! once an item has come.

use super::error::AddError;
use super::sizing::SEGMENT_BITS;

/// Words of a full segment.
pub const SEGMENT_WORDS: usize = SEGMENT_BITS as usize / 64;
/// Segments that one leaf points to.
const LEAF_SEGMENTS: usize = 4096;
/// Words of a line.
const LINE_WORDS: usize = 8;

/// One cache line: what a segment is made of, so that a sub-bitmap of 64 bytes never straddles two.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u64; LINE_WORDS]);

/// One allocation of the bits.
#[derive(Clone)]
struct Segment(Box<[Line]>);

type Leaf = Box<[Option<Segment>]>;

/// The lazily allocated words of one sub-filter.
#[derive(Default)]
pub struct Segments {
    root: Box<[Option<Leaf>]>,
    num_words: u64,
    allocated: u64,
}

impl Segment {
    fn words(&self) -> &[u64] {
        // SAFETY: a `Line` is `repr(C)` around eight `u64` without padding (its size, 64, is its alignment), so `n` lines are
        // `8 * n` initialised words; the borrow of `self` covers the result.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), self.0.len() * LINE_WORDS) }
    }

    fn words_mut(&mut self) -> &mut [u64] {
        // SAFETY: as in `words`; the borrow is unique because `self` is.
        unsafe {
            std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), self.0.len() * LINE_WORDS)
        }
    }
}

/// A boxed slice of `len` copies of `value`, or an error where the allocator refuses.
fn try_boxed<T: Clone>(len: usize, value: T) -> Result<Box<[T]>, AddError> {
    let mut vec = Vec::new();
    vec.try_reserve_exact(len)
        .map_err(|_| AddError::OutOfMemory)?;
    vec.resize(len, value);
    Ok(vec.into_boxed_slice())
}

impl Segments {
    /// Room for `num_words` words, all clear; nothing is allocated.
    pub fn new(num_words: u64) -> Self {
        Self {
            root: Box::default(),
            num_words,
            allocated: 0,
        }
    }

    /// Number of segments that a full filter would have.
    pub fn reserved(&self) -> u64 {
        self.num_words.div_ceil(SEGMENT_WORDS as u64)
    }

    /// Number of segments that are there.
    pub fn allocated(&self) -> u64 {
        self.allocated
    }

    /// Words that segment `index` holds: `SEGMENT_WORDS`, or fewer for the last one.
    pub fn len_of(&self, index: u64) -> usize {
        let before = index * SEGMENT_WORDS as u64;
        self.num_words
            .saturating_sub(before)
            .min(SEGMENT_WORDS as u64) as usize
    }

    /// The words of segment `index`, if it is there.
    #[inline]
    pub fn get(&self, index: u64) -> Option<&[u64]> {
        let (leaf, slot) = Self::address(index);
        let segment = self.root.get(leaf)?.as_ref()?.get(slot)?.as_ref()?;
        Some(segment.words())
    }

    /// The words of segment `index`, if it is there, for writing.
    #[inline]
    pub fn get_mut(&mut self, index: u64) -> Option<&mut [u64]> {
        let (leaf, slot) = Self::address(index);
        let segment = self.root.get_mut(leaf)?.as_mut()?.get_mut(slot)?.as_mut()?;
        Some(segment.words_mut())
    }

    /// Makes sure that segment `index` is there. On an error nothing that can be seen has changed.
    ///
    /// # Panics
    /// If `index` is not below [`Segments::reserved`].
    pub fn allocate(&mut self, index: u64) -> Result<(), AddError> {
        let (reserved, len) = (self.reserved() as usize, self.len_of(index));
        let (leaf, slot) = Self::address(index);
        if self.root.is_empty() {
            self.root = try_boxed(reserved.div_ceil(LEAF_SEGMENTS), None)?;
        }
        let leaf_len = (reserved - leaf * LEAF_SEGMENTS).min(LEAF_SEGMENTS);
        let leaf = match &mut self.root[leaf] {
            Some(leaf) => leaf,
            empty => empty.insert(try_boxed(leaf_len, None)?),
        };
        if leaf[slot].is_none() {
            let lines = try_boxed(len.div_ceil(LINE_WORDS), Line([0; LINE_WORDS]))?;
            leaf[slot] = Some(Segment(lines));
            self.allocated += 1;
        }
        Ok(())
    }

    /// The first segment at or after `index` that is there. Whole leaves that are not there are skipped at once.
    pub fn next_allocated(&self, index: u64) -> Option<u64> {
        let (first_leaf, first_slot) = Self::address(index);
        let mut slot = first_slot;
        for (number, leaf) in self.root.iter().enumerate().skip(first_leaf) {
            let found = leaf
                .as_ref()
                .and_then(|leaf| leaf.iter().skip(slot).position(Option::is_some));
            if let Some(offset) = found {
                return Some((number * LEAF_SEGMENTS + slot + offset) as u64);
            }
            slot = 0;
        }
        None
    }

    /// A copy, segment by segment, or an error where the allocator refuses.
    pub fn try_clone(&self) -> Result<Self, AddError> {
        let mut copy = Self::new(self.num_words);
        let mut next = self.next_allocated(0);
        while let Some(index) = next {
            copy.allocate(index)?;
            if let (Some(to), Some(from)) = (copy.get_mut(index), self.get(index)) {
                to.copy_from_slice(from);
            }
            next = self.next_allocated(index + 1);
        }
        Ok(copy)
    }

    /// Visits the address and the size in bytes of everything that is allocated, cheaply: of the full segments, which are
    /// all of one size, one stands for all.
    pub fn visit_allocations(&self, visit: &mut dyn FnMut(*const u8, usize, u64)) {
        let last = self.reserved().saturating_sub(1);
        let last_is_there = self.get(last).is_some();
        if !self.root.is_empty() {
            visit(self.root.as_ptr().cast(), size_of_val(&*self.root), 1);
        }
        for leaf in self.root.iter().flatten() {
            visit(leaf.as_ptr().cast(), size_of_val(&**leaf), 1);
        }
        if let Some(words) = self.get(last) {
            visit(words.as_ptr().cast(), size_of_val(words), 1);
        }
        let others = self.allocated - u64::from(last_is_there);
        let one = self.next_allocated(0).and_then(|index| self.get(index));
        if let (Some(words), true) = (one, others > 0) {
            visit(words.as_ptr().cast(), size_of_val(words), others);
        }
    }

    /// Offers segment `index` to `mover`, which may copy it to another address and answer that (having freed the old one),
    /// so that the server can make its heap denser. Answers whether the segment is there.
    ///
    /// # Safety
    /// What `mover` answers must be a live allocation of the global allocator, made for the size and alignment of the one
    /// it was given, with the same bytes; the old one must be free then.
    pub unsafe fn relocate(
        &mut self,
        index: u64,
        mover: &mut dyn FnMut(*mut u8) -> Option<*mut u8>,
    ) -> bool {
        let (leaf, slot) = Self::address(index);
        let segment = self
            .root
            .get_mut(leaf)
            .and_then(Option::as_mut)
            .and_then(|leaf| leaf.get_mut(slot));
        let Some(Some(segment)) = segment else {
            return false;
        };
        let len = segment.0.len();
        let old = Box::into_raw(std::mem::take(&mut segment.0)).cast::<Line>();
        let new = mover(old.cast()).map_or(old, <*mut u8>::cast);
        // SAFETY: `new` is either `old`, just taken out of its box, or by the caller's duty an allocation like it with the
        // same `len` lines in it.
        segment.0 = unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(new, len)) };
        true
    }

    fn address(index: u64) -> (usize, usize) {
        let index = index as usize;
        (index / LEAF_SEGMENTS, index % LEAF_SEGMENTS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_allocated_before_it_is_asked_for() {
        let segments = Segments::new(1 << 41);
        assert_eq!(segments.allocated(), 0);
        assert_eq!(segments.reserved(), 1 << 28);
        assert!(segments.get(0).is_none());
        assert_eq!(segments.next_allocated(0), None);
        let mut bytes = 0;
        segments.visit_allocations(&mut |_, size, times| bytes += size as u64 * times);
        assert_eq!(bytes, 0);
    }

    #[test]
    fn a_segment_is_clear_aligned_and_just_as_long_as_needed() {
        let mut segments = Segments::new(SEGMENT_WORDS as u64 * 2 + 3);
        for index in 0..3 {
            segments.allocate(index).unwrap();
            segments.allocate(index).unwrap();
            let words = segments.get(index).unwrap();
            assert_eq!(words.as_ptr() as usize % 64, 0);
            assert!(words.iter().all(|w| *w == 0));
        }
        assert_eq!(segments.allocated(), 3);
        assert_eq!(segments.len_of(1), SEGMENT_WORDS);
        assert_eq!(segments.len_of(2), 3);
        assert_eq!(segments.get(2).unwrap().len(), 8, "whole lines");
        assert!(segments.get(3).is_none());
    }

    #[test]
    fn the_search_for_the_next_segment_crosses_leaves() {
        let mut segments = Segments::new(SEGMENT_WORDS as u64 * 20_000);
        for index in [5, 4095, 4096, 19_999] {
            segments.allocate(index).unwrap();
        }
        let found: Vec<u64> = std::iter::successors(segments.next_allocated(0), |i| {
            segments.next_allocated(i + 1)
        })
        .collect();
        assert_eq!(found, [5, 4095, 4096, 19_999]);
        assert_eq!(segments.next_allocated(20_000), None);
    }

    #[test]
    fn a_copy_has_the_same_words_elsewhere() {
        let mut segments = Segments::new(SEGMENT_WORDS as u64 * 5000 + 1);
        segments.allocate(4999).unwrap();
        segments.allocate(5000).unwrap();
        segments.get_mut(4999).unwrap()[17] = 42;
        segments.get_mut(5000).unwrap()[0] = 43;
        let mut copy = segments.try_clone().unwrap();
        assert_eq!(copy.allocated(), 2);
        assert_eq!(copy.get(4999).unwrap()[17], 42);
        assert_eq!(copy.get(5000).unwrap()[0], 43);
        copy.get_mut(4999).unwrap()[17] = 0;
        assert_eq!(segments.get(4999).unwrap()[17], 42);
    }

    #[test]
    fn a_relocated_segment_keeps_its_words() {
        let mut segments = Segments::new(100);
        segments.allocate(0).unwrap();
        segments.get_mut(0).unwrap()[99] = 7;
        let layout = std::alloc::Layout::from_size_align(13 * 64, 64).unwrap();
        let mut mover = |old: *mut u8| {
            // SAFETY: both blocks have the size and alignment of thirteen lines; the old one is freed once, with its layout.
            unsafe {
                let new = std::alloc::alloc(layout);
                std::ptr::copy_nonoverlapping(old, new, layout.size());
                std::alloc::dealloc(old, layout);
                Some(new)
            }
        };
        // SAFETY: the mover above does what `relocate` asks.
        assert!(unsafe { segments.relocate(0, &mut mover) });
        assert_eq!(segments.get(0).unwrap()[99], 7);
        // SAFETY: as above; there is no segment 1.
        assert!(!unsafe { segments.relocate(1, &mut mover) });
    }
}
