//! CF.ADD, CF.ADDNX, CF.INSERT and CF.INSERTNX: add copies of items, or the first copy only. A
//! refused item does not stop the rest.

use crate::commands::common::{
    CAPACITY, COUNTING_ITEM, COUNTING_ITEMS, EXPIRY, ITEM, ITEMS, NO_CREATE,
};
use crate::commands::create::add_to;
use crate::commands::ration::Ration;
use crate::commands::reply_error::ReplyError;
use crate::slow_log::hide_seeds;
use crate::stats;
use crate::types::CountingFilters;
use splitbloom_filter::error::AddError;
use splitbloom_filter::filter::{Adding, Filter, SizeLimit};
use splitbloom_grammar::counting::{parse_counting_insert, CountingCreation};
use splitbloom_grammar::loose::spell_out_counting_insert;
use splitbloom_server::allocator::try_vec;
use splitbloom_server::arguments::Arguments;
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
    let add = |filter: &mut Filter, limit| {
        let item = arguments.bytes(2);
        let mut answer = filter.add_copy(item, adding, limit);
        if answer == Err(AddError::Full) && context.is_replay() {
            // The primary may have been RedisBloom, with room where there is none here.
            answer = filter.add_copy(item, adding, SizeLimit::Replay);
        }
        let is_added = answer == Ok(true);
        stats::ITEMS_ADDED.add(u64::from(is_added));
        Ok((is_added, answer))
    };
    let replicate = |_: &Answer| context.replicate_verbatim();
    let (key, event, creation) = (arguments.at(1), Some(event), Some(&creation));
    let answer = add_to::<CountingFilters, _>(context, key, event, creation, add, replicate)?;
    context.reply_bool(answer.map_err(ReplyError::of_counting)?);
    Ok(())
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
    let args = arguments.try_list_from(2);
    let mut args = args.ok_or(ReplyError::NO_MEMORY_TO_ADD)?;
    let mut insertion = parse_counting_insert(&args);
    if insertion.is_err() && context.is_replay() {
        spell_out_counting_insert(&mut args);
        insertion = parse_counting_insert(&args);
    }
    if insertion.is_err() {
        hide_seeds(context, &args, 2); // not an option here, but perhaps taken for one
    }
    let insertion = insertion?;
    let answers = try_vec(args.len() - insertion.first_item);
    let mut answers = answers.ok_or(ReplyError::NO_MEMORY_TO_ADD)?;
    let request = Request {
        event,
        adding,
        creation: insertion.creation,
        first_item: 2 + insertion.first_item,
    };
    let refusal = request.run(context, arguments, &mut answers)?;
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

/// The items that a command adds.
struct Request {
    /// The name of the event, which is that of the command.
    event: &'static CStr,
    adding: Adding,
    /// What to create if the key is missing; `None` makes that an error.
    creation: Option<CountingCreation>,
    /// The argument index of the first item. All later arguments are items, too.
    first_item: usize,
}

impl Request {
    /// Adds the items, and appends the answer for each to `answers`, which has room for them.
    /// Returns the error that kept the rest from being tried, if any.
    fn run(
        &self,
        context: &Context,
        arguments: Arguments<'_>,
        answers: &mut Vec<Answer>,
    ) -> Result<Option<ReplyError>, ReplyError> {
        let ration = Ration::new(context);
        let add = |filter: &mut Filter, limit| {
            let items = ration.of(arguments.bytes_from(self.first_item));
            // The closure returns no error, so no item stops the rest.
            let _ = filter.add_copies(items, self.adding, limit, |answer| {
                answers.push(answer);
                Ok(())
            });
            if answers.contains(&Err(AddError::Full)) && context.is_replay() {
                // Again, since the primary may have been RedisBloom, with room where there is none
                // here.
                for (item, answer) in arguments.bytes_from(self.first_item).zip(&mut *answers) {
                    if *answer == Err(AddError::Full) {
                        *answer = filter.add_copy(item, self.adding, SizeLimit::Replay);
                    }
                }
            }
            let added = answers.iter().filter(|answer| **answer == Ok(true)).count();
            stats::ITEMS_ADDED.add(added as u64);
            Ok((added > 0, answers))
        };
        let replicate = |answers: &&mut Vec<Answer>| self.replicate(context, arguments, answers);
        let (key, event, creation) = (arguments.at(1), Some(self.event), self.creation.as_ref());
        add_to::<CountingFilters, _>(context, key, event, creation, add, replicate)?;
        Ok(ration.refusal())
    }

    /// Replicates what took effect: the command as it came, unless an item was refused or not
    /// tried, since a replica might add it. Then the command ends before that item, and a CF.ADD
    /// follows for each later one that was added. An expiry is replicated apart from it.
    fn replicate(&self, context: &Context, arguments: Arguments<'_>, answers: &[Answer]) {
        let key = arguments.at(1);
        let refused = answers.iter().position(Result::is_err);
        let refused = refused.unwrap_or(answers.len());
        let expires = self.creation.is_some_and(|creation| creation.expiry.is_some());
        if self.first_item + refused == arguments.len() && !expires {
            return context.replicate_verbatim();
        }
        let (before, after) = answers.split_at(refused);
        if before.contains(&Ok(true)) {
            let name = match self.adding {
                Adding::Copies => c"CF.INSERT",
                Adding::Absent => c"CF.INSERTNX",
            };
            let args = self.first_item - 1..self.first_item + refused; // from ITEMS on
            context.replicate_before(name, key, [], arguments.range(args));
        }
        for (index, answer) in after.iter().enumerate() {
            if *answer == Ok(true) {
                let item = self.first_item + refused + index;
                context.replicate_before(c"CF.ADD", key, [], arguments.range(item..item + 1));
            }
        }
    }
}
