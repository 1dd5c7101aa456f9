//! BF.ADD, BF.MADD and BF.INSERT: add items to a filter, and create it if the key is missing.

use crate::commands::add::{self, time_for, Added};
use crate::commands::common::{
    BLOOM_ITEM, BLOOM_ITEMS, CAPACITY, ERROR, EXPANSION, EXPIRY, ITEM, ITEMS, NONSCALING,
    NO_CREATE, RENEW, SEED, SLICES, TIGHTENING, TIME, WINDOW,
};
use crate::commands::create::{create_empty, open_or_create};
use crate::commands::reply_error::ReplyError;
use crate::journal;
use crate::slow_log::hide_seeds;
use crate::types::BloomFilters;
use splitbloom_grammar::loose::spell_out_bloom_insert;
use splitbloom_grammar::options::{parse_insert, Creation, Insertion};
use splitbloom_server::allocator::try_vec;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::command::{Command, Output, Parameter};
use splitbloom_server::context::Context;
use splitbloom_server::text::ShortText;
use std::ffi::CStr;

pub const ADD: Command<ReplyError> = Command {
    name: c"bf.add",
    arity: 3,
    output: Output::Varies,
    summary: c"Adds an item to a Bloom filter, which is created if it is missing",
    complexity: BLOOM_ITEM,
    parameters: &[Parameter::KEY, ITEM],
    run: add,
    ..Command::FAST_WRITE
};

fn add(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let mut is_new = false;
    let added = add_items(context, arguments, &Items::new(2, c"bf.add"), |new| is_new = new)?;
    if let Some(refusal) = added.refusal {
        return Err(refusal);
    }
    context.reply_bool(is_new);
    Ok(())
}

pub const MULTI_ADD: Command<ReplyError> = Command {
    name: c"bf.madd",
    arity: -3,
    output: Output::Varies,
    summary: c"Adds items to a Bloom filter, which is created if it is missing",
    complexity: BLOOM_ITEMS,
    parameters: &[Parameter::KEY, ITEMS],
    run: |context, arguments| add_many(context, arguments, &Items::new(2, c"bf.madd")),
    ..Command::WRITE
};

pub const INSERT: Command<ReplyError> = Command {
    name: c"bf.insert",
    arity: -4,
    summary: c"Adds items to a Bloom filter, which is created with options if it is missing",
    parameters: &[
        Parameter::KEY,
        CAPACITY.after(c"CAPACITY").optional(),
        ERROR.optional(),
        EXPANSION.optional(),
        NO_CREATE,
        NONSCALING.optional(),
        WINDOW,
        SLICES,
        RENEW,
        TIME.after(c"AT").optional(),
        EXPIRY,
        SEED,
        TIGHTENING,
        ITEMS.after(c"ITEMS"),
    ],
    run: insert,
    ..MULTI_ADD
};

fn insert(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let args = arguments.try_list_from(2);
    let mut args = args.ok_or(ReplyError::NO_MEMORY_TO_ADD)?;
    let mut insertion = parse_insert(&args);
    // In a replay, EX is RedisBloom's EXPANSION: this module never replicates EX.
    let is_ours =
        insertion.is_ok_and(|words| words.creation.is_none_or(|one| one.expiry.is_none()));
    if !is_ours && context.is_replay() {
        spell_out_bloom_insert(&mut args);
        insertion = parse_insert(&args);
    }
    let options = insertion.ok().and_then(|insertion| insertion.first_item);
    hide_seeds(context, &args[..options.unwrap_or(args.len())], 2);
    let Insertion { creation, at, first_item } = insertion?;
    let Some(first) = first_item else {
        let creation = creation.unwrap_or_default();
        create_empty::<BloomFilters>(context, arguments.at(1), &creation)?;
        context.reply_array(0);
        return Ok(());
    };
    let items = Items { creation, at, ..Items::new(2 + first, c"bf.insert") };
    add_many(context, arguments, &items)
}

/// The items that a command adds.
struct Items {
    /// The argument index of the first one. All later arguments are items, too.
    first: usize,
    /// The name of the command's event.
    event: &'static CStr,
    /// What to create if the key is missing; `None` makes that an error.
    creation: Option<Creation>,
    /// Their time; `None` means now.
    at: Option<u64>,
}

impl Items {
    /// The arguments from `first` on, for a filter with the default parameters.
    fn new(first: usize, event: &'static CStr) -> Self {
        Self { first, event, creation: Some(Creation::default()), at: None }
    }
}

/// Adds the items to the command's key, and calls `answer` with whether each was new. Replicates
/// the items before the first refused one, with their time if the filter has a window. An expiry is
/// replicated separately.
fn add_items(
    context: &Context,
    arguments: Arguments<'_>,
    items: &Items,
    answer: impl FnMut(bool),
) -> Result<Added, ReplyError> {
    let Items { first, event, ref creation, at } = *items;
    let name = arguments.at(1);
    let mut opened = open_or_create::<BloomFilters>(context, name, creation.as_ref())?;
    let expires = opened.expires();
    let time = time_for(context, opened.filter_mut(), at)?;
    let added = add::add(context, &mut opened, arguments.bytes_from(first), time, answer);
    if added.changed > 0 {
        let change = opened.settle();
        let those = arguments.range(first..first + added.answered);
        let replicated = match time.map(ShortText::of) {
            None if added.refusal.is_none() && !expires => change.replicate_verbatim(),
            None => change.replicate_before(c"BF.MADD", [], those),
            Some(time) => {
                let before = [b"AT", time.bytes(), b"ITEMS"];
                change.replicate_before(c"BF.INSERT", before, those)
            }
        };
        replicated.signal(event);
    }
    if added.may_be_awaited {
        journal::wake_few(context, name);
    }
    Ok(added)
}

/// Adds the items and replies with an array of whether each was new. The array ends at the first
/// item refused, with the error.
fn add_many(context: &Context, arguments: Arguments<'_>, items: &Items) -> Result<(), ReplyError> {
    // No command has more items than arguments.
    let answers = try_vec(arguments.len());
    let mut answers = answers.ok_or(ReplyError::NO_MEMORY_TO_ADD)?;
    let added = add_items(context, arguments, items, |new| answers.push(new))?;
    context.reply_array(answers.len() + usize::from(added.refusal.is_some()));
    for new in answers {
        context.reply_bool(new);
    }
    added.refusal.map_or(Ok(()), Err)
}
