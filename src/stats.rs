//! Counters since the module was loaded, for INFO.
//!
//! The server also frees filters on its background thread, so their number changes atomically. All
//! other counters belong to commands, which run one at a time: a load and a store avoid the locked
//! instruction (5 ns, a tenth of a lookup).

use splitbloom_filter::filter::Counters;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

static FILTERS: AtomicU64 = AtomicU64::new(0);
static ITEMS_ADDED: AtomicU64 = AtomicU64::new(0);
static ITEMS_DELETED: AtomicU64 = AtomicU64::new(0);
static ITEMS_FORGOTTEN: AtomicU64 = AtomicU64::new(0);
static SWEEP_STEPS: AtomicU64 = AtomicU64::new(0);
static SLOWEST_SWEEP_STEP: AtomicU64 = AtomicU64::new(0);
static LOOKUPS: AtomicU64 = AtomicU64::new(0);
static LOOKUP_HITS: AtomicU64 = AtomicU64::new(0);
static FILTERS_GROWN: AtomicU64 = AtomicU64::new(0);
static FILL_GUARD_CLOSINGS: AtomicU64 = AtomicU64::new(0);
static REPLAYS_IGNORED: AtomicU64 = AtomicU64::new(0);

/// Filters in the keyspace.
pub fn filters() -> u64 {
    FILTERS.load(Relaxed)
}

/// New items added, and copies of items added to counting filters.
pub fn items_added() -> u64 {
    ITEMS_ADDED.load(Relaxed)
}

/// Copies of items removed from counting filters.
pub fn items_deleted() -> u64 {
    ITEMS_DELETED.load(Relaxed)
}

/// Items whose window has passed.
pub fn items_forgotten() -> u64 {
    ITEMS_FORGOTTEN.load(Relaxed)
}

/// Steps of the sweeper.
pub fn sweep_steps() -> u64 {
    SWEEP_STEPS.load(Relaxed)
}

/// The time of the slowest step, in microseconds.
pub fn slowest_sweep_step() -> u64 {
    SLOWEST_SWEEP_STEP.load(Relaxed)
}

/// Items looked up.
pub fn lookups() -> u64 {
    LOOKUPS.load(Relaxed)
}

/// Items looked up and found, false positives included.
pub fn lookup_hits() -> u64 {
    LOOKUP_HITS.load(Relaxed)
}

/// Filters that overflowed into a table.
pub fn filters_grown() -> u64 {
    FILTERS_GROWN.load(Relaxed)
}

/// Sub-filters that the fill guard closed before they reached their capacity.
pub fn fill_guard_closings() -> u64 {
    FILL_GUARD_CLOSINGS.load(Relaxed)
}

/// Commands from the primary or the append-only file that got no error, since they would have had
/// no effect; a client would have got one.
pub fn replays_ignored() -> u64 {
    REPLAYS_IGNORED.load(Relaxed)
}

pub(crate) fn filter_created() {
    FILTERS.fetch_add(1, Relaxed);
}

pub(crate) fn filter_freed() {
    FILTERS.fetch_sub(1, Relaxed);
}

/// Counts `items` that a command looked up, of which it found `found`.
pub(crate) fn looked_up(items: usize, found: usize) {
    count(&LOOKUPS, items as u64);
    count(&LOOKUP_HITS, found as u64);
}

/// Counts the `new_items` that a command added, and the events in the filter.
pub(crate) fn added(new_items: usize, counters: Counters) {
    count(&ITEMS_ADDED, new_items as u64);
    if counters != Counters::default() {
        count(&FILTERS_GROWN, counters.grown);
        count(&FILL_GUARD_CLOSINGS, counters.guard_closings);
    }
}

/// Counts the `copies` that a command added to a counting filter.
pub(crate) fn copies_added(copies: usize) {
    count(&ITEMS_ADDED, copies as u64);
}

/// Counts the `copies` that a command removed.
pub(crate) fn copies_deleted(copies: usize) {
    count(&ITEMS_DELETED, copies as u64);
}

/// Counts a command from the primary or the append-only file whose error loses nothing.
pub(crate) fn replay_ignored() {
    count(&REPLAYS_IGNORED, 1);
}

/// Counts `items` whose window has passed.
pub(crate) fn forgotten(items: u64) {
    count(&ITEMS_FORGOTTEN, items);
}

/// Counts a step of the sweeper that took `took`.
pub(crate) fn swept(took: Duration) {
    count(&SWEEP_STEPS, 1);
    let slowest = slowest_sweep_step().max(took.as_micros() as u64);
    SLOWEST_SWEEP_STEP.store(slowest, Relaxed);
}

/// Adds `by` to `counter`, which only commands change.
fn count(counter: &AtomicU64, by: u64) {
    counter.store(counter.load(Relaxed) + by, Relaxed);
}
