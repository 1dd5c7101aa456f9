//! What happens when a server loads the module: types, commands, settings, INFO.

use crate::{cms, config, stored, tdigest, topk};
use splitbloom_server::allocator::bytes_held;
use splitbloom_server::arguments::{Argument, Arguments};
use splitbloom_server::catch_panic::CAUGHT_PANICS;
use splitbloom_server::context::Context;
use splitbloom_server::entry::{version_number, Module, Refused};
use splitbloom_server::events::{self, Listener};
use splitbloom_server::info::{self, Field};
use splitbloom_server::log::notice;
use splitbloom_server::replay::REPLAYS_REFUSED;

/// The version, with the commit if `scripts/version --build` named one to the compiler.
const VERSION: &str = match option_env!("SPLITBLOOM_BUILD") {
    Some(build) => build,
    None => env!("CARGO_PKG_VERSION"),
};

const VERSION_NUMBER: i32 = version_number(
    env!("CARGO_PKG_VERSION_MAJOR"),
    env!("CARGO_PKG_VERSION_MINOR"),
    env!("CARGO_PKG_VERSION_PATCH"),
);

const INFO: &[Field] = &[
    Field::Text(c"version", || VERSION),
    Field::Counter(c"sketches", &stored::SKETCHES),
    Field::Number(c"bytes_held", bytes_held),
    Field::Counter(c"replays_refused", &REPLAYS_REFUSED),
    Field::Counter(c"caught_panics", &CAUGHT_PANICS),
];

const MODULE: Module = Module { name: c"sketch", version: VERSION_NUMBER, load, refusal };

splitbloom_server::module!(MODULE);

fn load(context: &Context, arguments: Arguments<'_>) -> Result<(), Refused> {
    if arguments.len() > 0 {
        return Err(Refused::Bad("it takes no arguments".into()));
    }
    cms::register(context)?;
    topk::register(context)?;
    tdigest::register(context)?;
    config::register(context)?;
    events::register(context, Listener { moved, role_changed: |_| {} });
    info::register(context, INFO);
    let server = context.server();
    notice(context, format_args!("splitsketch {VERSION} on {server}"));
    Ok(())
}

fn moved(context: &Context, key: Argument<'_>) {
    cms::moved(context, key);
    topk::moved(context, key);
}

/// The line in the log that says why the module was not loaded, and what to do about it.
fn refusal(refused: &Refused) -> String {
    match refused {
        Refused::Taken(what) => format!(
            "splitsketch was not loaded: {what} is taken. Another module with the CMS, TOPK or \
             TDIGEST commands is loaded already (RedisBloom, or splitsketch itself a second \
             time), and a server can have only one: remove the loadmodule line of one of the two"
        ),
        Refused::Bad(what) => format!("splitsketch was not loaded: {what}"),
    }
}
