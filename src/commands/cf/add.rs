//! CF.ADD, CF.ADDNX, CF.INSERT and CF.INSERTNX: add copies of items, or the first copy only.

use super::adding::{add_to, Answer, Request};
use crate::commands::answers::room_for_answers;
use crate::commands::parameters::{CAPACITY, ITEM, ITEMS, KEY, NO_CREATE};
use crate::commands::reply_error::ReplyError;
use crate::commands::seeds::hide_seeds;
use crate::commands::{complexity, FIRST_RELEASE};
use crate::server::arguments::Arguments;
use crate::server::command::{Command, KeyAccess, Output, Parameter, Specification};
use crate::server::context::Context;
use splitbloom_filter::error::AddError;
use splitbloom_filter::filter::{Adding, Filter, SizeLimit};
use splitbloom_grammar::counting::{parse_counting_insert, CountingCreation};
use splitbloom_grammar::loose::spell_out_counting_insert;
use std::ffi::CStr;

/// CF.ADD.
pub struct Add;

/// CF.ADDNX.
pub struct AddAbsent;

/// CF.INSERT.
pub struct Insert;

/// CF.INSERTNX.
pub struct InsertAbsent;

const INSERT_PARAMETERS: &[Parameter] = &[
    KEY,
    CAPACITY.after(c"CAPACITY").optional(),
    NO_CREATE,
    ITEMS.after(c"ITEMS"),
];

impl Command for Add {
    const SPECIFICATION: Specification = Specification {
        name: c"cf.add",
        arity: 3,
        flags: c"write deny-oom fast",
        categories: "write fast",
        access: KeyAccess::Add,
        output: Output::Determined,
        since: FIRST_RELEASE,
        summary: c"Adds a copy of an item to a counting filter, which is created if it is missing",
        complexity: c"O(1)",
        parameters: &[KEY, ITEM],
    };

    fn run(context: &Context, arguments: Arguments<'_>) {
        add(context, arguments, c"cf.add", Adding::Copies);
    }
}

impl Command for AddAbsent {
    const SPECIFICATION: Specification = Specification {
        name: c"cf.addnx",
        complexity: complexity::COUNTING_ITEM,
        summary: c"Adds an item to a counting filter unless it is probably there",
        ..Add::SPECIFICATION
    };

    fn run(context: &Context, arguments: Arguments<'_>) {
        add(context, arguments, c"cf.addnx", Adding::Absent);
    }
}

impl Command for Insert {
    const SPECIFICATION: Specification = Specification {
        name: c"cf.insert",
        arity: -4,
        flags: c"write deny-oom",
        categories: "write",
        access: KeyAccess::Add,
        output: Output::Determined,
        since: FIRST_RELEASE,
        summary:
            c"Adds a copy of each item to a counting filter, which is created if it is missing",
        complexity: c"O(N) with N items",
        parameters: INSERT_PARAMETERS,
    };

    fn run(context: &Context, arguments: Arguments<'_>) {
        match insert(context, arguments, c"cf.insert", Adding::Copies) {
            Err(error) => error.reply(context),
            Ok(inserted) => inserted.reply(context, reply_added),
        }
    }
}

impl Command for InsertAbsent {
    const SPECIFICATION: Specification = Specification {
        name: c"cf.insertnx",
        complexity: complexity::COUNTING_ITEMS,
        output: Output::Varies, // a filter that it creates has a random seed
        summary: c"Adds each item to a counting filter unless it is probably there",
        ..Insert::SPECIFICATION
    };

    fn run(context: &Context, arguments: Arguments<'_>) {
        match insert(context, arguments, c"cf.insertnx", Adding::Absent) {
            Err(error) => error.reply(context),
            Ok(inserted) => inserted.reply(context, reply_number),
        }
    }
}

/// The answers to the items that were tried, and the error that kept the rest from it.
struct Inserted {
    answers: Vec<Answer>,
    refusal: Option<ReplyError>,
}

impl Inserted {
    /// Replies with an array, in which `reply_one` replies for each item.
    fn reply(self, context: &Context, reply_one: fn(&Context, Answer)) {
        let Self { answers, refusal } = self;
        context.reply_array(answers.len() + usize::from(refusal.is_some()));
        answers.iter().for_each(|one| reply_one(context, *one));
        if let Some(error) = refusal {
            error.reply(context);
        }
    }
}

/// What stands for an item that was refused where each answer is a number.
const REFUSED: i64 = -1;

/// A number in both protocols.
fn reply_number(context: &Context, answer: Answer) {
    context.reply_signed(answer.map_or(REFUSED, i64::from));
}

/// A boolean in RESP3, where an item that was refused is one that was not added.
fn reply_added(context: &Context, answer: Answer) {
    match answer {
        Err(_) if !context.speaks_resp3() => context.reply_signed(REFUSED),
        answer => context.reply_bool(answer == Ok(true)),
    }
}

fn add(context: &Context, arguments: Arguments<'_>, event: &'static CStr, adding: Adding) {
    let creation = CountingCreation::default();
    let add = |filter: &mut Filter, limit| {
        let item = arguments.bytes(2);
        let mut answer = filter.add_copy(item, adding, limit);
        if answer == Err(AddError::Full) && context.is_replay() {
            // The primary may have been RedisBloom, with room left where there is none here.
            answer = filter.add_copy(item, adding, SizeLimit::Replay);
        }
        (usize::from(answer == Ok(true)), answer)
    };
    let replicate = |_: &Answer| context.replicate_verbatim();
    let added = add_to(context, arguments, event, Some(&creation), add, replicate);
    match added.and_then(|answer| answer.map_err(ReplyError::of_counting)) {
        Ok(is_added) => context.reply_bool(is_added),
        Err(error) => error.reply(context),
    }
}

fn insert(
    context: &Context,
    arguments: Arguments<'_>,
    event: &'static CStr,
    adding: Adding,
) -> Result<Inserted, ReplyError> {
    let mut words = arguments
        .try_list_from(2)
        .ok_or(ReplyError::NoMemoryToAdd)?;
    let mut insertion = parse_counting_insert(&words);
    if insertion.is_err() && context.is_replay() {
        spell_out_counting_insert(&mut words);
        insertion = parse_counting_insert(&words);
    }
    if insertion.is_err() {
        hide_seeds(context, &words, 2); // not an option here, but perhaps taken for one
    }
    let insertion = insertion?;
    let mut answers = room_for_answers(words.len() - insertion.first_item)?;
    let request = Request {
        event,
        adding,
        creation: insertion.creation,
        first_item: 2 + insertion.first_item,
    };
    let refusal = request.run(context, arguments, &mut answers)?;
    let refused = answers.iter().find_map(|answer| answer.err());
    match refused {
        // Nobody reads the answers, in which a client finds what was refused.
        Some(error) if context.is_replay() => Err(ReplyError::of_counting(error)),
        _ => Ok(Inserted { answers, refusal }),
    }
}
