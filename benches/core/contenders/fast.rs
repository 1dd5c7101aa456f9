//! The crate `fastbloom`: a standard Bloom filter that chooses its own number of probes.
//!
//! Its default hash, SipHash, would cost more than its probes, so it gets XXH3 hashes like the
//! others.

use crate::case::Case;
use crate::contender::Contender;
use fastbloom::BloomFilter;
use splitbloom_rig::Outcome;
use std::ops::RangeInclusive;
use xxhash_rust::xxh3::xxh3_64;

pub struct Fast(BloomFilter);

impl Contender for Fast {
    const NAME: &'static str = "fastbloom";
    /// 0.70 to 0.85 of the requested rate by the standard formula, with the number of probes it
    /// chooses.
    const PLAUSIBLE_RATE: RangeInclusive<f64> = 0.5..=1.2;

    fn empty(case: &Case) -> Outcome<Self> {
        let builder = BloomFilter::with_num_bits(case.num_bits as usize);
        Ok(Self(builder.expected_items(case.capacity as usize)))
    }

    fn of_copies(tile: &Self, case: &Case, _items: u64) -> Outcome<Self> {
        let tile_words = tile.0.as_slice();
        let num_words = case.num_bits.div_ceil(64) as usize;
        let words = tile_words.iter().cycle().take(num_words);
        let builder = BloomFilter::from_vec(words.copied().collect());
        let copies = builder.expected_items(case.capacity as usize);
        assert_eq!(copies.num_hashes(), tile.0.num_hashes());
        Ok(Self(copies))
    }

    #[inline]
    fn contains(&self, item: &[u8]) -> bool {
        self.0.contains_hash(xxh3_64(item))
    }

    #[inline]
    fn insert(&mut self, item: &[u8]) -> bool {
        !self.0.insert_hash(xxh3_64(item))
    }
}
