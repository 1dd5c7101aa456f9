//! BF.EXISTS and BF.MEXISTS: whether items are (probably) in a filter.

use crate::commands::lookup::{look_up, look_up_many};
use crate::commands::parameters::{ITEM, ITEMS, KEY};
use crate::commands::{complexity, FIRST_RELEASE};
use crate::server::arguments::Arguments;
use crate::server::command::{Command, KeyAccess, Output, Specification};
use crate::server::context::Context;
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
        output: Output::Varies,
        since: FIRST_RELEASE,
        summary: c"Checks whether an item is probably in a Bloom filter",
        complexity: complexity::BLOOM_ITEM,
        parameters: &[KEY, ITEM],
    };

    fn run(context: &Context, arguments: Arguments<'_>) {
        if let Err(error) = look_up::<StoredFilter>(context, arguments) {
            error.reply(context);
        }
    }
}

impl Command for MultiExists {
    const SPECIFICATION: Specification = Specification {
        name: c"bf.mexists",
        arity: -3,
        flags: c"readonly",
        categories: "read",
        access: KeyAccess::Read,
        output: Output::Varies,
        since: FIRST_RELEASE,
        summary: c"Checks for each item whether it is probably in a Bloom filter",
        complexity: complexity::BLOOM_ITEMS,
        parameters: &[KEY, ITEMS],
    };

    fn run(context: &Context, arguments: Arguments<'_>) {
        if let Err(error) = look_up_many::<StoredFilter>(context, arguments) {
            error.reply(context);
        }
    }
}
