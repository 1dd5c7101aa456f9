//! What a key of BF.* commands holds: a filter of one kind or another.
//!
//! This file describes, copies, moves, saves and loads a filter of any kind. Callers `match` on the
//! kind where it decides how items are added and found.

mod lasting;
mod transfer;

pub use lasting::Lasting;

use crate::error::AddError;
use crate::filter::{Filter, Parameters};
use crate::foreign::ForeignFilter;
use crate::storage::Mover;
use crate::windowed::WindowedFilter;
use std::alloc::Layout;
use std::num::NonZeroU64;

/// A filter of any kind that BF.* commands know. Those that few keys hold are arrays of one, which
/// can be allocated without ending the process.
pub enum AnyFilter<T = ()> {
    /// One that keeps what it has.
    Lasting(Filter),
    /// One that RedisBloom or valkey-bloom made.
    Foreign(Box<[ForeignFilter; 1]>),
    /// One that forgets.
    Windowed(Box<[Timed<T>; 1]>),
}

/// A filter with a window and an attachment of its owner, which is not part of the filter: copies
/// and loaded filters start with the default attachment.
pub struct Timed<T> {
    /// The filter.
    pub filter: WindowedFilter,
    /// What its owner keeps.
    pub beside: T,
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
            AnyFilter::Windowed(timed) => {
                let [Timed {
                    filter: $filter, ..
                }] = &**timed;
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
            AnyFilter::Windowed(timed) => {
                let [Timed {
                    filter: $filter, ..
                }] = &mut **timed;
                $value
            }
        }
    };
}
pub(super) use each;

impl<T> From<Filter> for AnyFilter<T> {
    fn from(filter: Filter) -> Self {
        Self::Lasting(filter)
    }
}

/// An array of one.
fn boxed<E>(value: E) -> Result<Box<[E; 1]>, AddError> {
    let mut one = Vec::new();
    let room = one.try_reserve_exact(1);
    room.map_err(|_| AddError::OutOfMemory)?;
    one.push(value);
    let one = one.into_boxed_slice().try_into();
    one.map_err(|_| AddError::OutOfMemory)
}

impl<T> AnyFilter<T> {
    /// One that RedisBloom or valkey-bloom made.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn foreign(filter: ForeignFilter) -> Result<Self, AddError> {
        boxed(filter).map(Self::Foreign)
    }

    /// The filter, if it is one that forgets.
    pub fn windowed(&self) -> Option<&WindowedFilter> {
        match self {
            Self::Windowed(timed) => Some(&timed[0].filter),
            _ => None,
        }
    }

    /// The filter and its attachment, if the filter has a window.
    pub fn windowed_mut(&mut self) -> Option<(&mut WindowedFilter, &mut T)> {
        match self {
            Self::Windowed(timed) => {
                let [Timed { filter, beside }] = &mut **timed;
                Some((filter, beside))
            }
            _ => None,
        }
    }

    /// The parameters that it was created with.
    pub fn parameters(&self) -> Parameters {
        each!(self, filter => filter.parameters())
    }

    /// Items that it is made for.
    pub fn capacity(&self) -> u64 {
        each!(self, filter => filter.capacity())
    }

    /// Number of parts.
    pub fn num_parts(&self) -> usize {
        match self {
            Self::Lasting(filter) => filter.num_parts(),
            Self::Foreign(one) => one[0].num_parts(),
            Self::Windowed(_) => 1,
        }
    }

    /// Its digest: equal for two filters if and only if they answer alike, now and later.
    pub fn digest(&self) -> u128 {
        each!(self, filter => filter.digest())
    }

    /// Steps that freeing it takes, about.
    pub fn allocations(&self) -> u64 {
        each!(self, filter => filter.allocations())
    }

    /// Visits every kind of allocation but the `AnyFilter` itself: its layout and its number.
    pub fn visit_allocations(&self, mut visit: impl FnMut(Layout, u64)) {
        self.visit_box(&mut visit);
        each!(self, filter => filter.visit_allocations(visit))
    }

    /// The same without pages and directories of tables, whose bytes are
    /// [`AnyFilter::bytes_of_pages`]. It takes a step for each 4 MiB of bits (for each segment of
    /// 64 KiB while few bits are set) and for each sub-filter.
    pub fn visit_besides_pages(&self, mut visit: impl FnMut(Layout, u64)) {
        self.visit_box(&mut visit);
        each!(self, filter => filter.visit_besides_pages(visit))
    }

    /// Bytes of pages and directories of tables, from running totals.
    pub fn bytes_of_pages(&self) -> u64 {
        each!(self, filter => filter.bytes_of_pages())
    }

    fn visit_box(&self, visit: &mut impl FnMut(Layout, u64)) {
        match self {
            Self::Lasting(_) => {}
            Self::Foreign(_) => visit(Layout::new::<ForeignFilter>(), 1),
            Self::Windowed(_) => visit(Layout::new::<Timed<T>>(), 1),
        }
    }

    /// Passes all allocations through `mover`: see [`Filter::relocate`].
    pub fn relocate(&mut self, from: u64, mover: &mut impl Mover) -> Option<NonZeroU64> {
        each!(mut self, filter => filter.relocate(from, mover))
    }
}

impl<T: Default> AnyFilter<T> {
    /// A filter that forgets.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn forgetful(filter: WindowedFilter) -> Result<Self, AddError> {
        let beside = T::default();
        boxed(Timed { filter, beside }).map(Self::Windowed)
    }

    /// A copy, which shares memory until one of the two changes it.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    pub fn try_clone(&mut self) -> Result<Self, AddError> {
        match self {
            Self::Lasting(filter) => filter.try_clone().map(Self::from),
            Self::Foreign(one) => Self::foreign(one[0].try_clone()?),
            Self::Windowed(timed) => Self::forgetful(timed[0].filter.try_clone()?),
        }
    }
}
