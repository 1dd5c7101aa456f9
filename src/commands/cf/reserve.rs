//! CF.RESERVE: creates an empty counting filter.

use crate::commands::docs::{CAPACITY, ERROR, EXPANSION, FIRST_RELEASE, KEY, SEED};
use crate::commands::reply_error::ReplyError;
use crate::config;
use crate::slow_log::hide_seeds;
use crate::types::counting::StoredCountingFilter;
use crate::types::Stored as _;
use splitbloom_filter::filter::{CountingParameters, Filter};
use splitbloom_filter::hash::Seed;
use splitbloom_grammar::counting::{parse_counting_reserve, CountingCreation};
use splitbloom_grammar::loose::known_words_of_reserve;
use splitbloom_server::arguments::{Argument, Arguments};
use splitbloom_server::command::{Command, KeyAccess, Kind, Output, Parameter, Times};
use splitbloom_server::context::Context;
use splitbloom_server::text::Line;

const BUCKET_SIZE: Parameter =
    Parameter::new(c"bucketsize", Kind::Integer, Times::AtMostOnce).after(c"BUCKETSIZE");
const MAX_ITERATIONS: Parameter =
    Parameter::new(c"maxiterations", Kind::Integer, Times::AtMostOnce).after(c"MAXITERATIONS");

pub const RESERVE: Command<ReplyError> = Command {
    name: c"cf.reserve",
    arity: -3,
    flags: "write deny-oom fast",
    access: KeyAccess::Create,
    output: Output::Determined,
    since: FIRST_RELEASE,
    summary: c"Creates an empty filter that counts and deletes",
    complexity: c"O(1)",
    parameters: &[
        KEY,
        CAPACITY,
        BUCKET_SIZE,
        MAX_ITERATIONS,
        EXPANSION.optional(),
        ERROR.optional(),
        SEED,
    ],
    run: reserve,
};

fn reserve(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let args = arguments.try_list_from(2);
    let args = args.ok_or(ReplyError::NoMemoryToCreate)?;
    hide_seeds(context, &args, 2);
    let creation = parse(context, &args)?;
    let mut key = context.open_to_write(arguments.at(1))?;
    if key.value::<StoredCountingFilter>()?.is_some() {
        return Err(ReplyError::ItemExists);
    }
    let filter = create(context, &creation)?;
    let parameters = filter.counting_parameters();
    key.put(StoredCountingFilter::new(filter))
        .ok_or(ReplyError::NoMemoryToCreate)?;
    drop(key); // before a module is notified that might delete it
    replicate_creation(context, arguments.at(1), &parameters);
    context.signal_change(c"cf.reserve", arguments.at(1));
    context.reply_simple("OK");
    Ok(())
}

fn parse(context: &Context, args: &[&[u8]]) -> Result<CountingCreation, ReplyError> {
    let strict = parse_counting_reserve(args);
    if strict.is_err() && context.is_replay() {
        let known = known_words_of_reserve(args, 1).ok_or(ReplyError::NoMemoryToCreate)?;
        return Ok(parse_counting_reserve(&known)?);
    }
    Ok(strict?)
}

/// A new filter as the client described it, with a random seed unless it gave one.
pub(super) fn create(context: &Context, creation: &CountingCreation) -> Result<Filter, ReplyError> {
    let defaults = config::counting_defaults(Seed(context.random()));
    let parameters = creation.parameters(defaults);
    Filter::counting(parameters, config::size_limit(context)).map_err(ReplyError::of_creation)
}

/// Replicates the creation of the filter `key` with all its `parameters`, whatever arguments the
/// client sent: the settings of a replica may differ.
pub(super) fn replicate_creation(
    context: &Context,
    key: Argument<'_>,
    parameters: &CountingParameters,
) {
    let capacity = Line::of(parameters.capacity);
    let options = [
        ("BUCKETSIZE", Line::of(parameters.bucket_size)),
        ("MAXITERATIONS", Line::of(parameters.max_iterations)),
        ("EXPANSION", Line::of(parameters.expansion)),
        // The shortest digits that parse as the same number.
        ("ERROR", Line::of(parameters.error_rate)),
        ("SEED", Line::of(format_args!("{:016x}", parameters.seed.0))),
    ];
    let options = options.iter();
    let options = options.flat_map(|(option, value)| [option.as_bytes(), value.bytes()]);
    let args = std::iter::once(capacity.bytes()).chain(options);
    context.replicate(c"CF.RESERVE", key, args);
}
