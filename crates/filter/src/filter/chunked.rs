//! A filter as a chain of chunks: its head record.

use crate::bloom::blocked_bloom::BlockedBloom;
use crate::codec::{within, Chunked, Reader, Sink, FILTER};
use crate::error::DecodeError;
use crate::filter::parameters::Packed;
use crate::filter::{Filter, Growth, Parameters, MAX_EXPANSION};
use crate::hash::Seed;
use crate::parts::Parts;

impl Chunked for Filter {
    type SubFilter = BlockedBloom;

    const HEAD: u8 = FILTER;
    type State = ();

    fn write_head(&self, to: &mut impl Sink) {
        let parameters = self.parameters();
        to.u64(parameters.seed.0);
        to.f64(parameters.error_rate);
        to.u64(parameters.capacity);
        to.u32(parameters.growth.factor());
    }

    fn read_head(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (seed, error_rate) = (Seed(reader.u64()?), reader.f64()?);
        within("error rate", error_rate > 0.0 && error_rate < 1.0)?;
        let (capacity, expansion) = (reader.capacity()?, reader.u32()?);
        within("expansion", expansion <= MAX_EXPANSION)?;
        let parameters = Parameters {
            error_rate,
            capacity,
            growth: Growth::from_factor(expansion),
            seed,
        };
        Ok(Self {
            parameters: Packed::new(parameters),
            parts: Parts::none(),
        })
    }

    fn parts(&self) -> &Parts {
        &self.parts
    }

    fn parts_mut(&mut self) -> &mut Parts {
        &mut self.parts
    }

    fn table_rate(&self, blooms: usize) -> Option<f64> {
        let Parameters {
            error_rate, growth, ..
        } = self.parameters();
        growth.table_rate(error_rate, blooms)
    }

    fn most_blooms(&self) -> usize {
        1
    }

    fn removed(&self) -> u64 {
        0
    }

    fn may_have_removed(&self, removed: u64) -> bool {
        removed == 0
    }

    fn set_removed(&mut self, _: u64) {}
}
