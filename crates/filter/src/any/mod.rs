//! What a key of BF.* commands holds: a filter of one kind or another.
//!
//! All are described, copied, moved, saved and loaded alike, which is here. What depends on the kind
//! (how items are added and found) callers decide by a `match`.

mod transfer;

use crate::error::{AddError, DecodeError};
use crate::filter::{Counters, Filter, Parameters, Progress};
use crate::foreign::ForeignFilter;
use crate::size_limit::SizeLimit;
use crate::storage::Mover;
use std::alloc::Layout;
use std::num::NonZeroU64;

/// A filter of any kind that BF.* commands know.
pub enum AnyFilter {
    /// One that keeps what it has.
    Lasting(Filter),
    /// One that RedisBloom made. An array of one, which can be allocated without a panic.
    Foreign(Box<[ForeignFilter; 1]>),
}

/// A server may hold millions of small filters that keep what they have: the other kinds cost them
/// nothing.
const _: () = assert!(size_of::<AnyFilter>() == size_of::<Filter>());

/// The same expression for whichever kind it is.
macro_rules! each {
    ($any:expr, $filter:ident => $value:expr) => {
        match $any {
            AnyFilter::Lasting($filter) => $value,
            AnyFilter::Foreign(one) => {
                let [$filter] = &**one;
                $value
            }
        }
    };
    (mut $any:expr, $filter:ident => $value:expr) => {
        match $any {
            AnyFilter::Lasting($filter) => $value,
            AnyFilter::Foreign(one) => {
                let [$filter] = &mut **one;
                $value
            }
        }
    };
}
pub(super) use each;

impl AnyFilter {
    /// One that RedisBloom made.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn foreign(filter: ForeignFilter) -> Result<Self, DecodeError> {
        let mut one = Vec::new();
        let room = one.try_reserve_exact(1);
        room.map_err(|_| DecodeError::OutOfMemory)?;
        one.push(filter);
        let one = one.into_boxed_slice().try_into();
        one.map(Self::Foreign).map_err(|_| DecodeError::OutOfMemory)
    }

    /// Whether the item is (probably) present.
    #[inline]
    pub fn contains(&self, item: &[u8]) -> bool {
        each!(self, filter => filter.contains(item))
    }

    /// Looks up many items and calls `answer` for each in order.
    pub fn contains_many<'a>(
        &self,
        items: impl Iterator<Item = &'a [u8]>,
        answer: impl FnMut(bool),
    ) {
        each!(self, filter => filter.contains_many(items, answer))
    }

    /// Adds an item; returns whether it was new.
    ///
    /// # Errors
    /// Any [`AddError`], and nothing has changed.
    #[inline]
    pub fn add(&mut self, item: &[u8], limit: SizeLimit) -> Result<bool, AddError> {
        each!(mut self, filter => filter.add(item, limit))
    }

    /// Adds many items: see [`Filter::add_many`].
    ///
    /// # Errors
    /// As [`AnyFilter::add`], at the first item refused.
    pub fn add_many<'a>(
        &mut self,
        items: impl Iterator<Item = &'a [u8]>,
        limit: SizeLimit,
        answer: impl FnMut(bool),
    ) -> Result<(), AddError> {
        each!(mut self, filter => filter.add_many(items, limit, answer))
    }

    /// The state of its counters, for [`AnyFilter::counters_since`].
    pub fn progress(&self) -> Progress {
        each!(self, filter => filter.progress())
    }

    /// What adding items has done to it since.
    pub fn counters_since(&self, before: Progress) -> Counters {
        each!(self, filter => filter.counters_since(before))
    }

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
            Self::Foreign(one) => {
                let [filter] = &mut **one;
                Self::foreign(filter.try_clone()?).map_err(|_| AddError::OutOfMemory)
            }
        }
    }

    /// Visits every kind of allocation but the `AnyFilter` itself: its layout and its number.
    pub fn visit_allocations(&self, visit: impl FnMut(Layout, u64)) {
        let mut visit = visit;
        if let Self::Foreign(_) = self {
            visit(Layout::new::<ForeignFilter>(), 1);
        }
        each!(self, filter => filter.visit_allocations(visit))
    }

    /// Passes all allocations through `mover`: see [`Filter::relocate`].
    pub fn relocate(&mut self, from: u64, mover: &mut impl Mover) -> Option<NonZeroU64> {
        each!(mut self, filter => filter.relocate(from, mover))
    }
}
