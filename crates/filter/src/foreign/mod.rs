//! Filters from other modules: RedisBloom's, read and tested with their own arithmetic.
//!
//! A filter does not store its items, so it often cannot be rebuilt. Its bits are therefore taken
//! as they are, and tested as RedisBloom tests them: every item that was present still is, and
//! every other one gets the same answer as before.
//!
//! ```text
//!   ForeignFilter
//!   ├ options, growth   what RedisBloom stores of a filter; seed: for items added here
//!   └ parts
//!     ├ layers          the series of sub-filters as loaded, oldest first. Nothing is added to it
//!     └ table           for items that are not in the series: a growing table
//! ```
//!
//! That is a Bloom filter; [`cuckoo`] has those that count and delete. [`valkey`] reads Bloom
//! filters of valkey-bloom, which are the same but for the hash.
//!
//! ```
//! use splitbloom_filter::foreign::pieces;
//! use splitbloom_filter::{Seed, SizeLimit};
//!
//! // What RedisBloom's BF.SCANDUMP returns after BF.RESERVE key 0.01 3 NONSCALING and an item.
//! let mut header = 1u64.to_le_bytes().to_vec();
//! header.extend([1u32, 13, 2].map(u32::to_le_bytes).as_flattened());
//! let bits_per_item = 9.585058377367446f64.to_bits();
//! let layer = [8, 64, 1, 0.01f64.to_bits(), bits_per_item];
//! header.extend(layer.map(u64::to_le_bytes).as_flattened());
//! header.extend(7u32.to_le_bytes());
//! header.extend(3u64.to_le_bytes());
//! header.push(0);
//!
//! let seed = Seed(0x5eed); // a server draws it at random
//! let mut filter = pieces::begin(&header, seed, SizeLimit::Unlimited)?;
//! filter.take_piece(9, &[0xff; 8])?; // as if all bits were set
//! assert!(filter.contains(b"anything"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The table after the series
//! An item that is not in the series goes into the table, never into the old bits, so their error
//! rate no longer rises. The table gets what the series leaves of the requested error rate, at
//! least a 64th; each halving costs a bit per item, so an item takes at most 6 bits more than in a
//! table with the whole rate. A filter that does not grow takes as many more items as its last
//! layer has room for.
//!
//! # What it costs
//! In each layer up to the first that has the item, a lookup reads as many cache lines as the layer
//! has hashes, and one line of the table. That is the cost that it had in RedisBloom; a batch
//! overlaps the misses of 16 items ([`Layer`]). Bits are in segments, as in our own filters
//! ([`crate::storage`]): allocated where a bit is set, shared by copies, and freed, saved and moved
//! one by one.
//!
//! The hash is not keyed: whoever knows RedisBloom can choose items that are false positives of the
//! series. Items added here are hashed with the seed.
//!
//! # What is refused
//! Encoding versions above 4, and every field that is out of range or contradicts another one
//! (docs/format.md lists all of them). Bytes that pass these checks form a filter that works in
//! every respect; the reader cannot know whether the bits are those of the intended items.

mod chunked;
pub mod cuckoo;
mod estimate;
mod layer;
mod load;
mod lookup;
mod memory;
pub mod murmur;
pub mod pieces;
mod probes;
mod rate;
pub mod rdb;
pub mod valkey;

pub use layer::{Description, Layer};

use crate::codec::digest;
use crate::error::{AddError, DecodeError};
use crate::filter::{Counters, Growth, Parameters, Progress};
use crate::hash::{ItemHash, Seed};
use crate::parts::{Loading, Parts};
use crate::size_limit::SizeLimit;
use crate::table::Table;
use probes::{Hashing, Keys};

/// The factor of versions of RedisBloom that did not store one.
const USUAL_GROWTH: u32 = 2;

/// What RedisBloom calls the options of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options(pub u32);

impl Options {
    /// Items are hashed to 64 bits.
    const BITS_64: u32 = 4;
    /// The filter does not grow.
    const FIXED: u32 = 8;
    /// Ours: it is from valkey-bloom, whose keys come with it.
    const SIP: u32 = 1 << 31;
}

/// A Bloom filter that came from RedisBloom.
pub struct ForeignFilter {
    seed: Seed,
    options: Options,
    growth: u32,
    /// What valkey-bloom hashes with, if it is from there.
    keys: Keys,
    /// The error rate of the table; 0 while there is none.
    table_rate: f64,
    parts: Parts<Layer>,
}

impl ForeignFilter {
    /// A filter of these layers, of which there is at least one.
    fn of_layers(
        options: Options,
        growth: u32,
        layers: Vec<Layer>,
        seed: Seed,
    ) -> Result<Self, DecodeError> {
        if layers.is_empty() {
            return Err(DecodeError::Field("number of layers"));
        }
        let parts = Parts::of(layers).map_err(|_| DecodeError::OutOfMemory)?;
        let filter = Self {
            seed,
            options,
            growth,
            keys: Keys::default(),
            table_rate: 0.0,
            parts,
        };
        filter.check_segments()?;
        Ok(filter)
    }

    /// The layers, oldest first.
    #[inline]
    pub fn layers(&self) -> &[Layer] {
        self.parts.blooms()
    }

    fn layers_mut(&mut self) -> &mut [Layer] {
        self.parts.blooms_mut()
    }

    /// The part with the items added here, if there are any.
    #[inline]
    pub fn table(&self) -> Option<&Table> {
        self.parts.table()
    }

    /// Number of parts.
    pub fn num_parts(&self) -> usize {
        self.parts.num_parts()
    }

    /// What RedisBloom stores of how it was created.
    pub fn options(&self) -> Options {
        self.options
    }

    /// The parameters that it was created with, as far as they are known: the error rate and
    /// capacity of its first layer (see [`ForeignFilter::asked_error_rate`]).
    pub fn parameters(&self) -> Parameters {
        let first = self.layers().first();
        Parameters {
            error_rate: self.asked_error_rate(),
            capacity: first.map_or(0, |layer| layer.description().entries),
            growth: if self.is_fixed() {
                Growth::Fixed
            } else {
                Growth::Times(self.growth)
            },
            seed: self.seed,
        }
    }

    /// Whether it is from valkey-bloom, not from RedisBloom.
    pub fn is_from_valkey(&self) -> bool {
        self.options.0 & Options::SIP != 0
    }

    /// Whether it refuses items beyond its capacity.
    pub fn is_fixed(&self) -> bool {
        self.options.0 & Options::FIXED != 0
    }

    #[inline]
    fn hashing(&self) -> Hashing {
        let has = |option| self.options.0 & option != 0;
        match (has(Options::SIP), has(Options::BITS_64)) {
            (true, _) => Hashing::Sip(self.keys),
            (false, true) => Hashing::Bits64,
            (false, false) => Hashing::Bits32,
        }
    }

    /// The load in chunks of ours that has begun and not ended, if there is one. (Pieces of
    /// RedisBloom's have no end: see [`pieces`].)
    pub fn loading(&self) -> Option<Loading> {
        self.parts.loading()
    }

    /// The state of its counters, for [`ForeignFilter::counters_since`].
    pub fn progress(&self) -> Progress {
        Progress {
            has_table: self.table().is_some(),
            is_closed: false,
        }
    }

    /// What adding items has done to it since: the table begins with the first new item.
    pub fn counters_since(&self, before: Progress) -> Counters {
        self.progress().counters_since(before)
    }

    /// Its capacity: that of its layers, or the items that it has if they are more, because the
    /// table grows.
    pub fn capacity(&self) -> u64 {
        let entries = self.layers().iter().map(|l| l.description().entries);
        let entries = entries.fold(0, u64::saturating_add);
        if self.is_fixed() {
            entries
        } else {
            entries.max(self.items())
        }
    }

    /// Number of items that were new when they were added, here or before.
    pub fn items(&self) -> u64 {
        let items = self.layers().iter().map(|l| l.description().items);
        items.fold(self.table().map_or(0, Table::len), u64::saturating_add)
    }

    /// Whether the item is (probably) present: in the table or in any layer, newest first.
    pub fn contains(&self, item: &[u8]) -> bool {
        let is_in_table = self
            .table()
            .is_some_and(|table| table.contains(ItemHash::of(item, self.seed)));
        is_in_table || self.series_contains(item)
    }

    fn series_contains(&self, item: &[u8]) -> bool {
        let pair = self.hashing().pair(item);
        self.layers().iter().rev().any(|layer| layer.contains(pair))
    }

    /// Adds an item; returns whether it was new. If it is not in the series, it goes into the
    /// table.
    ///
    /// # Errors
    /// Any [`AddError`], and nothing has changed. `Full` if the filter does not grow, and its last
    /// layer and the table have as many items as that was made for.
    pub fn add(&mut self, item: &[u8], limit: SizeLimit) -> Result<bool, AddError> {
        if self.series_contains(item) {
            return Ok(false);
        }
        self.add_behind(ItemHash::of(item, self.seed), limit)
    }

    /// Adds an item that is not in the series.
    fn add_behind(&mut self, hash: ItemHash, limit: SizeLimit) -> Result<bool, AddError> {
        if self.table().is_some_and(|table| table.contains(hash)) {
            return Ok(false);
        }
        if self.loading().is_some() {
            return Err(AddError::Loading);
        }
        if self.is_full() && limit != SizeLimit::Replay {
            return Err(AddError::Full);
        }
        let most_bytes = self.most_table_bytes(limit);
        if let Some(table) = self.parts.table_mut() {
            return table.insert(hash, 0, most_bytes).map(|()| true);
        }
        let rate = self.table_error_rate();
        let mut table = Table::new(rate, 0);
        table.insert(hash, 0, most_bytes)?;
        self.parts.append_table(table)?;
        self.table_rate = rate;
        Ok(true)
    }

    /// Whether it accepts no new item.
    fn is_full(&self) -> bool {
        let Some(newest) = self.layers().last() else {
            return false;
        };
        let newest = newest.description();
        let own = self.table().map_or(0, Table::len);
        self.is_fixed() && newest.items.saturating_add(own) >= newest.entries
    }

    /// Its digest: two filters have the same digest if and only if they return the same results,
    /// now and after the same commands. Reads every allocated bit once; allocates nothing.
    pub fn digest(&self) -> u128 {
        digest(self)
    }
}

#[cfg(test)]
mod tests;
