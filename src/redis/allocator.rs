//! The module's heap: all of it comes from the server, so that `maxmemory`, `INFO memory` and defragmentation know of it.
//!
//! Three departures from the allocator of the `redis-module` crate:
//! 1. A refused allocation answers null (`RedisModule_TryAlloc`), which lets fallible callers turn it into an error, where
//!    `RedisModule_Alloc` ends the server.
//! 2. Alignment is kept. Servers built with jemalloc align a size that is a multiple of 64 to 64 by themselves; with the C
//!    library's malloc nothing above 16 is promised, and blocks are then aligned by hand. Which of the two it is, is tried once.
//! 3. Outside a server (tests, examples) the system's allocator serves.

#[cfg(any(test, fuzzing))]
pub mod meter;

use redis_module::raw;
use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::c_void;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

/// The allocator that `redis_module!` installs.
pub struct ServerAllocator;

/// Bytes that the module has asked for and not given back.
static BYTES_HELD: AtomicUsize = AtomicUsize::new(0);

const UNKNOWN: u8 = 0;
const NATIVE: u8 = 1;
const BY_HAND: u8 = 2;
/// How blocks come to be aligned to more than `PLAIN_ALIGNMENT`.
static ALIGNED: AtomicU8 = AtomicU8::new(UNKNOWN);

/// What every malloc that a server is built with aligns to (one that keeps the size in front of the block gives no more).
const PLAIN_ALIGNMENT: usize = 8;
/// The largest alignment that jemalloc is trusted with; a cache line is all the module asks for.
const LINE: usize = 64;

/// Bytes that the module holds on the heap. Cost: one load.
pub fn bytes_held() -> u64 {
    BYTES_HELD.load(Ordering::Relaxed) as u64
}

/// The bytes that a block of this layout really takes, rounded as the server's allocator rounds. Found by taking one block and
/// giving it back, which costs up to a microsecond.
pub fn usable_size(layout: Layout) -> usize {
    if layout.size() == 0 {
        return 0;
    }
    // SAFETY: the size is not 0; the block is given back with the layout it was taken with, and `base_of` names the address
    // that the server knows it by.
    unsafe {
        let (Some(malloc_size), false) = (raw::RedisModule_MallocSize, in_tests()) else {
            return layout.size();
        };
        let block = ServerAllocator.alloc(layout);
        if block.is_null() {
            return layout.size();
        }
        let size = malloc_size(base_of(block, layout).cast());
        ServerAllocator.dealloc(block, layout);
        size
    }
}

fn in_tests() -> bool {
    // SAFETY: the function table is written once, before the module's first line runs.
    let free = unsafe { raw::RedisModule_Free };
    free.is_none()
}

// SAFETY: memory comes from the server or the system, one of them for the whole life of the process (the module's code runs
// only after the server's function table is filled); sizes and alignments are kept as the comments below show.
unsafe impl GlobalAlloc for ServerAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if refusal::refuses(layout) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's duties, passed on.
        let block = unsafe {
            match plain_alloc() {
                None => System.alloc(layout),
                Some(_) if is_by_hand(layout) => alloc_by_hand(layout),
                Some(alloc) => alloc(padded_size(layout)).cast(),
            }
        };
        if !block.is_null() {
            count_taken(layout);
        }
        block
    }

    /// Memory fresh from the system is clear already, which the server's allocator knows and does not clear it again: so a page of a large
    /// block is not touched before somebody uses it. Servers before 7.4 cannot say that there is no memory (`RedisModule_Calloc` ends
    /// them), so there the block is cleared here.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's duties, passed on; `write_bytes` stays inside the block.
        unsafe {
            match raw::RedisModule_TryCalloc {
                Some(calloc) if !is_by_hand(layout) => {
                    if refusal::refuses(layout) {
                        return std::ptr::null_mut();
                    }
                    let block: *mut u8 = calloc(1, padded_size(layout)).cast();
                    if !block.is_null() {
                        count_taken(layout);
                    }
                    block
                }
                _ => {
                    let block = self.alloc(layout);
                    if !block.is_null() {
                        block.write_bytes(0, layout.size());
                    }
                    block
                }
            }
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count_given_back(layout);
        // SAFETY: `block` came from `alloc` or `alloc_zeroed` with the same layout, so `base_of` finds what the server gave.
        unsafe {
            match raw::RedisModule_Free {
                None => System.dealloc(block, layout),
                Some(free) => free(base_of(block, layout).cast()),
            }
        }
    }
}

fn count_taken(layout: Layout) {
    BYTES_HELD.fetch_add(layout.size(), Ordering::Relaxed);
    #[cfg(any(test, fuzzing))]
    meter::count_taken(layout);
}

fn count_given_back(layout: Layout) {
    BYTES_HELD.fetch_sub(layout.size(), Ordering::Relaxed);
    #[cfg(any(test, fuzzing))]
    meter::count_given_back(layout);
}

type Alloc = unsafe extern "C" fn(usize) -> *mut c_void;

fn plain_alloc() -> Option<Alloc> {
    // SAFETY: see `in_tests`.
    unsafe { raw::RedisModule_TryAlloc.or(raw::RedisModule_Alloc) }
}

/// jemalloc aligns a block to the largest power of two that divides its size, up to a line: so the size is made a multiple.
fn padded_size(layout: Layout) -> usize {
    layout.size().next_multiple_of(layout.align())
}

/// What a block aligned by hand takes more than asked for: the alignment, and a word for the server's address.
fn by_hand_overhead(layout: Layout) -> usize {
    layout.align() + size_of::<usize>()
}

/// # Safety
/// As `GlobalAlloc::alloc`.
unsafe fn alloc_by_hand(layout: Layout) -> *mut u8 {
    let size = layout.size().checked_add(by_hand_overhead(layout));
    let (Some(alloc), Some(size)) = (plain_alloc(), size) else {
        return std::ptr::null_mut();
    };
    // SAFETY: what the server gives is at least so large and aligned to a word.
    unsafe {
        let base: *mut u8 = alloc(size).cast();
        if base.is_null() {
            base
        } else {
            align_by_hand(base, layout)
        }
    }
}

/// The first address behind `base` that is aligned and has a word before it; `base` is written into that word.
///
/// # Safety
/// At `base`, which is aligned to a word, are `by_hand_overhead` bytes more than the layout's size.
unsafe fn align_by_hand(base: *mut u8, layout: Layout) -> *mut u8 {
    let word = size_of::<usize>();
    // SAFETY: the offset is at least a word and at most `by_hand_overhead`, so the block lies inside; the word before it is
    // aligned because the block is, to more than a word.
    unsafe {
        let offset = word + base.add(word).align_offset(layout.align());
        let block = base.add(offset);
        block.cast::<*mut u8>().sub(1).write(base);
        block
    }
}

/// The address that the server knows a block by.
///
/// # Safety
/// `block` came from `ServerAllocator` with this layout.
unsafe fn base_of(block: *mut u8, layout: Layout) -> *mut u8 {
    if is_by_hand(layout) {
        // SAFETY: `alloc_by_hand` wrote it there.
        unsafe { block.cast::<*mut u8>().sub(1).read() }
    } else {
        block
    }
}

/// Whether blocks of this layout are aligned by hand, always or never in one process.
fn is_by_hand(layout: Layout) -> bool {
    layout.align() > PLAIN_ALIGNMENT && (layout.align() > LINE || !server_aligns())
}

/// Whether the address that the server knows a block of this layout by is the block's own.
pub(super) fn is_native(layout: Layout) -> bool {
    !is_by_hand(layout)
}

/// Tries, once, whether the server's allocator aligns multiples of a line to a line.
fn server_aligns() -> bool {
    match ALIGNED.load(Ordering::Relaxed) {
        UNKNOWN => {
            let native = try_alignment();
            ALIGNED.store(if native { NATIVE } else { BY_HAND }, Ordering::Relaxed);
            native
        }
        known => known == NATIVE,
    }
}

/// Sizes tried, in lines, and blocks of each. With the C library's malloc a block lies on a line with a probability of one in four. Other
/// allocators round so that most sizes lie there always: AddressSanitizer's has only one line lying beside, in one case of two. So many
/// blocks of each size are tried that chance lets that pass once in 2^16.
const TRIED_SIZES: usize = 32;
const TRIED_OF_EACH: usize = 16;

/// Takes blocks, all at once, and looks where they lie.
fn try_alignment() -> bool {
    // SAFETY: blocks of the server, given back to it and not used.
    unsafe {
        let (Some(alloc), Some(free)) = (plain_alloc(), raw::RedisModule_Free) else {
            return true;
        };
        let blocks: [*mut c_void; TRIED_SIZES * TRIED_OF_EACH] =
            std::array::from_fn(|block| alloc((block % TRIED_SIZES + 1) * LINE));
        let aligned = blocks
            .iter()
            .all(|block| !block.is_null() && (*block as usize).is_multiple_of(LINE));
        for block in blocks.into_iter().filter(|block| !block.is_null()) {
            free(block);
        }
        aligned
    }
}

/// Memory that is short on purpose: a unit test may have blocks from some size on refused, or one single block; a build for tests on
/// servers may be told to refuse large ones.
pub mod refusal {
    #[cfg(any(test, fuzzing))]
    pub use in_tests::{of_blocks_from, of_the_nth};
    use std::alloc::Layout;

    #[inline]
    pub(super) fn refuses(layout: Layout) -> bool {
        #[cfg(any(test, fuzzing))]
        if in_tests::refuses(layout) {
            return true;
        }
        crate::redis::injection::refuses(layout)
    }

    #[cfg(any(test, fuzzing))]
    mod in_tests {
        use std::alloc::Layout;
        use std::cell::Cell;

        thread_local! {
            static REFUSED_FROM: Cell<usize> = const { Cell::new(usize::MAX) };
            /// Blocks that are still given before the one that is not.
            static UNTIL_REFUSED: Cell<Option<u64>> = const { Cell::new(None) };
        }

        pub fn refuses(layout: Layout) -> bool {
            let left = UNTIL_REFUSED.get();
            UNTIL_REFUSED.set(left.and_then(|left| left.checked_sub(1)));
            left == Some(0) || layout.size() >= REFUSED_FROM.get()
        }

        /// Does the work while this thread is refused blocks of so many bytes and more.
        pub fn of_blocks_from<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
            REFUSED_FROM.set(bytes);
            let result = work();
            REFUSED_FROM.set(usize::MAX);
            result
        }

        /// Does the work while this thread is refused one block, the n-th from 0. Answers too whether it asked for so many.
        pub fn of_the_nth<T>(n: u64, work: impl FnOnce() -> T) -> (T, bool) {
            UNTIL_REFUSED.set(Some(n));
            let result = work();
            (result, UNTIL_REFUSED.take().is_none())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_aligned_by_hand_lies_on_a_line_and_knows_its_base() {
        for size in [1, 63, 64, 65_536] {
            let layout = Layout::from_size_align(size, LINE).unwrap();
            let mut memory = vec![0u64; size / 8 + 3 * LINE / 8];
            for shift in [0, 8, 16, 56] {
                let base = memory.as_mut_ptr().cast::<u8>().wrapping_add(shift);
                // SAFETY: `memory` has room for the size, the alignment and a word behind the largest shift.
                let (block, found) = unsafe {
                    let block = align_by_hand(base, layout);
                    (block, block.cast::<*mut u8>().sub(1).read())
                };
                assert!((block as usize).is_multiple_of(LINE));
                assert_eq!(found, base);
                assert!(block as usize + size <= base as usize + size + by_hand_overhead(layout));
            }
        }
    }
}
