//! Adding items to a filter, up to the first one refused.

use crate::commands::create::{Creatable, Opened};
use crate::commands::ration::Ration;
use crate::commands::reply_error::ReplyError;
use crate::journal::Recording;
use crate::stats;
use crate::sweeper::free_gone;
use crate::types::timetable::Timetable;
use splitbloom_filter::filter::{Filter, Kind, Outcome, Window};
use splitbloom_server::clock::{time_now, BadTime};
use splitbloom_server::context::Context;

/// The outcome of an add, up to the first item refused.
#[derive(Default)]
pub struct Added {
    /// The number of items before the one refused.
    pub answered: usize,
    /// The number of them that were new.
    pub new: usize,
    /// The number of them that changed the filter, because they were new or renewed.
    pub changed: usize,
    /// Whether clients may wait for new items: there are some, in a filter that is followed or that
    /// the command has created.
    pub may_be_awaited: bool,
    pub refusal: Option<ReplyError>,
}

impl Added {
    fn count(&mut self, outcome: Outcome) {
        self.answered += 1;
        self.new += usize::from(outcome.is_new());
        self.changed += usize::from(outcome.has_changed());
    }
}

/// Adds the items, with their time in a filter that forgets, up to the first one refused, and calls
/// `answer` with whether each was new.
pub fn add<'a, F: Creatable>(
    context: &Context,
    opened: &mut Opened<'_, F>,
    items: impl Iterator<Item = &'a [u8]> + Clone,
    time: Option<u64>,
    mut answer: impl FnMut(bool),
) -> Added {
    let filter = opened.filter_mut();
    let (before, forgotten) = (filter.progress(), filter.forgotten());
    let mut added = Added::default();
    let (ration, now) = (Ration::new(context), time.unwrap_or(0));
    let mut recording = Recording::begin(filter);
    let is_awaited = recording.is_some() || opened.is_new();
    let end = opened.add_within_limit(|filter, limit| {
        let rest = items.clone().skip(added.answered);
        filter.add_many_at(ration.of(rest), now, limit, |hash, outcome: Outcome| {
            added.count(outcome);
            answer(outcome.is_new());
            if let (Some(recording), true) = (&mut recording, outcome.is_new()) {
                recording.note(hash);
            }
        })
    });
    let filter = opened.filter_mut();
    if let Some(recording) = recording {
        recording.end(filter);
    }
    let refusal = end.err().map(|error| match filter.kind() {
        Kind::Counting => ReplyError::of_counting(error),
        Kind::Bloom | Kind::Windowed => ReplyError::of_add(error),
    });
    added.refusal = refusal.or(ration.refusal());
    added.may_be_awaited = is_awaited && added.new > 0;
    stats::added(added.new, filter.counters_since(before));
    if time.is_some() {
        stats::ITEMS_FORGOTTEN.add(filter.forgotten() - forgotten);
        free_gone(filter);
    }
    added
}

/// The time of items that are added, `given` by the client or the server's clock, if the filter
/// forgets.
///
/// # Errors
/// `WINDOW_MISSING` if a time is given for a filter without a window; otherwise as [`time_of`].
pub fn time_for(
    context: &Context,
    filter: &mut Filter,
    given: Option<u64>,
) -> Result<Option<u64>, ReplyError> {
    let Some(window) = filter.window() else {
        return given.map_or(Ok(None), |_| Err(ReplyError::WINDOW_MISSING));
    };
    let time = time_of(context, window, given)?;
    let of_client = given.filter(|given| is_from_a_client(context, window, *given));
    if let (Some(_), Some(timetable)) = (of_client, filter.attachment::<Timetable>()) {
        timetable.last_client_time = time_now();
    }
    Ok(Some(time))
}

/// The time of the items: `given` by the client, or the server's clock.
///
/// # Errors
/// `FAR_FUTURE`, or `SECONDS`.
pub fn time_of(context: &Context, window: Window, given: Option<u64>) -> Result<u64, ReplyError> {
    context.time_of(window.seconds(), given).map_err(|error| match error {
        BadTime::Seconds => ReplyError::SECONDS,
        BadTime::FarFuture => ReplyError::FAR_FUTURE,
    })
}

/// Whether a client supplied the time `given`, here or to the primary. The primary replicates each
/// add with its time. A time that a client supplied is recognized by the clock, which has passed it
/// by more than a slice. In a file it is not recognized: all times there have passed.
fn is_from_a_client(context: &Context, window: Window, given: u64) -> bool {
    let is_past = || given.saturating_add(window.slice()) < time_now();
    !context.is_loading() && (is_past() || !context.is_replay())
}
