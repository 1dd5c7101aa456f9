//! BF.EXISTS and BF.MEXISTS: whether items are (probably) in a filter.

use super::parameters::{ITEM, ITEMS, KEY};
use crate::commands::reply_error::ReplyError;
use crate::commands::FIRST_RELEASE;
use crate::server::arguments::Arguments;
use crate::server::command::{Command, KeyAccess, Specification};
use crate::server::context::Context;
use crate::server::key::Held;
use crate::stats;
use crate::types::bloom::StoredFilter;

/// BF.EXISTS.
pub struct Exists;

/// BF.MEXISTS.
pub struct MultiExists;

impl Command for Exists {
    const SPECIFICATION: Specification = Specification {
        name: c"bf.exists",
        arity: 3,
        flags: c"readonly fast",
        categories: "read fast",
        access: KeyAccess::Read,
        since: FIRST_RELEASE,
        summary: c"Checks whether an item is probably in a Bloom filter",
        complexity: c"O(S) with S sub-filters, one for a filter reserved at the right size",
        parameters: &[KEY, ITEM],
    };

    fn run(context: &Context, arguments: Arguments<'_>) {
        let found = match context.open_to_read(arguments.at(1)).held::<StoredFilter>() {
            Held::Other => return ReplyError::WrongType.reply(context),
            Held::Nothing => false,
            Held::Value(stored) => stored.filter().contains(arguments.bytes(2)),
        };
        stats::looked_up(1);
        context.reply_bool(found);
    }
}

impl Command for MultiExists {
    const SPECIFICATION: Specification = Specification {
        name: c"bf.mexists",
        arity: -3,
        flags: c"readonly",
        categories: "read",
        access: KeyAccess::Read,
        since: FIRST_RELEASE,
        summary: c"Checks for each item whether it is probably in a Bloom filter",
        complexity: c"O(N*S) with N items and S sub-filters",
        parameters: &[KEY, ITEMS],
    };

    fn run(context: &Context, arguments: Arguments<'_>) {
        let items = arguments.bytes_from(2);
        let key = context.open_to_read(arguments.at(1));
        // Reply to each item as it is found: the memory of the next ones arrives meanwhile.
        match key.held::<StoredFilter>() {
            Held::Other => return ReplyError::WrongType.reply(context),
            Held::Nothing => {
                context.reply_array(items.len());
                items.for_each(|_| context.reply_bool(false));
            }
            Held::Value(stored) => {
                context.reply_array(items.len());
                stored
                    .filter()
                    .contains_many(items, |found| context.reply_bool(found));
            }
        }
        stats::looked_up(arguments.len() - 2);
    }
}
