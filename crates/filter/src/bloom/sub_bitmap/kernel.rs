//! Chooses the kernel of a sub-filter, by the size of its sub-bitmaps and the CPU.
//!
//! All kernels set and find the same bits, so one machine loads what another saved. There is no
//! kernel for AVX2 or NEON; docs/design.md says why.

#[cfg(target_arch = "x86_64")]
use super::avx512::Avx512;
use super::line::{self, MAX_PROBES};
use super::{Inserted, LINE_BITS};

/// A kernel that this machine can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// Sub-bitmaps of any size: [`super::contains`] and [`super::insert`].
    AnySize,
    /// `line`: plain Rust, any number of probes.
    Portable,
    /// At most eight probes, with AVX-512.
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
}

impl Kernel {
    /// The kernel for sub-bitmaps of this size, chosen once, when the sub-filter is created.
    pub fn for_sub_bitmaps(bits: u32, num_hashes: u32) -> Self {
        match bits {
            LINE_BITS if num_hashes <= MAX_PROBES => Self::in_use(),
            LINE_BITS => Self::Portable,
            _ => Self::AnySize,
        }
    }

    /// Whether sub-bitmaps are lines, which the next two functions require.
    #[inline]
    pub fn is_for_lines(self) -> bool {
        self != Self::AnySize
    }

    /// As [`super::contains`], for a line.
    #[inline]
    pub fn contains(self, line: &[u64; 8], probes: u64, num_hashes: u32) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(proof) => proof.contains(line, probes, num_hashes),
            Self::AnySize | Self::Portable => line::contains(line, probes, num_hashes),
        }
    }

    /// As [`super::insert`], for a line.
    #[inline(always)]
    pub fn insert(self, line: &mut [u64; 8], probes: u64, num_hashes: u32) -> Inserted {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(proof) => proof.insert(line, probes, num_hashes),
            Self::AnySize | Self::Portable => line::insert(line, probes, num_hashes),
        }
    }

    /// The fastest kernel for lines on this machine.
    pub fn fastest() -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(proof) = Avx512::detect() {
            return Self::Avx512(proof);
        }
        Self::Portable
    }

    /// The kernel for lines in filters created from now on.
    pub fn in_use() -> Self {
        #[cfg(test)]
        if let Some(kernel) = chosen::by_this_test() {
            return kernel;
        }
        Self::fastest()
    }

    /// Its name, for people to read.
    pub fn name(self) -> &'static str {
        match self {
            Self::AnySize | Self::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => "AVX-512",
        }
    }
}

/// For tests: every kernel that this machine can run.
#[cfg(test)]
pub mod chosen {
    use super::Kernel;
    use std::cell::Cell;

    thread_local! {
        static CHOSEN: Cell<Option<Kernel>> = const { Cell::new(None) };
    }

    pub(super) fn by_this_test() -> Option<Kernel> {
        CHOSEN.get()
    }

    /// The portable kernel and, if this machine has AVX-512, that for it.
    pub fn all() -> Vec<Kernel> {
        let mut kernels = vec![Kernel::Portable];
        if !kernels.contains(&Kernel::fastest()) {
            kernels.push(Kernel::fastest());
        }
        kernels
    }

    /// Runs `work` once with each kernel, which the filters created on this thread then use.
    pub fn each_in_turn(work: impl Fn(Kernel)) {
        for kernel in all() {
            CHOSEN.set(Some(kernel));
            work(kernel);
            CHOSEN.set(None);
        }
    }
}
