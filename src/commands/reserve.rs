//! BF.RESERVE: an empty filter made to measure.

use super::options::{parse_reserve, Creation};
use super::parameters::{EXPANSION, KEY, NONSCALING};
use super::text::ErrorText;
use crate::config;
use crate::data_type::StoredFilter;
use crate::filter::hash::Seed;
use crate::filter::scalable::{Filter, Growth, Parameters};
use crate::redis::command::{Command, KeyAccess, Kind, Parameter, Specification, Times};
use crate::redis::context::{Argument, Arguments, Context};
use crate::redis::key::Held;

/// BF.RESERVE.
pub struct Reserve;

impl Command for Reserve {
    const SPECIFICATION: Specification = Specification {
        name: c"bf.reserve",
        arity: -4,
        flags: c"write deny-oom fast",
        categories: "write fast",
        access: KeyAccess::Create,
        summary: c"Creates an empty Bloom filter for a number of items at an error rate",
        complexity: c"O(1)",
        parameters: &[
            KEY,
            Parameter::new(c"error_rate", Kind::Double, Times::Once),
            Parameter::new(c"capacity", Kind::Integer, Times::Once),
            Parameter::one_of(c"growth", Times::AtMostOnce, &[EXPANSION, NONSCALING]),
            Parameter::new(c"seed", Kind::Text, Times::AtMostOnce).behind(c"SEED"),
        ],
    };

    fn run(context: &Context, arguments: Arguments<'_>) {
        match reserve(context, arguments) {
            Ok(()) => context.reply_simple("OK"),
            Err(error) => error.reply(context),
        }
    }
}

fn reserve(context: &Context, arguments: Arguments<'_>) -> Result<(), ErrorText> {
    let words = arguments
        .try_list_from(2)
        .ok_or(ErrorText::NoMemoryToCreate)?;
    hide_seeds(context, &words);
    let creation = parse_reserve(&words)?;
    let mut key = context.open_to_write(arguments.at(1));
    match key.held::<StoredFilter>() {
        Held::Nothing => {}
        Held::Other => return Err(ErrorText::WrongType),
        Held::Value(_) => return Err(ErrorText::ItemExists),
    }
    let filter = create(context, &creation)?;
    let parameters = *filter.parameters();
    key.put(StoredFilter::new(filter));
    drop(key); // before anyone is notified who might delete it
    replicate_creation(context, arguments.at(1), &parameters);
    context.signal_change(c"bf.reserve", arguments.at(1));
    Ok(())
}

/// The seed is a secret: whoever has it can choose items that collide.
fn hide_seeds(context: &Context, words: &[&[u8]]) {
    for (place, word) in words.iter().enumerate() {
        if word.eq_ignore_ascii_case(b"SEED") {
            context.redact(2 + place + 1);
        }
    }
}

/// A filter as a client asked for it, under a new seed unless one was given.
pub(super) fn create(context: &Context, creation: &Creation) -> Result<Filter, ErrorText> {
    let defaults = config::defaults(Seed(context.random()));
    let parameters = creation.parameters(defaults);
    Filter::new(parameters, config::size_limit(context)).map_err(ErrorText::of_creation)
}

/// Replicates the making of a filter with all that decides its bits, whatever words the client used: the settings of another
/// server may differ.
pub(super) fn replicate_creation(context: &Context, key: Argument<'_>, parameters: &Parameters) {
    // The shortest digits that read back as the same number.
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
