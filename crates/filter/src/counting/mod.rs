//! A counting filter: it knows how many copies of an item there are, and forgets them one by one.
//!
//! A Bloom filter cannot delete, because items share bits. The growing table stores a fingerprint
//! for each copy of each item ([`crate::growing`]), so a copy can be taken away again. It costs 16
//! bits an item at 1 %, where a Bloom filter of the right size costs 10.
//!
//! ```text
//!   CountingFilter
//!   ├ parameters   what decides its fingerprints: error rate, seed
//!   │              what limits it: capacity, if it does not grow
//!   │              what it only reports: bucket size, iterations
//!   ├ parts        a table: a fingerprint for each copy
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
mod memory;
#[cfg(test)]
mod tests;

use crate::error::AddError;
use crate::growing::Table;
use crate::hash::{ItemHash, Seed};
use crate::parts::{Loading, Parts};
use crate::size_limit::SizeLimit;

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
    /// The error rate asked for, above 0 and below 1. It holds however far the filter grows.
    pub error_rate: f64,
    /// The most copies of a filter that does not grow.
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

/// Which items an add adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adding {
    /// Each one, a copy each time.
    Copies,
    /// Those that are (probably) not there yet.
    Absent,
}

/// A filter of items that counts and deletes.
pub struct CountingFilter {
    parameters: CountingParameters,
    /// One table. It is missing only before a load has brought its first chunk.
    parts: Parts,
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
        self.parts.table().map_or(0, Table::len)
    }

    /// Copies that have been removed.
    pub fn deleted(&self) -> u64 {
        self.deleted
    }

    /// The false-positive rate now, which never passes the error rate.
    pub fn false_positive_rate(&self) -> f64 {
        let table = self.parts.table();
        table.map_or(0.0, Table::false_positive_rate)
    }

    /// Pages of its table.
    pub fn pages(&self) -> u64 {
        self.parts.table().map_or(0, Table::pages)
    }

    /// Whether the item is (probably) present. It reads one cache line of the table, and two slots
    /// of its directory at most.
    pub fn contains(&self, item: &[u8]) -> bool {
        self.parts.contain(self.hash(item))
    }

    /// How many copies of the item are there: at least as many as were added and not removed.
    pub fn count(&self, item: &[u8]) -> u64 {
        let hash = self.hash(item);
        self.parts.table().map_or(0, |table| table.count(hash))
    }

    /// Adds a copy of the item, or with [`Adding::Absent`] only the first one. Returns whether it
    /// was added.
    ///
    /// # Errors
    /// `Full` if the filter does not grow and has as many copies as its capacity; `Uncountable` if
    /// there are more copies of the item than the table counts (2^32); `OverLimit`; `Loading`;
    /// `OutOfMemory`. Nothing has changed.
    pub fn add(&mut self, item: &[u8], adding: Adding, limit: SizeLimit) -> Result<bool, AddError> {
        self.add_hash(self.hash(item), adding, limit)
    }

    fn add_hash(
        &mut self,
        hash: ItemHash,
        adding: Adding,
        limit: SizeLimit,
    ) -> Result<bool, AddError> {
        if adding == Adding::Absent && self.parts.contain(hash) {
            return Ok(false);
        }
        if self.parameters.expansion == 0 && self.items() >= self.parameters.capacity {
            return Err(AddError::Full);
        }
        let most_bytes = limit.most_bytes().saturating_sub(self.bytes_besides());
        match self.table_mut()?.insert(hash, PAYLOAD, most_bytes) {
            Ok(()) => Ok(true),
            // The table itself is never full.
            Err(AddError::Full) => Err(AddError::Uncountable),
            Err(error) => Err(error),
        }
    }

    /// Removes a copy of the item. Returns whether there was one.
    ///
    /// # Errors
    /// `OutOfMemory` or `Loading`, and nothing has changed.
    pub fn remove(&mut self, item: &[u8]) -> Result<bool, AddError> {
        self.remove_hash(self.hash(item))
    }

    fn remove_hash(&mut self, hash: ItemHash) -> Result<bool, AddError> {
        let was_there = self.table_mut()?.remove(hash)?;
        self.deleted += u64::from(was_there);
        Ok(was_there)
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
