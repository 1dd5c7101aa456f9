//! CF.EXISTS and CF.MEXISTS: whether items are (probably) in a counting filter.

use crate::commands::lookup::{look_up, look_up_many};
use crate::commands::parameters::{ITEM, ITEMS, KEY};
use crate::commands::{complexity, FIRST_RELEASE};
use crate::server::arguments::Arguments;
use crate::server::command::{Command, KeyAccess, Output, Specification};
use crate::server::context::Context;
use crate::types::counting::StoredCountingFilter;

/// CF.EXISTS.
pub struct Exists;

/// CF.MEXISTS.
pub struct MultiExists;

impl Command for Exists {
    const SPECIFICATION: Specification = Specification {
        name: c"cf.exists",
        arity: 3,
        flags: c"readonly fast",
        categories: "read fast",
        access: KeyAccess::Read,
        output: Output::Determined,
        since: FIRST_RELEASE,
        summary: c"Checks whether an item is probably in a counting filter",
        complexity: complexity::COUNTING_ITEM,
        parameters: &[KEY, ITEM],
    };

    fn run(context: &Context, arguments: Arguments<'_>) {
        if let Err(error) = look_up::<StoredCountingFilter>(context, arguments) {
            error.reply(context);
        }
    }
}

impl Command for MultiExists {
    const SPECIFICATION: Specification = Specification {
        name: c"cf.mexists",
        arity: -3,
        flags: c"readonly",
        categories: "read",
        access: KeyAccess::Read,
        output: Output::Determined,
        since: FIRST_RELEASE,
        summary: c"Checks for each item whether it is probably in a counting filter",
        complexity: complexity::COUNTING_ITEMS,
        parameters: &[KEY, ITEMS],
    };

    fn run(context: &Context, arguments: Arguments<'_>) {
        if let Err(error) = look_up_many::<StoredCountingFilter>(context, arguments) {
            error.reply(context);
        }
    }
}
