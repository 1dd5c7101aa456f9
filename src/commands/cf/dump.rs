//! CF.SCANDUMP and CF.LOADCHUNK: a filter from one server to another, chunk by chunk.

use crate::commands::transfer::{load, scan_dump, OF_A_DUMP, OF_A_LOAD};
use crate::commands::{complexity, FIRST_RELEASE};
use crate::server::arguments::Arguments;
use crate::server::command::{Command, KeyAccess, Output, Specification};
use crate::server::context::Context;
use crate::types::counting::StoredCountingFilter;

/// CF.SCANDUMP.
pub struct ScanDump;

/// CF.LOADCHUNK.
pub struct LoadChunk;

impl Command for ScanDump {
    const SPECIFICATION: Specification = Specification {
        name: c"cf.scandump",
        arity: 3,
        flags: c"readonly",
        categories: "read",
        access: KeyAccess::Read,
        output: Output::Varies,
        since: FIRST_RELEASE,
        summary: c"Returns the next chunk of a counting filter, to be loaded elsewhere",
        complexity: complexity::CHUNK,
        parameters: OF_A_DUMP,
    };

    fn run(context: &Context, arguments: Arguments<'_>) {
        if let Err(error) = scan_dump::<StoredCountingFilter>(context, arguments) {
            error.reply(context);
        }
    }
}

impl Command for LoadChunk {
    const SPECIFICATION: Specification = Specification {
        name: c"cf.loadchunk",
        arity: 4,
        flags: c"write deny-oom",
        categories: "write",
        access: KeyAccess::Add,
        output: Output::Determined,
        since: FIRST_RELEASE,
        summary: c"Loads a chunk of a counting filter; the first one creates it",
        complexity: complexity::CHUNK,
        parameters: OF_A_LOAD,
    };

    fn run(context: &Context, arguments: Arguments<'_>) {
        if let Err(error) =
            load::<StoredCountingFilter>(context, arguments, c"CF.LOADCHUNK", c"cf.loadchunk")
        {
            error.reply(context);
        }
    }
}
