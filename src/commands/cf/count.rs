//! CF.COUNT: how many copies of an item are in a counting filter.

use crate::commands::common::{COUNTING_ITEM, ITEM};
use crate::commands::lookup::filter_of;
use crate::commands::reply_error::ReplyError;
use crate::stats;
use crate::types::CountingFilters;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::command::{Command, Parameter};
use splitbloom_server::context::Context;

pub const COUNT: Command<ReplyError> = Command {
    name: c"cf.count",
    arity: 3,
    summary: c"Counts the copies of an item that are probably in a counting filter",
    complexity: COUNTING_ITEM,
    parameters: &[Parameter::KEY, ITEM],
    run: count,
    ..Command::FAST_READ
};

fn count(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let key = context.open_to_read(arguments.at(1));
    let filter = filter_of::<CountingFilters>(&key)?;
    let copies = filter.map_or(0, |filter| filter.count(arguments.bytes(2)));
    stats::looked_up(1, usize::from(copies > 0));
    context.reply_integer(copies);
    Ok(())
}
