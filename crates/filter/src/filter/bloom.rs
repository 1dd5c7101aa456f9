//! The policy of filters that keep their items: when one is full, and what becomes of the items
//! beyond that. [`Growth`] says how the parts share the error rate.

use crate::bloom::blocked_bloom::BlockedBloom;
use crate::bloom::sizing::{MAX_CAPACITY, MIN_CAPACITY};
use crate::error::{ensure, AddError, DecodeError};
use crate::filter::add::Outcome;
use crate::filter::body::{Body, Counts, Organs};
use crate::filter::head::Head;
use crate::filter::parameters::{Kind, Parameters};
use crate::filter::series::Series;
use crate::filter::{Filter, Growth, SizeLimit};
use crate::foreign::Layers;
use crate::hash::{ItemHash, Seed};
use crate::table::Table;

impl Filter {
    /// An empty filter that keeps its items. It allocates nothing until items are added.
    ///
    /// # Errors
    /// `OverLimit` if the Bloom filter makes it larger than `limit`.
    pub fn new(parameters: Parameters, limit: SizeLimit) -> Result<Self, AddError> {
        let capacity = parameters.capacity.clamp(MIN_CAPACITY, MAX_CAPACITY);
        let Parameters { error_rate, growth, .. } = parameters;
        let body = if growth.begins_with_table(capacity) {
            Body::Table { table: Table::new(error_rate, 0), counts: Counts::default() }
        } else {
            Body::Bloom(BlockedBloom::new(capacity, growth.bloom_rate(error_rate)))
        };
        Self::of(Head::new(Kind::Bloom, parameters), body, limit)
    }

    /// A filter around layers from another module. What is added to it is hashed with `seed`.
    ///
    /// # Errors
    /// `OverLimit` if it takes more than `limit` with all its bits; `OutOfMemory`.
    pub fn of_layers(layers: Layers, seed: Seed, limit: SizeLimit) -> Result<Self, DecodeError> {
        let body = Body::of(Organs::of(Series::Layers(layers)))?;
        Ok(Self::of(Head::of_layers(seed), body, limit)?)
    }

    /// The layers of a filter from RedisBloom or valkey-bloom.
    #[inline]
    pub fn layers(&self) -> Option<&Layers> {
        match &self.body.organs()?.series {
            Series::Layers(layers) => Some(layers),
            _ => None,
        }
    }

    /// Adds an item that is in no layer to a filter that has several parts, or must get its second
    /// one. The limit is [that of the table](Filter::limit_of_table).
    pub(super) fn add_beyond(
        &mut self,
        hash: ItemHash,
        limit: SizeLimit,
    ) -> Result<Outcome, AddError> {
        let bloom = self.body.bloom();
        if bloom.is_some_and(|bloom| bloom.contains(hash)) {
            return Ok(Outcome::Unchanged);
        }
        // A replay puts each item into the part that the primary has put it into.
        let is_first = self.table().is_none() || self.parameters().growth == Growth::Fixed;
        let has_room = is_first && bloom.is_some_and(|bloom| !bloom.fill().is_full());
        let (may_grow, max_bytes) = (self.check_growth(limit), limit.max_bytes());
        match self.body.table_mut() {
            // One visit to its page finds the item or adds it.
            Some(table) if !has_room && may_grow.is_ok() => {
                return table.insert_if_absent(hash, 0, max_bytes).map(Outcome::of);
            }
            Some(table) if table.contains(hash) => return Ok(Outcome::Unchanged),
            _ => {}
        }
        if let Some(bloom) = self.body.bloom_mut().filter(|_| has_room) {
            return bloom.insert(hash).map(Outcome::of);
        }
        may_grow?;
        let rate = self.table_error_rate().ok_or(AddError::Full)?;
        let mut table = Table::new(rate, 0);
        table.insert(hash, 0, max_bytes)?;
        self.body.append_table(table)?;
        self.set_table_rate(rate);
        Ok(Outcome::New)
    }

    /// Whether the table may take one more item.
    fn check_growth(&self, limit: SizeLimit) -> Result<(), AddError> {
        let is_loading = self.loading().is_some();
        let is_full = match self.layers() {
            // More layers may come.
            Some(_) if is_loading => false,
            Some(layers) => layers.is_full(self.table().map_or(0, Table::len)),
            None => self.parameters().growth == Growth::Fixed,
        };
        // A replay has no limit: the item was acknowledged elsewhere.
        ensure(!is_full || limit == SizeLimit::Replay, AddError::Full)?;
        ensure(!is_loading, AddError::Loading)
    }

    /// The error rate that the table has, or a table would have.
    pub fn table_error_rate(&self) -> Option<f64> {
        match self.layers() {
            Some(layers) => Some(layers.table_error_rate()),
            None => self.table_rate_after(self.body.num_sub_filters()),
        }
    }

    /// The error rate of a table that follows `sub_filters` sub-filters of ours; `None` if there
    /// can be no table.
    fn table_rate_after(&self, sub_filters: usize) -> Option<f64> {
        let rate = self.head.error_rate;
        match self.kind() {
            Kind::Bloom => self.parameters().growth.table_rate(rate, sub_filters),
            Kind::Counting => Some(rate),
            Kind::Windowed => (sub_filters == 0).then_some(rate),
        }
    }

    /// Whether a table that follows `sub_filters` sub-filters may have the error rate `rate`. It is
    /// stored and checked, so a version that divides the rate differently can tell.
    pub(crate) fn may_have_table(&self, sub_filters: usize, rate: f64) -> bool {
        match self.layers() {
            // The rate depends on the bits that were set when the table began.
            Some(_) => sub_filters > 0 && rate > 0.0 && rate < 1.0,
            None => {
                let only = self.table_rate_after(sub_filters);
                only.is_some_and(|only| only.to_bits() == rate.to_bits())
            }
        }
    }

    /// Stores the error rate of a new table after layers, whose later bits would change it.
    pub(super) fn set_table_rate(&mut self, rate: f64) {
        if let Some(Series::Layers(layers)) = self.body.organs_mut().map(|all| &mut all.series) {
            layers.table_rate = rate;
        }
    }
}
