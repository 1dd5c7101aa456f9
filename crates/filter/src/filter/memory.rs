//! How the memory of a filter is counted, visited, moved and shared.

use crate::error::{ensure, AddError};
use crate::filter::body::{Body, Organs};
use crate::filter::head::Head;
use crate::filter::series::Series;
use crate::filter::window::clock::Clock;
use crate::filter::{Filter, SizeLimit};
use crate::foreign::{Layer, Layers};
use crate::storage::segments::Segments;
use crate::storage::MAX_SEGMENTS;
use crate::table::Table;
use splitbloom_foundation::alloc::{size_class, Mover};
use std::alloc::Layout;
use std::num::NonZeroU64;

/// Bytes of a block of one `T`.
fn block<T>() -> u64 {
    size_class(size_of::<T>() as u64)
}

/// Bytes of the organs, their clock and a list of `layers` layers, without segments and pages.
pub(super) fn bytes_of_organs(organs: &Organs, layers: usize) -> u64 {
    let clock = organs.clock().map_or(0, |_| block::<Clock>());
    block::<Organs>() + clock + Layers::bytes_of_list(layers)
}

impl Filter {
    /// Bytes of a filter without its parts.
    pub(super) const OWN_BYTES: u64 = size_class(size_of::<Self>() as u64);

    /// A filter of these parts.
    ///
    /// # Errors
    /// `OverLimit` if it takes more than `limit`, or than any filter may.
    pub(super) fn of(head: Head, body: Body, limit: SizeLimit) -> Result<Self, AddError> {
        let filter = Self { head, body };
        let is_within = filter.reserved_bytes() <= limit.max_bytes();
        ensure(is_within && filter.reserved_segments() <= MAX_SEGMENTS, AddError::OverLimit)?;
        Ok(filter)
    }

    /// Bytes that the allocator holds for it once every bit of its sub-filters is in use, which a
    /// [`SizeLimit`] bounds. A table reserves nothing. One that is gone ([`Filter::take_gone`]) and
    /// an attachment do not count.
    pub fn reserved_bytes(&self) -> u64 {
        self.bytes_besides_table().saturating_add(self.table_bytes())
    }

    fn bytes_besides_table(&self) -> u64 {
        let organs = self.body.organs().map_or(0, |organs| {
            let layers = self.layers().map_or(0, |layers| layers.each().len());
            bytes_of_organs(organs, layers)
        });
        let segments = self.segments().map(Segments::reserved_bytes);
        segments.fold(Self::OWN_BYTES + organs, u64::saturating_add)
    }

    /// The limit of the table, or of a new one: what the other parts leave of the filter's limit.
    /// Adding items does not change it.
    pub(super) fn limit_of_table(&self, limit: SizeLimit) -> SizeLimit {
        let SizeLimit::Bytes(most) = limit else {
            return limit;
        };
        let organs = match self.body {
            Body::Bloom(_) => block::<Organs>(),
            _ => 0,
        };
        SizeLimit::Bytes(most.saturating_sub(self.bytes_besides_table().saturating_add(organs)))
    }

    fn table_bytes(&self) -> u64 {
        self.table().map_or(0, Table::bytes)
    }

    pub(super) fn segments(&self) -> impl Iterator<Item = &Segments> {
        self.body.sub_filters().map(|sub_filter| sub_filter.segments())
    }

    /// Number of segments of the sub-filters once every bit is in use.
    pub fn reserved_segments(&self) -> u64 {
        let segments = self.segments().map(Segments::reserved);
        segments.fold(0, u64::saturating_add)
    }

    /// Number of segments that are allocated.
    pub fn allocated_segments(&self) -> u64 {
        self.segments().map(Segments::allocated).sum()
    }

    /// Number of bits: those of the sub-filters, set or not, allocated or not, and all that the
    /// table takes.
    pub fn num_bits(&self) -> u64 {
        let table = self.table_bytes().saturating_mul(8);
        let bits = self.body.sub_filters().map(|sub_filter| sub_filter.num_bits());
        bits.fold(table, u64::saturating_add)
    }

    /// Bits of memory for each item that it has at `now`; `None` without items.
    pub fn bits_per_item(&self, now: u64) -> Option<f64> {
        let items = self.items_at(now);
        (items > 0).then(|| self.reserved_bytes() as f64 * 8.0 / items as f64)
    }

    /// The approximate number of allocations, which is the cost of freeing it.
    pub fn allocations(&self) -> u64 {
        let gone = self.clock().and_then(Clock::gone);
        let tables = self.table().into_iter().chain(gone);
        let tables: u64 = tables.map(Table::allocations).sum();
        self.allocated_segments() + self.num_parts() as u64 + tables
    }

    /// Visits every kind of allocation but the `Filter` itself: its layout and its number. It takes
    /// a step for each 4 MiB of bits (for each segment of 64 KiB while few bits are set), for each
    /// sub-filter and for each page.
    pub fn visit_allocations(&self, mut visit: impl FnMut(Layout, u64)) {
        self.visit_besides_pages(&mut visit);
        let gone = self.clock().and_then(Clock::gone);
        for table in self.table().into_iter().chain(gone) {
            table.visit_allocations(&mut visit);
        }
    }

    /// The same without pages and directories of tables, whose bytes are
    /// [`Filter::bytes_of_pages`].
    pub fn visit_besides_pages(&self, mut visit: impl FnMut(Layout, u64)) {
        if let Some(organs) = self.body.organs() {
            visit(Layout::new::<Organs>(), 1);
            if let Series::Layers(layers) = &organs.series {
                if let Ok(layout) = Layout::array::<Layer>(layers.each.capacity()) {
                    visit(layout, 1);
                }
            }
            if let Some(clock) = organs.clock() {
                visit(Layout::new::<Clock>(), 1);
                clock.visit_allocations(&mut visit);
            }
        }
        for segments in self.segments() {
            segments.visit_allocations(&mut visit);
        }
    }

    /// Bytes of pages and directories of tables, from running totals; also of a table that is gone
    /// ([`Filter::take_gone`]).
    pub fn bytes_of_pages(&self) -> u64 {
        let gone = self.clock().and_then(Clock::gone).map_or(0, Table::bytes);
        self.table_bytes().saturating_add(gone)
    }

    /// A copy, which shares segments and pages until one of the two changes them: see
    /// [`Segments::try_clone`]. The owner's attachment is not copied.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    pub fn try_clone(&mut self) -> Result<Self, AddError> {
        Ok(Self { head: self.head, body: self.body.try_clone()? })
    }

    /// Passes all allocations through `mover`, from `from` on (0 at first): segments, counted over
    /// all sub-filters, then pages; until it says stop. Returns where to continue, or `None` at the
    /// end.
    ///
    /// Each step moves at least one segment or page, however little time it has. So every step
    /// makes progress, and the number to continue from is never 0, which a server takes for the
    /// end.
    pub fn relocate(&mut self, from: u64, mover: &mut impl Mover) -> Option<NonZeroU64> {
        self.body.relocate(from, mover)
    }
}
