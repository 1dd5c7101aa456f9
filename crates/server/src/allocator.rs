//! The module's heap. All of it comes from the server, so that `maxmemory`, `INFO memory` and
//! defragmentation account for it.
//!
//! # Fallible and infallible allocation
//! The server exits if it lacks memory for a reply or a string of its own, and also if an
//! infallible allocation of a module fails. So on the paths of commands, of timers and of values
//! that are loaded or copied:
//! - What depends on the data or on the number of arguments is allocated fallibly ([`try_vec`],
//!   [`try_box`]), and a failure becomes an error reply.
//! - Text is formatted on the stack ([`ShortText`](super::text::ShortText)).
//! - Infallible allocations have at most 64 bytes. The nodes of the tree in
//!   [`queue`](super::queue), of some hundred bytes, are the one exception.
//!
//! Loading the module, CONFIG and INFO may allocate freely.
//!
//! # Departures from the allocator of the `redis-module` crate
//! 1. A refused allocation returns null (`RedisModule_TryAlloc`), which fallible callers turn into
//!    an error. `RedisModule_Alloc` would end the server.
//! 2. Alignment is honoured. Servers built with jemalloc align multiples of 64 to 64 by themselves;
//!    the C library's malloc promises no more than 16, so blocks are then aligned by hand. A trial,
//!    run once, tells the two apart.
//! 3. A block grows in place if the server's allocator can do that (`RedisModule_TryRealloc`, since
//!    7.4). `RedisModule_Realloc` would end the server if there is no memory, so older servers get
//!    a new block and a copy.
//! 4. Outside a server (tests, examples) the system's allocator is used.

use super::call::optional;
use super::{failpoints, ration};
use splitbloom_foundation::alloc;
use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::OnceLock;

/// The allocator of every program that links this crate: of a module, and of tests.
struct ServerAllocator;

#[global_allocator]
static ALLOCATOR: ServerAllocator = ServerAllocator;

/// Bytes that the module has allocated and not freed.
static BYTES_HELD: AtomicUsize = AtomicUsize::new(0);

/// The alignment that every malloc of a server guarantees. A malloc that keeps the size in the word
/// before the block guarantees no more.
const PLAIN_ALIGNMENT: usize = 8;
/// The largest alignment left to jemalloc. The module needs no more than a cache line.
const LINE: usize = 64;

/// The alignment of every block. The unwinder that a build for musl links in stores into a panic's
/// block as if it were aligned to 16, although the layout says 8. A server that keeps sizes in the
/// word before its blocks, as one with musl's malloc does, would end at the first panic.
const MIN_ALIGNMENT: usize = if cfg!(target_env = "musl") { 16 } else { 1 };

/// Bytes that the module holds on the heap, without the overhead of the server's allocator. Cost:
/// one load.
pub fn bytes_held() -> u64 {
    BYTES_HELD.load(Ordering::Relaxed) as u64
}

/// The bytes that a block of `layout` takes after the server's allocator has rounded them.
/// Allocates one block and frees it, which costs up to a microsecond.
pub fn usable_size(layout: Layout) -> usize {
    if layout.size() == 0 {
        return 0;
    }
    let Some(malloc_size) = optional!(RedisModule_MallocSize) else {
        return layout.size();
    };
    // SAFETY: the size is not 0.
    let block = unsafe { ServerAllocator.alloc(layout) };
    if block.is_null() {
        return layout.size();
    }
    // SAFETY: the block has this layout.
    let base = unsafe { base_of(block, layout) };
    // SAFETY: the address that the server knows the block by.
    let size = unsafe { malloc_size(base.cast()) };
    // SAFETY: the layout that the block was allocated with.
    unsafe { ServerAllocator.dealloc(block, layout) };
    size
}

/// The number of layouts whose rounded size is remembered. Arrays that grow by a quarter have some
/// twenty sizes in a value.
const KNOWN: usize = 64;

/// Bytes that the allocator holds for a `T` and for what `visit_allocations` visits.
pub fn usable_bytes<T>(visit_allocations: impl FnOnce(&mut dyn FnMut(Layout, u64))) -> usize {
    // A value has allocations of a few layouts only: the allocator rounds each of them once.
    let mut known = [(Layout::new::<()>(), 0); KNOWN];
    let mut next = 0;
    let mut usable = |layout| {
        if let Some((_, bytes)) = known.iter().find(|(known, _)| *known == layout) {
            return *bytes;
        }
        let bytes = usable_size(layout);
        known[next % KNOWN] = (layout, bytes);
        next += 1;
        bytes
    };
    let mut bytes = usable(Layout::new::<T>());
    visit_allocations(&mut |layout, times| bytes += usable(layout) * times as usize);
    bytes
}

// SAFETY: memory comes from the server or the system, the same for the whole life of the process
// (the module's code runs only after the server's table is filled); sizes and alignments are
// honoured as the comments below show.
unsafe impl GlobalAlloc for ServerAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if failpoints::refuses(layout) {
            return std::ptr::null_mut();
        }
        let block = match plain_alloc() {
            // SAFETY: the caller's duties, passed on.
            None => unsafe { System.alloc(layout) },
            // SAFETY: the server's allocator takes any size.
            Some(alloc) if is_native(layout) => unsafe { alloc(padded_size(layout)) }.cast(),
            // SAFETY: the caller's duties, passed on.
            Some(_) => unsafe { alloc_by_hand(layout) },
        };
        // SAFETY: the block was just allocated with this layout.
        unsafe { granted(block, layout) }
    }

    /// The server's allocator knows that memory fresh from the system is zero and does not clear it
    /// again, so the pages of a large block are not touched before they are used. Servers before
    /// 7.4 cannot refuse (`RedisModule_Calloc` ends them); there the module clears the block.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match optional!(RedisModule_TryCalloc) {
            Some(calloc) if is_native(layout) => {
                if failpoints::refuses(layout) {
                    return std::ptr::null_mut();
                }
                // SAFETY: the server's allocator takes any size.
                let block: *mut u8 = unsafe { calloc(1, padded_size(layout)) }.cast();
                // SAFETY: the block was just allocated with this layout.
                unsafe { granted(block, layout) }
            }
            _ => {
                // SAFETY: the caller's duties, passed on.
                let block = unsafe { self.alloc(layout) };
                if !block.is_null() {
                    // SAFETY: the block has this size.
                    unsafe { block.write_bytes(0, layout.size()) };
                }
                block
            }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let Ok(new) = Layout::from_size_align(new_size, layout.align()) else {
            return std::ptr::null_mut();
        };
        match optional!(RedisModule_TryRealloc) {
            Some(realloc) if is_native(layout) && !grows_too_much(layout, new_size) => {
                if failpoints::refuses(new) {
                    return std::ptr::null_mut();
                }
                // SAFETY: the caller's duties, passed on; the server knows the block by its own
                // address.
                unsafe { resize(realloc, block, layout, new) }
            }
            // Copies the block into a new one and frees the old one.
            _ => {
                // SAFETY: the caller's duties, passed on.
                let moved = unsafe { self.alloc(new) };
                if !moved.is_null() {
                    let len = layout.size().min(new_size);
                    // SAFETY: both blocks have the bytes that are copied, and do not overlap.
                    unsafe { moved.copy_from_nonoverlapping(block, len) };
                    // SAFETY: the caller's duties: the block came from here with this layout.
                    unsafe { self.dealloc(block, layout) };
                }
                moved
            }
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count_given_back(layout);
        match optional!(RedisModule_Free) {
            // SAFETY: the caller's duties, passed on.
            None => unsafe { System.dealloc(block, layout) },
            Some(free) => {
                // SAFETY: the block came from this allocator, with this layout.
                let base = unsafe { base_of(block, layout) };
                // SAFETY: the address that the server knows the block by.
                unsafe { free(base.cast()) };
            }
        }
    }
}

/// Whether growing a block may have to be refused: then it gets a new block, which can be freed.
fn grows_too_much(layout: Layout, new_size: usize) -> bool {
    new_size > layout.size() && ration::may_end(new_size - layout.size())
}

/// Counts a new block and returns it; null if the running command may not allocate so much.
///
/// # Safety
/// The block is null, or came from `ServerAllocator` with this layout.
unsafe fn granted(block: *mut u8, layout: Layout) -> *mut u8 {
    if block.is_null() {
        return block;
    }
    count_taken(layout);
    if ration::grants(layout.size()) {
        return block;
    }
    // SAFETY: the caller's duty.
    unsafe { ServerAllocator.dealloc(block, layout) };
    std::ptr::null_mut()
}

/// Resizes a block, in place or by moving it. Returns null and leaves the block as it was if there
/// is no memory.
///
/// # Safety
/// As `GlobalAlloc::realloc`; `block` is one that `realloc` knows.
unsafe fn resize(realloc: Realloc, block: *mut u8, layout: Layout, new: Layout) -> *mut u8 {
    // SAFETY: the caller's duties. The padded size keeps the alignment: see `padded_size`.
    let resized: *mut u8 = unsafe { realloc(block.cast(), padded_size(new)) }.cast();
    if !resized.is_null() {
        count_given_back(layout);
        count_taken(new);
        ration::grants(new.size());
    }
    resized
}

/// An empty vector with room for `capacity` elements; `None` if there is no memory for them.
pub fn try_vec<T>(capacity: usize) -> Option<Vec<T>> {
    alloc::try_vec(capacity).ok()
}

/// Puts `value` on the heap; `None` if there is no memory (`Box::try_new` is not stable).
pub fn try_box<T>(value: T) -> Option<Box<T>> {
    let place = alloc::try_boxed_one(value).ok()?;
    // SAFETY: an array of one has the layout of its element.
    Some(unsafe { Box::from_raw(Box::into_raw(place).cast()) })
}

/// Whether the server uses more memory than `maxmemory` allows, as the server counts when it
/// refuses commands. Cost: up to a microsecond.
pub fn is_over_maxmemory() -> bool {
    // Not with `call!`, which tests can make panic: the allocator calls this, too.
    optional!(RedisModule_GetUsedMemoryRatio).is_some_and(|ratio| {
        // SAFETY: the function takes nothing and returns a number: 0 where there is no limit.
        unsafe { ratio() > 1.0 }
    })
}

fn count_taken(layout: Layout) {
    BYTES_HELD.fetch_add(layout.size(), Ordering::Relaxed);
}

fn count_given_back(layout: Layout) {
    BYTES_HELD.fetch_sub(layout.size(), Ordering::Relaxed);
    ration::given_back(layout.size());
}

type Alloc = unsafe extern "C" fn(usize) -> *mut c_void;
type Realloc = unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void;

fn plain_alloc() -> Option<Alloc> {
    optional!(RedisModule_TryAlloc).or(optional!(RedisModule_Alloc))
}

fn alignment(layout: Layout) -> usize {
    layout.align().max(MIN_ALIGNMENT)
}

/// jemalloc aligns a block to the largest power of two that divides its size, up to a line. So the
/// size is rounded up to a multiple of the alignment.
fn padded_size(layout: Layout) -> usize {
    layout.size().next_multiple_of(alignment(layout))
}

/// The bytes that alignment by hand adds to a block: the alignment, and a word for the server's
/// address.
fn by_hand_overhead(layout: Layout) -> usize {
    alignment(layout) + size_of::<usize>()
}

/// # Safety
/// As `GlobalAlloc::alloc`.
unsafe fn alloc_by_hand(layout: Layout) -> *mut u8 {
    let size = layout.size().checked_add(by_hand_overhead(layout));
    let (Some(alloc), Some(size)) = (plain_alloc(), size) else {
        return std::ptr::null_mut();
    };
    // SAFETY: the caller's duties, passed on.
    let base: *mut u8 = unsafe { alloc(size) }.cast();
    if base.is_null() {
        return base;
    }
    // SAFETY: the server's block has this size and is aligned to a word.
    unsafe { align_by_hand(base, layout) }
}

/// The first address after `base` that is aligned and has a word before it. Stores `base` there.
///
/// # Safety
/// `base` is aligned to a word and has `by_hand_overhead` bytes more than the layout's size.
unsafe fn align_by_hand(base: *mut u8, layout: Layout) -> *mut u8 {
    let word = size_of::<usize>();
    let offset = word + base.wrapping_add(word).align_offset(alignment(layout));
    // SAFETY: the offset is at most `by_hand_overhead`, so the block lies inside.
    let block = unsafe { base.add(offset) };
    // SAFETY: the offset is at least a word, so the word before the block lies inside; it is
    // aligned because the block is, to more than a word.
    unsafe { base_word(block).write(base) };
    block
}

/// Where a block aligned by hand keeps the address that the server knows it by.
fn base_word(block: *mut u8) -> *mut *mut u8 {
    block.cast::<*mut u8>().wrapping_sub(1)
}

/// The address that the server knows a block by.
///
/// # Safety
/// `block` came from `ServerAllocator` with this layout.
unsafe fn base_of(block: *mut u8, layout: Layout) -> *mut u8 {
    if is_native(layout) {
        return block;
    }
    // SAFETY: `alloc_by_hand` wrote it there.
    unsafe { base_word(block).read() }
}

/// Whether the server knows a block of this layout by the block's own address, always or never in
/// one process. If not, the block is aligned by hand.
pub(crate) fn is_native(layout: Layout) -> bool {
    /// Whether the server's allocator aligns multiples of a line to a line, tried once.
    static SERVER_ALIGNS: OnceLock<bool> = OnceLock::new();
    let alignment = alignment(layout);
    alignment <= PLAIN_ALIGNMENT || (alignment <= LINE && *SERVER_ALIGNS.get_or_init(try_alignment))
}

/// The sizes tried, in lines, and the number of blocks of each. The C library's malloc puts one
/// block in four on a line. Other allocators round most sizes to whole lines: AddressSanitizer's
/// misaligns only blocks of one line, every second one. Sixteen of each size let that pass
/// unnoticed once in 2^16.
const TRIED_SIZES: usize = 32;
const TRIED_OF_EACH: usize = 16;

/// Allocates all blocks at once, and checks their alignment.
fn try_alignment() -> bool {
    let (Some(alloc), Some(free)) = (plain_alloc(), optional!(RedisModule_Free)) else {
        return true;
    };
    let blocks: [*mut c_void; TRIED_SIZES * TRIED_OF_EACH] = std::array::from_fn(|block| {
        // SAFETY: the server's allocator takes any size.
        unsafe { alloc((block % TRIED_SIZES + 1) * LINE) }
    });
    let aligned =
        blocks.iter().all(|block| !block.is_null() && (*block as usize).is_multiple_of(LINE));
    for block in blocks.into_iter().filter(|block| !block.is_null()) {
        // SAFETY: a block of the server, freed once.
        unsafe { free(block) };
    }
    aligned
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
                // SAFETY: `memory` has room for the size, the alignment and a word after any shift.
                let block = unsafe { align_by_hand(base, layout) };
                // SAFETY: written by `align_by_hand`.
                let found = unsafe { base_word(block).read() };
                assert!((block as usize).is_multiple_of(LINE));
                assert_eq!(found, base);
                assert!(block as usize + size <= base as usize + size + by_hand_overhead(layout));
            }
        }
    }

    /// More bytes than any other test allocates meanwhile. Never written to.
    const HUGE: usize = 1 << 45;

    extern "C" fn agrees(block: *mut c_void, _bytes: usize) -> *mut c_void {
        block
    }

    extern "C" fn refuses(_block: *mut c_void, _bytes: usize) -> *mut c_void {
        std::ptr::null_mut()
    }

    extern "C" fn wants_a_multiple_of_a_line(block: *mut c_void, bytes: usize) -> *mut c_void {
        assert!(bytes.is_multiple_of(LINE), "{bytes}");
        block
    }

    #[test]
    fn a_resized_block_counts_with_its_new_size_and_one_that_is_not_with_its_old() {
        let small = Layout::from_size_align(64, LINE).unwrap();
        let huge = Layout::from_size_align(HUGE, LINE).unwrap();
        let block = LINE as *mut u8;
        let is_counted = || bytes_held() as usize >= HUGE / 2;
        // SAFETY: the server's part touches no block.
        let resized = |server: Realloc, from, to| unsafe { resize(server, block, from, to) };
        assert_eq!(resized(agrees, small, huge), block);
        assert!(is_counted());
        assert!(resized(refuses, huge, small).is_null());
        assert!(is_counted());
        assert_eq!(resized(agrees, huge, small), block);
        assert!(!is_counted());
        assert!(resized(refuses, small, huge).is_null());
        assert!(!is_counted());
    }

    #[test]
    fn a_resized_block_keeps_its_alignment() {
        let [from, to] = [64, 65].map(|size| Layout::from_size_align(size, LINE).unwrap());
        // SAFETY: the server's part touches no block.
        unsafe { resize(wants_a_multiple_of_a_line, LINE as *mut u8, from, to) };
        count_given_back(to);
        count_taken(from);
    }

    #[test]
    fn a_block_that_grows_and_shrinks_keeps_its_bytes() {
        let mut bytes: Vec<u8> = Vec::new();
        for round in 0..100_000u32 {
            bytes.push(round as u8);
        }
        bytes.truncate(70_000);
        bytes.shrink_to_fit();
        assert!(bytes.iter().zip(0u32..).all(|(byte, round)| *byte == round as u8));
    }

    #[test]
    fn a_boxed_value_is_dropped_once() {
        let witness = std::rc::Rc::new(());
        let boxed = try_box([witness.clone(), witness.clone()]).unwrap();
        assert_eq!(std::rc::Rc::strong_count(&witness), 3);
        drop(boxed);
        assert_eq!(std::rc::Rc::strong_count(&witness), 1);
    }
}
