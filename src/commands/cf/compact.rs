//! CF.COMPACT: gives back what deletions left, of which there is nothing.

use crate::commands::held::found_or_missing;
use crate::commands::parameters::KEY;
use crate::commands::reply_error::ReplyError;
use crate::commands::FIRST_RELEASE;
use crate::server::arguments::Arguments;
use crate::server::command::{Command, KeyAccess, Output, Specification};
use crate::server::context::Context;
use crate::types::counting::StoredCountingFilter;

/// CF.COMPACT. In RedisBloom it moves items from younger sub-filters to older ones, once deletions
/// have made room there. A growing table has no sub-filters: each deletion makes its page smaller,
/// and two small pages become one. So there is never anything to do, and nothing to replicate.
pub struct Compact;

impl Command for Compact {
    const SPECIFICATION: Specification = Specification {
        name: c"cf.compact",
        arity: 2,
        flags: c"write",
        categories: "write",
        access: KeyAccess::Update,
        output: Output::Determined,
        since: FIRST_RELEASE,
        summary: c"Does nothing: a counting filter gives memory back as items are deleted",
        complexity: c"O(1)",
        parameters: &[KEY],
    };

    fn run(context: &Context, arguments: Arguments<'_>) {
        match compact(context, arguments) {
            Ok(()) => context.reply_simple("OK"),
            Err(error) => error.reply(context),
        }
    }
}

fn compact(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let key = context.open_to_read(arguments.at(1));
    let stored = found_or_missing(key.held::<StoredCountingFilter>())?;
    stored.map(drop).ok_or(ReplyError::NothingToFree)
}
