//! A filter from one server to another, chunk by chunk, which every kind of filter does alike.

use crate::commands::held::{found, found_or_missing};
use crate::commands::parameters::KEY;
use crate::commands::reply_error::ReplyError;
use crate::config;
use crate::server::arguments::Arguments;
use crate::server::command::{Kind, Parameter, Times};
use crate::server::context::Context;
use crate::server::key::WriteKey;
use crate::types::Stored;
use splitbloom_filter::codec::{self, encode_chunk, is_chunk, Chunk, Encoded};
use splitbloom_filter::foreign::redisbloom::HEADER;
use splitbloom_filter::hash::Seed;
use splitbloom_filter::{DecodeError, Filter};
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
    let chunk = encode_chunk(stored.filter(), iterator);
    let chunk = chunk.map_err(|_| ReplyError::NoMemoryToDump)?;
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
    command: &'static CStr,
    event: &'static CStr,
) -> Result<(), ReplyError> {
    let bytes = arguments.bytes(3);
    context.redact(3); // the seed is in it
    let iterator = parse_integer(arguments.bytes(2)).ok_or(ReplyError::NotNumeric)?;
    let iterator = u64::try_from(iterator).map_err(|_| ReplyError::BadData)?;
    let mut key = context.open_to_write(arguments.at(1))?;
    let begun = if is_chunk(bytes) {
        load_chunk::<T>(context, &mut key, iterator, bytes)
    } else {
        load_piece::<T>(context, &mut key, iterator, bytes)
    }?;
    found(key.held::<T>())?.attend(context, arguments.at(1));
    drop(key); // before a module is notified that might delete it
    if begun.is_empty() {
        context.replicate_verbatim();
    }
    for Encoded { next, bytes } in begun {
        let next = next.to_string();
        context.replicate(command, arguments.at(1), &[next.as_bytes(), &bytes]);
    }
    context.signal_change(event, arguments.at(1));
    context.reply_simple("OK");
    Ok(())
}

/// Chunks that load what was begun, where a replica could not load it alike from the same words.
type Begun = Vec<Encoded>;

/// Loads a chunk of ours.
fn load_chunk<T: Stored>(
    context: &Context,
    key: &mut WriteKey<'_>,
    iterator: u64,
    bytes: &[u8],
) -> Result<Begun, ReplyError> {
    let limit = config::size_limit(context);
    let present = found_or_missing(key.held::<T>())?.map(T::filter_mut);
    let chunk = Chunk::parse(bytes).map_err(ReplyError::of_load)?;
    if iterator != chunk.next {
        return Err(ReplyError::BadData);
    }
    if present.is_none() && !chunk.begins().is_some_and(T::takes) {
        return Err(ReplyError::of_load(DecodeError::Order));
    }
    let begun = codec::load_chunk(present, &chunk, limit).map_err(ReplyError::of_load)?;
    if let Some(begun) = begun {
        key.put(T::new(begun)).ok_or(ReplyError::NoMemoryToCreate)?;
    }
    Ok(Vec::new())
}

/// Loads a header or piece of RedisBloom's. A filter that a header begins gets a seed, which a
/// replica must have, too.
fn load_piece<T: Stored>(
    context: &Context,
    key: &mut WriteKey<'_>,
    iterator: u64,
    bytes: &[u8],
) -> Result<Begun, ReplyError> {
    if let Some(stored) = found_or_missing(key.held::<T>())? {
        let taken = stored.filter_mut().take_piece(iterator, bytes);
        return taken.map(|()| Vec::new()).map_err(ReplyError::of_load);
    }
    if iterator != HEADER {
        return Err(ReplyError::BadData);
    }
    let (seed, limit) = (Seed(context.random()), config::size_limit(context));
    let filter = T::begin(bytes, seed, limit).map_err(ReplyError::of_load)?;
    let chunks = all_chunks(&filter)?;
    key.put(T::new(filter))
        .ok_or(ReplyError::NoMemoryToCreate)?;
    Ok(chunks)
}

/// All chunks of a filter without set bits: a few times the bytes of its header.
fn all_chunks(filter: &Filter) -> Result<Begun, ReplyError> {
    let mut chunks = Vec::new();
    let mut iterator = 0;
    while let Some(chunk) =
        encode_chunk(filter, iterator).map_err(|_| ReplyError::NoMemoryToCreate)?
    {
        iterator = chunk.next;
        let room = chunks.try_reserve(1);
        room.map_err(|_| ReplyError::NoMemoryToCreate)?;
        chunks.push(chunk);
    }
    Ok(chunks)
}
