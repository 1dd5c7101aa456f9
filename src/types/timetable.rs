//! When a filter that forgets is to be visited between commands.

use splitbloom_filter::Filter;
use splitbloom_server::lapse::{signal_of, Appointment};
use splitbloom_server::queue::{Queue, Ticket};

/// Filters from which forgotten items are to be swept.
pub static SWEEPS: Queue = Queue::new();
/// Filters whose lookups will change, because a slice will be over.
pub static CHANGES: Queue = Queue::new();

/// When a filter that forgets is to be visited between commands.
#[derive(Default)]
pub struct Timetable {
    /// Its ticket among the filters that are to be swept.
    pub sweep: Option<Ticket>,
    /// Its ticket among the filters whose lookups will change.
    pub change: Option<Ticket>,
    /// When a client last supplied the time of its items, in milliseconds since 1970. A sweep moves
    /// the filter's time forward to the clock's, and that time never runs back, so sweeping waits
    /// while a client loads a history.
    pub last_client_time: u64,
}

/// The visits for which `filter` is to wait, as of `now`. None without memory for the timetable:
/// then the filter waits for the next command that changes it.
pub fn appointments(filter: &mut Filter, now: u64) -> impl Iterator<Item = Appointment<'_>> {
    let (sweep_due, change_due) = (filter.next_due(), filter.next_change(now).map(signal_of));
    let timetable = sweep_due.or(change_due).and_then(|_| filter.attachment::<Timetable>());
    timetable.into_iter().flat_map(move |Timetable { sweep, change, .. }| {
        // An overdue sweep waits after the other overdue ones.
        let sweep = sweep_due.map(|due| (&SWEEPS, sweep, due.max(now)));
        let change = change_due.map(|due| (&CHANGES, change, due));
        let visits = [sweep, change].into_iter().flatten();
        visits.map(|(queue, ticket, due)| Appointment { queue, ticket, due })
    })
}
