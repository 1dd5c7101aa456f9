//! What a filter is made of: a sub-filter, or a table, or rarer organs.
//!
//! ```text
//!   Bloom    a blocked Bloom filter, as reserved           inline: nothing lies between a key
//!   Table    a growing table                               and its only part
//!   Organs   a series of sub-filters, and a table after it; a clock; a load that goes on
//! ```

use crate::bloom::blocked_bloom::BlockedBloom;
use crate::error::AddError;
use crate::filter::series::{Series, SubFilter};
use crate::filter::window::clock::Clock;
use crate::filter::window::PATH_SHIFT;
use crate::storage::segments::Segments;
use crate::table::Table;
use splitbloom_foundation::alloc::{relocate_one, try_boxed_one, Mover};
use std::num::NonZeroU64;

/// The first cursor of [`Body::relocate`] that means the table; those below count segments.
const TABLE_CURSOR: u64 = 1 << 63;

/// The iterator of the chunk that a table begins in. Those that follow count the first 51 bits of
/// the path at which a page begins: no page is deeper.
pub(crate) const TABLE_START: u64 = 1 << 51;

pub(super) enum Body {
    Bloom(BlockedBloom),
    Table { table: Table, counts: Counts },
    Organs(Box<[Organs; 1]>),
}

/// The organs that few filters have.
pub(super) struct Organs {
    pub series: Series,
    pub table: Option<Table>,
    pub counts: Counts,
    pub loading: Option<Loading>,
    pub clock: Option<Box<[Clock; 1]>>,
}

/// Each Bloom filter with a table has this box, so it must not grow for rarer organs.
const _: () = assert!(size_of::<Organs>() <= 192);

/// What a counting filter keeps besides its table.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// Copies that have been removed.
    pub deleted: u64,
    /// The parameters of a cuckoo filter, which are only reported.
    pub bucket_size: u16,
    pub max_iterations: u16,
}

/// A load in chunks that has begun and not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loading {
    next: NonZeroU64,
    sub_filters: u32,
}

impl Loading {
    /// A load that waits for the chunk `next`, after `sub_filters` sub-filters; `None` if `next` is
    /// 0 or there are too many sub-filters.
    pub(crate) fn new(next: u64, sub_filters: usize) -> Option<Self> {
        let sub_filters = sub_filters.try_into().ok()?;
        NonZeroU64::new(next).map(|next| Self { next, sub_filters })
    }

    /// The iterator of the next chunk; never 0.
    pub fn next(self) -> u64 {
        self.next.get()
    }

    /// Where the pages of the table that have come end; 0 if none has come.
    pub(super) fn end_of_pages(self) -> u64 {
        self.next().saturating_sub(TABLE_START) << PATH_SHIFT
    }

    /// The number of sub-filters from the chunks so far.
    pub fn sub_filters(self) -> usize {
        self.sub_filters as usize
    }
}

impl Organs {
    /// These sub-filters, and nothing else.
    pub fn of(series: Series) -> Self {
        Self { series, table: None, counts: Counts::default(), loading: None, clock: None }
    }

    pub fn clock(&self) -> Option<&Clock> {
        self.clock.as_ref().map(|one| &one[0])
    }

    /// The clock, and the table that it runs.
    pub fn clock_mut(&mut self) -> Option<(&mut Clock, &mut Table)> {
        let clock = self.clock.as_mut().map(|one| &mut one[0]);
        clock.zip(self.table.as_mut())
    }

    /// Whether they are one part of our own and nothing else.
    pub fn is_simple(&self) -> bool {
        let has_table = self.table.is_some();
        let is_one_part = match self.series {
            Series::Empty => has_table,
            Series::Blocked(_) => !has_table,
            Series::Layers(_) | Series::Cuckoo(_) => false,
        };
        is_one_part && self.loading.is_none() && self.clock.is_none()
    }
}

impl Body {
    /// These organs.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn of(organs: Organs) -> Result<Self, AddError> {
        Ok(Self::Organs(try_boxed_one(organs)?))
    }

    #[inline]
    pub fn organs(&self) -> Option<&Organs> {
        match self {
            Self::Organs(one) => Some(&one[0]),
            _ => None,
        }
    }

    pub fn organs_mut(&mut self) -> Option<&mut Organs> {
        match self {
            Self::Organs(one) => Some(&mut one[0]),
            _ => None,
        }
    }

    /// Number of sub-filters.
    pub fn num_sub_filters(&self) -> usize {
        match self {
            Self::Bloom(_) => 1,
            Self::Table { .. } => 0,
            Self::Organs(one) => one[0].series.len(),
        }
    }

    /// Sub-filter `index`, counted from the oldest.
    pub fn sub_filter(&self, index: usize) -> Option<SubFilter<'_>> {
        match self {
            Self::Bloom(one) => (index == 0).then_some(SubFilter::Blocked(one)),
            Self::Table { .. } => None,
            Self::Organs(one) => one[0].series.get(index),
        }
    }

    /// All of them, oldest first.
    pub fn sub_filters(&self) -> impl Iterator<Item = SubFilter<'_>> + Clone {
        (0..).map_while(|index| self.sub_filter(index))
    }

    fn segments_mut(&mut self, index: usize) -> Option<&mut Segments> {
        match self {
            Self::Bloom(one) => (index == 0).then_some(one.segments_mut()),
            Self::Table { .. } => None,
            Self::Organs(one) => one[0].series.segments_mut(index),
        }
    }

    /// The Bloom filter, if it is one of ours.
    #[inline]
    pub fn bloom(&self) -> Option<&BlockedBloom> {
        match self {
            Self::Bloom(one) => Some(one),
            Self::Table { .. } => None,
            Self::Organs(one) => match &one[0].series {
                Series::Blocked(one) => Some(one),
                _ => None,
            },
        }
    }

    pub fn bloom_mut(&mut self) -> Option<&mut BlockedBloom> {
        match self {
            Self::Bloom(one) => Some(one),
            Self::Table { .. } => None,
            Self::Organs(one) => match &mut one[0].series {
                Series::Blocked(one) => Some(one),
                _ => None,
            },
        }
    }

    #[inline]
    pub fn table(&self) -> Option<&Table> {
        match self {
            Self::Bloom(_) => None,
            Self::Table { table, .. } => Some(table),
            Self::Organs(one) => one[0].table.as_ref(),
        }
    }

    #[inline]
    pub fn table_mut(&mut self) -> Option<&mut Table> {
        match self {
            Self::Bloom(_) => None,
            Self::Table { table, .. } => Some(table),
            Self::Organs(one) => one[0].table.as_mut(),
        }
    }

    pub fn counts(&self) -> Counts {
        match self {
            Self::Bloom(_) => Counts::default(),
            Self::Table { counts, .. } => *counts,
            Self::Organs(one) => one[0].counts,
        }
    }

    pub fn counts_mut(&mut self) -> Option<&mut Counts> {
        match self {
            Self::Bloom(_) => None,
            Self::Table { counts, .. } => Some(counts),
            Self::Organs(one) => Some(&mut one[0].counts),
        }
    }

    /// Gives a table to a filter that has none.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    pub fn append_table(&mut self, table: Table) -> Result<(), AddError> {
        if let Some(organs) = self.organs_mut() {
            organs.table = Some(table);
            return Ok(());
        }
        let organs = Organs { table: Some(table), ..Organs::of(Series::Empty) };
        let before = std::mem::replace(self, Self::of(organs)?);
        if let (Some(organs), Self::Bloom(bloom)) = (self.organs_mut(), before) {
            organs.series = Series::Blocked(bloom);
        }
        Ok(())
    }

    /// Stores a part that is alone inline, without organs.
    pub fn simplify(&mut self) {
        let Some(organs) = self.organs_mut().filter(|organs| organs.is_simple()) else {
            return;
        };
        let counts = organs.counts;
        let series = std::mem::replace(&mut organs.series, Series::Empty);
        match (series, organs.table.take()) {
            (Series::Blocked(bloom), _) => *self = Self::Bloom(bloom),
            (_, Some(table)) => *self = Self::Table { table, counts },
            _ => {}
        }
    }

    /// A copy, which shares segments and pages until one of the two changes them.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    pub fn try_clone(&mut self) -> Result<Self, AddError> {
        match self {
            Self::Bloom(one) => one.try_clone().map(Self::Bloom),
            Self::Table { table, counts } => {
                Ok(Self::Table { table: table.try_clone()?, counts: *counts })
            }
            Self::Organs(one) => {
                let organs = &mut one[0];
                let clock = organs.clock().map(Clock::fork);
                let table = organs.table.as_mut().map(Table::try_clone);
                Self::of(Organs {
                    series: organs.series.try_clone()?,
                    table: table.transpose()?,
                    clock: clock.map(try_boxed_one).transpose()?,
                    ..*organs
                })
            }
        }
    }

    /// Passes all allocations through `mover`: see [`crate::Filter::relocate`].
    pub fn relocate(&mut self, from: u64, mover: &mut impl Mover) -> Option<NonZeroU64> {
        if from == 0 {
            self.relocate_organs(mover);
        }
        let (mut first, mut index) = (0, 0);
        while let Some(segments) = self.segments_mut(index) {
            if let Some(next) = segments.relocate(from.saturating_sub(first), mover) {
                return NonZeroU64::new(first + next);
            }
            first += segments.reserved();
            index += 1;
        }
        let path = from.saturating_sub(TABLE_CURSOR) << 1;
        let next = self.table_mut()?.relocate(path, mover)?;
        NonZeroU64::new(TABLE_CURSOR | next >> 1)
    }

    /// Passes the organs themselves through `mover`, and the lists that they are in.
    fn relocate_organs(&mut self, mover: &mut impl Mover) {
        if self.organs().is_none() {
            return;
        }
        let aside = Self::Table { table: Table::new(0.5, 0), counts: Counts::default() };
        if let Self::Organs(one) = std::mem::replace(self, aside) {
            if let Some(mut moved) = relocate_one(one, mover) {
                let [organs] = &mut *moved;
                organs.clock = organs.clock.take().and_then(|one| relocate_one(one, mover));
                if let Series::Layers(layers) = &mut organs.series {
                    layers.each = mover.relocate(std::mem::take(&mut layers.each));
                }
                *self = Self::Organs(moved);
            }
        }
    }
}
