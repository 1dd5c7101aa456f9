//! A counting filter that RedisBloom made: its series, and a table for what is added.

use super::{CountingFilter, CountingParameters, PAYLOAD_BITS};
use crate::codec::within;
use crate::error::DecodeError;
use crate::foreign::cuckoo::{CuckooSeries, Remainder};
use crate::hash::Seed;
use crate::parts::Parts;
use crate::table::Table;

/// Filters without a series are no larger for it.
const _: () = assert!(size_of::<CuckooSeries>() <= size_of::<Table>());

impl CountingFilter {
    /// A filter around `series`, from which `deletes` items have been deleted.
    ///
    /// # Errors
    /// A `Field` out of range; `OutOfMemory`.
    pub(crate) fn of_series(
        series: CuckooSeries,
        max_iterations: u16,
        deleted: u64,
        remainder: Remainder,
    ) -> Result<Self, DecodeError> {
        let Remainder { error_rate, seed } = remainder;
        within("error rate", error_rate > 0.0 && error_rate < 1.0)?;
        let shape = series.shape();
        let parameters = CountingParameters {
            error_rate,
            capacity: shape.first_slots(),
            expansion: shape.expansion,
            bucket_size: shape.bucket_size,
            // Until 2024 RedisBloom stored the low 16 bits of any number, which may be 0.
            max_iterations: max_iterations.max(1),
            seed,
        };
        let mut parts = Parts::Bloom(series);
        let table = Table::new(error_rate, PAYLOAD_BITS);
        let appended = parts.append_table(table);
        appended.map_err(|_| DecodeError::OutOfMemory)?;
        Ok(Self {
            parameters,
            parts,
            deleted,
        })
    }

    /// The same with another seed, before anything is in its table.
    pub(crate) fn reseeded(mut self, seed: Seed) -> Self {
        self.parameters.seed = seed;
        self
    }

    /// The series that RedisBloom made, if it is from there.
    #[inline]
    pub fn series(&self) -> Option<&CuckooSeries> {
        self.parts.blooms().first()
    }

    /// The series, to be changed. While chunks of ours are still to come, they would write over
    /// that.
    pub(crate) fn series_mut(&mut self) -> Option<&mut CuckooSeries> {
        match self.loading() {
            Some(_) => None,
            None => self.parts.newest_bloom(),
        }
    }
}
