//! BF.ADD, BF.MADD and BF.INSERT: add items to a filter, and create it if the key is missing.

use crate::commands::add::{Added, Adding, Source};
use crate::commands::common::{
    BLOOM_ITEM, BLOOM_ITEMS, CAPACITY, ERROR, EXPANSION, EXPIRY, ITEM, ITEMS, NONSCALING,
    NO_CREATE, RENEW, SEED, SLICES, TIGHTENING, TIME, WINDOW,
};
use crate::commands::create::create_empty;
use crate::commands::reply_error::ReplyError;
use crate::slow_log::hide_seeds;
use crate::types::BloomFilters;
use splitbloom_grammar::loose::spell_out_bloom_insert;
use splitbloom_grammar::options::{parse_insert, Creation, Insertion};
use splitbloom_server::allocator::try_vec;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::command::{Command, Output, Parameter};
use splitbloom_server::context::Context;
use splitbloom_server::text::Line;
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
    let add = adding(c"bf.add", arguments, 2);
    let mut is_new = false;
    let added = add.run::<BloomFilters>(context, arguments, |new| is_new = new)?;
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
    run: |context, arguments| add_many(context, arguments, &adding(c"bf.madd", arguments, 2)),
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
    // EX is RedisBloom's EXPANSION, as this module replicates none.
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
    let add = Adding { creation, at, ..adding(c"bf.insert", arguments, 2 + first) };
    add_many(context, arguments, &add)
}

/// An add of the arguments from `first` on.
fn adding<'a>(
    event: &'static CStr,
    arguments: Arguments<'a>,
    first: usize,
) -> Adding<Creation, Args<'a>> {
    Adding {
        event,
        creation: Some(Creation::default()),
        at: None,
        items: Args { arguments, first },
    }
}

/// Runs `add` and replies with an array of whether each item was new. The array ends at the first
/// item refused, with the error.
fn add_many(
    context: &Context,
    arguments: Arguments<'_>,
    add: &Adding<Creation, Args<'_>>,
) -> Result<(), ReplyError> {
    // No command has more items than arguments.
    let answers = try_vec(arguments.len());
    let mut answers = answers.ok_or(ReplyError::NO_MEMORY_TO_ADD)?;
    let answer = |new| answers.push(new);
    let Added { refusal, .. } = add.run::<BloomFilters>(context, arguments, answer)?;
    context.reply_array(answers.len() + usize::from(refusal.is_some()));
    for new in answers {
        context.reply_bool(new);
    }
    refusal.map_or(Ok(()), Err)
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

    fn replicate_first(&self, context: &Context, time: Option<u64>, number: usize) {
        let key = self.arguments.at(1);
        let items = self.arguments.range(self.first..self.first + number);
        let Some(time) = time.map(Line::of) else {
            return context.replicate_before(c"BF.MADD", key, [], items);
        };
        let before = [b"AT", time.bytes(), b"ITEMS"];
        context.replicate_before(c"BF.INSERT", key, before, items);
    }
}
