//! What happens when a server loads the module: options, settings, type, commands, INFO.

use crate::{commands, config, journal, shrinking, slow_log, stats, sweeper, types};
use splitbloom_filter::{kernel_name, table_kernel_name};
use splitbloom_grammar::load_arguments::LoadArguments;
use splitbloom_server::allocator::bytes_held;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::catch_panic::CAUGHT_PANICS;
use splitbloom_server::context::Context;
use splitbloom_server::data_type::VALUES_REFUSED;
use splitbloom_server::entry::{Module, Refused};
use splitbloom_server::info::{self, Field};
use splitbloom_server::log::notice;
use splitbloom_server::replay::REPLAYS_REFUSED;
use splitbloom_server::settings;

const INFO: &[Field] = &[
    Field::Text(c"version", || MODULE.version.text),
    Field::Text(c"kernel", kernel_name),
    Field::Text(c"table_kernel", table_kernel_name),
    Field::Counter(c"filters", &stats::FILTERS),
    Field::Counter(c"items_added", &stats::ITEMS_ADDED),
    Field::Counter(c"items_deleted", &stats::ITEMS_DELETED),
    Field::Counter(c"items_forgotten", &stats::ITEMS_FORGOTTEN),
    Field::Counter(c"sweep_steps", &stats::SWEEP_STEPS),
    Field::Counter(c"sweep_slowest_usec", &stats::SLOWEST_SWEEP_STEP),
    Field::FromServer(c"sweeps_waiting", sweeper::num_waiting),
    Field::FromServer(c"sweep_lag_msec", sweeper::lag),
    Field::Counter(c"lookups", &stats::LOOKUPS),
    Field::Counter(c"lookup_hits", &stats::LOOKUP_HITS),
    Field::Number(c"bytes_held", bytes_held),
    Field::Counter(c"filters_grown", &stats::FILTERS_GROWN),
    Field::Counter(c"fill_guard_closings", &stats::FILL_GUARD_CLOSINGS),
    Field::Counter(c"journals", &journal::COUNT),
    Field::Number(c"journal_bytes", journal::bytes),
    Field::Counter(c"fetches_by_followers", &stats::FETCHES_BY_FOLLOWERS),
    Field::Counter(c"replays_ignored", &stats::REPLAYS_IGNORED),
    Field::Counter(c"replays_refused", &REPLAYS_REFUSED),
    Field::Counter(c"values_refused", &VALUES_REFUSED),
    Field::FromServer(c"slow_log_argument_bytes", slow_log::argument_bytes),
    Field::Counter(c"caught_panics", &CAUGHT_PANICS),
];

const MODULE: Module = Module {
    name: c"bf",
    title: "splitbloom",
    // With the commit, if `scripts/version --build` named one to the compiler.
    version: splitbloom_server::version!(option_env!("SPLITBLOOM_BUILD")),
    commands: "BF",
    rivals: "RedisBloom, valkey-bloom",
    load,
};

splitbloom_server::module!(MODULE);

fn load(context: &Context, arguments: Arguments<'_>) -> Result<(), Refused> {
    let arguments: Vec<&[u8]> = arguments.bytes_from(0).collect();
    let arguments = LoadArguments::parse(&arguments).map_err(Refused::Bad)?;
    types::register(context)?;
    commands::register(context)?;
    config::register(context, arguments)?;
    sweeper::register(context);
    journal::register();
    shrinking::register();
    info::register(context, INFO);
    let (version, server, settings) = (MODULE.version.text, context.server(), settings::in_force());
    let (kernel, table_kernel) = (kernel_name(), table_kernel_name());
    notice(
        context,
        format_args!(
            "splitbloom {version} on {server}, kernel: {kernel}, tables: {table_kernel}, \
             settings: {settings}"
        ),
    );
    // The server does not say which command keeps another module from being loaded.
    notice(
        context,
        format_args!(
            "splitbloom serves BF.* and CF.*: a module that has them, too (RedisBloom, \
             valkey-bloom), cannot be loaded beside it"
        ),
    );
    slow_log::warn_of_seeds();
    Ok(())
}
