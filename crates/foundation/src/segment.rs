//! A segment: one allocation of zeroed memory, in cache lines.
//!
//! It is requested as zeroed memory, which fresh memory already is, so that an item touches one
//! page of it. Clearing 64 KiB of fresh memory takes 35 µs, which would delay each of the first
//! items.
//!
//! A copy is written as a whole, so all its pages are requested first. Otherwise each page of fresh
//! memory costs a fault at the first write: 1.7 GB/s on the machine of docs/performance.md, where
//! one request for 64 KiB reaches 2.3 GB/s.

use crate::alloc::{relocate_box, try_boxed, Mover, OutOfMemory};
use std::alloc::{alloc_zeroed, Layout};
use std::mem::MaybeUninit;

/// Bytes of a full segment.
pub const SEGMENT_BYTES: usize = 64 * 1024;
/// Words of a full segment.
pub const SEGMENT_WORDS: usize = SEGMENT_BYTES / 8;
/// Words of a cache line.
pub const LINE_WORDS: usize = 8;
/// Lines of a full segment.
pub const SEGMENT_LINES: u64 = (SEGMENT_WORDS / LINE_WORDS) as u64;

/// One cache line. Segments consist of lines, so that a sub-bitmap of 64 bytes never straddles two.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u64; LINE_WORDS]);

/// The number of words of segment `index` of `num_words` words: a full segment, or fewer in the
/// last one.
pub fn words_of_segment(index: u64, num_words: u64) -> usize {
    let rest = num_words.saturating_sub(index * SEGMENT_WORDS as u64);
    rest.min(SEGMENT_WORDS as u64) as usize
}

/// One allocation.
pub struct Segment(Box<[Line]>);

impl Segment {
    /// The layout of `words` words, rounded up to whole lines.
    pub fn layout(words: usize) -> Option<Layout> {
        Layout::array::<Line>(words.div_ceil(LINE_WORDS)).ok()
    }

    /// A segment of `words` words, rounded up to whole lines, all 0.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn clear(words: usize) -> Result<Self, OutOfMemory> {
        let lines = words.div_ceil(LINE_WORDS);
        let layout = Self::layout(words).ok_or(OutOfMemory)?;
        if layout.size() == 0 {
            return Ok(Self(Box::default()));
        }
        // SAFETY: the size is not 0.
        let block = unsafe { alloc_zeroed(layout) }.cast::<Line>();
        if block.is_null() {
            return Err(OutOfMemory);
        }
        let lines = std::ptr::slice_from_raw_parts_mut(block, lines);
        // SAFETY: the block has the layout of `lines` lines, and zero bytes are valid lines; the
        // box frees it with the same layout.
        let lines = unsafe { Box::from_raw(lines) };
        Ok(Self(lines))
    }

    /// A copy, in memory whose pages are requested before it is written.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let copy = |to: &mut Vec<Line>| {
            populate(to.spare_capacity_mut());
            to.extend_from_slice(&self.0);
        };
        try_boxed(self.0.len(), copy).map(Self)
    }

    /// Its words.
    #[inline]
    pub fn words(&self) -> &[u64] {
        // SAFETY: a `Line` is `repr(C)` around eight `u64` without padding (its size, 64, is its
        // alignment), so `n` lines are `8 * n` initialised words; the borrow of `self` covers the
        // result.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), self.0.len() * LINE_WORDS) }
    }

    /// Its words, for writing.
    #[inline]
    pub fn words_mut(&mut self) -> &mut [u64] {
        // SAFETY: as in `words`; the borrow is unique because `self` is.
        unsafe {
            std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), self.0.len() * LINE_WORDS)
        }
    }

    /// Its memory in cells of `N` bytes, a power of two up to a line: counters, for example.
    #[inline]
    pub fn cells<const N: usize>(&self) -> &[[u8; N]] {
        let len = self.0.len() * const { cells_of_line(N) };
        // SAFETY: as in `words`; a line is this many times `N` bytes, which need no alignment.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), len) }
    }

    /// Its memory in cells of `N` bytes, for writing.
    #[inline]
    pub fn cells_mut<const N: usize>(&mut self) -> &mut [[u8; N]] {
        let len = self.0.len() * const { cells_of_line(N) };
        // SAFETY: as in `cells`, and any bytes are valid words; the borrow is unique because `self`
        // is.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), len) }
    }

    /// Line `number` of the segment.
    #[inline(always)]
    pub fn line(&self, number: usize) -> Option<&[u64; LINE_WORDS]> {
        self.0.get(number).map(|line| &line.0)
    }

    /// Line `number` of the segment, for writing.
    #[inline(always)]
    pub fn line_mut(&mut self, number: usize) -> Option<&mut [u64; LINE_WORDS]> {
        self.0.get_mut(number).map(|line| &mut line.0)
    }

    /// Passes it through `mover`.
    pub fn relocate(&mut self, mover: &mut impl Mover) {
        self.0 = relocate_box(std::mem::take(&mut self.0), mover);
    }
}

/// The number of cells of `n` bytes in a line. The compiler evaluates it, and refuses a width that
/// does not divide a line.
const fn cells_of_line(n: usize) -> usize {
    assert!(size_of::<Line>().is_multiple_of(n));
    size_of::<Line>() / n
}

/// Requests the pages of memory that is about to be written wholly. Where the kernel cannot provide
/// them (Linux before 5.14, other systems), they arrive with the writes.
fn populate<T>(memory: &mut [MaybeUninit<T>]) {
    #[cfg(target_os = "linux")]
    if !memory.is_empty() {
        // 4 KiB on most machines. Where pages are larger the kernel refuses an address inside one,
        // and nothing is lost.
        const PAGE: usize = 4096;
        let start = memory.as_mut_ptr() as usize;
        let first = start & !(PAGE - 1);
        let len = start + size_of_val(memory) - first;
        // SAFETY: the range begins and ends in pages that hold `memory`; populating a page changes
        // nothing in it.
        unsafe { libc::madvise(first as *mut libc::c_void, len, libc::MADV_POPULATE_WRITE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}
