//! BF.LOAD: a filter that valkey-bloom wrote into an append-only file.

use crate::commands::held::found_or_missing;
use crate::commands::parameters::KEY;
use crate::commands::reply_error::ReplyError;
use crate::commands::FIRST_RELEASE;
use crate::config;
use crate::server::arguments::Arguments;
use crate::server::command::{Command, KeyAccess, Kind, Output, Parameter, Specification, Times};
use crate::server::context::Context;
use crate::types::bloom::StoredFilter;
use crate::types::Stored as _;
use splitbloom_filter::Filter;

/// BF.LOAD.
pub struct Load;

impl Command for Load {
    const SPECIFICATION: Specification = Specification {
        name: c"bf.load",
        arity: 3,
        flags: c"write deny-oom",
        categories: "write",
        access: KeyAccess::Create,
        output: Output::Determined,
        since: FIRST_RELEASE,
        summary: c"Loads a Bloom filter that valkey-bloom wrote into an append-only file",
        complexity: c"O(N) with N bytes of data",
        parameters: &[KEY, Parameter::new(c"data", Kind::Text, Times::Once)],
    };

    fn run(context: &Context, arguments: Arguments<'_>) {
        match load(context, arguments) {
            Ok(()) => context.reply_simple("OK"),
            Err(error) => error.reply(context),
        }
    }
}

fn load(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let bytes = arguments.bytes(2);
    context.redact(2); // the keys of its hash are in it
    let mut key = context.open_to_write(arguments.at(1))?;
    if found_or_missing(key.held::<StoredFilter>())?.is_some() {
        return Err(ReplyError::NoPlaceToLoad);
    }
    let limit = config::size_limit(context);
    let filter = Filter::parse_valkey(bytes, limit).map_err(ReplyError::of_load)?;
    key.put(StoredFilter::new(filter))
        .ok_or(ReplyError::NoMemoryToCreate)?;
    drop(key); // before a module is notified that might delete it
    context.replicate_verbatim();
    context.signal_change(c"bf.load", arguments.at(1));
    Ok(())
}
