//! What a key of BF.* commands holds: a filter of one kind or another.
//!
//! All are described, copied, moved, saved and loaded alike, which is here. What depends on the kind
//! (how items are added and found) callers decide by a `match`.

mod transferable;

use crate::error::AddError;
use crate::filter::{Filter, Parameters};
use crate::storage::Mover;
use std::alloc::Layout;
use std::num::NonZeroU64;

/// A filter of any kind that BF.* commands know.
pub enum AnyFilter {
    /// One that keeps what it has.
    Lasting(Filter),
}

/// A server may hold millions of small filters that keep what they have: the other kinds cost them
/// nothing.
const _: () = assert!(size_of::<AnyFilter>() == size_of::<Filter>());

/// The same expression for whichever kind it is.
macro_rules! each {
    ($any:expr, $filter:ident => $value:expr) => {
        match $any {
            AnyFilter::Lasting($filter) => $value,
        }
    };
}
pub(super) use each;

impl AnyFilter {
    /// The parameters that it was created with.
    pub fn parameters(&self) -> Parameters {
        each!(self, filter => filter.parameters())
    }

    /// Items that it is made for.
    pub fn capacity(&self) -> u64 {
        each!(self, filter => filter.capacity())
    }

    /// Number of items that were new when they were added.
    pub fn items(&self) -> u64 {
        each!(self, filter => filter.items())
    }

    /// Number of parts.
    pub fn num_parts(&self) -> usize {
        each!(self, filter => filter.num_parts())
    }

    /// Its digest: equal for two filters if and only if they answer alike, now and later.
    pub fn digest(&self) -> u128 {
        each!(self, filter => filter.digest())
    }

    /// Steps that freeing it takes, about.
    pub fn allocations(&self) -> u64 {
        each!(self, filter => filter.allocations())
    }

    /// A copy, which shares memory until one of the two changes it.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    pub fn try_clone(&mut self) -> Result<Self, AddError> {
        match self {
            Self::Lasting(filter) => filter.try_clone().map(Self::Lasting),
        }
    }

    /// Visits every kind of allocation but the `AnyFilter` itself: its layout and its number.
    pub fn visit_allocations(&self, visit: impl FnMut(Layout, u64)) {
        each!(self, filter => filter.visit_allocations(visit))
    }

    /// Passes all allocations through `mover`: see [`Filter::relocate`].
    pub fn relocate(&mut self, from: u64, mover: &mut impl Mover) -> Option<NonZeroU64> {
        each!(self, filter => filter.relocate(from, mover))
    }
}
