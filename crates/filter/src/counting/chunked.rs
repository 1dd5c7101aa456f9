//! A counting filter as a chain of chunks: its head record, and its digest.

use super::{CountingFilter, CountingParameters, MAX_BUCKET_SIZE, MAX_EXPANSION};
use crate::codec::{digest, within, Chunked, Reader, Sink, COUNTING_FILTER};
use crate::error::DecodeError;
use crate::foreign::cuckoo::CuckooSeries;
use crate::hash::Seed;
use crate::parts::Parts;

impl CountingFilter {
    /// XXH3-128. Two filters with the same digest return the same results and statistics, now and
    /// after the same commands. Reads every page once; allocates nothing.
    pub fn digest(&self) -> u128 {
        digest(self)
    }
}

impl Chunked for CountingFilter {
    type SubFilter = CuckooSeries;

    const HEAD: u8 = COUNTING_FILTER;
    type State = ();

    fn write_head(&self, to: &mut impl Sink) {
        to.u64(self.parameters.seed.0);
        to.f64(self.parameters.error_rate);
        to.u64(self.parameters.capacity);
        to.u16(self.parameters.expansion);
        to.u16(self.parameters.bucket_size);
        to.u16(self.parameters.max_iterations);
    }

    fn read_head(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (seed, error_rate) = (Seed(reader.u64()?), reader.f64()?);
        within("error rate", error_rate > 0.0 && error_rate < 1.0)?;
        let (capacity, expansion) = (reader.capacity()?, reader.u16()?);
        within("expansion", expansion <= MAX_EXPANSION)?;
        let (bucket_size, max_iterations) = (reader.u16()?, reader.u16()?);
        within("bucket size", (1..=MAX_BUCKET_SIZE).contains(&bucket_size))?;
        within("iterations", max_iterations > 0)?;
        let parameters = CountingParameters {
            error_rate,
            capacity,
            expansion,
            bucket_size,
            max_iterations,
            seed,
        };
        Ok(Self {
            parameters,
            parts: Parts::none(),
            deleted: 0,
        })
    }

    fn parts(&self) -> &Parts<CuckooSeries> {
        &self.parts
    }

    fn parts_mut(&mut self) -> &mut Parts<CuckooSeries> {
        &mut self.parts
    }

    fn table_rate(&self, _: usize) -> Option<f64> {
        Some(self.parameters.error_rate)
    }

    /// The series of a filter that RedisBloom made.
    fn most_blooms(&self) -> usize {
        1
    }

    /// What is added goes there.
    fn may_lack_table(&self) -> bool {
        false
    }

    fn removed(&self) -> u64 {
        self.deleted
    }

    fn may_have_removed(&self, _: u64) -> bool {
        true
    }

    fn set_removed(&mut self, removed: u64) {
        self.deleted = removed;
    }
}
