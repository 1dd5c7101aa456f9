//! The filters of a follower, which its worker writes and everyone else reads.

use super::Status;
use crate::Error;
use crossbeam_utils::sync::{ShardedLock, ShardedLockReadGuard};
use splitbloom_filter::hash::ItemHash;
use splitbloom_filter::{AddError, Filter, SizeLimit};
use splitbloom_partition::Partitions;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Items looked up, and hashes applied, before others get their turn: 10 to 30 µs.
const TURN: usize = 1024;

pub(super) struct Copy {
    /// The filter of each partition; none before all are complete, or while a key is missing. A
    /// reader takes a lock of its own thread's, so that readers do not wait for each other.
    filters: ShardedLock<Option<Vec<Filter>>>,
    partitions: Partitions,
    begun: Instant,
    /// When the worker last asked and lacked nothing, in microseconds since `begun`.
    current_at: AtomicU64,
    is_stopped: AtomicBool,
    fetches: AtomicU64,
    changes: AtomicU64,
    error: Mutex<Option<Error>>,
    published: Condvar,
}

type Filters<'a> = ShardedLockReadGuard<'a, Option<Vec<Filter>>>;

impl Copy {
    pub fn new(partitions: Partitions) -> Self {
        Self {
            filters: ShardedLock::new(None),
            partitions,
            begun: Instant::now(),
            current_at: AtomicU64::new(0),
            is_stopped: AtomicBool::new(false),
            fetches: AtomicU64::new(0),
            changes: AtomicU64::new(0),
            error: Mutex::new(None),
            published: Condvar::new(),
        }
    }

    #[inline]
    fn read(&self) -> Filters<'_> {
        // A panic of the worker leaves the filters as they were, or with some more bits.
        self.filters.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write<T>(&self, change: impl FnOnce(&mut Option<Vec<Filter>>) -> T) -> T {
        change(&mut self.filters.write().unwrap_or_else(PoisonError::into_inner))
    }

    fn error(&self) -> MutexGuard<'_, Option<Error>> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    pub fn contains(&self, item: &[u8]) -> Option<bool> {
        match self.read().as_deref()? {
            [one] => Some(one.contains(item)),
            many => Some(many.get(usize::from(self.partitions.of(item)))?.contains(item)),
        }
    }

    pub fn contains_many(&self, items: &[impl AsRef<[u8]>]) -> Option<Vec<bool>> {
        let mut answers = Vec::with_capacity(items.len());
        for items in items.chunks(TURN) {
            match self.read().as_deref()? {
                [one] => {
                    one.contains_many(items.iter().map(AsRef::as_ref), |found| answers.push(found));
                }
                many => {
                    for item in items {
                        let filter = many.get(usize::from(self.partitions.of(item.as_ref())))?;
                        answers.push(filter.contains(item.as_ref()));
                    }
                }
            }
        }
        Some(answers)
    }

    pub fn is_ready(&self) -> bool {
        self.read().is_some()
    }

    pub fn staleness(&self) -> Option<Duration> {
        let current_at = self.is_ready().then(|| self.current_at.load(Relaxed))?;
        Some(self.begun.elapsed().saturating_sub(Duration::from_micros(current_at)))
    }

    pub fn wait_until_ready(&self, deadline: Instant) -> bool {
        let mut error = self.error();
        loop {
            if self.is_ready() {
                return true;
            }
            let Some(left) = deadline.checked_duration_since(Instant::now()) else {
                return false;
            };
            let woken = self.published.wait_timeout(error, left);
            error = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    pub fn status(&self) -> Status {
        let mut bytes = 0;
        for filter in self.read().iter().flatten() {
            filter.visit_allocations(|layout, times| bytes += layout.size() as u64 * times);
        }
        Status {
            bytes,
            fetches: self.fetches.load(Relaxed),
            changes: self.changes.load(Relaxed),
            error: self.error().clone(),
        }
    }

    pub fn stop(&self) {
        self.is_stopped.store(true, Relaxed);
    }

    pub fn is_stopped(&self) -> bool {
        self.is_stopped.load(Relaxed)
    }

    /// Counts a fetch.
    pub fn fetched(&self) {
        self.fetches.fetch_add(1, Relaxed);
    }

    /// Publishes the filters of all partitions.
    pub fn publish(&self, filters: Vec<Filter>) {
        let replaced = self.write(|now| now.replace(filters));
        drop(replaced); // without the lock
    }

    /// Publishes another filter of a partition, if the others are published.
    pub fn replace(&self, partition: usize, filter: Filter) {
        let replaced = self.write(|now| {
            let place = now.as_mut()?.get_mut(partition)?;
            Some(std::mem::replace(place, filter))
        });
        drop(replaced); // without the lock
    }

    /// Takes the filters back: a key is missing.
    pub fn withdraw(&self) {
        let replaced = self.write(Option::take);
        drop(replaced); // without the lock
    }

    /// Applies changes to a partition.
    ///
    /// # Errors
    /// `OutOfMemory`; some of them are missing then.
    pub fn apply(&self, partition: usize, hashes: &[ItemHash]) -> Result<(), AddError> {
        for hashes in hashes.chunks(TURN) {
            self.write(|now| {
                // With the lock, so that whoever finds an item finds it counted.
                self.changes.fetch_add(hashes.len() as u64, Relaxed);
                match now.as_mut().and_then(|filters| filters.get_mut(partition)) {
                    Some(filter) => apply(filter, hashes),
                    None => Ok(()),
                }
            })?;
        }
        Ok(())
    }

    /// The copy lacked nothing when the worker asked, at `asked_at`.
    pub fn is_current(&self, asked_at: Instant) {
        let at = asked_at.duration_since(self.begun).as_micros();
        self.current_at.store(u64::try_from(at).unwrap_or(u64::MAX), Relaxed);
        *self.error() = None;
        self.published.notify_all();
    }

    /// The copy does not follow now.
    pub fn failed(&self, error: Error) {
        *self.error() = Some(error);
    }
}

/// Adds items that are new on the server. It had room for them, so this filter has: it may count
/// some twice, in a chunk and among the changes.
///
/// # Errors
/// `OutOfMemory`.
pub(super) fn apply(filter: &mut Filter, hashes: &[ItemHash]) -> Result<(), AddError> {
    filter.add_hashes(hashes.iter().copied(), 0, SizeLimit::Replay, |_, _| ())
}
