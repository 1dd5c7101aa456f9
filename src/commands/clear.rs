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
    let mut key = context.open_to_write(name)?;
    let stored = key.value::<Stored<F>>()?.ok_or(ReplyError::NOTHING_TO_FREE)?;
    if let Some(gone) = stored.filter_mut().clear().map_err(ReplyError::of_creation)? {
        journal::end_and_wake(context, stored.filter(), name);
        drop(key); // before a module is notified that might delete it
        free_filter(gone);
        context.replicate_verbatim();
        context.signal_change(F::CLEAR_EVENT, name);
    }
    context.reply_ok();
    Ok(())
}
