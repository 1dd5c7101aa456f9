//! A filter: one value for whatever a key of BF.* and CF.* commands holds.
//!
//! ```text
//!   Filter
//!   ├ head   kind, error rate, capacity, growth, seed           parameters
//!   └ body   a blocked Bloom filter; or a growing table; or     body
//!            organs: a series of sub-filters, a table after     series, load,
//!            it, a load that goes on, a clock                   window/clock
//!
//!   verbs    lookup  add  memory  estimate  union  shrink  import  once for all kinds
//!   follow   a copy gets what its original got
//!   policy   bloom  counting  window        what differs: when a filter is full, who counts,
//!                                           and what becomes of time
//!   shares   a filter that several threads fill
//! ```
//!
//! A filter is one key of a server, which may hold millions of small ones, so a filter of one part
//! is 112 bytes and what the part allocates. Rarer parts are in a box.
//!
//! A new organ is a field of `body`'s `Organs`, which `memory` and its copy must know; a new
//! layout of bits an arm of `series`; a new kind a policy, and a head record of the codec.

mod add;
mod bloom;
mod body;
mod clear;
pub mod counting;
mod estimate;
mod follow;
mod head;
mod import;
mod load;
mod lookup;
mod memory;
mod parameters;
mod series;
mod shares;
mod shrink;
mod union;
pub mod window;

pub use add::Outcome;
pub use body::Loading;
pub(crate) use body::TABLE_START;
pub use counting::{Adding, CountingParameters};
pub use follow::Part;
pub(crate) use head::kind_of_record;
pub(crate) use load::{Arrivals, ArrivingSegment};
pub use parameters::{Growth, Kind, Parameters, SizeLimit, MAX_EXPANSION};
pub(crate) use series::SubFilter;
pub use shares::{Routes, Share, Shares, MAX_SHARES};
pub use shrink::{IfShrunk, Shrinking, Shrunk};
pub use union::{Difference, Promise, Union};
pub use window::{Swept, Window};

use crate::bloom::blocked_bloom::BlockedBloom;
use crate::table::Table;
use body::Body;
use head::Head;

/// A filter of items.
pub struct Filter {
    head: Head,
    body: Body,
}

/// A server may hold millions of small filters that keep their items.
const _: () = assert!(size_of::<Filter>() <= 112);

/// The state of a filter's counters at one time, to compute later what has happened since.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    has_table: bool,
    is_closed: bool,
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
    /// What the filter does with its items.
    #[inline]
    pub fn kind(&self) -> Kind {
        self.head.kind()
    }

    /// The parameters that it was created with; for a filter from another module, those that are
    /// known: the error rate and capacity of its first layer ([`Layers::error_rate`]).
    ///
    /// [`Layers::error_rate`]: crate::foreign::Layers::error_rate
    pub fn parameters(&self) -> Parameters {
        let Some(layers) = self.layers() else {
            return self.head.parameters();
        };
        let first = layers.each().first();
        Parameters {
            error_rate: layers.error_rate(),
            capacity: first.map_or(0, |layer| layer.description().entries),
            growth: Growth::from_factor(layers.factor()),
            seed: self.head.seed,
        }
    }

    /// The Bloom filter, if there is one of ours.
    #[inline]
    pub fn bloom(&self) -> Option<&BlockedBloom> {
        self.body.bloom()
    }

    /// The table, if there is one.
    #[inline]
    pub fn table(&self) -> Option<&Table> {
        self.body.table()
    }

    /// Number of sub-filters.
    pub(crate) fn num_sub_filters(&self) -> usize {
        self.body.num_sub_filters()
    }

    /// All of them, oldest first.
    pub(crate) fn sub_filters(&self) -> impl Iterator<Item = SubFilter<'_>> + Clone {
        self.body.sub_filters()
    }

    /// Number of parts.
    pub fn num_parts(&self) -> usize {
        self.num_sub_filters() + usize::from(self.table().is_some())
    }

    /// Pages of the table.
    pub fn pages(&self) -> u64 {
        self.table().map_or(0, Table::pages)
    }

    /// The load in chunks that has begun and not ended, if there is one. (Pieces of RedisBloom's
    /// have no end: see [`crate::foreign::redisbloom`].)
    pub fn loading(&self) -> Option<Loading> {
        self.body.organs()?.loading
    }

    /// The state of its counters, for [`Filter::counters_since`].
    pub fn progress(&self) -> Progress {
        Progress {
            has_table: self.table().is_some(),
            is_closed: self.bloom().is_some_and(BlockedBloom::is_closed_by_guard),
        }
    }

    /// What adding items has done to it since.
    pub fn counters_since(&self, before: Progress) -> Counters {
        let now = self.progress();
        Counters {
            grown: u64::from(now.has_table && !before.has_table),
            guard_closings: u64::from(now.is_closed && !before.is_closed),
        }
    }

    /// The number of items that fit: at least the capacity reserved. A table grows with its items,
    /// so it counts as full.
    pub fn capacity(&self) -> u64 {
        if let Some(layers) = self.layers() {
            let items = if layers.is_fixed() { 0 } else { self.items() };
            return layers.capacity().max(items);
        }
        let reserved = self.head.parameters().capacity;
        match (self.clock(), self.kind()) {
            (Some(clock), _) => clock.slices.items().max(reserved),
            (None, Kind::Counting) => reserved,
            (None, _) => {
                let bloom = self.bloom().map_or(0, |bloom| bloom.fill().capacity());
                let table = self.table().map_or(0, Table::len);
                bloom.saturating_add(table).max(reserved)
            }
        }
    }

    /// Number of items at the latest time: see [`Filter::items_at`].
    pub fn items(&self) -> u64 {
        self.items_at(0)
    }

    /// Number of items that were new when they were added; of copies not removed, in a counting
    /// filter; in a windowed one, of those that are remembered at `now`, without those that were
    /// added to a page after it saturated.
    pub fn items_at(&self, now: u64) -> u64 {
        if let Some(clock) = self.clock() {
            return clock.slices.items_at(&clock.window, now);
        }
        let items = self.body.sub_filters().map(SubFilter::items);
        items.fold(self.table().map_or(0, Table::len), u64::saturating_add)
    }

    /// Items that were removed, or forgotten up to the latest time.
    pub(crate) fn removed(&self) -> u64 {
        self.clock().map_or(self.deleted(), |_| self.forgotten())
    }
}

#[cfg(test)]
pub(crate) mod tests;
