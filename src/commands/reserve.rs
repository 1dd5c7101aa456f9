//! BF.RESERVE and CF.RESERVE: create an empty filter of a given size.

use crate::commands::common::{
    option, CAPACITY, ERROR, EXPANSION, EXPIRY, NONSCALING, RENEW, SEED, SLICES, WINDOW,
};
use crate::commands::create::{reserve, Creatable};
use crate::commands::reply_error::ReplyError;
use crate::config;
use crate::types::{BloomFilter, BloomFilters, CountingFilter, CountingFilters};
use splitbloom_filter::filter::{Filter, Growth, SizeLimit};
use splitbloom_filter::hash::Seed;
use splitbloom_filter::AddError;
use splitbloom_grammar::counting::{parse_counting_reserve, CountingCreation};
use splitbloom_grammar::options::{parse_reserve, Creation};
use splitbloom_grammar::WordsError;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::change::Change;
use splitbloom_server::command::{Command, Kind, Parameter, Times};
use splitbloom_server::text::ShortText;
use std::ffi::CStr;

const BUCKET_SIZE: Parameter = option(c"bucketsize", Kind::Integer, c"BUCKETSIZE");
const MAX_ITERATIONS: Parameter = option(c"maxiterations", Kind::Integer, c"MAXITERATIONS");

pub const BF_RESERVE: Command<ReplyError> = Command {
    name: c"bf.reserve",
    arity: -4,
    flags: "write deny-oom fast",
    summary: c"Creates an empty Bloom filter for a number of items at an error rate",
    parameters: &[
        Parameter::KEY,
        Parameter::new(c"error_rate", Kind::Double, Times::Once),
        CAPACITY,
        Parameter::one_of(c"growth", Times::AtMostOnce, &[EXPANSION, NONSCALING]),
        WINDOW,
        SLICES,
        RENEW,
        EXPIRY,
        SEED,
    ],
    run: reserve::<BloomFilters>,
    ..Command::CREATE
};

pub const CF_RESERVE: Command<ReplyError> = Command {
    name: c"cf.reserve",
    arity: -3,
    summary: c"Creates an empty filter that counts and deletes",
    parameters: &[
        Parameter::KEY,
        CAPACITY,
        BUCKET_SIZE,
        MAX_ITERATIONS,
        EXPANSION.optional(),
        ERROR.optional(),
        EXPIRY,
        SEED,
    ],
    run: reserve::<CountingFilters>,
    ..BF_RESERVE
};

impl Creatable for BloomFilters {
    type Creation = Creation;
    const RESERVE_EVENT: &'static CStr = c"bf.reserve";
    const REQUIRED_WORDS: usize = 2;

    fn parse(words: &[&[u8]]) -> Result<Creation, WordsError> {
        parse_reserve(words)
    }

    fn create(creation: &Creation, seed: Seed, limit: SizeLimit) -> Result<Filter, AddError> {
        let parameters = creation.parameters(config::defaults(seed));
        match creation.window {
            None => Filter::new(parameters, limit),
            Some(window) => Filter::windowed(parameters, window, limit),
        }
    }

    fn expiry(creation: &Creation) -> Option<u64> {
        creation.expiry
    }

    fn replicate_creation(change: &Change<'_, BloomFilter>) {
        let filter = change.value().filter();
        let (parameters, window) = (filter.parameters(), filter.window());
        // The shortest digits that parse as the same number.
        let error_rate = ShortText::of(parameters.error_rate);
        let capacity = ShortText::of(parameters.capacity);
        let factor = ShortText::of(parameters.growth.factor());
        let seed = ShortText::of(format_args!("{:016x}", parameters.seed.0));
        let growth: &[&[u8]] = match parameters.growth {
            Growth::Fixed => &[b"NONSCALING"],
            Growth::Times(_) => &[b"EXPANSION", factor.bytes()],
        };
        let seconds = ShortText::of(window.map_or(0, |window| window.seconds()));
        let slices = ShortText::of(window.map_or(0, |window| window.slices()));
        let with_window = [b"WINDOW", seconds.bytes(), b"SLICES", slices.bytes(), b"RENEW"];
        let window = window.map_or(0, |window| 4 + usize::from(window.renews()));
        let args = [error_rate.bytes(), capacity.bytes()].into_iter();
        let args = args.chain(growth.iter().copied());
        let args = args.chain(with_window.into_iter().take(window));
        let args = args.chain([b"SEED", seed.bytes()]);
        change.replicate_part(c"BF.RESERVE", args, Arguments::NONE);
    }
}

impl Creatable for CountingFilters {
    type Creation = CountingCreation;
    const RESERVE_EVENT: &'static CStr = c"cf.reserve";
    const REQUIRED_WORDS: usize = 1;

    fn parse(words: &[&[u8]]) -> Result<CountingCreation, WordsError> {
        parse_counting_reserve(words)
    }

    fn create(
        creation: &CountingCreation,
        seed: Seed,
        limit: SizeLimit,
    ) -> Result<Filter, AddError> {
        Filter::counting(creation.parameters(config::counting_defaults(seed)), limit)
    }

    fn expiry(creation: &CountingCreation) -> Option<u64> {
        creation.expiry
    }

    fn replicate_creation(change: &Change<'_, CountingFilter>) {
        let parameters = change.value().filter().counting_parameters();
        let capacity = ShortText::of(parameters.capacity);
        let options = [
            ("BUCKETSIZE", ShortText::of(parameters.bucket_size)),
            ("MAXITERATIONS", ShortText::of(parameters.max_iterations)),
            ("EXPANSION", ShortText::of(parameters.expansion)),
            // The shortest digits that parse as the same number.
            ("ERROR", ShortText::of(parameters.error_rate)),
            ("SEED", ShortText::of(format_args!("{:016x}", parameters.seed.0))),
        ];
        let options = options.iter();
        let options = options.flat_map(|(option, value)| [option.as_bytes(), value.bytes()]);
        let args = std::iter::once(capacity.bytes()).chain(options);
        change.replicate_part(c"CF.RESERVE", args, Arguments::NONE);
    }
}
