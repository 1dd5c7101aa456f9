//! The parts of a filter, oldest first: today all of them are blocked Bloom filters.
//!
//! Copies, moves and memory ask every part alike, and do so here. A part of another kind is an enum
//! in the place of [`BlockedBloom`] in this file, whose variants answer the same questions.

use crate::bloom::blocked_bloom::BlockedBloom;
use crate::error::AddError;
use crate::storage::{size_class, Mover};
use std::alloc::Layout;
use std::num::NonZeroU64;

/// The sub-filters of a filter.
pub(super) enum Series {
    /// The only one, as in most filters: it needs no allocation.
    One(BlockedBloom),
    /// Several, or those that a load in chunks has brought so far.
    Many {
        all: Vec<BlockedBloom>,
        loading: Option<Loading>,
    },
}

/// A load in chunks that has begun and not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loading {
    /// The iterator of the next chunk; never 0.
    pub next: u64,
    /// The number of sub-filters from the chunks so far. They come first; after them come those
    /// that the filter has added meanwhile.
    pub sub_filters: usize,
}

/// The room to reserve for `len` sub-filters.
fn room_for(len: usize) -> usize {
    len.next_power_of_two()
}

impl Series {
    /// No sub-filters yet, for a filter about to be loaded.
    pub fn empty() -> Self {
        Self::Many {
            all: Vec::new(),
            loading: None,
        }
    }

    /// The load that has begun and not ended, if there is one.
    pub fn loading(&self) -> Option<Loading> {
        match self {
            Self::One(_) => None,
            Self::Many { loading, .. } => *loading,
        }
    }

    /// Notes what is still to come. A filter that is being loaded is always `Many`, so this cannot
    /// fail.
    pub fn set_loading(&mut self, due: Option<Loading>) {
        if let Self::Many { all, loading } = self {
            *loading = due;
            if due.is_none() && all.len() == 1 {
                if let Some(only) = all.pop() {
                    *self = Self::One(only);
                }
            }
        }
    }

    /// The sub-filters, oldest first.
    #[inline]
    pub fn as_slice(&self) -> &[BlockedBloom] {
        match self {
            Self::One(only) => std::slice::from_ref(only),
            Self::Many { all, .. } => all,
        }
    }

    fn as_mut_slice(&mut self) -> &mut [BlockedBloom] {
        match self {
            Self::One(only) => std::slice::from_mut(only),
            Self::Many { all, .. } => all,
        }
    }

    /// The newest sub-filter, which takes the items, and those before it.
    #[inline(always)]
    pub fn split_newest(&mut self) -> Option<(&mut BlockedBloom, &[BlockedBloom])> {
        match self {
            Self::One(only) => Some((only, &[])),
            Self::Many { all, .. } => all
                .split_last_mut()
                .map(|(newest, older)| (newest, &*older)),
        }
    }

    /// Sub-filter `index`, to merge bits into.
    pub fn get_mut(&mut self, index: usize) -> Option<&mut BlockedBloom> {
        self.as_mut_slice().get_mut(index)
    }

    /// Inserts sub-filters at `place`.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    pub fn insert(
        &mut self,
        place: usize,
        added: impl ExactSizeIterator<Item = BlockedBloom>,
    ) -> Result<(), AddError> {
        if added.len() == 0 {
            return Ok(());
        }
        let len = self.as_slice().len();
        let room = room_for(len + added.len());
        if let Self::One(_) = self {
            let mut all = Vec::new();
            all.try_reserve_exact(room)
                .map_err(|_| AddError::OutOfMemory)?;
            if let Self::One(only) = std::mem::replace(self, Self::empty()) {
                all.push(only);
            }
            *self = Self::Many { all, loading: None };
        }
        if let Self::Many { all, .. } = self {
            all.try_reserve_exact(room - len)
                .map_err(|_| AddError::OutOfMemory)?;
            all.splice(place..place, added);
        }
        Ok(())
    }

    /// A copy: see [`BlockedBloom::try_clone`].
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    pub fn try_clone(&mut self) -> Result<Self, AddError> {
        match self {
            Self::One(only) => only.try_clone().map(Self::One),
            Self::Many { all, loading } => {
                let mut copy = Vec::new();
                copy.try_reserve_exact(all.len())
                    .map_err(|_| AddError::OutOfMemory)?;
                for sub_filter in all {
                    copy.push(sub_filter.try_clone()?);
                }
                Ok(Self::Many {
                    all: copy,
                    loading: *loading,
                })
            }
        }
    }

    /// Bytes that the allocator holds once every bit is in use, with `added` more sub-filters: the
    /// room for them is counted, but not what they hold.
    pub fn reserved_bytes(&self, added: usize) -> u64 {
        let len = self.as_slice().len() + added;
        let list = if len > 1 { room_for(len) } else { 0 };
        let list = size_class(list as u64 * size_of::<BlockedBloom>() as u64);
        let bits = self.as_slice().iter().map(BlockedBloom::reserved_bytes);
        bits.fold(list, u64::saturating_add)
    }

    /// Visits every kind of allocation: its layout and its number.
    pub fn visit_allocations(&self, visit: &mut dyn FnMut(Layout, u64)) {
        if let Self::Many { all, .. } = self {
            if let Ok(layout) = Layout::array::<BlockedBloom>(all.capacity()) {
                visit(layout, 1);
            }
        }
        for sub_filter in self.as_slice() {
            sub_filter.visit_allocations(visit);
        }
    }

    /// Passes all allocations through `mover`, see [`crate::Filter::relocate`].
    pub fn relocate(&mut self, from: u64, mover: &mut impl Mover) -> Option<NonZeroU64> {
        if let (0, Self::Many { all, .. }) = (from, &mut *self) {
            *all = mover.relocate(std::mem::take(all));
        }
        let mut first = 0;
        for sub_filter in self.as_mut_slice() {
            let next = sub_filter.relocate(from.saturating_sub(first), mover);
            if let Some(next) = next {
                return NonZeroU64::new(first + next);
            }
            first += sub_filter.segments().reserved();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::{Filter, Growth, Parameters, SizeLimit};
    use crate::hash::Seed;

    fn filter() -> Filter {
        let parameters = Parameters {
            error_rate: 0.01,
            capacity: 100_000,
            growth: Growth::Times(2),
            seed: Seed(5),
        };
        let mut filter = Filter::new(parameters, SizeLimit::Unlimited).unwrap();
        for i in 0..200_000u64 {
            filter.add(&i.to_le_bytes(), SizeLimit::Unlimited).unwrap();
        }
        filter
    }

    #[test]
    fn the_allocations_visited_are_the_bits_and_little_more() {
        let filter = filter();
        let mut bytes = 0;
        filter.visit_allocations(|layout, times| bytes += layout.size() as u64 * times);
        let bits = filter.num_bits() / 8;
        assert!(
            bytes >= bits && bytes < bits + bits / 100 + 2_000,
            "{bytes} for {bits}"
        );
        assert_eq!(filter.allocated_segments(), filter.reserved_segments());
    }

    /// Copies everything, and says stop when it has been asked `allowed` times.
    #[derive(Default)]
    struct Copier {
        moved: u64,
        allowed: u64,
    }

    impl Mover for Copier {
        fn relocate<T>(&mut self, elements: Vec<T>) -> Vec<T> {
            self.moved += 1;
            let mut copy = Vec::with_capacity(elements.capacity());
            copy.extend(elements);
            copy
        }

        fn should_stop(&mut self) -> bool {
            self.allowed = self.allowed.wrapping_sub(1);
            self.allowed == u64::MAX
        }
    }

    #[test]
    fn what_a_copy_has_too_stays_where_it_is_until_the_copy_is_gone() {
        let mut filter = filter();
        let copy = filter.try_clone().unwrap();
        let mut mover = Copier {
            allowed: u64::MAX / 2,
            ..Copier::default()
        };
        assert_eq!(filter.relocate(0, &mut mover), None);
        assert!(mover.moved < 20, "the leaves alone: {}", mover.moved);
        assert_eq!(filter.digest(), copy.digest());
        drop(copy);
        assert_eq!(filter.relocate(0, &mut mover), None);
        assert!(mover.moved > filter.allocated_segments());
    }

    #[test]
    fn everything_is_offered_once_however_little_time_a_step_has() {
        for allowed in [0, 1, 2] {
            let mut filter = filter();
            let before = filter.digest();
            let (mut mover, mut cursor, mut steps) = (Copier::default(), 0, 0);
            loop {
                mover.allowed = allowed;
                let next = filter.relocate(cursor, &mut mover);
                steps += 1;
                // As a server does: it keeps a number, and 0 means the end.
                cursor = next.map_or(0, NonZeroU64::get);
                if cursor == 0 {
                    break;
                }
            }
            // The series, and for each sub-filter its leaves, their list, one leaf, and the
            // segments.
            let others = 1 + 3 * filter.sub_filters().len() as u64;
            let segments = filter.allocated_segments();
            assert_eq!(mover.moved, segments + others);
            // One segment more than it may ask before; the last step finds nothing or ends by
            // itself.
            assert_eq!(steps, segments / (allowed + 1) + 1);
            assert_eq!(filter.digest(), before);
        }
    }
}
