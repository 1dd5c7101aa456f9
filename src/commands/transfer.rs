//! BF.SCANDUMP, BF.LOADCHUNK, CF.SCANDUMP and CF.LOADCHUNK: move a filter from one server to
//! another, chunk by chunk. BF.LOAD loads one that valkey-bloom wrote to an append-only file.

use crate::commands::common::CHUNK;
use crate::commands::reply_error::ReplyError;
use crate::types::{BloomFilter, BloomFilters, CountingFilters, Family, Stored};
use crate::{config, journal};
use splitbloom_filter::codec::{self, encode_chunk, is_chunk, Chunk, Encoded, END};
use splitbloom_filter::foreign::redisbloom::HEADER;
use splitbloom_filter::hash::Seed;
use splitbloom_filter::{DecodeError, Filter};
use splitbloom_grammar::changes::Position;
use splitbloom_grammar::number::parse_integer;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::change::{Entry, Target, Vacant};
use splitbloom_server::command::{Command, Kind, Output, Parameter, Times};
use splitbloom_server::context::Context;
use splitbloom_server::text::ShortText;

const ITERATOR: Parameter = Parameter::new(c"iterator", Kind::Integer, Times::Once);
const POSITION: Parameter = Parameter::new(c"position", Kind::Text, Times::Once);
const DATA: Parameter = Parameter::new(c"data", Kind::Text, Times::Once);

pub const BF_SCAN_DUMP: Command<ReplyError> = Command {
    name: c"bf.scandump",
    arity: -3,
    output: Output::Varies,
    summary: c"Returns the next chunk of a Bloom filter, to be loaded elsewhere",
    complexity: CHUNK,
    parameters: &[Parameter::KEY, ITERATOR, POSITION.optional()],
    run: scan_dump::<BloomFilters>,
    ..Command::READ
};
pub const BF_LOAD_CHUNK: Command<ReplyError> = Command {
    name: c"bf.loadchunk",
    arity: 4,
    summary: c"Loads a chunk of a Bloom filter; the first one creates it",
    complexity: CHUNK,
    parameters: &[Parameter::KEY, ITERATOR, DATA],
    run: load::<BloomFilters>,
    ..Command::WRITE
};
pub const CF_SCAN_DUMP: Command<ReplyError> = Command {
    name: c"cf.scandump",
    arity: 3,
    parameters: &[Parameter::KEY, ITERATOR],
    summary: c"Returns the next chunk of a counting filter, to be loaded elsewhere",
    run: scan_dump::<CountingFilters>,
    ..BF_SCAN_DUMP
};
pub const CF_LOAD_CHUNK: Command<ReplyError> = Command {
    name: c"cf.loadchunk",
    summary: c"Loads a chunk of a counting filter; the first one creates it",
    run: load::<CountingFilters>,
    ..BF_LOAD_CHUNK
};

pub const BF_LOAD: Command<ReplyError> = Command {
    name: c"bf.load",
    arity: 3,
    summary: c"Loads a Bloom filter that valkey-bloom wrote into an append-only file",
    complexity: c"O(N) with N bytes of data",
    parameters: &[Parameter::KEY, DATA],
    run: load_of_valkey,
    ..Command::CREATE
};

/// Replies with the next chunk, and with the iterator of the one after it. If a position is given,
/// replies with null unless the filter is the one of that position, and has changed since then only
/// by adds that are still known.
fn scan_dump<F: Family>(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let iterator = parse_integer(arguments.bytes(2)).ok_or(ReplyError::NOT_NUMERIC)?;
    let position = match arguments.len() {
        ..=3 => None,
        4 => Some(Position::parse(arguments.bytes(3))?),
        _ => return Err(ReplyError::WRONG_ARITY),
    };
    let key = context.open_to_read(arguments.at(1));
    let stored: &Stored<F> = key.value()?.ok_or(ReplyError::NOT_FOUND)?;
    let goes_on = |position| journal::goes_on_from(stored.filter(), position);
    if position.is_some_and(|position| !position.is_some_and(goes_on)) {
        context.reply_null();
        return Ok(());
    }
    // A negative iterator, like one past the end, finds nothing.
    let iterator = u64::try_from(iterator).unwrap_or(u64::MAX);
    let chunk = encode_chunk(stored.filter(), iterator);
    let (next, bytes) = match chunk.map_err(|_| ReplyError::NO_MEMORY_TO_DUMP)? {
        Some(Encoded { next, bytes }) => (next, bytes),
        // An empty chunk would look like the end, and the copy would deny most of the items.
        None if iterator < END => return Err(ReplyError::NO_SUCH_CHUNK),
        None => (0, Vec::new()),
    };
    context.reply_array(2);
    context.reply_integer(next);
    context.reply_bytes(&bytes);
    Ok(())
}

/// Loads a chunk; the first one creates the filter.
fn load<F: Family>(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let bytes = arguments.bytes(3);
    context.redact(3); // the seed is in it
    let iterator = parse_integer(arguments.bytes(2)).ok_or(ReplyError::NOT_NUMERIC)?;
    let iterator = u64::try_from(iterator).map_err(|_| ReplyError::BAD_DATA)?;
    let name = arguments.at(1);
    let load = if is_chunk(bytes) { load_chunk::<F> } else { load_piece::<F> };
    let (target, chunks) = load(context, context.entry(name)?, iterator, bytes)?;
    journal::end_and_wake(context, target.value().filter(), name);
    let change = target.settle();
    let replicated = match chunks.is_empty() {
        true => change.replicate_verbatim(),
        false => {
            for Encoded { next, bytes } in chunks {
                let next = ShortText::of(next);
                let args = [next.bytes(), &bytes];
                change.replicate_part(F::LOAD_CHUNK, args, Arguments::NONE);
            }
            change.replicated()
        }
    };
    replicated.signal(F::LOAD_CHUNK_EVENT);
    context.reply_ok();
    Ok(())
}

/// Chunks to replicate instead of the client's arguments, if those alone would not create an equal
/// filter on a replica.
type Chunks = Vec<Encoded>;

/// The filter that has got a chunk, and what to replicate.
type Loaded<'a, F> = (Target<'a, Stored<F>>, Chunks);

/// Puts a filter that begins with a chunk under its key.
fn begin<F: Family>(
    vacant: Vacant<'_>,
    filter: Filter,
) -> Result<Target<'_, Stored<F>>, ReplyError> {
    vacant.with(Stored::new(filter)).ok_or(ReplyError::NO_MEMORY_TO_CREATE)
}

/// Loads a chunk in our own format.
fn load_chunk<'a, F: Family>(
    context: &Context,
    entry: Entry<'a, Stored<F>>,
    iterator: u64,
    bytes: &[u8],
) -> Result<Loaded<'a, F>, ReplyError> {
    let limit = config::size_limit(context);
    let chunk = Chunk::parse(bytes).map_err(ReplyError::of_load)?;
    if iterator != chunk.next {
        return Err(ReplyError::BAD_DATA);
    }
    let load = |present: Option<&mut Filter>| {
        codec::load_chunk(present, &chunk, limit).map_err(ReplyError::of_load)
    };
    let target = match entry {
        Entry::Occupied(mut target) => {
            load(Some(target.value_mut().filter_mut()))?;
            target
        }
        Entry::Vacant(_) if !chunk.begins().is_some_and(F::takes) => {
            return Err(ReplyError::of_load(DecodeError::Order));
        }
        Entry::Vacant(vacant) => begin(vacant, load(None)?.ok_or(ReplyError::NOT_FOUND)?)?,
    };
    Ok((target, Vec::new()))
}

/// Loads a header or piece in RedisBloom's format. A header creates a filter with a random seed,
/// which a replica must have, too.
fn load_piece<'a, F: Family>(
    context: &Context,
    entry: Entry<'a, Stored<F>>,
    iterator: u64,
    bytes: &[u8],
) -> Result<Loaded<'a, F>, ReplyError> {
    match entry {
        Entry::Occupied(mut target) => {
            let taken = target.value_mut().filter_mut().take_piece(iterator, bytes);
            taken.map_err(ReplyError::of_load)?;
            Ok((target, Vec::new()))
        }
        Entry::Vacant(_) if iterator != HEADER => Err(ReplyError::BAD_DATA),
        Entry::Vacant(vacant) => {
            let (seed, limit) = (Seed(context.random()), config::size_limit(context));
            let filter = (F::BEGIN)(bytes, seed, limit).map_err(ReplyError::of_load)?;
            let chunks = all_chunks(&filter)?;
            Ok((begin(vacant, filter)?, chunks))
        }
    }
}

/// All chunks of `filter`, which has no set bits: a few times the bytes of its header.
fn all_chunks(filter: &Filter) -> Result<Chunks, ReplyError> {
    let mut chunks = Vec::new();
    let mut iterator = 0;
    while let Some(chunk) =
        encode_chunk(filter, iterator).map_err(|_| ReplyError::NO_MEMORY_TO_CREATE)?
    {
        iterator = chunk.next;
        let room = chunks.try_reserve(1);
        room.map_err(|_| ReplyError::NO_MEMORY_TO_CREATE)?;
        chunks.push(chunk);
    }
    Ok(chunks)
}

/// Loads a filter that valkey-bloom wrote.
fn load_of_valkey(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let bytes = arguments.bytes(2);
    context.redact(2); // the keys of its hash are in it
    let Entry::Vacant(vacant) = context.entry::<BloomFilter>(arguments.at(1))? else {
        return Err(ReplyError::NO_PLACE_TO_LOAD);
    };
    let limit = config::size_limit(context);
    let filter = Filter::parse_valkey(bytes, limit).map_err(ReplyError::of_load)?;
    begin::<BloomFilters>(vacant, filter)?.settle().replicate_verbatim().signal(c"bf.load");
    context.reply_ok();
    Ok(())
}
