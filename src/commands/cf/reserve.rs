//! CF.RESERVE: creates an empty counting filter.

use crate::commands::common::{CAPACITY, ERROR, EXPANSION, EXPIRY, SEED};
use crate::commands::create::{reserve, Creates};
use crate::commands::reply_error::ReplyError;
use crate::config;
use crate::types::CountingFilters;
use splitbloom_filter::filter::{Filter, SizeLimit};
use splitbloom_filter::hash::Seed;
use splitbloom_filter::AddError;
use splitbloom_grammar::counting::{parse_counting_reserve, CountingCreation};
use splitbloom_grammar::WordsError;
use splitbloom_server::arguments::Argument;
use splitbloom_server::command::{Command, Kind, Parameter, Times};
use splitbloom_server::context::Context;
use splitbloom_server::text::Line;
use std::ffi::CStr;

const BUCKET_SIZE: Parameter =
    Parameter::new(c"bucketsize", Kind::Integer, Times::AtMostOnce).after(c"BUCKETSIZE");
const MAX_ITERATIONS: Parameter =
    Parameter::new(c"maxiterations", Kind::Integer, Times::AtMostOnce).after(c"MAXITERATIONS");

pub const RESERVE: Command<ReplyError> = Command {
    name: c"cf.reserve",
    arity: -3,
    flags: "write deny-oom fast",
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
    ..Command::CREATE
};

impl Creates for CountingFilters {
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

    fn replicate_creation(context: &Context, key: Argument<'_>, filter: &Filter) {
        let parameters = filter.counting_parameters();
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
}
