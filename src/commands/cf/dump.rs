//! CF.SCANDUMP and CF.LOADCHUNK: a filter from one server to another, chunk by chunk.

use crate::commands::docs::{CHUNK, FIRST_RELEASE};
use crate::commands::reply_error::ReplyError;
use crate::commands::transfer::{load, scan_dump, OF_A_DUMP, OF_A_LOAD};
use crate::types::counting::StoredCountingFilter;
use splitbloom_server::command::{Command, KeyAccess, Output};

pub const SCAN_DUMP: Command<ReplyError> = Command {
    name: c"cf.scandump",
    arity: 3,
    flags: "readonly",
    access: KeyAccess::Read,
    output: Output::Varies,
    since: FIRST_RELEASE,
    summary: c"Returns the next chunk of a counting filter, to be loaded elsewhere",
    complexity: CHUNK,
    parameters: OF_A_DUMP,
    run: scan_dump::<StoredCountingFilter>,
};

pub const LOAD_CHUNK: Command<ReplyError> = Command {
    name: c"cf.loadchunk",
    arity: 4,
    flags: "write deny-oom",
    access: KeyAccess::Add,
    output: Output::Determined,
    since: FIRST_RELEASE,
    summary: c"Loads a chunk of a counting filter; the first one creates it",
    complexity: CHUNK,
    parameters: OF_A_LOAD,
    run: |context, arguments| {
        load::<StoredCountingFilter>(context, arguments, c"CF.LOADCHUNK", c"cf.loadchunk")
    },
};
