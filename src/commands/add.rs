//! Adding items to a filter, up to the first one refused, and replicating what took effect.

use crate::commands::create::{add_to, Creates};
use crate::commands::ration::Ration;
use crate::commands::reply_error::ReplyError;
use crate::journal::{self, Recording};
use crate::stats;
use crate::sweeper::free_gone;
use crate::types::timetable::Timetable;
use splitbloom_filter::error::AddError;
use splitbloom_filter::filter::{Filter, Kind, Outcome, SizeLimit, Window};
use splitbloom_server::arguments::Arguments;
use splitbloom_server::clock::{time_now, BadTime};
use splitbloom_server::context::Context;
use std::ffi::CStr;

/// The items of an add: each in an argument of its own, or all packed into one.
pub trait Source<'a> {
    /// The items without the first `first`.
    fn items_from(&self, first: usize) -> impl ExactSizeIterator<Item = &'a [u8]>;
    /// Replicates an add of the first `number` items, with their time if they have one.
    fn replicate_first(&self, context: &Context, time: Option<u64>, number: usize);
}

/// What an add needs from its command.
pub struct Adding<C, S> {
    /// The name of the event.
    pub event: &'static CStr,
    /// What to create if the key is missing; `None` makes that an error.
    pub creation: Option<C>,
    /// The time of the items; `None` means now.
    pub at: Option<u64>,
    pub items: S,
}

/// The outcome of an add, up to the first item refused.
#[derive(Default)]
pub struct Added {
    /// The number of items before the one refused.
    pub answered: usize,
    /// The number of them that were new.
    pub new: usize,
    /// The number of them that changed the filter, because they were new or renewed.
    changed: usize,
    pub refusal: Option<ReplyError>,
    /// The time of the items, in a filter that forgets.
    time: Option<u64>,
}

impl Added {
    fn count(&mut self, outcome: Outcome) {
        self.answered += 1;
        self.new += usize::from(outcome.is_new());
        self.changed += usize::from(outcome.has_changed());
    }
}

impl<'a, C, S: Source<'a>> Adding<C, S> {
    /// Adds the items to the command's key, and calls `answer` with whether each was new.
    /// Replicates what took effect: the items as they came, or with their time, but without the
    /// refused one and those after it, and without an expiry, which is replicated apart.
    pub fn run<F: Creates<Creation = C>>(
        &self,
        context: &Context,
        arguments: Arguments<'_>,
        answer: impl FnMut(bool),
    ) -> Result<Added, ReplyError> {
        let add = |filter: &mut Filter, limit| {
            let time = self.time(context, filter)?;
            let added = self.add(context, filter, time, limit, answer);
            Ok((added.changed > 0, added))
        };
        let expires = self.creation.as_ref().and_then(F::expiry).is_some();
        let replicate = |added: &Added| match (added.time, &added.refusal) {
            (None, None) if !expires => context.replicate_verbatim(),
            _ => self.items.replicate_first(context, added.time, added.answered),
        };
        let (key, event, creation) = (arguments.at(1), Some(self.event), self.creation.as_ref());
        let added = add_to::<F, _>(context, key, event, creation, add, replicate)?;
        if added.new > 0 {
            journal::wake_few(context, key);
        }
        Ok(added)
    }

    /// The time of the items, in a filter that forgets.
    fn time(&self, context: &Context, filter: &mut Filter) -> Result<Option<u64>, ReplyError> {
        let Some(window) = filter.window() else {
            return match self.at {
                Some(_) => Err(ReplyError::WINDOW_MISSING),
                None => Ok(None),
            };
        };
        let time = time_of(context, window, self.at)?;
        let given = self.at.filter(|at| is_from_a_client(context, window, *at));
        if let (Some(_), Some(timetable)) = (given, filter.attachment::<Timetable>()) {
            timetable.last_client_time = time_now();
        }
        Ok(Some(time))
    }

    /// Adds the items, up to the first one refused.
    fn add(
        &self,
        context: &Context,
        filter: &mut Filter,
        time: Option<u64>,
        limit: SizeLimit,
        mut answer: impl FnMut(bool),
    ) -> Added {
        let (before, forgotten) = (filter.progress(), filter.forgotten());
        let mut added = Added { time, ..Added::default() };
        let (ration, now) = (Ration::new(context), time.unwrap_or(0));
        let mut recording = Recording::begin(filter);
        let mut add_rest = |added: &mut Added, limit| {
            let mut items = self.items.items_from(added.answered);
            let mut count = |hash, outcome: Outcome| {
                added.count(outcome);
                answer(outcome.is_new());
                if let (Some(recording), true) = (&mut recording, outcome.is_new()) {
                    recording.note(hash);
                }
            };
            if items.len() > 1 {
                return filter.add_many_at(ration.of(items), now, limit, count);
            }
            // One item is not worth setting up a group.
            items.try_for_each(|item| {
                let hash = filter.hash(item);
                let outcome = filter.add_hashed_at(item, hash, now, limit)?;
                count(hash, outcome);
                Ok(())
            })
        };
        let mut end = add_rest(&mut added, limit);
        // The primary has acknowledged some of these items. It may have been RedisBloom, whose
        // false positives differ, and so have had room where there is none here.
        if end == Err(AddError::Full) && time.is_none() && context.is_replay() {
            end = add_rest(&mut added, SizeLimit::Replay);
        }
        if let Some(recording) = recording {
            recording.end(filter);
        }
        let refusal = end.err().map(|error| match filter.kind() {
            Kind::Counting => ReplyError::of_counting(error),
            Kind::Bloom | Kind::Windowed => ReplyError::of_add(error),
        });
        added.refusal = refusal.or(ration.refusal());
        stats::added(added.new, filter.counters_since(before));
        if time.is_some() {
            stats::ITEMS_FORGOTTEN.add(filter.forgotten() - forgotten);
            free_gone(filter);
        }
        added
    }
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
