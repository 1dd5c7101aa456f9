//! A filter that came from RedisBloom as a chain of chunks of ours: its head record.

use super::layer::Layer;
use super::probes::Keys;
use super::{ForeignFilter, Options};
use crate::codec::{Chunked, Reader, Sink, FOREIGN_FILTER};
use crate::error::DecodeError;
use crate::hash::Seed;
use crate::parts::Parts;

impl Chunked for ForeignFilter {
    type SubFilter = Layer;

    const HEAD: u8 = FOREIGN_FILTER;
    type State = ();

    fn write_head(&self, to: &mut impl Sink) {
        to.u64(self.seed.0);
        to.u32(self.options.0);
        to.u32(self.growth);
        if self.is_from_valkey() {
            to.bytes(self.keys.as_flattened());
        }
    }

    fn read_head(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut filter = Self {
            seed: Seed(reader.u64()?),
            options: Options(reader.u32()?),
            growth: reader.u32()?,
            keys: Keys::default(),
            table_rate: 0.0,
            parts: Parts::none(),
        };
        if filter.is_from_valkey() {
            filter.keys = reader.keys()?;
        }
        Ok(filter)
    }

    fn parts(&self) -> &Parts<Layer> {
        &self.parts
    }

    fn parts_mut(&mut self) -> &mut Parts<Layer> {
        &mut self.parts
    }

    fn table_rate(&self, _: usize) -> Option<f64> {
        (self.table_rate > 0.0).then_some(self.table_rate)
    }

    /// It depends on what the bits were when the table began.
    fn may_have_table(&self, blooms: usize, rate: f64) -> bool {
        blooms > 0 && rate > 0.0 && rate < 1.0
    }

    fn set_table_rate(&mut self, rate: f64) {
        self.table_rate = rate;
    }

    fn removed(&self) -> u64 {
        0
    }

    fn may_have_removed(&self, removed: u64) -> bool {
        removed == 0
    }

    fn set_removed(&mut self, _: u64) {}
}
