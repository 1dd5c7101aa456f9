//! Operations that filters without a window share.

use crate::error::AddError;
use crate::filter::{Counters, Filter, Progress};
use crate::foreign::ForeignFilter;
use crate::size_limit::SizeLimit;

/// A filter that keeps what it has.
pub trait Lasting {
    /// Adds an item; returns whether it was new.
    ///
    /// # Errors
    /// Any [`AddError`], and nothing has changed.
    fn add(&mut self, item: &[u8], limit: SizeLimit) -> Result<bool, AddError>;

    /// Adds many items: see [`Filter::add_many`].
    ///
    /// # Errors
    /// As [`Lasting::add`], at the first item refused.
    fn add_many<'a>(
        &mut self,
        items: impl Iterator<Item = &'a [u8]>,
        limit: SizeLimit,
        answer: impl FnMut(bool),
    ) -> Result<(), AddError>;

    /// The state of its counters, for [`Lasting::counters_since`].
    fn progress(&self) -> Progress;

    /// What adding items has done to it since.
    fn counters_since(&self, before: Progress) -> Counters;
}

/// The methods of the same names.
macro_rules! by_its_own_methods {
    ($filter:ty) => {
        impl Lasting for $filter {
            #[inline(always)]
            fn add(&mut self, item: &[u8], limit: SizeLimit) -> Result<bool, AddError> {
                <$filter>::add(self, item, limit)
            }

            #[inline(always)]
            fn add_many<'a>(
                &mut self,
                items: impl Iterator<Item = &'a [u8]>,
                limit: SizeLimit,
                answer: impl FnMut(bool),
            ) -> Result<(), AddError> {
                <$filter>::add_many(self, items, limit, answer)
            }

            fn progress(&self) -> Progress {
                <$filter>::progress(self)
            }

            fn counters_since(&self, before: Progress) -> Counters {
                <$filter>::counters_since(self, before)
            }
        }
    };
}

by_its_own_methods!(Filter);
by_its_own_methods!(ForeignFilter);
