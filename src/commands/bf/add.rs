//! BF.ADD, BF.MADD and BF.INSERT: add items to a filter, and create it if the key is missing.

use super::reserve::{create, create_empty, Created};
use super::time::{is_from_a_client, time_of};
use crate::commands::docs::{
    BLOOM_ITEM, BLOOM_ITEMS, CAPACITY, ERROR, EXPANSION, FIRST_RELEASE, ITEM, ITEMS, KEY,
    NONSCALING, NO_CREATE, RENEW, SEED, SLICES, TIGHTENING, TIME, WINDOW,
};
use crate::commands::ration::Ration;
use crate::commands::reply_error::ReplyError;
use crate::config;
use crate::slow_log::hide_seeds;
use crate::stats;
use crate::sweeper::free_gone;
use crate::types::bloom::StoredFilter;
use crate::types::timetable::Timetable;
use crate::types::Stored as _;
use splitbloom_filter::error::AddError;
use splitbloom_filter::filter::{Filter, Outcome, SizeLimit};
use splitbloom_grammar::loose::spell_out_bloom_insert;
use splitbloom_grammar::options::{parse_insert, Creation, Insertion};
use splitbloom_server::allocator::try_vec;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::clock::time_now;
use splitbloom_server::command::{Command, KeyAccess, Output};
use splitbloom_server::context::Context;
use splitbloom_server::text::Line;
use std::ffi::CStr;

pub const ADD: Command<ReplyError> = Command {
    name: c"bf.add",
    arity: 3,
    flags: "write deny-oom fast",
    access: KeyAccess::Add,
    output: Output::Varies,
    since: FIRST_RELEASE,
    summary: c"Adds an item to a Bloom filter, which is created if it is missing",
    complexity: BLOOM_ITEM,
    parameters: &[KEY, ITEM],
    run: add,
};

fn add(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let add = Adding {
        event: c"bf.add",
        creation: Some(Creation::default()),
        at: None,
        items: Args {
            arguments,
            first: 2,
        },
    };
    let mut is_new = false;
    let added = add.run(context, arguments, |new| is_new = new)?;
    added.refusal.map_or(Ok(()), Err)?;
    context.reply_bool(is_new);
    Ok(())
}

pub const MULTI_ADD: Command<ReplyError> = Command {
    name: c"bf.madd",
    arity: -3,
    flags: "write deny-oom",
    access: KeyAccess::Add,
    output: Output::Varies,
    since: FIRST_RELEASE,
    summary: c"Adds items to a Bloom filter, which is created if it is missing",
    complexity: BLOOM_ITEMS,
    parameters: &[KEY, ITEMS],
    run: multi_add,
};

fn multi_add(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let add = Adding {
        event: c"bf.madd",
        creation: Some(Creation::default()),
        at: None,
        items: Args {
            arguments,
            first: 2,
        },
    };
    add_many(context, arguments, add)
}

pub const INSERT: Command<ReplyError> = Command {
    name: c"bf.insert",
    arity: -4,
    flags: "write deny-oom",
    access: KeyAccess::Add,
    output: Output::Varies,
    since: FIRST_RELEASE,
    summary: c"Adds items to a Bloom filter, which is created with options if it is missing",
    complexity: BLOOM_ITEMS,
    parameters: &[
        KEY,
        CAPACITY.after(c"CAPACITY").optional(),
        ERROR.optional(),
        EXPANSION.optional(),
        NO_CREATE,
        NONSCALING.optional(),
        WINDOW,
        SLICES,
        RENEW,
        TIME.after(c"AT").optional(),
        SEED,
        TIGHTENING,
        ITEMS.after(c"ITEMS"),
    ],
    run: insert,
};

fn insert(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let args = arguments.try_list_from(2);
    let mut args = args.ok_or(ReplyError::NoMemoryToAdd)?;
    let mut insertion = parse_insert(&args);
    if insertion.is_err() && context.is_replay() {
        spell_out_bloom_insert(&mut args);
        insertion = parse_insert(&args);
    }
    let options = insertion.ok().and_then(|insertion| insertion.first_item);
    hide_seeds(context, &args[..options.unwrap_or(args.len())], 2);
    let Insertion {
        creation,
        at,
        first_item,
    } = insertion?;
    let Some(first) = first_item else {
        create_empty(context, arguments.at(1), &creation.unwrap_or_default())?;
        context.reply_array(0);
        return Ok(());
    };
    let items = Args {
        arguments,
        first: 2 + first,
    };
    let add = Adding {
        event: c"bf.insert",
        creation,
        at,
        items,
    };
    add_many(context, arguments, add)
}

/// Runs `add` and replies with an array of whether each item was new. It ends at the first item
/// refused, with the error.
fn add_many(
    context: &Context,
    arguments: Arguments<'_>,
    add: Adding<Args<'_>>,
) -> Result<(), ReplyError> {
    // No command has more items than arguments.
    let answers = try_vec(arguments.len());
    let mut answers = answers.ok_or(ReplyError::NoMemoryToAdd)?;
    let Added { refusal, .. } = add.run(context, arguments, |new| answers.push(new))?;
    context.reply_array(answers.len() + usize::from(refusal.is_some()));
    for new in answers {
        context.reply_bool(new);
    }
    refusal.map_or(Ok(()), Err)
}

/// The items of an add: each is an argument of the command, or one argument packs them all.
pub(super) trait Source<'a> {
    /// The items without the first `first`.
    fn items_from(&self, first: usize) -> impl ExactSizeIterator<Item = &'a [u8]>;
    /// Replicates an add of the first `number` items.
    fn replicate_first(self, context: &Context, number: usize);
    /// Replicates an add of the first `number` items with their time.
    fn replicate_first_at(self, context: &Context, time: u64, number: usize);
}

/// The arguments from `first` on.
struct Args<'a> {
    arguments: Arguments<'a>,
    first: usize,
}

impl<'a> Source<'a> for Args<'a> {
    fn items_from(&self, first: usize) -> impl ExactSizeIterator<Item = &'a [u8]> {
        self.arguments.bytes_from(self.first + first)
    }

    fn replicate_first(self, context: &Context, number: usize) {
        let (arguments, items) = (self.arguments, (self.first, self.first + number));
        context.replicate_before(c"BF.MADD", arguments.at(1), [], arguments, items);
    }

    fn replicate_first_at(self, context: &Context, time: u64, number: usize) {
        let time = Line::of(time);
        let before = [b"AT", time.bytes(), b"ITEMS"];
        let (arguments, items) = (self.arguments, (self.first, self.first + number));
        context.replicate_before(c"BF.INSERT", arguments.at(1), before, arguments, items);
    }
}

/// What an add needs from its command.
pub(super) struct Adding<S> {
    /// The name of the event.
    pub event: &'static CStr,
    /// What to create if the key is missing; `None`: an error.
    pub creation: Option<Creation>,
    /// The time of the items; `None`: now.
    pub at: Option<u64>,
    pub items: S,
}

/// The outcome of an add, up to the first item refused.
#[derive(Default)]
pub(super) struct Added {
    /// The number of items before that one.
    pub answered: usize,
    /// The number of those that were new.
    pub new: usize,
    /// Whether any of them changed the filter: those that were new, and those that were renewed.
    has_changed: bool,
    pub refusal: Option<ReplyError>,
    /// Their time, in a filter that forgets.
    time: Option<u64>,
}

impl Added {
    fn count(&mut self, outcome: Outcome) {
        self.answered += 1;
        self.new += usize::from(outcome.is_new());
        self.has_changed |= outcome.has_changed();
    }
}

impl<'a, S: Source<'a>> Adding<S> {
    /// Adds the items, and calls `answer` with whether each was new.
    pub fn run(
        self,
        context: &Context,
        arguments: Arguments<'_>,
        answer: impl FnMut(bool),
    ) -> Result<Added, ReplyError> {
        let limit = config::size_limit(context);
        let mut key = context.open_to_write(arguments.at(1))?;
        let mut present = key.value::<StoredFilter>()?;
        let mut new = None;
        let filter = match &mut present {
            Some(stored) => stored.filter_mut(),
            None => {
                let creation = self.creation.as_ref().ok_or(ReplyError::NotFound)?;
                new.insert(create(context, creation)?)
            }
        };
        let time = self.time(context, filter)?;
        let added = self.add(context, filter, time, limit, answer);
        let created = new.as_ref().map(Created::of);
        // If the first item is refused, the key stays missing.
        if let Some(filter) = new.filter(|_| added.has_changed) {
            let stored = key.put(StoredFilter::new(filter));
            present = Some(stored.ok_or(ReplyError::NoMemoryToCreate)?);
        }
        if let Some(stored) = present {
            stored.schedule(context, arguments.at(1));
        }
        drop(key); // before a module is notified that might delete it
        if added.has_changed {
            let event = self.event;
            self.replicate(context, arguments, created.as_ref(), &added);
            // Last: a module that is notified may change the key, which must replicate after this.
            if created.is_some() {
                context.signal_change(c"bf.reserve", arguments.at(1));
            }
            context.signal_change(event, arguments.at(1));
        }
        Ok(added)
    }

    /// The time of the items, in a filter that forgets.
    fn time(&self, context: &Context, filter: &mut Filter) -> Result<Option<u64>, ReplyError> {
        let Some(window) = filter.window() else {
            return match self.at {
                Some(_) => Err(ReplyError::WindowMissing),
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
        let mut added = Added {
            time,
            ..Added::default()
        };
        let ration = Ration::new(context);
        let mut end = self.add_rest(filter, limit, &ration, &mut added, &mut answer);
        // The primary has acknowledged some of these items. It may have been RedisBloom, with other
        // false positives, and so with room left where there is none here.
        if end == Err(AddError::Full) && time.is_none() && context.is_replay() {
            end = self.add_rest(filter, SizeLimit::Replay, &ration, &mut added, answer);
        }
        let refusal = end.err().map(ReplyError::of_add);
        added.refusal = refusal.or(ration.refusal());
        stats::added(added.new, filter.counters_since(before));
        if time.is_some() {
            stats::forgotten(filter.forgotten() - forgotten);
            free_gone(filter);
        }
        added
    }

    /// Adds the items that have not been added yet, up to the first one refused.
    fn add_rest(
        &self,
        filter: &mut Filter,
        limit: SizeLimit,
        ration: &Ration<'_>,
        added: &mut Added,
        mut answer: impl FnMut(bool),
    ) -> Result<(), AddError> {
        let now = added.time.unwrap_or(0);
        let mut items = self.items.items_from(added.answered);
        let mut count = |outcome: Outcome| {
            added.count(outcome);
            answer(outcome.is_new());
        };
        match items.len() {
            // One item is not worth setting up a group.
            1 => items.try_for_each(|item| filter.add_at(item, now, limit).map(&mut count)),
            _ => filter.add_many_at(ration.of(items), now, limit, &mut count),
        }
    }

    /// Replicates what took effect: the creation, if there was one, and the items, as they came or
    /// with their time, but without the one refused and those after it.
    fn replicate(
        self,
        context: &Context,
        arguments: Arguments<'_>,
        created: Option<&Created>,
        added: &Added,
    ) {
        if let Some(created) = created {
            created.replicate(context, arguments.at(1));
        }
        if let Some(time) = added.time {
            self.items.replicate_first_at(context, time, added.answered);
        } else if added.refusal.is_none() {
            context.replicate_verbatim();
        } else {
            self.items.replicate_first(context, added.answered);
        }
    }
}
