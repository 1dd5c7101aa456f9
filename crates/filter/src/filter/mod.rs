//! A filter: a blocked Bloom filter of the capacity reserved, a growing table, or the one and, for
//! what it has no room for, the other (see [`growth`]).
//!
//! A filter is one key of a server, which may hold millions of small ones, so a filter of one part
//! is 112 bytes and what the part allocates.

mod batch;
mod chunked;
mod estimate;
pub mod growth;
mod parameters;
mod shares;
mod union;

pub use crate::parts::Loading;
pub use crate::size_limit::SizeLimit;
pub use growth::{Growth, MAX_EXPANSION};
pub(crate) use parameters::Packed;
pub use parameters::Parameters;
pub use shares::{Routes, Share, Shares, MAX_SHARES};
pub use union::Difference;

use crate::bloom::blocked_bloom::BlockedBloom;
use crate::bloom::sizing::{MAX_CAPACITY, MIN_CAPACITY};
use crate::codec::{digest, MAX_SEGMENTS};
use crate::error::AddError;
use crate::hash::ItemHash;
use crate::parts::Parts;
use crate::storage::{size_class, Mover};
use crate::table::Table;
use std::alloc::Layout;
use std::num::NonZeroU64;

/// A filter of items.
pub struct Filter {
    parameters: Packed,
    parts: Parts,
}

/// The state of a filter's counters at one time, to compute later what has happened since.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    pub(crate) has_table: bool,
    pub(crate) is_closed: bool,
}

impl Progress {
    pub(crate) fn counters_since(self, before: Self) -> Counters {
        Counters {
            grown: u64::from(self.has_table && !before.has_table),
            guard_closings: u64::from(self.is_closed && !before.is_closed),
        }
    }
}

/// What adding items has done to a filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Tables begun because a Bloom filter was full.
    pub grown: u64,
    /// Bloom filters that the fill guard closed.
    pub guard_closings: u64,
}

impl Filter {
    /// An empty filter. It allocates nothing until items are added.
    ///
    /// # Errors
    /// `OverLimit` if the Bloom filter makes it larger than `limit`.
    pub fn new(parameters: Parameters, limit: SizeLimit) -> Result<Self, AddError> {
        let capacity = parameters.capacity.clamp(MIN_CAPACITY, MAX_CAPACITY);
        let Parameters {
            error_rate, growth, ..
        } = parameters;
        let parts = if growth.begins_with_table(capacity) {
            Parts::Table(Table::new(error_rate, 0))
        } else {
            Parts::Bloom(BlockedBloom::new(capacity, growth.bloom_rate(error_rate)))
        };
        let filter = Self {
            parameters: Packed::new(parameters),
            parts,
        };
        if filter.is_within(limit) {
            Ok(filter)
        } else {
            Err(AddError::OverLimit)
        }
    }

    /// The parameters that it was created with.
    pub fn parameters(&self) -> Parameters {
        self.parameters.unpacked()
    }

    /// The Bloom filter, if there is one.
    #[inline]
    pub fn blooms(&self) -> &[BlockedBloom] {
        self.parts.blooms()
    }

    /// The table, if there is one.
    #[inline]
    pub fn table(&self) -> Option<&Table> {
        self.parts.table()
    }

    /// The error rate that the table has, or a table would have.
    pub fn table_error_rate(&self) -> Option<f64> {
        let parameters = self.parameters();
        let growth = parameters.growth;
        growth.table_rate(parameters.error_rate, self.blooms().len())
    }

    /// Number of parts.
    pub fn num_parts(&self) -> usize {
        self.parts.num_parts()
    }

    /// Whether it takes no more than a filter may.
    fn is_within(&self, limit: SizeLimit) -> bool {
        self.reserved_bytes() <= limit.most_bytes() && self.reserved_segments() <= MAX_SEGMENTS
    }

    /// Bytes that the allocator holds for it once every bit of its Bloom filters is in use, which a
    /// [`SizeLimit`] bounds. A table reserves nothing.
    pub fn reserved_bytes(&self) -> u64 {
        let own = size_class(size_of::<Self>() as u64);
        own.saturating_add(self.parts.reserved_bytes())
    }

    /// The same with an empty table, if it has none yet.
    fn bytes_with_table(&self) -> u64 {
        self.reserved_bytes()
            .saturating_add(self.parts.bytes_of_next_table())
    }

    /// Number of bits: those of the Bloom filters, set or not, allocated or not, and all that the
    /// table takes.
    pub fn num_bits(&self) -> u64 {
        let bits = self.blooms().iter().map(BlockedBloom::num_bits);
        let table = self.table().map_or(0, Table::bytes).saturating_mul(8);
        bits.fold(table, u64::saturating_add)
    }

    /// Number of segments of the Bloom filters once every bit is in use.
    pub fn reserved_segments(&self) -> u64 {
        self.parts.reserved_segments()
    }

    /// Number of segments that are allocated.
    pub fn allocated_segments(&self) -> u64 {
        self.parts.allocated_segments()
    }

    /// Allocations, about: what freeing it costs.
    pub fn allocations(&self) -> u64 {
        self.parts.allocations()
    }

    /// The load in chunks that has begun and not ended, if there is one.
    pub fn loading(&self) -> Option<Loading> {
        self.parts.loading()
    }

    /// The state of its counters, for [`Filter::counters_since`].
    pub fn progress(&self) -> Progress {
        Progress {
            has_table: self.table().is_some(),
            is_closed: self
                .blooms()
                .last()
                .is_some_and(BlockedBloom::is_closed_by_guard),
        }
    }

    /// What adding items has done to it since.
    pub fn counters_since(&self, before: Progress) -> Counters {
        self.progress().counters_since(before)
    }

    /// Items that it is made for: the sum of the capacities of its Bloom filters, and what is in
    /// the table, which has as much room as it is given; at least what was reserved.
    pub fn capacity(&self) -> u64 {
        let capacities = self.blooms().iter().map(|s| s.fill().capacity());
        let table = self.table().map_or(0, Table::len);
        let sum = capacities.fold(table, u64::saturating_add);
        sum.max(self.parameters().capacity)
    }

    /// Number of items that were new when they were added.
    pub fn items(&self) -> u64 {
        let items = self.blooms().iter().map(|s| s.fill().items());
        items.fold(self.table().map_or(0, Table::len), u64::saturating_add)
    }

    /// Whether the item is (probably) present. It reads one cache line for each part, or a few of a
    /// Bloom filter whose error rate is below 0.4 %.
    pub fn contains(&self, item: &[u8]) -> bool {
        let hash = ItemHash::of(item, self.parameters.seed);
        self.prefetch_several(hash);
        self.parts.contain(hash)
    }

    /// Adds an item; returns whether it was new.
    ///
    /// # Errors
    /// Any [`AddError`], and nothing has changed.
    pub fn add(&mut self, item: &[u8], limit: SizeLimit) -> Result<bool, AddError> {
        let hash = ItemHash::of(item, self.parameters.seed);
        self.prefetch_several(hash);
        self.add_hash(hash, limit)
    }

    #[inline(always)]
    fn add_hash(&mut self, hash: ItemHash, limit: SizeLimit) -> Result<bool, AddError> {
        match &mut self.parts {
            Parts::Bloom(only) if !only.fill().is_full() => only.insert(hash),
            Parts::Table(only) => {
                let own = size_class(size_of::<Self>() as u64);
                only.insert_if_absent(hash, 0, limit.most_bytes().saturating_sub(own))
            }
            _ => self.add_behind(hash, limit),
        }
    }

    /// Adds an item to a filter of several parts, or to one that must get its second.
    fn add_behind(&mut self, hash: ItemHash, limit: SizeLimit) -> Result<bool, AddError> {
        if self.parts.contain(hash) {
            return Ok(false);
        }
        let is_loading = self.loading().is_some();
        let most_bytes = self.most_table_bytes(limit);
        let may_grow = match self.parameters().growth {
            Growth::Times(_) => true,
            // A replay has no limit, but puts no item elsewhere than the primary has put it.
            Growth::Fixed => {
                let newest = self.parts.newest_bloom();
                limit == SizeLimit::Replay && newest.is_none_or(|newest| newest.fill().is_full())
            }
        };
        if let Some(table) = self.parts.table_mut().filter(|_| may_grow) {
            if is_loading {
                return Err(AddError::Loading);
            }
            return table.insert(hash, 0, most_bytes).map(|()| true);
        }
        // Its table is still to come.
        if let Some(newest) = self.parts.newest_bloom() {
            if !newest.fill().is_full() {
                return newest.insert(hash);
            }
        }
        let rate = self.table_error_rate().filter(|_| may_grow);
        let rate = rate.ok_or(AddError::Full)?;
        if is_loading {
            return Err(AddError::Loading);
        }
        let mut table = Table::new(rate, 0);
        table.insert(hash, 0, most_bytes)?;
        self.parts.append_table(table).map(|()| true)
    }

    /// The most bytes that the table may have, or a new one.
    fn most_table_bytes(&self, limit: SizeLimit) -> u64 {
        let others = self.bytes_with_table() - self.table().map_or(0, Table::bytes);
        limit.most_bytes().saturating_sub(others)
    }

    /// Its digest: two filters have the same digest if and only if they return the same results,
    /// now and after the same commands. Reads every allocated bit once; allocates nothing.
    pub fn digest(&self) -> u128 {
        digest(self)
    }

    /// A copy, which shares the segments until one of the two changes them: see
    /// [`crate::storage::segments::Segments::try_clone`].
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    pub fn try_clone(&mut self) -> Result<Self, AddError> {
        Ok(Self {
            parts: self.parts.try_clone()?,
            ..*self
        })
    }

    /// Visits every kind of allocation but the `Filter` itself: its layout and its number. It takes
    /// a step for each 4 MiB of bits (for each segment of 64 KiB while few bits are set), for each
    /// sub-filter and for each page.
    pub fn visit_allocations(&self, mut visit: impl FnMut(Layout, u64)) {
        self.parts.visit_allocations(&mut visit);
    }

    /// The same without pages and directory of the table, whose bytes are
    /// [`Filter::bytes_of_pages`].
    pub fn visit_besides_pages(&self, mut visit: impl FnMut(Layout, u64)) {
        self.parts.visit_besides_pages(&mut visit);
    }

    /// Bytes of the table's pages and directory, from running totals.
    pub fn bytes_of_pages(&self) -> u64 {
        self.parts.bytes_of_pages()
    }

    /// Passes all allocations through `mover`, from segment number `from` on, counted over all
    /// sub-filters, until it says stop. Returns the number to continue from, or `None` at the end.
    ///
    /// Each step moves at least one segment, however little time it has. So every step makes
    /// progress, and the number to continue from is never 0, which a server takes for the end.
    pub fn relocate(&mut self, from: u64, mover: &mut impl Mover) -> Option<NonZeroU64> {
        self.parts.relocate(from, mover)
    }

    /// Prefetches a single item in all of several parts. With only one there is no other work to
    /// overlap, and its speed depends on how few instructions it takes, so the loop is out of line.
    #[inline(always)]
    fn prefetch_several(&self, hash: ItemHash) {
        if let Parts::Several { blooms, .. } = &self.parts {
            batch::prefetch_blooms(blooms, &[hash]);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
