//! BF.CLEAR and CF.CLEAR: empty a filter, which keeps its parameters, seed and expiry.

use crate::commands::reply_error::ReplyError;
use crate::journal;
use crate::sweeper::free_filter;
use crate::types::{BloomFilters, CountingFilters, Family, Stored};
use splitbloom_server::arguments::Arguments;
use splitbloom_server::command::{Command, Parameter};
use splitbloom_server::context::Context;
use std::ffi::CStr;

pub const BF_CLEAR: Command<ReplyError> =
    clear_of::<BloomFilters>(c"bf.clear", c"Empties a Bloom filter, which keeps its parameters");
pub const CF_CLEAR: Command<ReplyError> = clear_of::<CountingFilters>(
    c"cf.clear",
    c"Empties a counting filter, which keeps its parameters",
);

/// A command that empties filters of the family `F`.
const fn clear_of<F: Family>(name: &'static CStr, summary: &'static CStr) -> Command<ReplyError> {
    Command {
        name,
        arity: 2,
        summary,
        parameters: &[Parameter::KEY],
        run: clear::<F>,
        ..Command::FAST_REMOVE
    }
}

fn clear<F: Family>(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let name = arguments.at(1);
    let mut key = context.open_to_write(name)?;
    let stored = key.value::<Stored<F>>()?.ok_or(ReplyError::NOTHING_TO_FREE)?;
    let gone = stored.filter_mut().clear().map_err(ReplyError::of_creation)?;
    if let Some(gone) = gone {
        journal::end_and_wake(context, stored.filter(), name);
        drop(key); // before a module is notified that might delete it
        free_filter(gone);
        context.replicate_verbatim();
        context.signal_change(F::CLEAR_EVENT, name);
    }
    context.reply_ok();
    Ok(())
}
