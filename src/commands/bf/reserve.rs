//! BF.RESERVE: creates an empty filter of a given size.

use crate::commands::docs::{
    CAPACITY, EXPANSION, FIRST_RELEASE, KEY, NONSCALING, RENEW, SEED, SLICES, WINDOW,
};
use crate::commands::reply_error::ReplyError;
use crate::config;
use crate::slow_log::hide_seeds;
use crate::types::bloom::StoredFilter;
use crate::types::Stored as _;
use splitbloom_filter::filter::{Filter, Growth, Parameters, Window};
use splitbloom_filter::hash::Seed;
use splitbloom_grammar::loose::known_words_of_reserve;
use splitbloom_grammar::options::{parse_reserve, Creation};
use splitbloom_server::arguments::{Argument, Arguments};
use splitbloom_server::command::{Command, KeyAccess, Kind, Output, Parameter, Times};
use splitbloom_server::context::Context;
use splitbloom_server::text::Line;

pub const RESERVE: Command<ReplyError> = Command {
    name: c"bf.reserve",
    arity: -4,
    flags: "write deny-oom fast",
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
    run: reserve,
};

fn reserve(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let args = arguments.try_list_from(2);
    let args = args.ok_or(ReplyError::NoMemoryToCreate)?;
    hide_seeds(context, &args, 2);
    let creation = parse(context, &args)?;
    create_empty(context, arguments.at(1), &creation)?;
    context.reply_simple("OK");
    Ok(())
}

/// Creates an empty filter under a key that is missing.
pub(super) fn create_empty(
    context: &Context,
    name: Argument<'_>,
    creation: &Creation,
) -> Result<(), ReplyError> {
    let mut key = context.open_to_write(name)?;
    if key.value::<StoredFilter>()?.is_some() {
        return Err(ReplyError::ItemExists);
    }
    let filter = create(context, creation)?;
    let created = Created::of(&filter);
    key.put(StoredFilter::new(filter))
        .ok_or(ReplyError::NoMemoryToCreate)?;
    drop(key); // before a module is notified that might delete it
    created.replicate(context, name);
    context.signal_change(c"bf.reserve", name);
    Ok(())
}

fn parse(context: &Context, args: &[&[u8]]) -> Result<Creation, ReplyError> {
    let strict = parse_reserve(args);
    if strict.is_err() && context.is_replay() {
        let known = known_words_of_reserve(args, 2).ok_or(ReplyError::NoMemoryToCreate)?;
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

/// The parameters that a filter was created with.
pub(super) struct Created {
    parameters: Parameters,
    window: Option<Window>,
}

impl Created {
    pub fn of(filter: &Filter) -> Self {
        Self {
            parameters: filter.parameters(),
            window: filter.window(),
        }
    }

    /// Replicates the creation of the filter `key` with everything that determines its bits,
    /// whatever arguments the client sent: the settings of a replica may differ.
    pub fn replicate(&self, context: &Context, key: Argument<'_>) {
        let Self { parameters, window } = self;
        // The shortest digits that parse as the same number.
        let error_rate = Line::of(parameters.error_rate);
        let capacity = Line::of(parameters.capacity);
        let factor = Line::of(parameters.growth.factor());
        let seed = Line::of(format_args!("{:016x}", parameters.seed.0));
        let growth: &[&[u8]] = match parameters.growth {
            Growth::Fixed => &[b"NONSCALING"],
            Growth::Times(_) => &[b"EXPANSION", factor.bytes()],
        };
        let seconds = Line::of(window.map_or(0, |window| window.seconds()));
        let slices = Line::of(window.map_or(0, |window| window.slices()));
        let with_window = [
            b"WINDOW",
            seconds.bytes(),
            b"SLICES",
            slices.bytes(),
            b"RENEW",
        ];
        let window = window.map_or(0, |window| 4 + usize::from(window.renews()));
        let args = [error_rate.bytes(), capacity.bytes()].into_iter();
        let args = args.chain(growth.iter().copied());
        let args = args.chain(with_window.into_iter().take(window));
        let args = args.chain([b"SEED", seed.bytes()]);
        context.replicate(c"BF.RESERVE", key, args);
    }
}
