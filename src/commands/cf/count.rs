//! CF.COUNT: how many copies of an item are in a counting filter.

use crate::commands::held::found_or_missing;
use crate::commands::parameters::{ITEM, KEY};
use crate::commands::{complexity, FIRST_RELEASE};
use crate::server::arguments::Arguments;
use crate::server::command::{Command, KeyAccess, Output, Specification};
use crate::server::context::Context;
use crate::stats;
use crate::types::counting::StoredCountingFilter;
use crate::types::Stored as _;

/// CF.COUNT.
pub struct Count;

impl Command for Count {
    const SPECIFICATION: Specification = Specification {
        name: c"cf.count",
        arity: 3,
        flags: c"readonly fast",
        categories: "read fast",
        access: KeyAccess::Read,
        output: Output::Determined,
        since: FIRST_RELEASE,
        summary: c"Counts the copies of an item that are probably in a counting filter",
        complexity: complexity::COUNTING_ITEM,
        parameters: &[KEY, ITEM],
    };

    fn run(context: &Context, arguments: Arguments<'_>) {
        let key = context.open_to_read(arguments.at(1));
        match found_or_missing(key.held::<StoredCountingFilter>()) {
            Err(error) => error.reply(context),
            Ok(stored) => {
                let copies = stored.map_or(0, |stored| stored.filter().count(arguments.bytes(2)));
                stats::looked_up(1, usize::from(copies > 0));
                context.reply_integer(copies);
            }
        }
    }
}
