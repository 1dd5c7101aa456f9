//! Pages of memory, where it matters when they come.
//!
//! Memory fresh from the system comes page by page, each with a fault when it is first written: 1.7 GB/s on the machine of
//! docs/performance.md. Asked for in one call for 64 KiB, it comes at 2.3 GB/s.

use std::mem::MaybeUninit;

/// Asks the kernel for the pages of memory that is about to be written in full. Where it cannot (Linux before 5.14, other systems),
/// they come with the writing.
pub fn populate<T>(memory: &mut [MaybeUninit<T>]) {
    #[cfg(target_os = "linux")]
    if !memory.is_empty() {
        // Four KiB on most machines; where pages are larger the kernel refuses an address between two, and nothing is lost.
        const PAGE: usize = 4096;
        let start = memory.as_mut_ptr() as usize;
        let first = start & !(PAGE - 1);
        let len = start + size_of_val(memory) - first;
        // SAFETY: the range begins and ends in pages that hold `memory`; to populate a page changes nothing in it.
        unsafe { libc::madvise(first as *mut libc::c_void, len, libc::MADV_POPULATE_WRITE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}
