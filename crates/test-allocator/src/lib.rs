//! An allocator for tests and fuzzers: the system's, with a meter and refusals on demand.
//!
//! ```
//! use splitbloom_test_allocator::{meter, refusal, TestAllocator};
//!
//! #[global_allocator]
//! static ALLOCATOR: TestAllocator = TestAllocator;
//!
//! # fn main() {
//! let (block, taken) = meter::measured(|| vec![0u8; 1000]);
//! assert_eq!(taken.kept, 1000);
//! let refused = refusal::of_blocks_from(100, || Vec::<u8>::new().try_reserve(200).is_err());
//! assert!(refused);
//! # drop(block);
//! # }
//! ```
//!
//! Both concern the calling thread only, so tests that run in parallel do not disturb each other.

#![allow(unsafe_code, reason = "GlobalAlloc is an unsafe trait; each method passes its duties on")]

pub mod meter;
pub mod refusal;

use std::alloc::{GlobalAlloc, Layout, System};

/// The system's allocator, metered ([`meter`]) and able to refuse ([`refusal`]).
pub struct TestAllocator;

// SAFETY: every block comes from the system's allocator, and returns to it with the same layout.
unsafe impl GlobalAlloc for TestAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if refusal::refuses(layout) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's duties, passed on.
        counted(unsafe { System.alloc(layout) }, layout)
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if refusal::refuses(layout) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's duties, passed on.
        counted(unsafe { System.alloc_zeroed(layout) }, layout)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        meter::count_freed(layout);
        // SAFETY: the caller's duties, passed on.
        unsafe { System.dealloc(block, layout) };
    }
}

/// Counts a block, unless the system refused it.
fn counted(block: *mut u8, layout: Layout) -> *mut u8 {
    if !block.is_null() {
        meter::count_allocated(layout);
    }
    block
}
