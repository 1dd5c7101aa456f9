//! The parts of a filter: a Bloom filter, a growing table, or the one and then the other. A filter
//! from another module may have several layers instead of one Bloom filter, oldest first.
//! Operations on all parts (copy, move, memory, loading) are here.

mod loading;
mod sub_filter;

pub(crate) use loading::{Arrivals, SegmentBits};
pub use sub_filter::SubFilter;

use crate::bloom::blocked_bloom::BlockedBloom;
use crate::error::AddError;
use crate::hash::ItemHash;
use crate::storage::{relocate_box, size_class, try_boxed, Mover};
use crate::table::Table;
use std::alloc::Layout;
use std::num::NonZeroU64;

/// The first cursor of [`Parts::relocate`] that means the table; those below count segments.
const TABLE_CURSOR: u64 = 1 << 63;

/// The parts of a filter, whose Bloom filters are of one kind.
pub enum Parts<B = BlockedBloom> {
    /// As reserved.
    Bloom(B),
    /// As created small.
    Table(Table),
    /// A full Bloom filter and the table after it, layers from another module, or the parts that a
    /// load in chunks has brought so far.
    Several {
        blooms: Vec<B>,
        /// An array of one, as [`Mover`] moves slices; or none.
        table: Box<[Table]>,
        loading: Option<Loading>,
    },
}

/// A load in chunks that has begun and not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loading {
    /// The iterator of the next chunk; never 0.
    pub next: u64,
    /// The number of sub-filters from the chunks so far.
    pub sub_filters: usize,
}

/// The room to reserve for `len` sub-filters.
fn room_for(len: usize) -> usize {
    match len {
        0 => 0,
        len => len.next_power_of_two(),
    }
}

/// Bytes of a list of `len` Bloom filters.
fn bytes_of_list<B>(len: usize) -> u64 {
    size_class((room_for(len) * size_of::<B>()) as u64)
}

/// Bytes of the lists of `blooms` Bloom filters and `tables` tables.
fn bytes_of_lists<B>(blooms: usize, tables: usize) -> u64 {
    bytes_of_list::<B>(blooms) + size_class((tables * size_of::<Table>()) as u64)
}

impl<B: SubFilter> Parts<B> {
    /// No parts yet, for a filter about to be loaded.
    pub fn none() -> Self {
        Self::Several {
            blooms: Vec::new(),
            table: Box::default(),
            loading: None,
        }
    }

    /// These Bloom filters, with room for as many as a list of them has.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn of(mut blooms: Vec<B>) -> Result<Self, AddError> {
        let mut parts = Self::none();
        parts.reserve(blooms.len())?;
        if let Self::Several { blooms: all, .. } = &mut parts {
            all.append(&mut blooms);
        }
        parts.simplify();
        Ok(parts)
    }

    /// The load that has begun and not ended, if there is one.
    pub fn loading(&self) -> Option<Loading> {
        match self {
            Self::Bloom(_) | Self::Table(_) => None,
            Self::Several { loading, .. } => *loading,
        }
    }

    /// Notes what is still to come. A filter that is being loaded is always `Several`.
    pub fn set_loading(&mut self, due: Option<Loading>) {
        if let Self::Several { loading, .. } = self {
            *loading = due;
            if due.is_none() {
                self.simplify();
            }
        }
    }

    /// A single part needs no list.
    fn simplify(&mut self) {
        let Self::Several { blooms, table, .. } = self else {
            return;
        };
        match (&mut blooms[..], &mut table[..]) {
            ([_], []) => {
                if let Some(only) = blooms.pop() {
                    *self = Self::Bloom(only);
                }
            }
            ([], [_]) => {
                if let Some(only) = std::mem::take(table).into_vec().pop() {
                    *self = Self::Table(only);
                }
            }
            _ => {}
        }
    }

    /// The Bloom filters, oldest first.
    #[inline]
    pub fn blooms(&self) -> &[B] {
        match self {
            Self::Bloom(only) => std::slice::from_ref(only),
            Self::Table(_) => &[],
            Self::Several { blooms, .. } => blooms,
        }
    }

    /// The same, to be changed.
    pub fn blooms_mut(&mut self) -> &mut [B] {
        match self {
            Self::Bloom(only) => std::slice::from_mut(only),
            Self::Table(_) => &mut [],
            Self::Several { blooms, .. } => blooms,
        }
    }

    /// Number of segments of the Bloom filters once every bit is in use.
    pub fn reserved_segments(&self) -> u64 {
        let segments = self
            .blooms()
            .iter()
            .map(|bloom| bloom.segments().reserved());
        segments.fold(0, u64::saturating_add)
    }

    /// Number of segments that are allocated.
    pub fn allocated_segments(&self) -> u64 {
        let blooms = self.blooms().iter();
        blooms.map(|bloom| bloom.segments().allocated()).sum()
    }

    /// Allocations, about: what freeing the parts costs.
    pub fn allocations(&self) -> u64 {
        let table = self.table().map_or(0, Table::allocations);
        self.allocated_segments() + self.num_parts() as u64 + table
    }

    /// Number of parts.
    pub fn num_parts(&self) -> usize {
        self.blooms().len() + usize::from(self.table().is_some())
    }

    /// The table, if there is one.
    #[inline]
    pub fn table(&self) -> Option<&Table> {
        match self {
            Self::Bloom(_) => None,
            Self::Table(table) => Some(table),
            Self::Several { table, .. } => table.first(),
        }
    }

    /// The table, to add to and to load into.
    #[inline]
    pub fn table_mut(&mut self) -> Option<&mut Table> {
        match self {
            Self::Bloom(_) => None,
            Self::Table(table) => Some(table),
            Self::Several { table, .. } => table.first_mut(),
        }
    }

    /// The newest Bloom filter.
    pub fn newest_bloom(&mut self) -> Option<&mut B> {
        self.blooms_mut().last_mut()
    }

    /// Bloom filter `index`, to merge bits into.
    pub fn bloom_mut(&mut self, index: usize) -> Option<&mut B> {
        self.blooms_mut().get_mut(index)
    }

    /// Turns the parts into a list, with room for `more` further Bloom filters.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    fn reserve(&mut self, more: usize) -> Result<(), AddError> {
        let len = self.blooms().len();
        let room = room_for(len + more);
        if let Self::Several { blooms, .. } = self {
            return blooms
                .try_reserve_exact(room - len)
                .map_err(|_| AddError::OutOfMemory);
        }
        let (mut all, mut own) = (Vec::new(), Vec::new());
        all.try_reserve_exact(room)
            .and_then(|()| own.try_reserve_exact(usize::from(matches!(self, Self::Table(_)))))
            .map_err(|_| AddError::OutOfMemory)?;
        match std::mem::replace(self, Self::none()) {
            Self::Bloom(only) => all.push(only),
            Self::Table(only) => own.push(only),
            Self::Several { .. } => {}
        }
        if let Self::Several { blooms, table, .. } = self {
            *blooms = all;
            *table = own.into_boxed_slice();
        }
        Ok(())
    }

    /// Inserts Bloom filters at `place`, for which there is room.
    fn insert(&mut self, place: usize, added: Vec<B>) {
        if let Self::Several { blooms, .. } = self {
            blooms.splice(place..place, added);
        }
    }

    /// Appends a table, of which there is none yet.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    pub fn append_table(&mut self, added: Table) -> Result<(), AddError> {
        let added = try_boxed(1, |one| one.push(added))?;
        self.reserve(0)?;
        if let Self::Several { table, .. } = self {
            *table = added;
        }
        Ok(())
    }

    /// A copy: see [`SubFilter::try_clone`] and [`Table::try_clone`].
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    pub fn try_clone(&mut self) -> Result<Self, AddError> {
        match self {
            Self::Bloom(only) => only.try_clone().map(Self::Bloom),
            Self::Table(only) => only.try_clone().map(Self::Table),
            Self::Several {
                blooms,
                table,
                loading,
            } => {
                let mut copy = Vec::new();
                copy.try_reserve_exact(blooms.len())
                    .map_err(|_| AddError::OutOfMemory)?;
                for bloom in blooms {
                    copy.push(bloom.try_clone()?);
                }
                let table = match table.first_mut() {
                    None => Box::default(),
                    Some(table) => {
                        let table = table.try_clone()?;
                        try_boxed(1, |one| one.push(table))?
                    }
                };
                Ok(Self::Several {
                    blooms: copy,
                    table,
                    loading: *loading,
                })
            }
        }
    }

    /// Bytes that the allocator holds once every bit of the Bloom filters is in use.
    pub fn reserved_bytes(&self) -> u64 {
        let own = match self {
            Self::Bloom(_) | Self::Table(_) => 0,
            Self::Several { blooms, table, .. } => bytes_of_lists::<B>(blooms.len(), table.len()),
        };
        own.saturating_add(self.bytes_besides_lists())
    }

    /// Those of them that are not for the lists of the parts.
    fn bytes_besides_lists(&self) -> u64 {
        let blooms = self.blooms().iter();
        let blooms = blooms.map(|bloom| bloom.segments().reserved_bytes());
        blooms.fold(self.bytes_of_pages(), u64::saturating_add)
    }

    /// Bytes that an empty table would add, if there is none yet.
    pub fn bytes_of_next_table(&self) -> u64 {
        let table = size_class(size_of::<Table>() as u64);
        match self {
            Self::Bloom(_) => bytes_of_list::<B>(1) + table,
            Self::Table(_) => 0,
            Self::Several { table: one, .. } if !one.is_empty() => 0,
            Self::Several { .. } => table,
        }
    }

    /// Visits every kind of allocation: its layout and its number. Takes a step for each page.
    pub fn visit_allocations(&self, visit: &mut dyn FnMut(Layout, u64)) {
        self.visit_besides_pages(visit);
        if let Some(table) = self.table() {
            table.visit_allocations(visit);
        }
    }

    /// The same without pages and directory, whose bytes [`Table::bytes`] knows.
    pub fn visit_besides_pages(&self, visit: &mut dyn FnMut(Layout, u64)) {
        if let Self::Several { blooms, table, .. } = self {
            if let Ok(layout) = Layout::array::<B>(blooms.capacity()) {
                visit(layout, 1);
            }
            if !table.is_empty() {
                visit(Layout::for_value(&**table), 1);
            }
        }
        for bloom in self.blooms() {
            bloom.segments().visit_allocations(visit);
        }
    }

    /// Bytes of the table's pages and directory.
    pub fn bytes_of_pages(&self) -> u64 {
        self.table().map_or(0, Table::bytes)
    }

    /// Passes all allocations through `mover`, see [`crate::Filter::relocate`].
    pub fn relocate(&mut self, from: u64, mover: &mut impl Mover) -> Option<NonZeroU64> {
        if let (0, Self::Several { blooms, table, .. }) = (from, &mut *self) {
            *blooms = mover.relocate(std::mem::take(blooms));
            if !table.is_empty() {
                *table = relocate_box(std::mem::take(table), mover);
            }
        }
        let mut first = 0;
        for bloom in self.blooms_mut() {
            let next = bloom.relocate(from.saturating_sub(first), mover);
            if let Some(next) = next {
                return NonZeroU64::new(first + next);
            }
            first += bloom.segments().reserved();
        }
        let path = from.saturating_sub(TABLE_CURSOR) << 1;
        let next = self.table_mut()?.relocate(path, mover)?;
        NonZeroU64::new(TABLE_CURSOR | next >> 1)
    }
}

impl Parts {
    /// Whether the item is (probably) in some part.
    #[inline]
    pub fn contain(&self, hash: ItemHash) -> bool {
        match self {
            // No branch on the answer, which is unpredictable: the processor continues while the
            // cache miss is outstanding.
            Self::Bloom(only) => only.contains(hash),
            Self::Table(only) => only.contains(hash),
            // The table first: it has most items.
            Self::Several { blooms, table, .. } => {
                table.iter().any(|table| table.contains(hash))
                    || blooms.iter().rev().any(|bloom| bloom.contains(hash))
            }
        }
    }
}

#[cfg(test)]
mod tests;
