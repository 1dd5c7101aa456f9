//! CF.DEL: removes a copy of an item from a counting filter.

use crate::commands::held::found_or_missing;
use crate::commands::parameters::{ITEM, KEY};
use crate::commands::reply_error::ReplyError;
use crate::commands::{complexity, FIRST_RELEASE};
use crate::server::arguments::Arguments;
use crate::server::command::{Command, KeyAccess, Output, Specification};
use crate::server::context::Context;
use crate::stats;
use crate::types::counting::StoredCountingFilter;
use crate::types::Stored as _;

/// CF.DEL.
pub struct Delete;

impl Command for Delete {
    const SPECIFICATION: Specification = Specification {
        name: c"cf.del",
        arity: 3,
        flags: c"write fast",
        categories: "write fast",
        access: KeyAccess::Delete,
        output: Output::Determined,
        since: FIRST_RELEASE,
        summary: c"Removes a copy of an item, which must have been added, from a counting filter",
        complexity: complexity::COUNTING_ITEM,
        parameters: &[KEY, ITEM],
    };

    fn run(context: &Context, arguments: Arguments<'_>) {
        match delete(context, arguments) {
            Ok(was_there) => context.reply_bool(was_there),
            Err(error) => error.reply(context),
        }
    }
}

fn delete(context: &Context, arguments: Arguments<'_>) -> Result<bool, ReplyError> {
    let mut key = context.open_to_write(arguments.at(1))?;
    let stored = found_or_missing(key.held::<StoredCountingFilter>())?;
    let filter = stored.ok_or(ReplyError::NothingToDelete)?.filter_mut();
    let removed = filter.remove(arguments.bytes(2));
    let was_there = removed.map_err(ReplyError::of_deletion)?;
    drop(key); // before a module is notified that might delete it
    if was_there {
        stats::copies_deleted(1);
        context.replicate_verbatim();
        context.signal_change(c"cf.del", arguments.at(1));
    }
    Ok(was_there)
}
