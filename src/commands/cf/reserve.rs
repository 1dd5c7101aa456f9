//! CF.RESERVE: creates an empty counting filter.

use crate::commands::held::missing;
use crate::commands::parameters::{CAPACITY, ERROR, EXPANSION, KEY, SEED};
use crate::commands::reply_error::ReplyError;
use crate::commands::seeds::hide_seeds;
use crate::commands::FIRST_RELEASE;
use crate::config;
use crate::server::arguments::{Argument, Arguments};
use crate::server::command::{Command, KeyAccess, Kind, Output, Parameter, Specification, Times};
use crate::server::context::Context;
use crate::types::counting::StoredCountingFilter;
use crate::types::Stored as _;
use splitbloom_filter::filter::{CountingParameters, Filter};
use splitbloom_filter::hash::Seed;
use splitbloom_grammar::counting::{parse_counting_reserve, CountingCreation};
use splitbloom_grammar::loose::known_words_of_reserve;

/// CF.RESERVE.
pub struct Reserve;

const BUCKET_SIZE: Parameter =
    Parameter::new(c"bucketsize", Kind::Integer, Times::AtMostOnce).after(c"BUCKETSIZE");
const MAX_ITERATIONS: Parameter =
    Parameter::new(c"maxiterations", Kind::Integer, Times::AtMostOnce).after(c"MAXITERATIONS");

impl Command for Reserve {
    const SPECIFICATION: Specification = Specification {
        name: c"cf.reserve",
        arity: -3,
        flags: c"write deny-oom fast",
        categories: "write fast",
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
    };

    fn run(context: &Context, arguments: Arguments<'_>) {
        match reserve(context, arguments) {
            Ok(()) => context.reply_simple("OK"),
            Err(error) => error.reply(context),
        }
    }
}

fn reserve(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let words = arguments
        .try_list_from(2)
        .ok_or(ReplyError::NoMemoryToCreate)?;
    hide_seeds(context, &words, 2);
    let creation = parse(context, &words)?;
    let mut key = context.open_to_write(arguments.at(1))?;
    missing(key.held::<StoredCountingFilter>())?;
    let filter = create(context, &creation)?;
    let parameters = filter.counting_parameters();
    key.put(StoredCountingFilter::new(filter))
        .ok_or(ReplyError::NoMemoryToCreate)?;
    drop(key); // before a module is notified that might delete it
    replicate_creation(context, arguments.at(1), &parameters);
    context.signal_change(c"cf.reserve", arguments.at(1));
    Ok(())
}

fn parse(context: &Context, words: &[&[u8]]) -> Result<CountingCreation, ReplyError> {
    let strict = parse_counting_reserve(words);
    if strict.is_err() && context.is_replay() {
        let known = known_words_of_reserve(words, 1).ok_or(ReplyError::NoMemoryToCreate)?;
        return Ok(parse_counting_reserve(&known)?);
    }
    Ok(strict?)
}

/// A new filter as the client described it, with a random seed unless it gave one.
pub(super) fn create(context: &Context, creation: &CountingCreation) -> Result<Filter, ReplyError> {
    let defaults = config::counting::defaults(Seed(context.random()));
    let parameters = creation.parameters(defaults);
    Filter::counting(parameters, config::size_limit(context)).map_err(ReplyError::of_creation)
}

/// Replicates the creation of a filter with all that it answers from, whatever words the client
/// used: the settings of a replica may differ.
pub(super) fn replicate_creation(
    context: &Context,
    key: Argument<'_>,
    parameters: &CountingParameters,
) {
    let capacity = parameters.capacity.to_string();
    let options = [
        ("BUCKETSIZE", parameters.bucket_size.to_string()),
        ("MAXITERATIONS", parameters.max_iterations.to_string()),
        ("EXPANSION", parameters.expansion.to_string()),
        // The shortest digits that parse as the same number.
        ("ERROR", parameters.error_rate.to_string()),
        ("SEED", format!("{:016x}", parameters.seed.0)),
    ];
    let mut words: Vec<&[u8]> = vec![capacity.as_bytes()];
    for (option, value) in &options {
        words.extend([option.as_bytes(), value.as_bytes()]);
    }
    context.replicate(c"CF.RESERVE", key, &words);
}
