//! BF.LOAD: loads a filter that valkey-bloom wrote to an append-only file.

use crate::commands::reply_error::ReplyError;
use crate::config;
use crate::types::BloomFilter;
use splitbloom_filter::Filter;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::command::{Command, Kind, Parameter, Times};
use splitbloom_server::context::Context;

pub const LOAD: Command<ReplyError> = Command {
    name: c"bf.load",
    arity: 3,
    summary: c"Loads a Bloom filter that valkey-bloom wrote into an append-only file",
    complexity: c"O(N) with N bytes of data",
    parameters: &[Parameter::KEY, Parameter::new(c"data", Kind::Text, Times::Once)],
    run: load,
    ..Command::CREATE
};

fn load(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let bytes = arguments.bytes(2);
    context.redact(2); // the keys of its hash are in it
    let mut key = context.open_to_write(arguments.at(1))?;
    if key.value::<BloomFilter>()?.is_some() {
        return Err(ReplyError::NO_PLACE_TO_LOAD);
    }
    let limit = config::size_limit(context);
    let filter = Filter::parse_valkey(bytes, limit).map_err(ReplyError::of_load)?;
    key.put(BloomFilter::new(filter)).ok_or(ReplyError::NO_MEMORY_TO_CREATE)?;
    drop(key); // before a module is notified that might delete it
    context.replicate_verbatim();
    context.signal_change(c"bf.load", arguments.at(1));
    context.reply_ok();
    Ok(())
}
