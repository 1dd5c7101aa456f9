//! TOPK.QUERY, TOPK.COUNT, TOPK.LIST and TOPK.INFO.

use super::value::StoredTopK;
use crate::errors::topk::{
    MISSING, NO_MEMORY_TO_REPLY, TOO_LONG_TO_LIST, TOO_MANY_READS, WITHCOUNT,
};
use crate::errors::ReplyError;
use crate::window::now_for;
use splitbloom_foundation::OutOfMemory;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::command::{Command, Kind, Parameter, Times};
use splitbloom_server::context::Context;
use splitbloom_server::key::ReadKey;
use splitbloom_sketch::topk::{TopK, MAX_STEPS};
use splitbloom_sketch::Sketch;

const ITEMS: Parameter = Parameter::new(c"item", Kind::Text, Times::OnceOrMore);

pub const QUERY: Command<ReplyError> = Command {
    name: c"topk.query",
    arity: -3,
    summary: c"Checks for each item whether it is in the list of a top-k",
    complexity: c"O(N) with N items; with a window also that of TOPK.LIST, once",
    parameters: &[Parameter::KEY, ITEMS],
    run: query,
    ..Command::READ
};

pub const COUNT: Command<ReplyError> = Command {
    name: c"topk.count",
    summary: c"Estimates the count of each item, in the list of a top-k or not",
    complexity: c"O(N * depth) with N items; with a window times its slices",
    run: count,
    ..QUERY
};

pub const LIST: Command<ReplyError> = Command {
    name: c"topk.list",
    arity: -2,
    summary: c"Lists the items of a top-k, those with the highest counts first",
    complexity: c"O(k * log k); with a window O(k * slices * (depth * slices + log k))",
    parameters: &[
        Parameter::KEY,
        Parameter::new(c"withcount", Kind::Token, Times::AtMostOnce).after(c"WITHCOUNT"),
    ],
    run: list,
    ..QUERY
};

pub const INFO: Command<ReplyError> = Command {
    name: c"topk.info",
    arity: 2,
    summary: c"Describes a top-k",
    run: info,
    ..Command::FAST_READ
};

/// The value that a command reads.
fn topk_of<'k>(key: &'k ReadKey<'_>) -> Result<&'k TopK, ReplyError> {
    Ok(key.value::<StoredTopK>()?.ok_or(MISSING)?.sketch())
}

/// The time at which the list is read, unless its items take more than [`MAX_STEPS`] to hash, a
/// tenth of a second; to sort them takes up to three times as long.
fn time_to_list(topk: &TopK) -> Result<u64, ReplyError> {
    let now = now_for(topk.window());
    (topk.steps_to_list(now) <= MAX_STEPS).then_some(now).ok_or(TOO_LONG_TO_LIST)
}

fn query(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let key = context.open_to_read(arguments.at(1));
    let topk = topk_of(&key)?;
    let items = arguments.bytes_from(2);
    let now = time_to_list(topk)?;
    let list = topk.lookup(now).map_err(|OutOfMemory| NO_MEMORY_TO_REPLY)?;
    context.reply_array(items.len());
    items.for_each(|item| context.reply_bool(list.contains(item)));
    Ok(())
}

fn count(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let key = context.open_to_read(arguments.at(1));
    let topk = topk_of(&key)?;
    let items = arguments.bytes_from(2);
    let steps = arguments.bytes_from(2).map(|item| topk.steps_to_count(item.len()));
    if steps.sum::<u64>() > MAX_STEPS {
        return Err(TOO_MANY_READS);
    }
    let mut counts =
        topk.counts(now_for(topk.window())).map_err(|OutOfMemory| NO_MEMORY_TO_REPLY)?;
    context.reply_array(items.len());
    items.for_each(|item| context.reply_integer(counts.of(item)));
    Ok(())
}

fn list(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let with_count = match arguments.len() {
        2 => false,
        3 if arguments.bytes(2).eq_ignore_ascii_case(b"WITHCOUNT") => true,
        3 => return Err(WITHCOUNT),
        _ => return Err(ReplyError::WRONG_ARITY),
    };
    let key = context.open_to_read(arguments.at(1));
    let topk = topk_of(&key)?;
    let list = topk.list(time_to_list(topk)?).map_err(|OutOfMemory| NO_MEMORY_TO_REPLY)?;
    context.reply_array(list.len() * if with_count { 2 } else { 1 });
    for listed in list {
        context.reply_bytes(listed.item);
        if with_count {
            context.reply_integer(listed.count);
        }
    }
    Ok(())
}

/// Clients expect exactly the first four fields, with these names, in this order.
fn info(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let key = context.open_to_read(arguments.at(1));
    let topk = topk_of(&key)?;
    let (shape, window) = (topk.shape(), topk.window());
    context.reply_map(if window.is_some() { 7 } else { 4 });
    context.reply_field("k", u64::from(shape.k()));
    context.reply_field("width", u64::from(shape.width()));
    context.reply_field("depth", u64::from(shape.depth()));
    context.reply_field("decay", shape.decay());
    if let Some(span) = window {
        context.reply_field("window", u64::from(span.seconds()));
        context.reply_field("slices", u64::from(span.slices()));
        context.reply_field("latest", topk.latest());
    }
    Ok(())
}
