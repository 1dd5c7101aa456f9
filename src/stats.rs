//! What has happened since the module was loaded, for INFO.
//!
//! Filters are freed on the server's background thread too, so their number is changed atomically. All else is counted by commands,
//! which run one at a time: a load and a store, which take no lock on the bus (5 ns, a tenth of a look-up).

use crate::filter::scalable::Tally;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static FILTERS: AtomicU64 = AtomicU64::new(0);
static ITEMS_ADDED: AtomicU64 = AtomicU64::new(0);
static LOOKUPS: AtomicU64 = AtomicU64::new(0);
static SUB_FILTERS_GROWN: AtomicU64 = AtomicU64::new(0);
static FILL_GUARD_CLOSINGS: AtomicU64 = AtomicU64::new(0);

/// Filters that the server holds.
pub fn filters() -> u64 {
    FILTERS.load(Relaxed)
}

/// Items added that were new.
pub fn items_added() -> u64 {
    ITEMS_ADDED.load(Relaxed)
}

/// Items asked for.
pub fn lookups() -> u64 {
    LOOKUPS.load(Relaxed)
}

/// Sub-filters added because the last one was full.
pub fn sub_filters_grown() -> u64 {
    SUB_FILTERS_GROWN.load(Relaxed)
}

/// Sub-filters that the fill guard closed before their capacity was reached.
pub fn fill_guard_closings() -> u64 {
    FILL_GUARD_CLOSINGS.load(Relaxed)
}

pub(crate) fn filter_made() {
    FILTERS.fetch_add(1, Relaxed);
}

pub(crate) fn filter_freed() {
    FILTERS.fetch_sub(1, Relaxed);
}

pub(crate) fn looked_up(items: usize) {
    count(&LOOKUPS, items as u64);
}

/// Counts what a command added, from the filter's tally before and after it.
pub(crate) fn added(new_items: usize, before: Tally, after: Tally) {
    count(&ITEMS_ADDED, new_items as u64);
    if before != after {
        count(&SUB_FILTERS_GROWN, after.grown - before.grown);
        count(
            &FILL_GUARD_CLOSINGS,
            after.guard_closings - before.guard_closings,
        );
    }
}

/// Adds to a counter that only commands change.
fn count(counter: &AtomicU64, by: u64) {
    counter.store(counter.load(Relaxed) + by, Relaxed);
}
