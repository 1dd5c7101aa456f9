//! The policy of counting filters, which know how many copies of an item there are, and delete them
//! one by one.
//!
//! A Bloom filter cannot delete, because items share bits. The growing table stores a fingerprint
//! for each copy of each item ([`crate::table`]), so a copy can be taken away again. It costs
//! 13.5 bits an item at 1 % and the number reserved, 16 if it has grown far beyond that, where a
//! Bloom filter of the right size costs 10.
//!
//! A filter that RedisBloom made has its slots ([`crate::foreign::cuckoo`]) before the table;
//! nothing is added to them.
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

use crate::error::{ensure, AddError, DecodeError};
use crate::filter::body::{Body, Counts, Organs};
use crate::filter::head::Head;
pub use crate::filter::parameters::{CountingParameters, MAX_BUCKET_SIZE};
use crate::filter::parameters::{Kind, Parameters};
use crate::filter::series::Series;
use crate::filter::{Filter, Growth, SizeLimit};
use crate::foreign::cuckoo::{Cuckoo, CuckooSeries};
use crate::hash::{Groups, ItemHash, Seed};
pub use crate::table::Adding;
use crate::table::{Budget, Table};

/// Entries carry no payload: a copy is a copy.
const PAYLOAD_BITS: u8 = 0;
const PAYLOAD: u8 = 0;

/// The largest expansion factor, as for Bloom filters.
pub const MAX_EXPANSION: u16 = 32_768;

impl CountingParameters {
    pub(super) fn head(&self) -> Head {
        let parameters = Parameters {
            error_rate: self.error_rate,
            capacity: self.capacity,
            growth: Growth::from_factor(self.expansion.into()),
            seed: self.seed,
        };
        Head::new(Kind::Counting, parameters)
    }

    /// The counts after `deleted` deletions.
    pub(super) fn counts(&self, deleted: u64) -> Counts {
        Counts { deleted, bucket_size: self.bucket_size, max_iterations: self.max_iterations }
    }
}

impl Filter {
    /// An empty filter that counts, which allocates nothing.
    ///
    /// # Errors
    /// `OverLimit` if even an empty one takes more than `limit`.
    pub fn counting(parameters: CountingParameters, limit: SizeLimit) -> Result<Self, AddError> {
        let head = parameters.head();
        let table = head.first_table(None);
        let body = Body::Table { table, counts: parameters.counts(0) };
        Self::of(head, body, limit)
    }

    /// A filter around one of RedisBloom's. Its table has the error rate `error_rate`; what is
    /// added is hashed with `seed`.
    ///
    /// # Errors
    /// A `Field` out of range; `OverLimit` if it takes more than `limit` with all its slots;
    /// `OutOfMemory`.
    pub fn of_cuckoo(
        cuckoo: Cuckoo,
        error_rate: f64,
        seed: Seed,
        limit: SizeLimit,
    ) -> Result<Self, DecodeError> {
        let shape = cuckoo.series.shape();
        let parameters = CountingParameters {
            error_rate,
            capacity: shape.first_slots(),
            expansion: shape.expansion,
            bucket_size: shape.bucket_size,
            max_iterations: cuckoo.max_iterations.max(1),
            seed,
        };
        let organs = Organs {
            table: Some(Table::new(error_rate, PAYLOAD_BITS)),
            counts: parameters.counts(cuckoo.deleted),
            ..Organs::of(Series::Cuckoo(cuckoo.series))
        };
        Ok(Self::of(parameters.head(), Body::of(organs)?, limit)?)
    }

    /// The parameters that a counting filter was created with.
    pub fn counting_parameters(&self) -> CountingParameters {
        let (parameters, counts) = (self.head.parameters(), self.body.counts());
        CountingParameters {
            error_rate: parameters.error_rate,
            capacity: parameters.capacity,
            expansion: parameters.growth.factor() as u16,
            bucket_size: counts.bucket_size,
            max_iterations: counts.max_iterations,
            seed: parameters.seed,
        }
    }

    /// The slots of a filter from RedisBloom.
    #[inline]
    pub fn cuckoo(&self) -> Option<&CuckooSeries> {
        match &self.body.organs()?.series {
            Series::Cuckoo(series) => Some(series),
            _ => None,
        }
    }

    /// Copies that have been removed.
    pub fn deleted(&self) -> u64 {
        self.body.counts().deleted
    }

    /// How many copies of the item a counting filter has: at least as many as were added and not
    /// removed.
    pub fn count(&self, item: &[u8]) -> u64 {
        let hash = self.hash(item);
        let table = self.table().map_or(0, |table| table.count(hash));
        self.cuckoo().map_or(table, |series| table + series.count(item))
    }

    /// Adds a copy of the item to a counting filter, or with [`Adding::Absent`] only the first one.
    /// Returns whether it was added.
    ///
    /// # Errors
    /// `Full` if the filter does not grow and has as many copies as its capacity; `Uncountable` if
    /// there are more copies of the item than the table counts (2^32); `OverLimit`; `Loading`;
    /// `OutOfMemory`. Nothing has changed.
    #[inline]
    pub fn add_copy(
        &mut self,
        item: &[u8],
        adding: Adding,
        limit: SizeLimit,
    ) -> Result<bool, AddError> {
        let is_there = |series: &CuckooSeries| series.contains(item);
        if adding == Adding::Absent && self.cuckoo().is_some_and(is_there) {
            return Ok(false);
        }
        self.add_hash_copy(self.hash(item), adding, self.limit_of_table(limit))
    }

    /// The limit, here and below, is [that of the table](Filter::limit_of_table).
    #[inline(always)]
    fn add_hash_copy(
        &mut self,
        hash: ItemHash,
        adding: Adding,
        limit: SizeLimit,
    ) -> Result<bool, AddError> {
        let is_there = |table: &Table| table.contains(hash);
        if adding == Adding::Absent && self.table().is_some_and(is_there) {
            return Ok(false);
        }
        self.add_copy_of(hash, limit).map(|()| true)
    }

    #[inline]
    pub(super) fn add_copy_of(&mut self, hash: ItemHash, limit: SizeLimit) -> Result<(), AddError> {
        let Parameters { capacity, growth, .. } = self.head.parameters();
        let may_grow = growth != Growth::Fixed || limit == SizeLimit::Replay;
        ensure(may_grow || self.items() < capacity, AddError::Full)?;
        // The capacity reserved, as long as the table only grows. After a deletion, pages should be
        // as small as possible.
        let only_grows = self.deleted() == 0 && self.cuckoo().is_none();
        let items = if only_grows { capacity } else { 0 };
        let budget = Budget { items, ..Budget::up_to(limit.max_bytes()) };
        self.counting_table()?.insert_reserved(hash, PAYLOAD, budget)
    }

    /// Adds a copy of many items to a counting filter, and calls `answer` for each in order with
    /// what [`Filter::add_copy`] returns. The cache misses of 16 items overlap.
    ///
    /// # Errors
    /// The first that `answer` returns; items after it are not tried.
    pub fn add_copies<'a>(
        &mut self,
        mut items: impl Iterator<Item = &'a [u8]>,
        adding: Adding,
        limit: SizeLimit,
        mut answer: impl FnMut(Result<bool, AddError>) -> Result<(), AddError>,
    ) -> Result<(), AddError> {
        if self.cuckoo().is_some() {
            return items.try_for_each(|item| answer(self.add_copy(item, adding, limit)));
        }
        let limit = self.limit_of_table(limit);
        let mut groups = Groups::of(self.hashes(items));
        while let Some(group) = groups.next(|ahead| self.prefetch(ahead)) {
            for hash in group {
                answer(self.add_hash_copy(*hash, adding, limit))?;
            }
        }
        Ok(())
    }

    /// Removes a copy of the item, from the table if there is one, else from RedisBloom's slots.
    /// Returns whether there was one.
    ///
    /// # Errors
    /// `OutOfMemory` or `Loading`, and nothing has changed.
    pub fn remove(&mut self, item: &[u8]) -> Result<bool, AddError> {
        if self.remove_hash(self.hash(item))? {
            return Ok(true);
        }
        let series = self.body.organs_mut().map(|organs| &mut organs.series);
        let was_there = match series {
            Some(Series::Cuckoo(series)) => series.remove(item)?,
            _ => false,
        };
        self.count_deleted(was_there);
        Ok(was_there)
    }

    #[inline(always)]
    fn remove_hash(&mut self, hash: ItemHash) -> Result<bool, AddError> {
        let was_there = self.counting_table()?.remove(hash)?;
        self.count_deleted(was_there);
        Ok(was_there)
    }

    /// Removes a copy of each of many items, and calls `answer` for each in order with whether
    /// there was one.
    ///
    /// # Errors
    /// As [`Filter::remove`], at the first item refused: copies of those before it are gone; it and
    /// those after it have changed nothing.
    pub fn remove_many<'a>(
        &mut self,
        mut items: impl Iterator<Item = &'a [u8]>,
        mut answer: impl FnMut(bool),
    ) -> Result<(), AddError> {
        if self.cuckoo().is_some() {
            return items.try_for_each(|item| self.remove(item).map(&mut answer));
        }
        let mut groups = Groups::of(self.hashes(items));
        while let Some(group) = groups.next(|ahead| self.prefetch(ahead)) {
            for hash in group {
                answer(self.remove_hash(*hash)?);
            }
        }
        Ok(())
    }

    /// The table, for writing. A change during a load would make the next chunks unfit.
    fn counting_table(&mut self) -> Result<&mut Table, AddError> {
        ensure(self.loading().is_none(), AddError::Loading)?;
        self.body.table_mut().ok_or(AddError::Loading)
    }

    fn count_deleted(&mut self, was_there: bool) {
        if let Some(counts) = self.body.counts_mut() {
            counts.deleted = counts.deleted.saturating_add(was_there.into());
        }
    }
}
