//! BF.RESERVE: creates an empty filter of a given size.

use crate::commands::held::missing;
use crate::commands::parameters::{
    CAPACITY, EXPANSION, KEY, NONSCALING, RENEW, SEED, SLICES, WINDOW,
};
use crate::commands::reply_error::ReplyError;
use crate::commands::seeds::hide_seeds;
use crate::commands::FIRST_RELEASE;
use crate::config;
use crate::server::arguments::{Argument, Arguments};
use crate::server::command::{Command, KeyAccess, Kind, Output, Parameter, Specification, Times};
use crate::server::context::Context;
use crate::types::bloom::StoredFilter;
use crate::types::Stored as _;
use splitbloom_filter::filter::{Filter, Growth, Parameters, Window};
use splitbloom_filter::hash::Seed;
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
        output: Output::Determined,
        since: FIRST_RELEASE,
        summary: c"Creates an empty Bloom filter for a number of items at an error rate",
        complexity: c"O(1)",
        parameters: &[
            KEY,
            Parameter::new(c"error_rate", Kind::Double, Times::Once),
            CAPACITY,
            Parameter::one_of(c"growth", Times::AtMostOnce, &[EXPANSION, NONSCALING]),
            WINDOW,
            SLICES,
            RENEW,
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
    create_empty(context, arguments.at(1), &creation)
}

/// Creates an empty filter under a key that is missing.
pub(super) fn create_empty(
    context: &Context,
    name: Argument<'_>,
    creation: &Creation,
) -> Result<(), ReplyError> {
    let mut key = context.open_to_write(name)?;
    missing(key.held::<StoredFilter>())?;
    let filter = create(context, creation)?;
    let made = Made::of(&filter);
    key.put(StoredFilter::new(filter))
        .ok_or(ReplyError::NoMemoryToCreate)?;
    drop(key); // before a module is notified that might delete it
    made.replicate(context, name);
    context.signal_change(c"bf.reserve", name);
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
    let limit = config::size_limit(context);
    let filter = match creation.window {
        None => Filter::new(parameters, limit),
        Some(window) => Filter::windowed(parameters, window, limit),
    };
    filter.map_err(ReplyError::of_creation)
}

/// What a filter was created with.
pub(super) struct Made {
    parameters: Parameters,
    window: Option<Window>,
}

impl Made {
    pub fn of(filter: &Filter) -> Self {
        Self {
            parameters: filter.parameters(),
            window: filter.window(),
        }
    }

    /// Replicates the creation of a filter with everything that determines its bits, whatever words
    /// the client used: the settings of a replica may differ.
    pub fn replicate(&self, context: &Context, key: Argument<'_>) {
        let Self { parameters, window } = self;
        // The shortest digits that parse as the same number.
        let error_rate = parameters.error_rate.to_string();
        let capacity = parameters.capacity.to_string();
        let seed = format!("{:016x}", parameters.seed.0);
        let factor = parameters.growth.factor().to_string();
        let seconds = window.map_or(0, |window| window.seconds()).to_string();
        let slices = window.map_or(0, |window| window.slices()).to_string();
        let mut words: Vec<&[u8]> = vec![error_rate.as_bytes(), capacity.as_bytes()];
        match parameters.growth {
            Growth::Fixed => words.push(b"NONSCALING"),
            Growth::Times(_) => words.extend([b"EXPANSION".as_slice(), factor.as_bytes()]),
        }
        if let Some(window) = window {
            words.extend([b"WINDOW".as_slice(), seconds.as_bytes()]);
            words.extend([b"SLICES".as_slice(), slices.as_bytes()]);
            if window.renews() {
                words.push(b"RENEW");
            }
        }
        words.extend([b"SEED".as_slice(), seed.as_bytes()]);
        context.replicate(c"BF.RESERVE", key, &words);
    }
}
