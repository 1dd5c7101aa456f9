//! CMS.MERGE: puts the weighted sum of some sketches into one.

use super::value::StoredSketch;
use crate::config::MAX_MERGE_BYTES;
use crate::errors::cms::{
    BAD_NUMBER_OF_KEYS, BAD_WEIGHT, MERGE_TOO_LARGE, MISSING, NO_MEMORY_TO_MERGE, TOO_FEW_KEYS,
    WRONG_KEYS, WRONG_KEYS_OR_WEIGHTS,
};
use crate::errors::ReplyError;
use crate::free::free;
use crate::merge::{self, parse_number, FIRST_SOURCE};
use splitbloom_foundation::number::parse_integer;
use splitbloom_server::allocator::try_vec;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::change::Target;
use splitbloom_server::command::{Command, KeyAccess, Kind, Parameter, Times};
use splitbloom_server::context::Context;
use splitbloom_server::key::ReadKey;
use splitbloom_server::ration::Ration;
use splitbloom_sketch::cms::{CellSize, CountMinSketch, Shape};

pub const MERGE: Command<ReplyError> = Command {
    name: c"cms.merge",
    arity: -4,
    access: KeyAccess::AddFromOthers,
    summary: c"Puts the weighted sum of some count-min sketches into one",
    complexity: c"O(N*W*D) with N sources of width W and depth D",
    parameters: &[
        Parameter::new(c"destination", Kind::Key, Times::Once),
        Parameter::new(c"numkeys", Kind::Integer, Times::Once),
        Parameter::new(c"source", Kind::OtherKey, Times::OnceOrMore),
        Parameter::new(c"weight", Kind::Integer, Times::Any).after(c"WEIGHTS"),
    ],
    run: merge,
    ..Command::WRITE
};

fn merge(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    merge::end(context, arguments, put_sum(context, arguments), MISSING, c"cms.merge")
}

/// Checks that `words` are the keys of `number` sources, and perhaps as many weights. Returns the
/// weights, which are none if each is 1. As in RedisBloom, no source can be called WEIGHTS.
fn weights_of<'a>(number: usize, words: &'a [&'a [u8]]) -> Result<&'a [&'a [u8]], ReplyError> {
    match words.iter().position(|word| word.eq_ignore_ascii_case(b"WEIGHTS")) {
        None if words.len() == number => Ok(&[]),
        None => Err(WRONG_KEYS),
        Some(keys) if keys == number && words.len() == 2 * number + 1 => Ok(&words[keys + 1..]),
        Some(_) => Err(WRONG_KEYS_OR_WEIGHTS),
    }
}

/// Puts the sum into the destination. A client's errors come in RedisBloom's order.
fn put_sum<'a>(
    context: &'a Context,
    arguments: Arguments<'a>,
) -> Result<Target<'a, StoredSketch>, ReplyError> {
    // Before any key is opened: newer servers would look for it in the slot of the destination.
    let number = parse_number(arguments.bytes(2), BAD_NUMBER_OF_KEYS, TOO_FEW_KEYS);
    if let Ok(number) = number {
        let end = FIRST_SOURCE.saturating_add(number).min(arguments.len());
        if context.needs_several_slots(arguments, FIRST_SOURCE..end) {
            return Err(ReplyError::SEVERAL_SLOTS);
        }
    }
    let mut target = context.existing::<StoredSketch>(arguments.at(1))?.ok_or(MISSING)?;
    let shape = target.value().sketch().shape();
    target.value().sketch().check_addable(&shape)?;
    let number = number?;
    let words = arguments.try_list_from(FIRST_SOURCE).ok_or(NO_MEMORY_TO_MERGE)?;
    let weights = weights_of(number, &words)?;
    let ration = Ration::begin(context);
    let merged = sum(context, arguments, shape, number, weights);
    let merged = merged.map_err(|error| error.within(&ration))?;
    drop(ration);
    free(std::mem::replace(target.value_mut().sketch_mut(), merged));
    Ok(target)
}

/// The work of adding a sketch, in bytes: a counter of one byte takes as long as one of four.
fn work(shape: Shape) -> u64 {
    shape.bytes().max(shape.cells().saturating_mul(CellSize::Four.bytes()))
}

/// The weighted sum of the first `number` sources, each of which must be of `shape`.
fn sum(
    context: &Context,
    arguments: Arguments<'_>,
    shape: Shape,
    number: usize,
    weights: &[&[u8]],
) -> Result<CountMinSketch, ReplyError> {
    let mut keys = try_vec(number).ok_or(NO_MEMORY_TO_MERGE)?;
    for index in 0..number {
        let weight = match weights.get(index) {
            Some(word) => parse_integer(word).ok_or(BAD_WEIGHT)?,
            None => 1,
        };
        let key = context.open_to_read(arguments.at(FIRST_SOURCE + index));
        sketch_of(&key)?.check_addable(&shape)?;
        keys.push((key, weight));
    }
    if work(shape).saturating_mul(number as u64) > context.limit(&MAX_MERGE_BYTES) {
        return Err(MERGE_TOO_LARGE);
    }
    let mut sources = try_vec(number).ok_or(NO_MEMORY_TO_MERGE)?;
    for (key, weight) in &keys {
        sources.push((sketch_of(key)?, *weight));
    }
    Ok(CountMinSketch::merged(shape, &sources)?)
}

fn sketch_of<'k>(source: &'k ReadKey<'_>) -> Result<&'k CountMinSketch, ReplyError> {
    Ok(source.value::<StoredSketch>()?.ok_or(MISSING)?.sketch())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_weight_for_each_key_or_none() {
        let check = |number: usize, line: &str, expected: Result<&[&[u8]], ReplyError>| {
            let words: Vec<&[u8]> = line.split_whitespace().map(str::as_bytes).collect();
            assert_eq!(weights_of(number, &words), expected, "{number} {line}");
        };
        check(2, "a b", Ok(&[]));
        check(2, "a b weights 3 -1", Ok(&[b"3", b"-1"]));
        for (number, line, error) in [
            (2, "a", WRONG_KEYS),
            (1, "a b", WRONG_KEYS),
            (1, "a FOO 1", WRONG_KEYS),
            (usize::MAX, "a", WRONG_KEYS),
            (1, "a b WEIGHTS 1", WRONG_KEYS_OR_WEIGHTS),
            (1, "a WEIGHTS", WRONG_KEYS_OR_WEIGHTS),
            (1, "a WEIGHTS 1 2", WRONG_KEYS_OR_WEIGHTS),
            (2, "a b WEIGHTS 1", WRONG_KEYS_OR_WEIGHTS),
            (1, "WEIGHTS", WRONG_KEYS_OR_WEIGHTS),
            (3, "a weights 1", WRONG_KEYS_OR_WEIGHTS),
        ] {
            check(number, line, Err(error));
        }
    }
}
