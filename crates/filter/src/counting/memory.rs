//! What a counting filter takes, and how its memory is visited, moved and shared.

use super::CountingFilter;
use crate::error::AddError;
use crate::parts::SubFilter as _;
use crate::size_limit::SizeLimit;
use crate::storage::{size_class, Mover};
use crate::table::Table;
use std::alloc::Layout;
use std::num::NonZeroU64;

impl CountingFilter {
    /// Bytes that it takes, which a [`SizeLimit`] bounds.
    pub fn bytes(&self) -> u64 {
        size_class(size_of::<Self>() as u64) + self.parts.reserved_bytes()
    }

    /// Those that are not in the table.
    pub(super) fn bytes_besides(&self) -> u64 {
        self.bytes() - self.parts.table().map_or(0, Table::bytes)
    }

    /// Bits of memory for each copy of an item; none for an empty filter.
    pub fn bits_per_item(&self) -> Option<f64> {
        let items = self.items();
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
        let slots = self
            .series()
            .map_or(0, |series| series.segments().allocated());
        self.parts
            .table()
            .map_or(slots, |table| slots + table.allocations())
    }

    /// Visits every kind of allocation but the filter itself: its layout and its number. Takes a
    /// step for each page.
    pub fn visit_allocations(&self, mut visit: impl FnMut(Layout, u64)) {
        self.parts.visit_allocations(&mut visit);
    }

    /// The same without pages and directory of the table, whose bytes are
    /// [`CountingFilter::bytes_of_pages`].
    pub fn visit_besides_pages(&self, mut visit: impl FnMut(Layout, u64)) {
        self.parts.visit_besides_pages(&mut visit);
    }

    /// Bytes of the table's pages and directory, from running totals.
    pub fn bytes_of_pages(&self) -> u64 {
        self.parts.bytes_of_pages()
    }

    /// A copy, which shares all pages and segments until one of the two changes them. Takes a step
    /// for each of them.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    pub fn try_clone(&mut self) -> Result<Self, AddError> {
        Ok(Self {
            parts: self.parts.try_clone()?,
            ..*self
        })
    }

    /// Passes all allocations through `mover`, from `from` on (0 at first), until it says stop.
    /// Returns where to continue, or `None` at the end.
    ///
    /// Each step moves at least one page or segment, however little time it has. So every step
    /// makes progress, and the number to continue from is never 0, which a server takes for the
    /// end.
    pub fn relocate(&mut self, from: u64, mover: &mut impl Mover) -> Option<NonZeroU64> {
        self.parts.relocate(from, mover)
    }
}
