//! What happens when a server loads the module: options, settings, type, commands, INFO.

use crate::config::{self, LoadArguments};
use crate::data_type::BLOOM_TYPE;
use crate::redis::allocator::{bytes_held, ServerAllocator};
use crate::redis::command::Refused;
use crate::redis::context::Context;
use crate::redis::guard::{caught_panics, guarded, log_panics};
use crate::redis::info::{self, Field};
use crate::redis::log::warn;
use crate::{commands, stats};
use redis_module::{redis_module, RedisString, Status};

/// The version of the module, from Cargo.toml, for people.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The same for `MODULE LIST`: 10000 * major + 100 * minor + patch.
const VERSION_NUMBER: i32 = 10_000 * number(env!("CARGO_PKG_VERSION_MAJOR"))
    + 100 * number(env!("CARGO_PKG_VERSION_MINOR"))
    + number(env!("CARGO_PKG_VERSION_PATCH"));

const INFO: &[Field] = &[
    Field::Text(c"version", VERSION),
    Field::Number(c"filters", stats::filters),
    Field::Number(c"items_added", stats::items_added),
    Field::Number(c"lookups", stats::lookups),
    Field::Number(c"bytes_held", bytes_held),
    Field::Number(c"sub_filters_grown", stats::sub_filters_grown),
    Field::Number(c"fill_guard_closings", stats::fill_guard_closings),
    Field::Number(c"caught_panics", caught_panics),
];

const fn number(digits: &str) -> i32 {
    let (digits, mut value, mut place) = (digits.as_bytes(), 0, 0);
    while place < digits.len() {
        value = value * 10 + (digits[place] - b'0') as i32;
        place += 1;
    }
    value
}

fn load(context: &Context, arguments: &[RedisString]) -> Result<(), Refused> {
    log_panics();
    let words: Vec<&[u8]> = arguments.iter().map(RedisString::as_slice).collect();
    let arguments = LoadArguments::parse(&words).map_err(Refused)?;
    context.set_module_options();
    commands::register_all(context)?;
    #[cfg(feature = "injected-faults")]
    crate::redis::injection::register(context)?;
    config::register(context, arguments)?;
    info::register(context, INFO);
    Ok(())
}

/// The crate's macro calls this once its own part (the function table, the type) is done.
fn init(context: &redis_module::Context, arguments: &[RedisString]) -> Status {
    let loaded = guarded(
        "OnLoad",
        || Err(Refused("a panic".into())),
        || load(&Context::of_load(context), arguments),
    );
    match loaded {
        Ok(()) => Status::Ok,
        Err(Refused(what)) => {
            warn(&format!("splitbloom was not loaded: {what}"));
            Status::Err
        }
    }
}

redis_module! {
    name: "bf",
    version: VERSION_NUMBER,
    allocator: (ServerAllocator, ServerAllocator),
    data_types: [BLOOM_TYPE],
    init: init,
}
