//! BF.SCANDUMP and BF.LOADCHUNK: a filter from one server to another, chunk by chunk.

use super::parameters::KEY;
use crate::commands::reply_error::ReplyError;
use crate::commands::FIRST_RELEASE;
use crate::config;
use crate::server::arguments::Arguments;
use crate::server::command::{Command, KeyAccess, Kind, Parameter, Specification, Times};
use crate::server::context::Context;
use crate::server::key::Held;
use crate::types::bloom::StoredFilter;
use splitbloom_filter::codec::{encode_chunk, load_chunk, Chunk};
use splitbloom_grammar::number::parse_integer;

/// BF.SCANDUMP.
pub struct ScanDump;

/// BF.LOADCHUNK.
pub struct LoadChunk;

const ITERATOR: Parameter = Parameter::new(c"iterator", Kind::Integer, Times::Once);

impl Command for ScanDump {
    const SPECIFICATION: Specification = Specification {
        name: c"bf.scandump",
        arity: 3,
        flags: c"readonly",
        categories: "read",
        access: KeyAccess::Read,
        since: FIRST_RELEASE,
        summary: c"Returns the next chunk of a Bloom filter, to be loaded elsewhere",
        complexity: c"O(N) with N bytes of the chunk, at most 1 MiB",
        parameters: &[KEY, ITERATOR],
    };

    fn run(context: &Context, arguments: Arguments<'_>) {
        let Some(iterator) = parse_integer(arguments.bytes(2)) else {
            return ReplyError::NotNumeric.reply(context);
        };
        let key = context.open_to_read(arguments.at(1));
        let stored: &StoredFilter = match key.held() {
            Held::Other => return ReplyError::WrongType.reply(context),
            Held::Nothing => return ReplyError::NotFound.reply(context),
            Held::Value(stored) => stored,
        };
        // A negative iterator, like one past the end, finds nothing.
        let iterator = u64::try_from(iterator).unwrap_or(u64::MAX);
        let Ok(chunk) = encode_chunk(stored.filter(), iterator) else {
            return ReplyError::NoMemoryToDump.reply(context);
        };
        let (next, bytes) = chunk.map_or((0, Vec::new()), |chunk| (chunk.next, chunk.bytes));
        context.reply_array(2);
        context.reply_integer(next);
        context.reply_bytes(&bytes);
    }
}

impl Command for LoadChunk {
    const SPECIFICATION: Specification = Specification {
        name: c"bf.loadchunk",
        arity: 4,
        flags: c"write deny-oom",
        categories: "write",
        access: KeyAccess::Add,
        since: FIRST_RELEASE,
        summary: c"Loads a chunk of a Bloom filter; the first one creates it",
        complexity: c"O(N) with N bytes of the chunk, at most 1 MiB",
        parameters: &[
            KEY,
            ITERATOR,
            Parameter::new(c"data", Kind::Text, Times::Once),
        ],
    };

    fn run(context: &Context, arguments: Arguments<'_>) {
        let bytes = arguments.bytes(3);
        context.redact(3); // the seed is in it
        match load(context, arguments, bytes) {
            Ok(()) => {
                context.replicate_verbatim();
                context.signal_change(c"bf.loadchunk", arguments.at(1));
                context.reply_simple("OK");
            }
            Err(error) => error.reply(context),
        }
    }
}

fn load(context: &Context, arguments: Arguments<'_>, bytes: &[u8]) -> Result<(), ReplyError> {
    let iterator = parse_integer(arguments.bytes(2)).ok_or(ReplyError::NotNumeric)?;
    let limit = config::size_limit(context);
    let mut key = context.open_to_write(arguments.at(1));
    let present = match key.held::<StoredFilter>() {
        Held::Other => return Err(ReplyError::WrongType),
        Held::Nothing => None,
        Held::Value(stored) => Some(stored.filter_mut()),
    };
    let chunk = Chunk::parse(bytes).map_err(ReplyError::of_load)?;
    if u64::try_from(iterator) != Ok(chunk.next) {
        return Err(ReplyError::BadData);
    }
    match load_chunk(present, &chunk, limit).map_err(ReplyError::of_load)? {
        Some(begun) => key
            .put(StoredFilter::new(begun))
            .map(drop)
            .ok_or(ReplyError::NoMemoryToCreate),
        None => Ok(()),
    }
}
