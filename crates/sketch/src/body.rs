//! What a sketch consists of: one part for all that comes, or one for each slice of a window.

use crate::window::{Others, Ring};
use splitbloom_foundation::alloc::{Mover, OutOfMemory};
use splitbloom_foundation::span::Span;
use std::alloc::Layout;
use std::num::NonZeroU64;

/// What is copied, measured and moved on its own: a sketch, or a slice of one.
pub trait Part: Sized {
    /// A copy, which may share memory with this one.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    fn try_clone(&mut self) -> Result<Self, OutOfMemory>;

    /// The approximate number of its allocations.
    fn allocations(&self) -> usize;

    /// Visits every kind of allocation: its layout and their number.
    fn visit_allocations(&self, visit: &mut dyn FnMut(Layout, u64));

    /// Passes its memory through `mover`, from `from` on, until it says stop. Returns where to
    /// continue, which is never 0.
    fn relocate(&mut self, from: u64, mover: &mut impl Mover) -> Option<NonZeroU64>;
}

/// The parts of a sketch.
pub(crate) enum Body<T> {
    /// One for all that comes.
    Whole(T),
    /// One for each slice of a window.
    Window(Ring<T>),
}

impl<T> Body<T> {
    /// The one part that `whole` creates; with a `window`, no slice yet.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(
        window: Option<Span>,
        whole: impl FnOnce() -> Result<T, OutOfMemory>,
    ) -> Result<Self, OutOfMemory> {
        match window {
            None => whole().map(Self::Whole),
            Some(span) => Ring::new(span).map(Self::Window),
        }
    }

    /// The ring of its slices, if it has a window.
    pub fn ring(&self) -> Option<&Ring<T>> {
        self.either().1
    }

    /// The same for writing.
    pub fn ring_mut(&mut self) -> Option<&mut Ring<T>> {
        match self {
            Self::Whole(_) => None,
            Self::Window(ring) => Some(ring),
        }
    }

    /// The most parts: 1, or the slices of the window and the current one.
    pub fn most_parts(&self) -> u64 {
        self.ring().map_or(1, |ring| u64::from(ring.span().slices()) + 1)
    }

    /// The part to which items are added at `now`, and the others. In a window that advances the
    /// time, as [`Ring::open`] does with `create` and `over`.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing has changed.
    #[inline]
    pub fn open(
        &mut self,
        now: u64,
        create: impl FnOnce() -> Result<T, OutOfMemory>,
        over: impl FnMut(T),
    ) -> Result<(&mut T, Others<'_, T>), OutOfMemory> {
        match self {
            Self::Whole(part) => Ok((part, [&[], &[]])),
            Self::Window(ring) => ring.open(now, create, over),
        }
    }

    /// The parts that count at `now`, oldest first.
    pub fn live(&self, now: u64) -> impl Iterator<Item = &T> {
        let (whole, ring) = self.either();
        whole.into_iter().chain(ring.into_iter().flat_map(move |ring| ring.live(now)))
    }

    /// All places for a part, in use or not, oldest first.
    pub fn slots(&self) -> impl Iterator<Item = Option<&T>> {
        let (whole, ring) = self.either();
        whole.map(Some).into_iter().chain(ring.into_iter().flat_map(Ring::slots))
    }

    fn either(&self) -> (Option<&T>, Option<&Ring<T>>) {
        match self {
            Self::Whole(part) => (Some(part), None),
            Self::Window(ring) => (None, Some(ring)),
        }
    }
}

impl<T: Part> Part for Body<T> {
    fn try_clone(&mut self) -> Result<Self, OutOfMemory> {
        match self {
            Self::Whole(part) => part.try_clone().map(Self::Whole),
            Self::Window(ring) => ring.try_clone(T::try_clone).map(Self::Window),
        }
    }

    fn allocations(&self) -> usize {
        let of_ring = usize::from(self.ring().is_some());
        of_ring + self.slots().flatten().map(T::allocations).sum::<usize>()
    }

    fn visit_allocations(&self, visit: &mut dyn FnMut(Layout, u64)) {
        let of_ring = self.ring().into_iter().flat_map(Ring::layouts);
        of_ring.for_each(|layout| visit(layout, 1));
        self.slots().flatten().for_each(|part| part.visit_allocations(visit));
    }

    fn relocate(&mut self, from: u64, mover: &mut impl Mover) -> Option<NonZeroU64> {
        let ring = match self {
            Self::Whole(part) => return part.relocate(from, mover),
            Self::Window(ring) => ring,
        };
        if from == 0 {
            ring.relocate(mover);
        }
        // The high half of a step is the slice. A slice takes one call or more.
        let (first, mut step) = (from >> 32, from & u64::from(u32::MAX));
        for (number, slice) in (0..).zip(ring.each_mut()).skip(first as usize) {
            if let Some(next) = slice.relocate(step, mover) {
                return NonZeroU64::new(number << 32 | next.get());
            }
            step = 0;
            if mover.should_stop() {
                return NonZeroU64::new((number + 1) << 32);
            }
        }
        None
    }
}
