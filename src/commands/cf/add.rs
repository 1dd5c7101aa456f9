//! CF.ADD, CF.ADDNX, CF.INSERT and CF.INSERTNX: add copies of items, or the first copy only. A
//! refused item does not stop the rest.

use crate::commands::common::{
    CAPACITY, COUNTING_ITEM, COUNTING_ITEMS, EXPIRY, ITEM, ITEMS, NO_CREATE,
};
use crate::commands::create::{open_or_create, Opened};
use crate::commands::ration::Ration;
use crate::commands::reply_error::ReplyError;
use crate::slow_log::hide_seeds;
use crate::stats;
use crate::types::CountingFilters;
use splitbloom_filter::error::AddError;
use splitbloom_filter::filter::Adding;
use splitbloom_grammar::counting::{parse_counting_insert, CountingCreation, CountingInsertion};
use splitbloom_grammar::loose::spell_out_counting_insert;
use splitbloom_server::allocator::try_vec;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::change::Replicated;
use splitbloom_server::command::{Command, Output, Parameter};
use splitbloom_server::context::Context;
use std::ffi::CStr;

pub const ADD: Command<ReplyError> = Command {
    name: c"cf.add",
    arity: 3,
    summary: c"Adds a copy of an item to a counting filter, which is created if it is missing",
    parameters: &[Parameter::KEY, ITEM],
    run: |context, arguments| add(context, arguments, c"cf.add", Adding::Copies),
    ..Command::FAST_WRITE
};

pub const ADD_ABSENT: Command<ReplyError> = Command {
    name: c"cf.addnx",
    complexity: COUNTING_ITEM,
    summary: c"Adds an item to a counting filter unless it is probably there",
    run: |context, arguments| add(context, arguments, c"cf.addnx", Adding::Absent),
    ..ADD
};

pub const INSERT: Command<ReplyError> = Command {
    name: c"cf.insert",
    arity: -4,
    summary: c"Adds a copy of each item to a counting filter, which is created if it is missing",
    complexity: c"O(N) with N items",
    parameters: &[
        Parameter::KEY,
        CAPACITY.after(c"CAPACITY").optional(),
        EXPIRY,
        NO_CREATE,
        ITEMS.after(c"ITEMS"),
    ],
    run: |context, arguments| insert(context, arguments, c"cf.insert", Adding::Copies, reply_added),
    ..Command::WRITE
};

pub const INSERT_ABSENT: Command<ReplyError> = Command {
    name: c"cf.insertnx",
    complexity: COUNTING_ITEMS,
    output: Output::Varies, // a filter that it creates has a random seed
    summary: c"Adds each item to a counting filter unless it is probably there",
    run: |context, arguments| {
        insert(context, arguments, c"cf.insertnx", Adding::Absent, reply_number)
    },
    ..INSERT
};

/// The reply for a refused item, where replies are numbers.
const REFUSED: i64 = -1;

/// Replies with a number, in both protocols.
fn reply_number(context: &Context, answer: Answer) {
    context.reply_signed(answer.map_or(REFUSED, i64::from));
}

/// Replies with a boolean in RESP3, where a refused item counts as not added.
fn reply_added(context: &Context, answer: Answer) {
    match answer {
        Err(_) if !context.speaks_resp3() => context.reply_signed(REFUSED),
        answer => context.reply_bool(answer == Ok(true)),
    }
}

fn add(
    context: &Context,
    arguments: Arguments<'_>,
    event: &'static CStr,
    adding: Adding,
) -> Result<(), ReplyError> {
    let creation = CountingCreation::default();
    let mut opened = open_or_create::<CountingFilters>(context, arguments.at(1), Some(&creation))?;
    let mut is_added = false;
    let added = opened.add_within_limit(|filter, limit| {
        is_added = filter.add_copy(arguments.bytes(2), adding, limit)?;
        Ok(())
    });
    added.map_err(ReplyError::of_counting)?;
    if is_added {
        stats::ITEMS_ADDED.add(1);
        opened.settle().replicate_verbatim().signal(event);
    }
    context.reply_bool(is_added);
    Ok(())
}

/// Parses the words after the key.
fn parse(context: &Context, arguments: Arguments<'_>) -> Result<CountingInsertion, ReplyError> {
    let args = arguments.try_list_from(2);
    let mut args = args.ok_or(ReplyError::NO_MEMORY_TO_ADD)?;
    let mut insertion = parse_counting_insert(&args);
    if insertion.is_err() && context.is_replay() {
        spell_out_counting_insert(&mut args);
        insertion = parse_counting_insert(&args);
    }
    if insertion.is_err() {
        hide_seeds(context, &args, 2); // SEED is no option here, but a client may think so
    }
    Ok(insertion?)
}

/// Adds the items, and replies with an array, in which `reply_one` replies for each item. If an
/// error kept the rest from being tried, the array ends with it.
fn insert(
    context: &Context,
    arguments: Arguments<'_>,
    event: &'static CStr,
    adding: Adding,
    reply_one: fn(&Context, Answer),
) -> Result<(), ReplyError> {
    let CountingInsertion { creation, first_item } = parse(context, arguments)?;
    let first = 2 + first_item;
    let answers = try_vec(arguments.len() - first);
    let mut answers = answers.ok_or(ReplyError::NO_MEMORY_TO_ADD)?;
    let mut opened =
        open_or_create::<CountingFilters>(context, arguments.at(1), creation.as_ref())?;
    let (limit, ration) = (opened.limit(), Ration::new(context));
    let items = ration.of(arguments.bytes_from(first));
    // The closure returns no error, so no item stops the rest.
    let _ = opened.filter_mut().add_copies(items, adding, limit, |answer| {
        answers.push(answer);
        Ok(())
    });
    let added = answers.iter().filter(|answer| **answer == Ok(true)).count();
    if added > 0 {
        stats::ITEMS_ADDED.add(added as u64);
        replicate(opened, arguments, first, adding, &answers).signal(event);
    }
    let refusal = ration.refusal();
    let refused = answers.iter().find_map(|answer| answer.err());
    if let Some(error) = refused.filter(|_| context.is_replay()) {
        // A client finds refused items in the replies, but a replay has no reader.
        return Err(ReplyError::of_counting(error));
    }
    context.reply_array(answers.len() + usize::from(refusal.is_some()));
    answers.iter().for_each(|one| reply_one(context, *one));
    refusal.map_or(Ok(()), Err)
}

/// Whether an item was added, or why it was refused.
type Answer = Result<bool, AddError>;

/// Replicates what took effect: the command as it came or, if an item was refused or not tried,
/// which a replica might add, a command with the added items; without memory for their list, a
/// CF.ADD for each. An expiry is replicated separately.
fn replicate<'a>(
    opened: Opened<'a, CountingFilters>,
    arguments: Arguments<'_>,
    first: usize,
    adding: Adding,
    answers: &[Answer],
) -> Replicated<'a> {
    let is_whole = first + answers.len() == arguments.len()
        && answers.iter().all(Result::is_ok)
        && !opened.expires();
    let change = opened.settle();
    if is_whole {
        return change.replicate_verbatim();
    }
    let name = match adding {
        Adding::Copies => c"CF.INSERT",
        Adding::Absent => c"CF.INSERTNX",
    };
    let added = (first..).zip(answers).filter(|(_, answer)| **answer == Ok(true));
    let added = added.map(|(item, _)| item);
    match try_vec(added.clone().count()) {
        Some(mut list) => {
            list.extend(added.map(|item| arguments.at(item)));
            change.replicate_part(name, [&b"ITEMS"[..]], Arguments::of(&list));
        }
        None => added.for_each(|item| {
            change.replicate_part(c"CF.ADD", [], arguments.range(item..item + 1));
        }),
    }
    change.replicated()
}
