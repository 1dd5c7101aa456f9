//! A counting filter: it knows how many copies of an item there are, and forgets them one by one.
//!
//! A Bloom filter cannot delete, because items share bits. The growing table stores a fingerprint
//! for each copy of each item ([`crate::table`]), so a copy can be taken away again. It costs 16
//! bits an item at 1 %, where a Bloom filter of the right size costs 10.
//!
//! ```text
//!   CountingFilter
//!   ├ parameters   what decides its fingerprints: error rate, seed
//!   │              what limits it: capacity, if it does not grow; the size of its pages
//!   │              follows capacity as well, until something is deleted
//!   │              what it only reports: bucket size, iterations
//!   ├ parts        a table: a fingerprint for each copy; before it, in a filter that RedisBloom
//!   │              made, its series ([`crate::foreign::cuckoo`]), which nothing is added to
//!   └ deleted      how many have been taken away
//! ```
//!
//! # What deletion costs
//! Two items with one fingerprint are two copies of one item to the filter. So removing an item
//! that was never added removes a copy of another one, with the chance of a false positive, and
//! that other item may be a false negative from then on. After an add with [`Adding::Absent`]
//! the same holds for an item that was found by mistake: it has no copy of its own.
//!
//! # The parameters of cuckoo filters
//! RedisBloom's filter with these commands is a cuckoo filter (Fan, Andersen, Kaminsky,
//! Mitzenmacher 2014), which has buckets of a few slots and moves entries between them, up to a
//! maximum number of times. Clients set both. The growing table has neither, so a filter keeps the
//! numbers and reports them.

mod batch;
mod chunked;
mod foreign;
mod memory;
#[cfg(test)]
mod tests;

use crate::error::AddError;
use crate::foreign::cuckoo::CuckooSeries;
use crate::hash::{ItemHash, Seed};
use crate::parts::{Loading, Parts};
use crate::size_limit::SizeLimit;
pub use crate::table::Adding;
use crate::table::{Budget, Table};

/// Entries carry no payload: a copy is a copy.
const PAYLOAD_BITS: u8 = 0;
const PAYLOAD: u8 = 0;

/// The largest expansion factor, as for Bloom filters.
pub const MAX_EXPANSION: u16 = 32_768;
/// The largest bucket size. A cuckoo filter stores it in a byte.
pub const MAX_BUCKET_SIZE: u16 = 255;

/// The parameters of a counting filter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CountingParameters {
    /// The error rate asked for, above 0 and below 1. It holds however far the filter grows. In a
    /// filter that RedisBloom made it is that of the table behind the series.
    pub error_rate: f64,
    /// The most copies of a filter that does not grow. In any filter, the number of items that its
    /// pages are sized for until something is deleted.
    pub capacity: u64,
    /// 0: the filter does not grow. Any other factor means the same: it grows page by page.
    pub expansion: u16,
    /// Reported only.
    pub bucket_size: u16,
    /// Reported only.
    pub max_iterations: u16,
    /// Makes the fingerprints unpredictable.
    pub seed: Seed,
}

impl CountingParameters {
    /// The buckets that a cuckoo filter of this capacity and bucket size begins with.
    pub fn buckets(&self) -> u64 {
        let buckets = self.capacity / u64::from(self.bucket_size.max(1));
        buckets.next_power_of_two()
    }
}

/// A filter of items that counts and deletes.
pub struct CountingFilter {
    parameters: CountingParameters,
    /// A table, behind a series of RedisBloom's or alone. It is missing only before a load has
    /// brought its first chunk.
    parts: Parts<CuckooSeries>,
    deleted: u64,
}

impl CountingFilter {
    /// An empty filter, which allocates nothing.
    ///
    /// # Errors
    /// `OverLimit` if even an empty one takes more than `limit`.
    pub fn new(parameters: CountingParameters, limit: SizeLimit) -> Result<Self, AddError> {
        let filter = Self {
            parameters,
            parts: Parts::Table(Table::new(parameters.error_rate, PAYLOAD_BITS)),
            deleted: 0,
        };
        filter.check_size(limit)?;
        Ok(filter)
    }

    /// The parameters that it was created with.
    pub fn parameters(&self) -> CountingParameters {
        self.parameters
    }

    /// The load in chunks that has begun and not ended, if there is one.
    pub fn loading(&self) -> Option<Loading> {
        self.parts.loading()
    }

    /// Copies that have been added and not removed.
    pub fn items(&self) -> u64 {
        let series = self.series().map_or(0, CuckooSeries::items);
        self.parts
            .table()
            .map_or(series, |table| series.saturating_add(table.len()))
    }

    /// Copies that have been removed.
    pub fn deleted(&self) -> u64 {
        self.deleted
    }

    /// The false-positive rate now: that of the table, which never passes the error rate, and that
    /// of RedisBloom's series.
    pub fn false_positive_rate(&self) -> f64 {
        let table = self.parts.table();
        let table = table.map_or(0.0, Table::false_positive_rate);
        match self.series() {
            None => table,
            Some(series) => 1.0 - (1.0 - table) * (1.0 - series.false_positive_rate()),
        }
    }

    /// Pages of its table.
    pub fn pages(&self) -> u64 {
        self.parts.table().map_or(0, Table::pages)
    }

    /// Whether the item is (probably) present. It reads one cache line of the table, and two slots
    /// of its directory at most; and two buckets of each layer of RedisBloom's.
    pub fn contains(&self, item: &[u8]) -> bool {
        self.is_in_table(self.hash(item)) || self.is_in_series(item)
    }

    #[inline]
    fn is_in_table(&self, hash: ItemHash) -> bool {
        let table = self.parts.table();
        table.is_some_and(|table| table.contains(hash))
    }

    #[inline]
    fn is_in_series(&self, item: &[u8]) -> bool {
        let series = self.series();
        series.is_some_and(|series| series.contains(item))
    }

    /// How many copies of the item are there: at least as many as were added and not removed.
    pub fn count(&self, item: &[u8]) -> u64 {
        let hash = self.hash(item);
        let table = self.parts.table().map_or(0, |table| table.count(hash));
        self.series()
            .map_or(table, |series| table + series.count(item))
    }

    /// Adds a copy of the item, or with [`Adding::Absent`] only the first one. Returns whether it
    /// was added.
    ///
    /// # Errors
    /// `Full` if the filter does not grow and has as many copies as its capacity; `Uncountable` if
    /// there are more copies of the item than the table counts (2^32); `OverLimit`; `Loading`;
    /// `OutOfMemory`. Nothing has changed.
    pub fn add(&mut self, item: &[u8], adding: Adding, limit: SizeLimit) -> Result<bool, AddError> {
        if adding == Adding::Absent && self.is_in_series(item) {
            return Ok(false);
        }
        self.add_hash(self.hash(item), adding, limit)
    }

    fn add_hash(
        &mut self,
        hash: ItemHash,
        adding: Adding,
        limit: SizeLimit,
    ) -> Result<bool, AddError> {
        if adding == Adding::Absent && self.is_in_table(hash) {
            return Ok(false);
        }
        let may_grow = self.parameters.expansion > 0 || limit == SizeLimit::Replay;
        if !may_grow && self.items() >= self.parameters.capacity {
            return Err(AddError::Full);
        }
        let most_bytes = match limit {
            SizeLimit::Bytes(most) => most.saturating_sub(self.bytes_besides()),
            SizeLimit::Unlimited | SizeLimit::Replay => u64::MAX,
        };
        let budget = Budget {
            max_bytes: most_bytes,
            items: self.expected_items(),
        };
        self.table_mut()?.insert_reserved(hash, PAYLOAD, budget)?;
        Ok(true)
    }

    /// How many items the table is made for: those that were reserved, as long as it only grows.
    /// After a deletion pages are to be as small as they can.
    fn expected_items(&self) -> u64 {
        let only_grows = self.deleted == 0 && self.series().is_none();
        if only_grows {
            self.parameters.capacity
        } else {
            0
        }
    }

    /// Removes a copy of the item, from the table if there is one, else from RedisBloom's series.
    /// Returns whether there was one.
    ///
    /// # Errors
    /// `OutOfMemory` or `Loading`, and nothing has changed.
    pub fn remove(&mut self, item: &[u8]) -> Result<bool, AddError> {
        let hash = self.hash(item);
        let was_there = self.table_mut()?.remove(hash)? || self.remove_from_series(item)?;
        self.deleted = self.deleted.saturating_add(was_there.into());
        Ok(was_there)
    }

    /// As [`CountingFilter::remove`], where there is no series.
    fn remove_hash(&mut self, hash: ItemHash) -> Result<bool, AddError> {
        let was_there = self.table_mut()?.remove(hash)?;
        self.deleted = self.deleted.saturating_add(was_there.into());
        Ok(was_there)
    }

    fn remove_from_series(&mut self, item: &[u8]) -> Result<bool, AddError> {
        let series = self.series_mut();
        series.map_or(Ok(false), |series| series.remove(item))
    }

    /// The table, to be changed. While a load goes on, it would no longer fit what is to come.
    fn table_mut(&mut self) -> Result<&mut Table, AddError> {
        match self.parts.loading() {
            Some(_) => Err(AddError::Loading),
            None => self.parts.table_mut().ok_or(AddError::Loading),
        }
    }

    fn hash(&self, item: &[u8]) -> ItemHash {
        ItemHash::of(item, self.parameters.seed)
    }
}
