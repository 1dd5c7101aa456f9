//! CF.INFO and CF.DEBUG: describe a counting filter.

use crate::commands::reply_error::ReplyError;
use crate::types::CountingFilter;
use splitbloom_filter::Filter;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::command::{Command, Output, Parameter};
use splitbloom_server::context::Context;
use splitbloom_server::text::ShortText;

/// The number of parts of `filter`: one table, however far it has grown; or the layers that
/// RedisBloom made, plus a table once it holds items.
fn filters(filter: &Filter) -> u64 {
    filter.cuckoo().map_or(1, |series| {
        let has_more = filter.items() > series.items();
        u64::from(series.shape().layers) + u64::from(has_more)
    })
}

pub const INFO: Command<ReplyError> = Command {
    name: c"cf.info",
    arity: -2,
    output: Output::Varies,
    summary: c"Describes a counting filter",
    complexity: c"O(1); O(N) with N pieces of 4 MiB of what RedisBloom made",
    parameters: &[Parameter::KEY, Parameter::word(c"full", c"FULL").optional()],
    run: info,
    ..Command::FAST_READ
};

fn info(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let is_full = match arguments.len() {
        2 => false,
        3 if arguments.bytes(2).eq_ignore_ascii_case(b"FULL") => true,
        3 => return Err(ReplyError::BAD_INFO_FIELD),
        _ => return Err(ReplyError::WRONG_ARITY),
    };
    let key = context.open_to_read(arguments.at(1));
    let stored: &CountingFilter = key.value()?.ok_or(ReplyError::NOT_FOUND)?;
    let (filter, parameters) = (stored.filter(), stored.filter().counting_parameters());
    let more = MORE + usize::from(filter.cuckoo().is_some());
    context.reply_map(SHORT + if is_full { more } else { 0 });
    context.reply_field("Size", stored.size());
    context.reply_field("Number of buckets", parameters.buckets());
    context.reply_field("Number of filters", filters(filter));
    context.reply_field("Number of items inserted", filter.items());
    context.reply_field("Number of items deleted", filter.deleted());
    context.reply_field("Bucket size", u64::from(parameters.bucket_size));
    context.reply_field("Expansion rate", u64::from(parameters.expansion));
    context.reply_field("Max iterations", u64::from(parameters.max_iterations));
    if is_full {
        reply_more(context, filter);
    }
    Ok(())
}

/// Clients expect exactly these fields in the short form, with these names, in this order.
const SHORT: usize = 8;
/// The further fields of the long form, except the one for a filter that RedisBloom made.
const MORE: usize = 5;

fn reply_more(context: &Context, filter: &Filter) {
    let parameters = filter.counting_parameters();
    context.reply_field("Capacity", parameters.capacity);
    context.reply_field("Error rate", parameters.error_rate);
    context.reply_field("Expected false positive rate", filter.false_positive_rate());
    context.reply_field("Bits per item", filter.bits_per_item(0));
    context.reply_field("Pages", filter.pages());
    if let Some(series) = filter.cuckoo() {
        context.reply_simple("Layers from RedisBloom");
        context.reply_map(4);
        context.reply_field("Layers", u64::from(series.shape().layers));
        context.reply_field("Slots", series.slots());
        context.reply_field("Items", series.items());
        context.reply_field("Expected false positive rate", series.false_positive_rate());
    }
}

pub const DEBUG: Command<ReplyError> = Command {
    name: c"cf.debug",
    arity: 2,
    output: Output::Varies,
    summary: c"Describes a counting filter in a line for people to read",
    run: debug,
    ..Command::FAST_READ
};

/// Replies in RedisBloom's format, which its tests compare.
fn debug(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let key = context.open_to_read(arguments.at(1));
    let stored: &CountingFilter = key.value()?.ok_or(ReplyError::NOT_FOUND)?;
    let (filter, parameters) = (stored.filter(), stored.filter().counting_parameters());
    let line = ShortText::of(format_args!(
        "bktsize:{} buckets:{} items:{} deletes:{} filters:{} max_iterations:{} expansion:{}",
        parameters.bucket_size,
        parameters.buckets(),
        filter.items(),
        filter.deleted(),
        filters(filter),
        parameters.max_iterations,
        parameters.expansion,
    ));
    context.reply_bytes(line.bytes());
    Ok(())
}
