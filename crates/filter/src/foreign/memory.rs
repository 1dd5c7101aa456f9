//! What a filter from RedisBloom takes, and how its memory is visited, moved and shared: as that of
//! any filter ([`crate::Filter`]).

use super::layer::Layer;
use super::ForeignFilter;
use crate::codec::MAX_SEGMENTS;
use crate::error::{AddError, DecodeError};
use crate::size_limit::SizeLimit;
use crate::storage::{size_class, Mover};
use crate::table::Table;
use std::alloc::Layout;
use std::num::NonZeroU64;

impl ForeignFilter {
    /// Refuses one whose segments cannot be counted.
    pub(super) fn check_segments(&self) -> Result<(), DecodeError> {
        if self.reserved_segments() > MAX_SEGMENTS {
            return Err(DecodeError::OverLimit);
        }
        Ok(())
    }

    /// Bytes that the allocator holds for it once all bits have come, which a [`SizeLimit`] bounds.
    pub fn reserved_bytes(&self) -> u64 {
        let own = size_class(size_of::<Self>() as u64);
        own.saturating_add(self.parts.reserved_bytes())
    }

    /// The most bytes that the table may have, or a new one.
    pub(super) fn most_table_bytes(&self, limit: SizeLimit) -> u64 {
        let next = self.parts.bytes_of_next_table();
        let others = self.reserved_bytes().saturating_add(next);
        let others = others - self.table().map_or(0, Table::bytes);
        limit.most_bytes().saturating_sub(others)
    }

    /// Number of bits: those of the layers, set or not, allocated or not, and all that the table
    /// takes.
    pub fn num_bits(&self) -> u64 {
        let table = self.table().map_or(0, Table::bytes).saturating_mul(8);
        let bits = self.layers().iter().map(Layer::num_bits);
        bits.fold(table, u64::saturating_add)
    }

    /// Number of segments of the layers once all bits have come.
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

    /// A copy, which shares the segments until one of the two changes them.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    pub fn try_clone(&mut self) -> Result<Self, AddError> {
        Ok(Self {
            parts: self.parts.try_clone()?,
            ..*self
        })
    }

    /// Visits every kind of allocation but the filter itself: its layout and its number.
    pub fn visit_allocations(&self, mut visit: impl FnMut(Layout, u64)) {
        self.parts.visit_allocations(&mut visit);
    }

    /// The same without pages and directory of the table, whose bytes are
    /// [`ForeignFilter::bytes_of_pages`].
    pub fn visit_besides_pages(&self, mut visit: impl FnMut(Layout, u64)) {
        self.parts.visit_besides_pages(&mut visit);
    }

    /// Bytes of the table's pages and directory, from running totals.
    pub fn bytes_of_pages(&self) -> u64 {
        self.parts.bytes_of_pages()
    }

    /// Passes all allocations through `mover`, from `from` on (0 at first), until it says stop: see
    /// [`crate::Filter::relocate`].
    pub fn relocate(&mut self, from: u64, mover: &mut impl Mover) -> Option<NonZeroU64> {
        self.parts.relocate(from, mover)
    }
}
