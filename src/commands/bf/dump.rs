//! BF.SCANDUMP and BF.LOADCHUNK: a filter from one server to another, chunk by chunk.

use crate::commands::docs::{CHUNK, FIRST_RELEASE};
use crate::commands::reply_error::ReplyError;
use crate::commands::transfer::{load, scan_dump, OF_A_DUMP, OF_A_LOAD};
use crate::types::bloom::StoredFilter;
use splitbloom_server::command::{Command, KeyAccess, Output};

pub const SCAN_DUMP: Command<ReplyError> = Command {
    name: c"bf.scandump",
    arity: 3,
    flags: "readonly",
    access: KeyAccess::Read,
    output: Output::Varies,
    since: FIRST_RELEASE,
    summary: c"Returns the next chunk of a Bloom filter, to be loaded elsewhere",
    complexity: CHUNK,
    parameters: OF_A_DUMP,
    run: scan_dump::<StoredFilter>,
};

pub const LOAD_CHUNK: Command<ReplyError> = Command {
    name: c"bf.loadchunk",
    arity: 4,
    flags: "write deny-oom",
    access: KeyAccess::Add,
    output: Output::Determined,
    since: FIRST_RELEASE,
    summary: c"Loads a chunk of a Bloom filter; the first one creates it",
    complexity: CHUNK,
    parameters: OF_A_LOAD,
    run: |context, arguments| {
        load::<StoredFilter>(context, arguments, c"BF.LOADCHUNK", c"bf.loadchunk")
    },
};
