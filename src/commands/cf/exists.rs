//! CF.EXISTS and CF.MEXISTS: whether items are (probably) in a counting filter.

use crate::commands::docs::{COUNTING_ITEM, COUNTING_ITEMS, FIRST_RELEASE, ITEM, ITEMS, KEY};
use crate::commands::lookup::{look_up, look_up_many};
use crate::commands::reply_error::ReplyError;
use crate::types::counting::StoredCountingFilter;
use splitbloom_server::command::{Command, KeyAccess, Output};

pub const EXISTS: Command<ReplyError> = Command {
    name: c"cf.exists",
    arity: 3,
    flags: "readonly fast",
    access: KeyAccess::Read,
    output: Output::Determined,
    since: FIRST_RELEASE,
    summary: c"Checks whether an item is probably in a counting filter",
    complexity: COUNTING_ITEM,
    parameters: &[KEY, ITEM],
    run: look_up::<StoredCountingFilter>,
};

pub const MULTI_EXISTS: Command<ReplyError> = Command {
    name: c"cf.mexists",
    arity: -3,
    flags: "readonly",
    access: KeyAccess::Read,
    output: Output::Determined,
    since: FIRST_RELEASE,
    summary: c"Checks for each item whether it is probably in a counting filter",
    complexity: COUNTING_ITEMS,
    parameters: &[KEY, ITEMS],
    run: look_up_many::<StoredCountingFilter>,
};
