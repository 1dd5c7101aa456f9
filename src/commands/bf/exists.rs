//! BF.EXISTS and BF.MEXISTS: whether items are (probably) in a filter.

use crate::commands::docs::{BLOOM_ITEM, BLOOM_ITEMS, FIRST_RELEASE, ITEM, ITEMS, KEY};
use crate::commands::lookup::{look_up, look_up_many};
use crate::commands::reply_error::ReplyError;
use crate::types::bloom::StoredFilter;
use splitbloom_server::command::{Command, KeyAccess, Output};

pub const EXISTS: Command<ReplyError> = Command {
    name: c"bf.exists",
    arity: 3,
    flags: "readonly fast",
    access: KeyAccess::Read,
    output: Output::Varies,
    since: FIRST_RELEASE,
    summary: c"Checks whether an item is probably in a Bloom filter",
    complexity: BLOOM_ITEM,
    parameters: &[KEY, ITEM],
    run: look_up::<StoredFilter>,
};

pub const MULTI_EXISTS: Command<ReplyError> = Command {
    name: c"bf.mexists",
    arity: -3,
    flags: "readonly",
    access: KeyAccess::Read,
    output: Output::Varies,
    since: FIRST_RELEASE,
    summary: c"Checks for each item whether it is probably in a Bloom filter",
    complexity: BLOOM_ITEMS,
    parameters: &[KEY, ITEMS],
    run: look_up_many::<StoredFilter>,
};
