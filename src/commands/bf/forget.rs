//! BF.FORGET: a step of sweeping forgotten items. The server's timer takes the same steps, and
//! replicates them as this command to replicas and the append-only file.

use crate::commands::add::time_of;
use crate::commands::common::TIME;
use crate::commands::reply_error::ReplyError;
use crate::sweeper::step;
use crate::types::BloomFilter;
use splitbloom_grammar::window::parse_time;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::clock::time_of_command;
use splitbloom_server::command::{Command, Parameter};
use splitbloom_server::context::Context;

pub const FORGET: Command<ReplyError> = Command {
    name: c"bf.forget",
    arity: 3,
    summary: c"Frees some memory of what a Bloom filter with a window has forgotten",
    parameters: &[Parameter::KEY, TIME],
    run: forget,
    ..Command::FAST_REMOVE
};

/// Replies with whether nothing is left to do before the next slice is over.
fn forget(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let given = parse_time(arguments.bytes(2))?;
    let target = context.existing::<BloomFilter>(arguments.at(1))?;
    let mut target = target.ok_or(ReplyError::NOTHING_TO_FREE)?;
    let filter = target.value_mut().filter_mut();
    let window = filter.window().ok_or(ReplyError::WINDOW_MISSING)?;
    let time = time_of(context, window, Some(given))?;
    let now = time_of_command();
    let change = filter.next_change(now);
    let swept = step(filter, time).map_err(ReplyError::of_add)?;
    // Only if `time` is ahead of this clock. Changes that the clock has passed have been signalled.
    let lookups_have_changed = filter.next_change(now) != change;
    let change = target.settle();
    let replicated = match swept.has_changed {
        true => change.replicate_verbatim(),
        false => change.replicated(),
    };
    match lookups_have_changed {
        true => replicated.signal_quietly(),
        false => replicated.end(),
    }
    context.reply_bool(swept.is_done);
    Ok(())
}
