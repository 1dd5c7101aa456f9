//! What a windowed filter takes, and how its memory is visited, moved and shared.

use super::WindowedFilter;
use crate::error::AddError;
use crate::size_limit::SizeLimit;
use crate::storage::{size_class, Mover};
use crate::table::Table;
use std::alloc::Layout;
use std::num::NonZeroU64;

impl WindowedFilter {
    /// Bytes that it takes, which a [`SizeLimit`] bounds. A table that is gone
    /// ([`WindowedFilter::take_gone`]) is not in it.
    pub fn bytes(&self) -> u64 {
        size_class(size_of::<Self>() as u64) + self.parts.reserved_bytes()
    }

    /// Those that are not in the table.
    pub(super) fn bytes_besides(&self) -> u64 {
        self.bytes() - self.parts.table().map_or(0, Table::bytes)
    }

    /// Number of bits: all that the table takes.
    pub fn num_bits(&self) -> u64 {
        let table = self.parts.table();
        table.map_or(0, Table::bytes).saturating_mul(8)
    }

    /// Bits of memory for each item that is remembered at `now`; none if there is none.
    pub fn bits_per_item(&self, now: u64) -> Option<f64> {
        let items = self.items(now);
        (items > 0).then(|| self.bytes() as f64 * 8.0 / items as f64)
    }

    pub(super) fn check_size(&self, limit: SizeLimit) -> Result<(), AddError> {
        if self.bytes() > limit.most_bytes() {
            return Err(AddError::OverLimit);
        }
        Ok(())
    }

    /// Allocations, about: what freeing it costs.
    pub fn allocations(&self) -> u64 {
        let tables = self.parts.table().into_iter().chain(&self.gone);
        tables.map(Table::allocations).sum()
    }

    /// Visits every kind of allocation but the filter itself: its layout and its number. Takes a
    /// step for each page.
    pub fn visit_allocations(&self, mut visit: impl FnMut(Layout, u64)) {
        self.parts.visit_allocations(&mut visit);
        if let Some(gone) = &self.gone {
            gone.visit_allocations(visit);
        }
    }

    /// The same without pages and directory of the table, whose bytes are
    /// [`WindowedFilter::bytes_of_pages`].
    pub fn visit_besides_pages(&self, mut visit: impl FnMut(Layout, u64)) {
        self.parts.visit_besides_pages(&mut visit);
    }

    /// Bytes of the table's pages and directory, from running totals, and of a table that
    /// is gone ([`WindowedFilter::take_gone`]).
    pub fn bytes_of_pages(&self) -> u64 {
        let gone = self.gone.as_ref().map_or(0, Table::bytes);
        self.parts.bytes_of_pages().saturating_add(gone)
    }

    /// A copy, which shares all pages until one of the two changes them, in some 2 048 steps.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    pub fn try_clone(&mut self) -> Result<Self, AddError> {
        Ok(Self {
            parts: self.parts.try_clone()?,
            gone: None,
            ..*self
        })
    }

    /// Passes all allocations through `mover`, from `from` on (0 at first), until it says stop.
    /// Returns where to continue, or `None` at the end.
    ///
    /// Each step moves at least one page, however little time it has. So every step makes progress,
    /// and the number to continue from is never 0, which a server takes for the end.
    pub fn relocate(&mut self, from: u64, mover: &mut impl Mover) -> Option<NonZeroU64> {
        self.parts.relocate(from, mover)
    }
}
