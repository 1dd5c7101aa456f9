//! Prefetches: hints that a cache line is needed soon, so that the misses of many items overlap.

/// Prefetches the cache line in which `value` begins; does nothing on architectures other than
/// x86-64 and AArch64.
#[inline]
pub fn prefetch<T>(value: &T) {
    prefetch_at(std::ptr::from_ref(value));
}

/// The same for an address, which need not point to anything.
#[inline]
pub fn prefetch_at<T>(value: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        // SAFETY: a prefetch reads nothing and cannot fault, whatever the address; SSE is part of
        // every x86-64.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(value.cast()) };
    }
    // The intrinsic is not stable. The same hint as above: a load into the first-level cache.
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a prefetch reads nothing that a program can see and cannot fault, whatever the
    // address; every ARMv8 has it.
    unsafe {
        std::arch::asm!(
            "prfm pldl1keep, [{}]",
            in(reg) value,
            options(nomem, nostack, preserves_flags)
        );
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = value;
}
