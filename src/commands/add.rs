//! BF.ADD, BF.MADD and BF.INSERT: items into a filter, which is made if it is missing.

use super::options::{parse_insert, Creation};
use super::parameters::{EXPANSION, ITEM, ITEMS, KEY, NONSCALING};
use super::reserve::{create, replicate_creation};
use super::text::ErrorText;
use crate::config;
use crate::data_type::StoredFilter;
use crate::filter::error::AddError;
use crate::filter::scalable::{Filter, SizeLimit};
use crate::redis::command::{Command, KeyAccess, Kind, Parameter, Specification, Times};
use crate::redis::context::{Arguments, Context};
use crate::redis::key::Held;
use crate::stats;
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
        summary: c"Adds an item to a Bloom filter, which is created if it is missing",
        complexity: c"O(S) with S sub-filters, one for a filter reserved at the right size",
        parameters: &[KEY, ITEM],
    };

    fn run(context: &Context, arguments: Arguments<'_>) {
        let add = Adding {
            event: c"bf.add",
            creation: Some(Creation::default()),
            first_item: 2,
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
        summary: c"Adds items to a Bloom filter, which is created if it is missing",
        complexity: c"O(N*S) with N items and S sub-filters",
        parameters: &[KEY, ITEMS],
    };

    fn run(context: &Context, arguments: Arguments<'_>) {
        let add = Adding {
            event: c"bf.madd",
            creation: Some(Creation::default()),
            first_item: 2,
        };
        add_and_reply(context, arguments, &add);
    }
}

impl Command for Insert {
    const SPECIFICATION: Specification = Specification {
        name: c"bf.insert",
        arity: -4,
        flags: c"write deny-oom",
        categories: "write",
        access: KeyAccess::Add,
        summary: c"Adds items to a Bloom filter, which is created as told if it is missing",
        complexity: c"O(N*S) with N items and S sub-filters",
        parameters: &[
            KEY,
            Parameter::new(c"capacity", Kind::Integer, Times::AtMostOnce).behind(c"CAPACITY"),
            Parameter::new(c"error", Kind::Double, Times::AtMostOnce).behind(c"ERROR"),
            EXPANSION.optional(),
            Parameter::new(c"nocreate", Kind::Token, Times::AtMostOnce).behind(c"NOCREATE"),
            NONSCALING.optional(),
            ITEMS.behind(c"ITEMS"),
        ],
    };

    fn run(context: &Context, arguments: Arguments<'_>) {
        let Some(words) = arguments.try_list_from(2) else {
            return ErrorText::NoMemoryToAdd.reply(context);
        };
        match parse_insert(&words) {
            Err(error) => error.reply(context),
            Ok(insertion) => {
                let add = Adding {
                    event: c"bf.insert",
                    creation: insertion.creation,
                    first_item: 2 + insertion.first_item,
                };
                add_and_reply(context, arguments, &add);
            }
        }
    }
}

/// Adds the items and replies with an array that has an answer for each; it ends at the first one refused, with the error.
fn add_and_reply(context: &Context, arguments: Arguments<'_>, add: &Adding) {
    let mut answers = Vec::new();
    if answers.try_reserve_exact(arguments.len()).is_err() {
        return ErrorText::NoMemoryToAdd.reply(context);
    }
    match add.run(context, arguments, |new| answers.push(new)) {
        Err(error) => error.reply(context),
        Ok(Added { refusal, .. }) => {
            context.reply_array(answers.len() + usize::from(refusal.is_some()));
            for new in answers {
                context.reply_bool(new);
            }
            if let Some(error) = refusal {
                error.reply(context);
            }
        }
    }
}

/// What is common to the three: where the items are, what to make of a missing key, and the name of the event.
struct Adding {
    event: &'static CStr,
    creation: Option<Creation>,
    first_item: usize,
}

/// What became of the items, up to the one that was refused.
struct Added {
    /// Items that were answered for.
    answered: usize,
    /// Those of them that were new.
    new: usize,
    refusal: Option<ErrorText>,
}

impl Adding {
    /// Calls `answer` for each item with whether it was new.
    fn run(
        &self,
        context: &Context,
        arguments: Arguments<'_>,
        answer: impl FnMut(bool),
    ) -> Result<Added, ErrorText> {
        let limit = config::size_limit(context);
        let mut key = context.open_to_write(arguments.at(1));
        let (added, made) = match key.held::<StoredFilter>() {
            Held::Other => return Err(ErrorText::WrongType),
            Held::Value(stored) => {
                let added = self.add(stored.filter_mut(), arguments, limit, answer);
                (added, None)
            }
            Held::Nothing => {
                let creation = self.creation.as_ref().ok_or(ErrorText::NotFound)?;
                let mut filter = create(context, creation)?;
                let added = self.add(&mut filter, arguments, limit, answer);
                let parameters = *filter.parameters();
                // A filter that could not take even one item is no filter: the key stays missing.
                if added.new > 0 {
                    key.put(StoredFilter::new(filter));
                }
                (added, Some(parameters))
            }
        };
        drop(key); // before anyone is notified who might delete it
        if added.new > 0 {
            if let Some(parameters) = made {
                replicate_creation(context, arguments.at(1), &parameters);
                context.signal_change(c"bf.reserve", arguments.at(1));
            }
            self.replicate(context, arguments, &added);
            context.signal_change(self.event, arguments.at(1));
        }
        Ok(added)
    }

    fn add(
        &self,
        filter: &mut Filter,
        arguments: Arguments<'_>,
        limit: SizeLimit,
        mut answer: impl FnMut(bool),
    ) -> Added {
        let before = filter.tally();
        let (mut answered, mut new_items) = (0, 0);
        let mut count = |new| {
            answered += 1;
            new_items += usize::from(new);
            answer(new);
        };
        let items = arguments.bytes_from(self.first_item);
        let end = match items.len() {
            // One item is not worth the set-up of a group.
            1 => filter
                .add(arguments.bytes(self.first_item), limit)
                .map(count),
            _ => filter.add_many(items, limit, &mut count),
        };
        stats::added(new_items, before, filter.tally());
        Added {
            answered,
            new: new_items,
            refusal: end.err().map(|error: AddError| ErrorText::of_add(error)),
        }
    }

    /// Replicates what took effect: the command as it came, or, where an item was refused, the items before that one.
    fn replicate(&self, context: &Context, arguments: Arguments<'_>, added: &Added) {
        if added.refusal.is_none() {
            context.replicate_verbatim();
        } else {
            let end = self.first_item + added.answered;
            context.replicate_some(c"BF.MADD", arguments.at(1), arguments, self.first_item, end);
        }
    }
}
