//! When a filter that forgets is to be visited between commands.

use splitbloom_filter::Filter;
use splitbloom_server::arguments::Argument;
use splitbloom_server::clock::time_now;
use splitbloom_server::context::Context;
use splitbloom_server::lapse::signal_of;
use splitbloom_server::location::Location;
use splitbloom_server::queue::{Origin, Queue, Ticket};
use splitbloom_server::thread::ServerThread;

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
    /// the filter's time forward to the clock's, and it never runs back, so sweeping waits until a
    /// history is loaded.
    pub last_client_time: u64,
}

/// A queue, a filter's ticket for it, and when the filter's next visit there is due.
type Visit<'a> = (&'static Queue, &'a mut Option<Ticket>, Option<u64>);

impl Timetable {
    /// Queues `filter` unless it waits under `key` already. Cost: some 70 ns if it does.
    pub fn schedule(filter: &mut Filter, context: &Context, key: Argument<'_>) {
        let now = time_now();
        for (queue, ticket, due) in visits(filter, now).into_iter().flatten() {
            // Without memory for the name it waits for the next command that changes it.
            // What is overdue waits after the others that are.
            due.into_iter().for_each(|due| queue.put(ticket, due.max(now), now, context, key));
        }
    }

    /// Queues `filter` if it forgets: the server loads it, or copies it to `location`.
    pub fn schedule_at(
        filter: &mut Filter,
        location: impl FnOnce() -> Option<Location>,
        thread: ServerThread,
    ) {
        let now = time_now();
        let Some(visits) = visits(filter, now) else {
            return;
        };
        let Some(origin) = location().map(Origin::of) else {
            return;
        };
        for (queue, ticket, due) in visits {
            *ticket = due.map(|due| Ticket::new(queue, due.max(now), origin.clone(), thread));
        }
    }
}

/// The visits of `filter`; `None` if none is due, or if there is no memory for the timetable. Then
/// the filter waits for the next command that changes it.
fn visits(filter: &mut Filter, now: u64) -> Option<[Visit<'_>; 2]> {
    let (sweep_due, change_due) = (filter.next_due(), filter.next_change(now).map(signal_of));
    sweep_due.or(change_due)?;
    let Timetable { sweep, change, .. } = filter.attachment()?;
    Some([(&SWEEPS, sweep, sweep_due), (&CHANGES, change, change_due)])
}
