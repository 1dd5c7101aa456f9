//! BF.CLEAR and CF.CLEAR: empty a filter, which keeps its parameters, seed and expiry.

use crate::commands::reply_error::ReplyError;
use crate::journal;
use crate::sweeper::free_filter;
use crate::types::{BloomFilters, CountingFilters, Family, Stored};
use splitbloom_server::arguments::Arguments;
use splitbloom_server::command::Command;
use splitbloom_server::context::Context;

pub const BF_CLEAR: Command<ReplyError> = Command {
    name: c"bf.clear",
    arity: 2,
    summary: c"Empties a Bloom filter, which keeps its parameters",
    run: clear::<BloomFilters>,
    ..Command::FAST_REMOVE
};
pub const CF_CLEAR: Command<ReplyError> = Command {
    name: c"cf.clear",
    summary: c"Empties a counting filter, which keeps its parameters",
    run: clear::<CountingFilters>,
    ..BF_CLEAR
};

fn clear<F: Family>(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let name = arguments.at(1);
    let target = context.existing::<Stored<F>>(name)?;
    let mut target = target.ok_or(ReplyError::NOTHING_TO_FREE)?;
    let cleared = target.value_mut().filter_mut().clear();
    if let Some(gone) = cleared.map_err(ReplyError::of_creation)? {
        journal::end_and_wake(context, target.value().filter(), name);
        free_filter(gone);
        target.settle().replicate_verbatim().signal(F::CLEAR_EVENT);
    }
    context.reply_ok();
    Ok(())
}
