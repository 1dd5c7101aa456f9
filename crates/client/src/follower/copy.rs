//! The filters of a follower, which its worker writes and everyone else reads.

use super::reply::Changes;
use super::Status;
use crate::fork::{generation, ForkLock};
use crate::Error;
use splitbloom_filter::filter::Part;
use splitbloom_filter::{AddError, Filter, ItemHash};
use splitbloom_partition::Partitions;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Items looked up, or hashes applied, under one acquisition of the lock: 10 to 30 µs.
const TURN: usize = 1024;
/// The position of a follower without a copy, or with one whose contents are unknown.
pub(super) const BEGINNING: &[u8] = b"0";
/// How often a thread that waits for a copy checks for it. A fetch takes milliseconds.
const LOOK: Duration = Duration::from_millis(1);
/// Threads that look up without sharing a cache line: as many as with crossbeam's `ShardedLock`.
const SHARDS: usize = 8;

pub(super) struct Copy {
    state: ForkLock<State, SHARDS>,
    partitions: Partitions,
    begun: Instant,
    /// When the worker last polled and lacked nothing, in microseconds since `begun`.
    current_at: AtomicU64,
    is_stopped: AtomicBool,
    fetches: AtomicU64,
    changes: AtomicU64,
    /// The fork generation of the process that runs the worker.
    generation: AtomicU32,
}

/// What a child of `fork` inherits from its parent.
#[derive(Default)]
struct State {
    /// The filter of each partition; none before all are complete, or while a key is missing.
    filters: Option<Vec<Filter>>,
    /// The journal position of each filter, which contains exactly the items that were new up to
    /// there. It is [`BEGINNING`] between two turns of `apply`.
    positions: Vec<Vec<u8>>,
    error: Option<Error>,
}

impl State {
    fn apply(
        &mut self,
        partition: usize,
        (part, hashes): (Part, &[ItemHash]),
        position: &[u8],
    ) -> Result<(), AddError> {
        let filter = self.filters.as_mut().and_then(|filters| filters.get_mut(partition));
        if let (Some(filter), Some(at)) = (filter, self.positions.get_mut(partition)) {
            BEGINNING.clone_into(at);
            filter.follow(part, hashes)?;
            position.clone_into(at);
        }
        Ok(())
    }
}

impl Copy {
    pub fn new(partitions: Partitions) -> io::Result<Self> {
        Ok(Self {
            state: ForkLock::new(State::default())?,
            partitions,
            begun: Instant::now(),
            current_at: AtomicU64::new(0),
            is_stopped: AtomicBool::new(false),
            fetches: AtomicU64::new(0),
            changes: AtomicU64::new(0),
            generation: AtomicU32::new(generation()),
        })
    }

    /// Whether the worker is in a process from which this one was forked.
    #[inline]
    pub fn is_orphan(&self) -> bool {
        self.generation.load(Relaxed) != generation()
    }

    /// Notes that this process gets a worker. Returns true if it had none: the caller then starts
    /// it.
    pub fn adopt(&self) -> bool {
        self.state.write(|state| {
            let is_orphan = self.is_orphan() && !self.is_stopped();
            if is_orphan {
                state.error = Some(Error::Forked);
                self.generation.store(generation(), Relaxed);
            }
            is_orphan
        })
    }

    /// Undoes [`Self::adopt`], because no worker could be started.
    pub fn abandon(&self) {
        self.generation.store(generation().wrapping_sub(1), Relaxed);
    }

    #[inline]
    pub fn contains(&self, item: &[u8]) -> Option<bool> {
        self.state.read(|state| match state.filters.as_deref()? {
            [one] => Some(one.contains(item)),
            many => Some(many.get(usize::from(self.partitions.of(item)))?.contains(item)),
        })
    }

    pub fn contains_many(&self, items: &[impl AsRef<[u8]>]) -> Option<Vec<bool>> {
        let mut answers = Vec::with_capacity(items.len());
        for items in items.chunks(TURN) {
            self.state.read(|state| {
                match state.filters.as_deref()? {
                    [one] => {
                        let items = items.iter().map(AsRef::as_ref);
                        one.contains_many(items, |found| answers.push(found));
                    }
                    many => {
                        for item in items {
                            let filter =
                                many.get(usize::from(self.partitions.of(item.as_ref())))?;
                            answers.push(filter.contains(item.as_ref()));
                        }
                    }
                }
                Some(())
            })?;
        }
        Some(answers)
    }

    pub fn is_ready(&self) -> bool {
        self.state.read(|state| state.filters.is_some())
    }

    pub fn staleness(&self) -> Option<Duration> {
        let current_at = self.is_ready().then(|| self.current_at.load(Relaxed))?;
        Some(self.begun.elapsed().saturating_sub(Duration::from_micros(current_at)))
    }

    pub fn wait_until_ready(&self, deadline: Instant) -> bool {
        while !self.is_ready() {
            let Some(left) = deadline.checked_duration_since(Instant::now()) else {
                return false;
            };
            sleep(left.min(LOOK));
        }
        true
    }

    pub fn status(&self) -> Status {
        self.state.read(|state| {
            let mut bytes = 0;
            for filter in state.filters.iter().flatten() {
                filter.visit_allocations(|layout, times| bytes += layout.size() as u64 * times);
            }
            Status {
                bytes,
                fetches: self.fetches.load(Relaxed),
                changes: self.changes.load(Relaxed),
                error: state.error.clone(),
            }
        })
    }

    /// The position of each partition in the copy; `None` without a copy.
    pub fn positions(&self) -> Option<Vec<Vec<u8>>> {
        self.state.read(|state| state.filters.is_some().then(|| state.positions.clone()))
    }

    /// Drops the filters, and tells the worker to end.
    pub fn stop(&self) {
        self.is_stopped.store(true, Relaxed);
        self.withdraw();
    }

    pub fn is_stopped(&self) -> bool {
        self.is_stopped.load(Relaxed)
    }

    /// Counts a fetch.
    pub fn fetched(&self) {
        self.fetches.fetch_add(1, Relaxed);
    }

    /// Publishes the filters of all partitions, with their positions.
    pub fn publish(&self, filters: Vec<Filter>, positions: Vec<Vec<u8>>) {
        let replaced = self.state.write(|state| {
            if self.is_stopped() {
                return Some(filters);
            }
            state.positions = positions;
            state.filters.replace(filters)
        });
        drop(replaced); // without the lock
    }

    /// Replaces the filter of a partition, if the filters are published.
    pub fn replace(&self, partition: usize, filter: Filter, position: Vec<u8>) {
        let replaced = self.state.write(|state| {
            let place = state.filters.as_mut()?.get_mut(partition)?;
            *state.positions.get_mut(partition)? = position;
            Some(std::mem::replace(place, filter))
        });
        drop(replaced); // without the lock
    }

    /// Drops the filters: a key is missing, or the follower is closed.
    pub fn withdraw(&self) {
        let replaced = self.state.write(|state| state.filters.take());
        drop(replaced); // without the lock
    }

    /// Applies changes to a partition, which is then at `changes.position`.
    ///
    /// # Errors
    /// `OutOfMemory`: then only some of the changes have been applied.
    pub fn apply(&self, partition: usize, changes: &Changes) -> Result<(), AddError> {
        if changes.is_empty() && self.is_at(partition, &changes.position) {
            return Ok(());
        }
        let parts = changes.parts().into_iter();
        let mut turns = parts
            .flat_map(|(part, hashes)| hashes.chunks(TURN).map(move |hashes| (part, hashes)))
            .peekable();
        loop {
            let turn = turns.next().unwrap_or((Part::Table, &[]));
            let position = turns.peek().map_or(changes.position.as_slice(), |_| BEGINNING);
            self.state.write(|state| {
                // Counted under the lock, so that a thread that finds an item finds it counted.
                self.changes.fetch_add(turn.1.len() as u64, Relaxed);
                state.apply(partition, turn, position)
            })?;
            if turns.peek().is_none() {
                return Ok(());
            }
        }
    }

    fn is_at(&self, partition: usize, position: &[u8]) -> bool {
        self.state.read(|state| state.positions.get(partition).is_some_and(|at| at == position))
    }

    /// Notes that the copy was complete when the worker polled, at `asked_at`.
    pub fn is_current(&self, asked_at: Instant) {
        let at = asked_at.duration_since(self.begun).as_micros();
        self.current_at.store(u64::try_from(at).unwrap_or(u64::MAX), Relaxed);
        if self.state.read(|state| state.error.is_some()) {
            self.state.write(|state| state.error = None);
        }
    }

    /// Notes why the copy does not follow now.
    pub fn failed(&self, error: Error) {
        self.state.write(|state| state.error = Some(error));
    }
}
