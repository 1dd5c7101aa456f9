//! A filter from one server to another, chunk by chunk, which every kind of filter does alike.

use crate::commands::held::{found, found_or_missing};
use crate::commands::parameters::KEY;
use crate::commands::reply_error::ReplyError;
use crate::config;
use crate::server::arguments::Arguments;
use crate::server::command::{Kind, Parameter, Times};
use crate::server::context::Context;
use crate::types::Stored;
use splitbloom_filter::codec::{Chunk, Transferable as _};
use splitbloom_grammar::number::parse_integer;
use std::ffi::CStr;

const ITERATOR: Parameter = Parameter::new(c"iterator", Kind::Integer, Times::Once);
const DATA: Parameter = Parameter::new(c"data", Kind::Text, Times::Once);

/// The parameters of a command that dumps.
pub const OF_A_DUMP: &[Parameter] = &[KEY, ITERATOR];
/// The parameters of a command that loads.
pub const OF_A_LOAD: &[Parameter] = &[KEY, ITERATOR, DATA];

/// Replies with the next chunk, and with the iterator of the one after it.
pub fn scan_dump<T: Stored>(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let iterator = parse_integer(arguments.bytes(2)).ok_or(ReplyError::NotNumeric)?;
    let key = context.open_to_read(arguments.at(1));
    let stored: &T = found(key.held())?;
    // A negative iterator, like one past the end, finds nothing.
    let iterator = u64::try_from(iterator).unwrap_or(u64::MAX);
    let chunk = stored
        .filter()
        .encode_chunk(iterator)
        .map_err(|_| ReplyError::NoMemoryToDump)?;
    let (next, bytes) = chunk.map_or((0, Vec::new()), |chunk| (chunk.next, chunk.bytes));
    context.reply_array(2);
    context.reply_integer(next);
    context.reply_bytes(&bytes);
    Ok(())
}

/// Loads a chunk; the first one creates the filter.
pub fn load<T: Stored>(
    context: &Context,
    arguments: Arguments<'_>,
    event: &'static CStr,
) -> Result<(), ReplyError> {
    let bytes = arguments.bytes(3);
    context.redact(3); // the seed is in it
    let iterator = parse_integer(arguments.bytes(2)).ok_or(ReplyError::NotNumeric)?;
    let limit = config::size_limit(context);
    let mut key = context.open_to_write(arguments.at(1));
    let present = found_or_missing(key.held::<T>())?;
    let chunk = Chunk::parse(bytes).map_err(ReplyError::of_load)?;
    if u64::try_from(iterator) != Ok(chunk.next) {
        return Err(ReplyError::BadData);
    }
    let begun = T::Filter::load_chunk(present.map(T::filter_mut), &chunk, limit);
    let stored = match begun.map_err(ReplyError::of_load)? {
        Some(begun) => key.put(T::new(begun)).ok_or(ReplyError::NoMemoryToCreate)?,
        None => found(key.held::<T>())?,
    };
    stored.attend(context, arguments.at(1));
    drop(key); // before a module is notified that might delete it
    context.replicate_verbatim();
    context.signal_change(event, arguments.at(1));
    context.reply_simple("OK");
    Ok(())
}
