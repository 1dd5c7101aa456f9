//! Counters since the module was loaded, for INFO.

use splitbloom_filter::filter::Counters;
use splitbloom_server::info::Counter;
use std::time::Duration;

/// Filters in the keyspace. The server also frees them on its background thread.
pub static FILTERS: Counter = Counter::new();
/// New items added, and copies of items added to counting filters.
pub static ITEMS_ADDED: Counter = Counter::new();
/// Copies of items removed from counting filters.
pub static ITEMS_DELETED: Counter = Counter::new();
/// Items whose window has passed.
pub static ITEMS_FORGOTTEN: Counter = Counter::new();
/// Steps of the sweeper.
pub static SWEEP_STEPS: Counter = Counter::new();
/// The time of the slowest step, in microseconds.
pub static SLOWEST_SWEEP_STEP: Counter = Counter::new();
/// Items looked up.
pub static LOOKUPS: Counter = Counter::new();
/// Items looked up and found, false positives included.
pub static LOOKUP_HITS: Counter = Counter::new();
/// Filters that overflowed into a table.
pub static FILTERS_GROWN: Counter = Counter::new();
/// Sub-filters that the fill guard closed before they reached their capacity.
pub static FILL_GUARD_CLOSINGS: Counter = Counter::new();
/// Commands from the primary or the append-only file that would have had no effect, and so got no
/// error; a client would have got one.
pub static REPLAYS_IGNORED: Counter = Counter::new();

/// Replies of BF.CHANGES after which a follower fetches the whole filter.
pub static FETCHES_BY_FOLLOWERS: Counter = Counter::new();

/// Counts `items` that a command looked up, of which it found `found`.
pub fn looked_up(items: usize, found: usize) {
    LOOKUPS.add(items as u64);
    LOOKUP_HITS.add(found as u64);
}

/// Counts the `new_items` that a command added, and the events in the filter.
pub fn added(new_items: usize, counters: Counters) {
    ITEMS_ADDED.add(new_items as u64);
    if counters != Counters::default() {
        FILTERS_GROWN.add(counters.grown);
        FILL_GUARD_CLOSINGS.add(counters.guard_closings);
    }
}

/// Counts a step of the sweeper that took `took`.
pub fn swept(took: Duration) {
    SWEEP_STEPS.add(1);
    SLOWEST_SWEEP_STEP.raise_to(took.as_micros() as u64);
}
