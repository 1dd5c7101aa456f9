//! BF.ADD, BF.MADD and BF.INSERT: add items to a filter, and create it if the key is missing.

use super::reserve::{create, create_empty, Made};
use super::time::{is_from_a_client, time_of};
use crate::commands::answers::room_for_answers;
use crate::commands::held::found_or_missing;
use crate::commands::parameters::{
    CAPACITY, ERROR, EXPANSION, ITEM, ITEMS, KEY, NONSCALING, NO_CREATE, RENEW, SEED, SLICES,
    TIGHTENING, TIME, WINDOW,
};
use crate::commands::ration::Ration;
use crate::commands::reply_error::ReplyError;
use crate::commands::seeds::hide_seeds;
use crate::commands::{complexity, FIRST_RELEASE};
use crate::config;
use crate::server::arguments::Arguments;
use crate::server::clock::time_now;
use crate::server::command::{Command, KeyAccess, Output, Specification};
use crate::server::context::Context;
use crate::stats;
use crate::sweeper::free_gone;
use crate::types::bloom::{StoredFilter, Timetable};
use crate::types::Stored as _;
use splitbloom_filter::error::AddError;
use splitbloom_filter::filter::{Filter, Outcome, SizeLimit};
use splitbloom_grammar::loose::spell_out_bloom_insert;
use splitbloom_grammar::options::{parse_insert, Creation, Insertion};
use std::ffi::CStr;

/// BF.ADD.
pub struct Add;

/// BF.MADD.
pub struct MultiAdd;

/// BF.INSERT.
pub struct Insert;

impl Command for Add {
    const SPECIFICATION: Specification = Specification {
        name: c"bf.add",
        arity: 3,
        flags: c"write deny-oom fast",
        categories: "write fast",
        access: KeyAccess::Add,
        output: Output::Varies,
        since: FIRST_RELEASE,
        summary: c"Adds an item to a Bloom filter, which is created if it is missing",
        complexity: complexity::BLOOM_ITEM,
        parameters: &[KEY, ITEM],
    };

    fn run(context: &Context, arguments: Arguments<'_>) {
        let add = Adding {
            event: c"bf.add",
            creation: Some(Creation::default()),
            at: None,
            items: Words {
                arguments,
                first: 2,
            },
        };
        let mut is_new = false;
        match add.run(context, arguments, |new| is_new = new) {
            Ok(Added {
                refusal: Some(error),
                ..
            })
            | Err(error) => error.reply(context),
            Ok(_) => context.reply_bool(is_new),
        }
    }
}

impl Command for MultiAdd {
    const SPECIFICATION: Specification = Specification {
        name: c"bf.madd",
        arity: -3,
        flags: c"write deny-oom",
        categories: "write",
        access: KeyAccess::Add,
        output: Output::Varies,
        since: FIRST_RELEASE,
        summary: c"Adds items to a Bloom filter, which is created if it is missing",
        complexity: complexity::BLOOM_ITEMS,
        parameters: &[KEY, ITEMS],
    };

    fn run(context: &Context, arguments: Arguments<'_>) {
        let add = Adding {
            event: c"bf.madd",
            creation: Some(Creation::default()),
            at: None,
            items: Words {
                arguments,
                first: 2,
            },
        };
        match room_for_answers(arguments.len()) {
            Err(error) => error.reply(context),
            Ok(mut answers) => {
                let added = add.run(context, arguments, |new| answers.push(new));
                reply(context, &answers, added);
            }
        }
    }
}

impl Command for Insert {
    const SPECIFICATION: Specification = Specification {
        name: c"bf.insert",
        arity: -4,
        flags: c"write deny-oom",
        categories: "write",
        access: KeyAccess::Add,
        output: Output::Varies,
        since: FIRST_RELEASE,
        summary: c"Adds items to a Bloom filter, which is created with options if it is missing",
        complexity: complexity::BLOOM_ITEMS,
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
    };

    fn run(context: &Context, arguments: Arguments<'_>) {
        let Some(mut words) = arguments.try_list_from(2) else {
            return ReplyError::NoMemoryToAdd.reply(context);
        };
        let mut insertion = parse_insert(&words);
        if insertion.is_err() && context.is_replay() {
            spell_out_bloom_insert(&mut words);
            insertion = parse_insert(&words);
        }
        let options = insertion.ok().and_then(|insertion| insertion.first_item);
        hide_seeds(context, &words[..options.unwrap_or(words.len())], 2);
        match insertion {
            Err(error) => ReplyError::from(error).reply(context),
            Ok(insertion) => insert(context, arguments, insertion),
        }
    }
}

fn insert(context: &Context, arguments: Arguments<'_>, insertion: Insertion) {
    let Insertion {
        creation,
        at,
        first_item,
    } = insertion;
    let Some(first) = first_item else {
        let created = create_empty(context, arguments.at(1), &creation.unwrap_or_default());
        return match created {
            Err(error) => error.reply(context),
            Ok(()) => context.reply_array(0),
        };
    };
    match room_for_answers(arguments.len()) {
        Err(error) => error.reply(context),
        Ok(mut answers) => {
            let add = Adding {
                event: c"bf.insert",
                creation,
                at,
                items: Words {
                    arguments,
                    first: 2 + first,
                },
            };
            let added = add.run(context, arguments, |new| answers.push(new));
            reply(context, &answers, added);
        }
    }
}

/// Replies with an array of whether each item was new. It ends at the first item refused, with the
/// error.
fn reply(context: &Context, answers: &[bool], added: Result<Added, ReplyError>) {
    match added {
        Err(error) => error.reply(context),
        Ok(Added { refusal, .. }) => {
            context.reply_array(answers.len() + usize::from(refusal.is_some()));
            for new in answers {
                context.reply_bool(*new);
            }
            if let Some(error) = refusal {
                error.reply(context);
            }
        }
    }
}

/// The items of an add: each is a word of the command, or one word packs them all.
pub(super) trait Source<'a> {
    /// The items but the first `first`.
    fn items_from(&self, first: usize) -> impl ExactSizeIterator<Item = &'a [u8]>;
    /// Replicates an add of the first `number` items.
    fn replicate_first(self, context: &Context, number: usize);
    /// Replicates an add of the first `number` items with their time.
    fn replicate_first_at(self, context: &Context, time: u64, number: usize);
}

/// The words from `first` on.
struct Words<'a> {
    arguments: Arguments<'a>,
    first: usize,
}

impl<'a> Source<'a> for Words<'a> {
    fn items_from(&self, first: usize) -> impl ExactSizeIterator<Item = &'a [u8]> {
        self.arguments.bytes_from(self.first + first)
    }

    fn replicate_first(self, context: &Context, number: usize) {
        let (words, end) = (self.arguments, self.first + number);
        context.replicate_some(c"BF.MADD", words.at(1), words, self.first, end);
    }

    fn replicate_first_at(self, context: &Context, time: u64, number: usize) {
        let time = time.to_string();
        let before = [b"AT".as_slice(), time.as_bytes(), b"ITEMS"];
        let (words, items) = (self.arguments, (self.first, self.first + number));
        context.replicate_before(c"BF.INSERT", words.at(1), &before, words, items);
    }
}

/// What an add needs from its command: the items, their time (`None`: now), what to create if the
/// key is missing (`None`: an error), and the name of the event.
pub(super) struct Adding<S> {
    pub event: &'static CStr,
    pub creation: Option<Creation>,
    pub at: Option<u64>,
    pub items: S,
}

/// The outcome of an add, up to the first item refused.
#[derive(Default)]
pub(super) struct Added {
    /// Items before that one.
    pub answered: usize,
    /// Those of them that were new.
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
        let mut present = found_or_missing(key.held::<StoredFilter>())?;
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
        let made = new.as_ref().map(Made::of);
        // If the first item is refused, the key stays missing.
        if let Some(filter) = new.filter(|_| added.has_changed) {
            let stored = key.put(StoredFilter::new(filter));
            present = Some(stored.ok_or(ReplyError::NoMemoryToCreate)?);
        }
        if let Some(stored) = present {
            stored.attend(context, arguments.at(1));
        }
        drop(key); // before a module is notified that might delete it
        if added.has_changed {
            let event = self.event;
            self.replicate(context, arguments, made.as_ref(), &added);
            // Last: a module that is notified may change the key, which must replicate after this.
            if made.is_some() {
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
            timetable.told = time_now();
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

    /// Adds the items that have no answer yet, up to the first one refused.
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
        made: Option<&Made>,
        added: &Added,
    ) {
        if let Some(made) = made {
            made.replicate(context, arguments.at(1));
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
