//! A filter as a value of the server: saved, loaded, copied, measured, moved.
//!
//! RDB files, dumps and the append-only file all hold the same chain of chunks of at most 1 MiB
//! (see [`splitbloom_filter::codec`]); the append-only file has them as LOADCHUNK commands.

use super::chunks::{rewrite, save};
use super::timetable::{appointments, Timetable, CHANGES, SWEEPS};
use crate::{journal, stats};
use splitbloom_filter::hash::Seed;
use splitbloom_filter::{DecodeError, Filter, Kind, SizeLimit};
use splitbloom_server::allocator::usable_bytes;
use splitbloom_server::arguments::Argument;
use splitbloom_server::context::Context;
use splitbloom_server::data_type::{AofTarget, CopyTarget, Defrag, NativeType, RdbTarget, Value};
use splitbloom_server::lapse::{self, Appointment, Lapsing};
use splitbloom_server::queue::{Queue, Ticket};
use std::ffi::CStr;
use std::marker::PhantomData;
use std::mem::offset_of;
use std::num::NonZeroU64;

/// A family of filters: values that the same commands use.
pub trait Family: Sized + Send + Sync + 'static {
    /// The command that loads a chunk of a filter.
    const LOAD_CHUNK: &'static CStr;
    /// The event of that command.
    const LOAD_CHUNK_EVENT: &'static CStr;
    /// The event of the command that empties a filter.
    const CLEAR_EVENT: &'static CStr;
    /// Begins a filter from the header of a SCANDUMP of RedisBloom. Returns what is wrong with it,
    /// or `OverLimit`, or `OutOfMemory`.
    const BEGIN: fn(&[u8], Seed, SizeLimit) -> Result<Filter, DecodeError>;

    /// The type that a new value has, and those of other modules, whose values are filters of this
    /// family as well.
    fn natives() -> &'static [NativeType<Stored<Self>>];
    /// Whether filters of `kind` belong to the family.
    fn takes(kind: Kind) -> bool;
}

/// A filter of the family `F` that the server keeps.
pub struct Stored<F> {
    filter: Filter,
    family: PhantomData<F>,
}

impl<F: Family> Stored<F> {
    pub fn new(filter: Filter) -> Self {
        stats::FILTERS.increment();
        Self { filter, family: PhantomData }
    }

    /// The filter itself.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    pub fn filter_mut(&mut self) -> &mut Filter {
        &mut self.filter
    }

    /// Bytes of memory that the value takes, as `memory_usage`, but from running totals, without a
    /// step for each page of a table.
    pub fn size(&self) -> u64 {
        let besides = usable_bytes::<Self>(|visit| self.filter.visit_besides_pages(visit));
        (besides as u64).saturating_add(self.filter.bytes_of_pages())
    }
}

impl<F> Drop for Stored<F> {
    fn drop(&mut self) {
        journal::end(&self.filter);
        stats::FILTERS.decrement();
    }
}

impl<F: Family> Value for Stored<F> {
    fn natives() -> &'static [NativeType<Self>] {
        F::natives()
    }

    fn save(&self, target: &mut RdbTarget) {
        save(&self.filter, target);
    }

    fn rewrite(&self, target: &mut AofTarget) {
        rewrite(&self.filter, target, F::LOAD_CHUNK);
    }

    fn memory_usage(&self) -> usize {
        let bytes = usable_bytes::<Self>(|visit| self.filter.visit_allocations(visit));
        bytes + journal::bytes_of(&self.filter) as usize
    }

    fn free_effort(&self) -> usize {
        // The server frees values that take more than 64 steps on its background thread.
        self.filter.allocations() as usize
    }

    fn try_copy(&mut self, to: &CopyTarget) -> Option<Self> {
        let mut copy = Self::new(self.filter.try_clone().ok()?);
        lapse::schedule_at(&mut copy, || to.location(), to.thread());
        Some(copy)
    }

    fn digest(&self) -> u128 {
        self.filter.digest()
    }

    fn has_changed(&mut self, context: &Context, key: Argument<'_>) {
        if self.filter.window().is_some() {
            lapse::schedule(self, context, key);
        }
    }

    fn has_moved(&self, from: usize) {
        // So `from` was also the address of the filter, by which its journal is found.
        const { assert!(offset_of!(Self, filter) == 0) };
        journal::moved(&self.filter, from);
    }

    fn defragment(&mut self, defrag: &Defrag, from: u64) -> Option<NonZeroU64> {
        self.filter.relocate(from, &mut &*defrag)
    }
}

impl<F: Family> Lapsing for Stored<F> {
    fn queue() -> &'static Queue {
        &CHANGES
    }

    fn any_waits() -> bool {
        [&SWEEPS, &CHANGES].iter().any(|queue| queue.next_due().is_some())
    }

    fn next_change(&self, now: u64) -> Option<u64> {
        self.filter.next_change(now)
    }

    fn ticket(&mut self) -> Option<&mut Option<Ticket>> {
        self.filter.attachment::<Timetable>().map(|timetable| &mut timetable.change)
    }

    fn appointments(&mut self, now: u64) -> impl Iterator<Item = Appointment<'_>> {
        appointments(&mut self.filter, now)
    }
}
