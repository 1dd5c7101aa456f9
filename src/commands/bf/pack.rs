//! BF.PACKADD and BF.PACKEXISTS: BF.MADD and BF.MEXISTS with all items in one argument.

use crate::commands::common::BLOOM_ITEMS;
use crate::commands::pack_add::add_packed;
use crate::commands::packed::{look_up_packed, Packed, OF_AN_ADD, OF_A_LOOKUP};
use crate::commands::reply_error::ReplyError;
use crate::types::BloomFilters;
use splitbloom_server::command::{Command, Output};

pub const PACK_ADD: Command<ReplyError> = Command {
    name: c"bf.packadd",
    arity: -4,
    output: Output::Varies,
    summary: c"Adds packed items to a Bloom filter, which is created if it is missing",
    complexity: BLOOM_ITEMS,
    parameters: OF_AN_ADD,
    run: |context, arguments| {
        let packed = Packed::add(context, arguments)?;
        add_packed::<BloomFilters>(context, arguments, packed, c"bf.packadd", c"BF.PACKADD")
    },
    ..Command::WRITE
};

pub const PACK_EXISTS: Command<ReplyError> = Command {
    name: c"bf.packexists",
    arity: -4,
    output: Output::Varies,
    summary: c"Checks for each packed item whether it is probably in a Bloom filter",
    complexity: BLOOM_ITEMS,
    parameters: OF_A_LOOKUP,
    run: look_up_packed::<BloomFilters>,
    ..Command::READ
};
