//! The crate `fastbloom`: a standard Bloom filter that chooses its own number of probes.
//!
//! Its default hash, SipHash, would cost more than its probes, so it gets XXH3 hashes like the
//! others.

use crate::case::Case;
use crate::contender::Contender;
use fastbloom::BloomFilter;
use splitbloom_rig::Outcome;
use xxhash_rust::xxh3::xxh3_64;

pub struct Fast(BloomFilter);

impl Fast {
    pub fn empty(case: &Case) -> Self {
        let builder = BloomFilter::with_num_bits(case.num_bits as usize);
        Self(builder.expected_items(case.capacity as usize))
    }
}

impl Contender for Fast {
    fn copies(&self, case: &Case, _items: u64) -> Outcome<Box<dyn Contender>> {
        let num_words = case.num_bits.div_ceil(64) as usize;
        let words = self.0.as_slice().iter().cycle().take(num_words);
        let builder = BloomFilter::from_vec(words.copied().collect());
        let copies = builder.expected_items(case.capacity as usize);
        assert_eq!(copies.num_hashes(), self.0.num_hashes());
        Ok(Box::new(Self(copies)))
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
