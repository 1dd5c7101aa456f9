//! BF.ADD, BF.MADD and BF.INSERT: add items to a filter, and create it if the key is missing.

use super::reserve::{create, replicate_creation};
use crate::commands::answers::room_for_answers;
use crate::commands::held::found_or_missing;
use crate::commands::parameters::{
    CAPACITY, ERROR, EXPANSION, ITEM, ITEMS, KEY, NONSCALING, NO_CREATE,
};
use crate::commands::reply_error::ReplyError;
use crate::commands::FIRST_RELEASE;
use crate::config;
use crate::server::arguments::Arguments;
use crate::server::command::{Command, KeyAccess, Specification};
use crate::server::context::Context;
use crate::stats;
use crate::types::bloom::StoredFilter;
use crate::types::Stored as _;
use splitbloom_filter::error::AddError;
use splitbloom_filter::filter::{Filter, Parameters, SizeLimit};
use splitbloom_filter::AnyFilter;
use splitbloom_grammar::options::{parse_insert, Creation};
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
        since: FIRST_RELEASE,
        summary: c"Adds an item to a Bloom filter, which is created if it is missing",
        complexity: c"O(1)",
        parameters: &[KEY, ITEM],
    };

    fn run(context: &Context, arguments: Arguments<'_>) {
        let add = Adding {
            event: c"bf.add",
            creation: Some(Creation::default()),
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
        since: FIRST_RELEASE,
        summary: c"Adds items to a Bloom filter, which is created if it is missing",
        complexity: c"O(N) with N items",
        parameters: &[KEY, ITEMS],
    };

    fn run(context: &Context, arguments: Arguments<'_>) {
        let add = Adding {
            event: c"bf.madd",
            creation: Some(Creation::default()),
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
        since: FIRST_RELEASE,
        summary: c"Adds items to a Bloom filter, which is created with options if it is missing",
        complexity: c"O(N) with N items",
        parameters: &[
            KEY,
            CAPACITY.after(c"CAPACITY").optional(),
            ERROR.optional(),
            EXPANSION.optional(),
            NO_CREATE,
            NONSCALING.optional(),
            ITEMS.after(c"ITEMS"),
        ],
    };

    fn run(context: &Context, arguments: Arguments<'_>) {
        let Some(words) = arguments.try_list_from(2) else {
            return ReplyError::NoMemoryToAdd.reply(context);
        };
        let insertion = parse_insert(&words).map_err(ReplyError::from);
        match insertion.and_then(|insertion| Ok((insertion, room_for_answers(arguments.len())?))) {
            Err(error) => error.reply(context),
            Ok((insertion, mut answers)) => {
                let add = Adding {
                    event: c"bf.insert",
                    creation: insertion.creation,
                    items: Words {
                        arguments,
                        first: 2 + insertion.first_item,
                    },
                };
                let added = add.run(context, arguments, |new| answers.push(new));
                reply(context, &answers, added);
            }
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

/// Where the items of an add are: each is a word of the command, or one word packs them all.
pub(super) trait Source<'a> {
    fn items(&self) -> impl ExactSizeIterator<Item = &'a [u8]>;
    /// Replicates an add of the first `number` items.
    fn replicate_first(self, context: &Context, number: usize);
}

/// The words from `first` on.
struct Words<'a> {
    arguments: Arguments<'a>,
    first: usize,
}

impl<'a> Source<'a> for Words<'a> {
    fn items(&self) -> impl ExactSizeIterator<Item = &'a [u8]> {
        self.arguments.bytes_from(self.first)
    }

    fn replicate_first(self, context: &Context, number: usize) {
        let (words, end) = (self.arguments, self.first + number);
        context.replicate_some(c"BF.MADD", words.at(1), words, self.first, end);
    }
}

/// What the commands tell an add: where the items are, what to create if the key is missing
/// (`None`: an error), and the name of the event.
pub(super) struct Adding<S> {
    pub event: &'static CStr,
    pub creation: Option<Creation>,
    pub items: S,
}

/// The outcome of an add, up to the first item refused.
#[derive(Default)]
pub(super) struct Added {
    /// Items before that one.
    pub answered: usize,
    /// Those of them that were new.
    pub new: usize,
    pub refusal: Option<ReplyError>,
}

impl<'a, S: Source<'a>> Adding<S> {
    /// Adds the items, and calls `answer` with whether each was new.
    pub fn run(
        self,
        context: &Context,
        arguments: Arguments<'a>,
        mut answer: impl FnMut(bool),
    ) -> Result<Added, ReplyError> {
        let limit = config::size_limit(context);
        let mut key = context.open_to_write(arguments.at(1));
        let mut made = None;
        let filter = match found_or_missing(key.held::<StoredFilter>())? {
            Some(stored) => {
                let AnyFilter::Lasting(filter) = stored.filter_mut();
                filter
            }
            None => {
                let creation = self.creation.as_ref().ok_or(ReplyError::NotFound)?;
                made.insert(create(context, creation)?)
            }
        };

        let before = filter.progress();
        let mut added = Added::default();
        let mut count = |new| {
            added.answered += 1;
            added.new += usize::from(new);
            answer(new);
        };
        let end = add_all(filter, self.items.items(), limit, &mut count);
        added.refusal = end.err().map(ReplyError::of_add);
        stats::added(added.new, filter.counters_since(before));

        let parameters = made.as_ref().map(Filter::parameters);
        // If the first item is refused, the key stays missing.
        if let Some(filter) = made.filter(|_| added.new > 0) {
            key.put(StoredFilter::new(AnyFilter::Lasting(filter)))
                .ok_or(ReplyError::NoMemoryToCreate)?;
        }
        drop(key); // before a module is notified that might delete it
        if added.new > 0 {
            let event = self.event;
            self.replicate(context, arguments, parameters.as_ref(), &added);
            // Last: a module that is notified may change the key, which must replicate after this.
            if parameters.is_some() {
                context.signal_change(c"bf.reserve", arguments.at(1));
            }
            context.signal_change(event, arguments.at(1));
        }
        Ok(added)
    }

    /// Replicates what took effect: the creation, if there was one, and the command as it came, or
    /// the items before the one refused.
    fn replicate(
        self,
        context: &Context,
        arguments: Arguments<'_>,
        made: Option<&Parameters>,
        added: &Added,
    ) {
        if let Some(parameters) = made {
            replicate_creation(context, arguments.at(1), parameters);
        }
        if added.refusal.is_none() {
            context.replicate_verbatim();
        } else {
            self.items.replicate_first(context, added.answered);
        }
    }
}

/// Adds the items up to the first one refused.
fn add_all<'a>(
    filter: &mut Filter,
    mut items: impl ExactSizeIterator<Item = &'a [u8]>,
    limit: SizeLimit,
    mut answer: impl FnMut(bool),
) -> Result<(), AddError> {
    match items.len() {
        // One item is not worth setting up a group.
        1 => items.try_for_each(|item| filter.add(item, limit).map(&mut answer)),
        _ => filter.add_many(items, limit, answer),
    }
}
