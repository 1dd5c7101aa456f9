//! The crate `sbbf-rs`: a split block Bloom filter, as in Parquet files. All eight bits of an item
//! lie in one block of 32 bytes.
//!
//! The small block and the fixed number of probes make it fast, and its false-positive rate worse
//! for the same bits: the lower the rate, the more so, as the second table shows.

use crate::case::Case;
use crate::contender::Contender;
use sbbf_rs::{FilterFn, ALIGNMENT, BUCKET_SIZE};
use splitbloom_rig::Outcome;
use xxhash_rust::xxh3::xxh3_64;

/// The alignment that the crate requires.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; ALIGNMENT]);

const CLEAR: Line = Line([0; ALIGNMENT]);

pub struct Block {
    functions: FilterFn,
    lines: Vec<Line>,
    num_buckets: usize,
}

impl Block {
    pub fn empty(case: &Case) -> Self {
        let bytes = case.num_bits as usize / 8;
        let lines = vec![CLEAR; bytes.div_ceil(ALIGNMENT)];
        Self { functions: FilterFn::new(), lines, num_buckets: bytes / BUCKET_SIZE }
    }
}

impl Contender for Block {
    fn copies(&self, case: &Case, _items: u64) -> Outcome<Box<dyn Contender>> {
        let mut copies = Self::empty(case);
        for lines in copies.lines.chunks_mut(self.lines.len()) {
            lines.copy_from_slice(&self.lines[..lines.len()]);
        }
        Ok(Box::new(copies))
    }

    #[inline]
    #[allow(unsafe_code, reason = "the rival's interface")]
    fn contains(&self, item: &[u8]) -> bool {
        let start = self.lines.as_ptr().cast();
        let hash = xxh3_64(item);
        // SAFETY: `lines` is aligned to 64 bytes and has at least `num_buckets * BUCKET_SIZE`
        // bytes, which is not 0.
        unsafe { self.functions.contains(start, self.num_buckets, hash) }
    }

    #[inline]
    #[allow(unsafe_code, reason = "the rival's interface")]
    fn insert(&mut self, item: &[u8]) -> bool {
        let start = self.lines.as_mut_ptr().cast();
        let hash = xxh3_64(item);
        // SAFETY: as in `contains`; the borrow is unique because `self` is.
        unsafe { !self.functions.insert(start, self.num_buckets, hash) }
    }
}
