//! BF.RESERVE: creates an empty filter of a given size.

use crate::commands::held::missing;
use crate::commands::parameters::{CAPACITY, EXPANSION, KEY, NONSCALING, SEED};
use crate::commands::reply_error::ReplyError;
use crate::commands::seeds::hide_seeds;
use crate::commands::FIRST_RELEASE;
use crate::config;
use crate::server::arguments::{Argument, Arguments};
use crate::server::command::{Command, KeyAccess, Kind, Parameter, Specification, Times};
use crate::server::context::Context;
use crate::types::bloom::StoredFilter;
use crate::types::Stored as _;
use splitbloom_filter::filter::{Filter, Growth, Parameters};
use splitbloom_filter::hash::Seed;
use splitbloom_filter::AnyFilter;
use splitbloom_grammar::loose::known_words_of_reserve;
use splitbloom_grammar::options::{parse_reserve, Creation};

/// BF.RESERVE.
pub struct Reserve;

impl Command for Reserve {
    const SPECIFICATION: Specification = Specification {
        name: c"bf.reserve",
        arity: -4,
        flags: c"write deny-oom fast",
        categories: "write fast",
        access: KeyAccess::Create,
        since: FIRST_RELEASE,
        summary: c"Creates an empty Bloom filter for a number of items at an error rate",
        complexity: c"O(1)",
        parameters: &[
            KEY,
            Parameter::new(c"error_rate", Kind::Double, Times::Once),
            CAPACITY,
            Parameter::one_of(c"growth", Times::AtMostOnce, &[EXPANSION, NONSCALING]),
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
    let mut key = context.open_to_write(arguments.at(1));
    missing(key.held::<StoredFilter>())?;
    let filter = create(context, &creation)?;
    let parameters = filter.parameters();
    key.put(StoredFilter::new(AnyFilter::Lasting(filter)))
        .ok_or(ReplyError::NoMemoryToCreate)?;
    drop(key); // before a module is notified that might delete it
    replicate_creation(context, arguments.at(1), &parameters);
    context.signal_change(c"bf.reserve", arguments.at(1));
    Ok(())
}

fn parse(context: &Context, words: &[&[u8]]) -> Result<Creation, ReplyError> {
    let strict = parse_reserve(words);
    if strict.is_err() && context.is_replay() {
        let known = known_words_of_reserve(words, 2).ok_or(ReplyError::NoMemoryToCreate)?;
        return Ok(parse_reserve(&known)?);
    }
    Ok(strict?)
}

/// A new filter as the client described it, with a random seed unless it gave one.
pub(super) fn create(context: &Context, creation: &Creation) -> Result<Filter, ReplyError> {
    let defaults = config::defaults(Seed(context.random()));
    let parameters = creation.parameters(defaults);
    Filter::new(parameters, config::size_limit(context)).map_err(ReplyError::of_creation)
}

/// Replicates the creation of a filter with everything that determines its bits, whatever words the
/// client used: the settings of a replica may differ.
pub(super) fn replicate_creation(context: &Context, key: Argument<'_>, parameters: &Parameters) {
    // The shortest digits that parse as the same number.
    let error_rate = parameters.error_rate.to_string();
    let capacity = parameters.capacity.to_string();
    let seed = format!("{:016x}", parameters.seed.0);
    let factor = parameters.growth.factor().to_string();
    let mut words: Vec<&[u8]> = vec![error_rate.as_bytes(), capacity.as_bytes()];
    match parameters.growth {
        Growth::Fixed => words.push(b"NONSCALING"),
        Growth::Times(_) => words.extend([b"EXPANSION".as_slice(), factor.as_bytes()]),
    }
    words.extend([b"SEED".as_slice(), seed.as_bytes()]);
    context.replicate(c"BF.RESERVE", key, &words);
}
