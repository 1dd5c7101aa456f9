//! What happens when a server loads the module: types, commands, settings, INFO.

use crate::{cms, config, stored, tdigest, topk};
use splitbloom_server::allocator::bytes_held;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::catch_panic::CAUGHT_PANICS;
use splitbloom_server::context::Context;
use splitbloom_server::data_type::VALUES_REFUSED;
use splitbloom_server::entry::{Module, Refused};
use splitbloom_server::events;
use splitbloom_server::info::{self, Field};
use splitbloom_server::log::notice;
use splitbloom_server::replay::REPLAYS_REFUSED;

const INFO: &[Field] = &[
    Field::Text(c"version", || MODULE.version.text),
    Field::Counter(c"sketches", &stored::SKETCHES),
    Field::Number(c"bytes_held", bytes_held),
    Field::Counter(c"replays_refused", &REPLAYS_REFUSED),
    Field::Counter(c"values_refused", &VALUES_REFUSED),
    Field::Counter(c"caught_panics", &CAUGHT_PANICS),
];

const MODULE: Module = Module {
    name: c"sketch",
    title: "splitsketch",
    // With the commit, if `scripts/version --build` named one to the compiler.
    version: splitbloom_server::version!(option_env!("SPLITBLOOM_BUILD")),
    commands: "CMS, TOPK or TDIGEST",
    rivals: "RedisBloom",
    load,
};

splitbloom_server::module!(MODULE);

fn load(context: &Context, arguments: Arguments<'_>) -> Result<(), Refused> {
    if arguments.len() > 0 {
        return Err(Refused::Bad("it takes no arguments".into()));
    }
    config::register(context)?; // first: `cms.encoding` chooses a type
    cms::register(context)?;
    topk::register(context)?;
    tdigest::register(context)?;
    events::register(context, |_| {}); // a sketch needs nothing from its server's role
    info::register(context, INFO);
    let (version, server) = (MODULE.version.text, context.server());
    notice(context, format_args!("splitsketch {version} on {server}"));
    Ok(())
}
