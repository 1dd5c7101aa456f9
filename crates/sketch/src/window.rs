//! A sketch over the last W seconds: a ring of slices, each a sketch of its own.
//!
//! ```text
//!            a window of 4 slices
//!   slices   | 10 | 11 | 12 | 13 | 14 | 15 ...
//!   slot        0    1    2    3    4    0
//!            |<-- remembered in slice 14 ->|
//! ```
//!
//! The window is divided into n slices. n + 1 are remembered, the current one and the n before it,
//! so an item counts for at least the window, and for at most one slice longer. Slice s lies in
//! slot s modulo n + 1, which is free when s begins, because slice s - n - 1 is over. A slice is
//! created by its first item, and dropped by the first change after it is over.
//!
//! # The caller supplies the time
//! The ring has no clock of its own. The same changes with the same times, in the same order, leave
//! the same ring, on a primary, on its replicas, and after a restart. Lookups change nothing. Time
//! never runs backwards: an earlier time counts as the latest seen.

use crate::error::DecodeError;
use crate::read::{check, unsigned};
use splitbloom_foundation::alloc::{relocate_box, try_boxed, try_vec, Mover, OutOfMemory};
use splitbloom_foundation::attachment::Attachment;
use splitbloom_foundation::fields::{FieldSink, Fields};
use splitbloom_foundation::span::{Span, MAX_TIME};
use std::alloc::Layout;
use std::ops::RangeInclusive;

/// All slices but the current one, in two runs. Without a window both are empty.
pub type Others<'a, T> = [&'a [Option<T>]; 2];

/// The slices of a window.
#[derive(Debug, PartialEq)]
pub struct Ring<T> {
    span: Span,
    latest: u64,
    slots: Box<[Option<T>]>,
    /// What the owner of the sketch keeps with it.
    pub attachment: Attachment,
}

impl<T> Ring<T> {
    /// A ring before its first change. It has room for its slices, and none of them.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(span: Span) -> Result<Self, OutOfMemory> {
        let len = usize::from(span.slices()) + 1;
        let slots = try_boxed(len, |slots| slots.resize_with(len, || None))?;
        Ok(Self { span, latest: 0, slots, attachment: Attachment::default() })
    }

    /// A ring whose latest change was at `latest`, with its slices oldest first: slice i of
    /// `slices` is the one that began n - i slices before the current one. `None` if there are not
    /// n + 1 of them, if one lies before 1970, or if `latest` is beyond [`MAX_TIME`].
    fn restore(span: Span, latest: u64, slices: Vec<Option<T>>) -> Option<Self> {
        let (current, len) = (span.slice_of(latest), u64::from(span.slices()) + 1);
        let before_1970 = (len - 1).saturating_sub(current) as usize;
        let is_sound = latest <= MAX_TIME
            && slices.len() as u64 == len
            && slices.iter().take(before_1970).all(Option::is_none);
        if !is_sound {
            return None;
        }
        let mut slots = slices.into_boxed_slice();
        // Slice `current` is last, and belongs at its slot.
        slots.rotate_right(((current + 1) % len) as usize);
        Some(Self { span, latest, slots, attachment: Attachment::default() })
    }

    /// Length and slices of the window.
    pub fn span(&self) -> Span {
        self.span
    }

    /// The latest time that has changed it; 0 before the first change.
    pub fn latest(&self) -> u64 {
        self.latest
    }

    /// The slices that are remembered at `now` and have items, oldest first.
    pub fn live(&self, now: u64) -> impl Iterator<Item = &T> + Clone {
        self.remembered(now).filter_map(|slice| self.slots[self.slot(slice)].as_ref())
    }

    /// When what is remembered at `now` changes next if nothing is added, in milliseconds since
    /// 1970: the end of the oldest slice, later than `now`. `None` if nothing is remembered.
    pub fn next_change(&self, now: u64) -> Option<u64> {
        let mut slices = self.remembered(now);
        let oldest = slices.find(|slice| self.slots[self.slot(*slice)].is_some())?;
        Some(self.span.start_of(oldest + u64::from(self.span.slices()) + 1))
    }

    /// All slots at the latest change, oldest slice first.
    pub fn slots(&self) -> impl Iterator<Item = Option<&T>> {
        let current = self.slot(self.current());
        let (newer, older) = self.slots.split_at(current + 1);
        older.iter().chain(newer).map(Option::as_ref)
    }

    /// All slices in no particular order, to be copied or moved without a visible change.
    pub fn each_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.slots.iter_mut().flatten()
    }

    /// Advances the time to `now`, and returns the slice that is current then, created by `create`
    /// if it is missing, and all others. Slices that are over are passed to `over`.
    ///
    /// # Errors
    /// That of `create`; nothing has changed.
    pub fn open<E>(
        &mut self,
        now: u64,
        create: impl FnOnce() -> Result<T, E>,
        mut over: impl FnMut(T),
    ) -> Result<(&mut T, Others<'_, T>), E> {
        let (time, before) = (self.time(now), self.current());
        let current = self.span.slice_of(time);
        let index = self.slot(current);
        let kept = if current == before { self.slots[index].take() } else { None };
        let slice = match kept {
            Some(slice) => slice,
            None => create()?,
        };
        self.latest = time;
        // The slot of each slice that has begun since may hold one that is over.
        for slice in (before + 1..=current).take(self.slots.len()) {
            let slot = self.slot(slice);
            self.slots[slot].take().into_iter().for_each(&mut over);
        }
        let (before, rest) = self.slots.split_at_mut(index);
        let (current, after) = rest.split_at_mut(1);
        Ok((current[0].insert(slice), [before, after]))
    }

    /// Writes all slots, oldest slice first: 0 for one that is empty, else 1 and what `write`
    /// writes of its slice.
    pub fn encode<S: FieldSink>(&self, to: &mut S, mut write: impl FnMut(&T, &mut S)) {
        for slice in self.slots() {
            to.unsigned(slice.is_some().into());
            slice.into_iter().for_each(|slice| write(slice, to));
        }
    }

    /// The ring whose slots were written as these fields. `read` reads a slice.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn decode<F: Fields>(
        span: Span,
        latest: u64,
        fields: &mut F,
        mut read: impl FnMut(&mut F) -> Result<T, DecodeError>,
    ) -> Result<Self, DecodeError> {
        // Exactly as many, so that the ring need not shrink it.
        let mut slots = try_vec(usize::from(span.slices()) + 1)?;
        for _ in 0..=span.slices() {
            let is_used = unsigned(fields)?;
            check("a slice", is_used <= 1)?;
            slots.push((is_used == 1).then(|| read(fields)).transpose()?);
        }
        Self::restore(span, latest, slots).ok_or(DecodeError::Field("the time"))
    }

    /// A copy, of slices that `copy` copies.
    ///
    /// # Errors
    /// `OutOfMemory`, or that of `copy`.
    pub fn try_clone<E: From<OutOfMemory>>(
        &mut self,
        mut copy: impl FnMut(&mut T) -> Result<T, E>,
    ) -> Result<Self, E> {
        let mut ring = Self { latest: self.latest, ..Self::new(self.span)? };
        for (to, from) in ring.slots.iter_mut().zip(&mut self.slots) {
            *to = from.as_mut().map(&mut copy).transpose()?;
        }
        Ok(ring)
    }

    /// The time as the ring counts it.
    fn time(&self, now: u64) -> u64 {
        now.min(MAX_TIME).max(self.latest)
    }

    /// The current slice at the latest change.
    fn current(&self) -> u64 {
        self.span.slice_of(self.latest)
    }

    /// The slices that are remembered at `now` and have begun at the latest change.
    fn remembered(&self, now: u64) -> RangeInclusive<u64> {
        self.span.oldest(self.span.slice_of(self.time(now)))..=self.current()
    }

    fn slot(&self, slice: u64) -> usize {
        (slice % self.slots.len() as u64) as usize
    }

    /// The layouts of its own allocations.
    pub fn layouts(&self) -> impl Iterator<Item = Layout> {
        [Some(Layout::for_value(&*self.slots)), self.attachment.layout()].into_iter().flatten()
    }

    /// Passes its slots through `mover`.
    pub fn relocate(&mut self, mover: &mut impl Mover) {
        self.slots = relocate_box(std::mem::take(&mut self.slots), mover);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use splitbloom_foundation::span::MAX_SLICES;
    use std::convert::Infallible;

    fn span(seconds: u32, slices: u8) -> Span {
        Span::new(seconds, slices).unwrap()
    }

    /// Adds `item` to a ring of lists.
    fn add(ring: &mut Ring<Vec<u64>>, now: u64, item: u64) -> Vec<Vec<u64>> {
        let mut over = Vec::new();
        let slice = ring.open(now, || Ok::<_, Infallible>(Vec::new()), |gone| over.push(gone));
        slice.unwrap().0.push(item);
        over
    }

    fn sum(ring: &Ring<Vec<u64>>, now: u64) -> Vec<u64> {
        ring.live(now).flatten().copied().collect()
    }

    #[test]
    fn an_item_counts_for_the_window_and_at_most_a_slice_more() {
        let mut ring = Ring::new(span(4, 4)).unwrap();
        add(&mut ring, 10_500, 1);
        assert_eq!(sum(&ring, 14_999), [1]);
        assert_eq!(sum(&ring, 15_000), [0; 0]);
        assert!(add(&mut ring, 14_999, 2).is_empty());
        assert_eq!(add(&mut ring, 15_000, 3), [[1]]);
        assert_eq!(sum(&ring, 15_000), [2, 3]);
    }

    #[test]
    fn time_never_runs_backwards() {
        let mut ring = Ring::new(span(4, 4)).unwrap();
        add(&mut ring, 10_000, 1);
        add(&mut ring, 3_000, 2);
        assert_eq!((ring.latest(), sum(&ring, 0)), (10_000, vec![1, 2]));
    }

    #[test]
    fn what_cannot_be_created_changes_nothing() {
        let mut ring = Ring::new(span(4, 4)).unwrap();
        add(&mut ring, 10_000, 1);
        let failed = ring.open(20_000, || Err(OutOfMemory), |_| panic!("nothing is over"));
        assert_eq!(failed.err(), Some(OutOfMemory));
        assert_eq!((ring.latest(), sum(&ring, 10_000)), (10_000, vec![1]));
    }

    #[test]
    fn only_rings_that_can_be_are_restored() {
        let slices = |n: usize| vec![Some(()); n];
        assert!(Ring::restore(span(4, 4), 4_000, slices(5)).is_some());
        assert!(Ring::restore(span(4, 4), 3_999, slices(5)).is_none());
        assert!(Ring::restore(span(4, 4), 4_000, slices(4)).is_none());
        assert!(Ring::restore(span(4, 4), 4_000, slices(6)).is_none());
        assert!(Ring::restore(span(4, 4), MAX_TIME, slices(5)).is_some());
        assert!(Ring::restore(span(4, 4), MAX_TIME + 1, slices(5)).is_none());
    }

    proptest! {
        /// The model: a list of every item with its time.
        #[test]
        fn a_ring_is_the_list_of_what_its_time_remembers(
            slices in 2..=MAX_SLICES,
            seconds in 1..5_u32,
            steps in proptest::collection::vec((0..6_000_u64, 0..3_000_u64), 0..60),
        ) {
            let span = span(seconds, slices);
            let mut ring = Ring::new(span).unwrap();
            let (mut model, mut latest, mut dropped) = (Vec::new(), 0, 0);
            for (item, (step, later)) in (0..).zip(steps) {
                // Some times lie before the latest.
                let now = (latest + step).saturating_sub(1_000);
                latest = latest.max(now);
                model.push((latest, item));
                dropped += add(&mut ring, now, item).concat().len();
                let at = latest + later;
                let oldest = span.oldest(span.slice_of(at));
                let is_live = |(time, _): &&(u64, u64)| span.slice_of(*time) >= oldest;
                let live: Vec<u64> = model.iter().filter(is_live).map(|(_, item)| *item).collect();
                prop_assert_eq!(sum(&ring, at), live.clone());
                let change = ring.next_change(at);
                prop_assert_eq!(change.is_some(), !live.is_empty());
                if let Some(change) = change {
                    prop_assert!(change > at);
                    prop_assert_eq!(sum(&ring, change - 1), live.clone());
                    prop_assert!(sum(&ring, change).len() < live.len());
                }
                let kept: usize = ring.each_mut().map(|slice| slice.len()).sum();
                prop_assert_eq!(kept + dropped, model.len());
                let slots = ring.slots().map(|slice| slice.cloned()).collect();
                let restored = Ring::restore(span, ring.latest(), slots);
                prop_assert_eq!(restored.as_ref(), Some(&ring));
                let copy = ring.try_clone(|slice| Ok::<_, OutOfMemory>(slice.clone()));
                prop_assert_eq!(copy.as_ref(), Ok(&ring));
            }
        }
    }
}
