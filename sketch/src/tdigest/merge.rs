//! TDIGEST.MERGE: puts the numbers of some digests into one.

use super::create::{parse_compression, COMPRESSION};
use super::value::StoredDigest;
use crate::config::MAX_MERGE_BYTES;
use crate::errors::tdigest::{
    BAD_NUMBER_OF_KEYS, MERGE_TOO_LARGE, MISSING, NO_MEMORY_TO_MERGE, TOO_FEW_KEYS, WRONG_KEYWORD,
};
use crate::errors::ReplyError;
use crate::merge::{self, parse_number, FIRST_SOURCE};
use splitbloom_server::arguments::Arguments;
use splitbloom_server::change::{Entry, Target};
use splitbloom_server::command::{Command, KeyAccess, Kind, Parameter, Times};
use splitbloom_server::context::Context;
use splitbloom_server::ration::Ration;
use splitbloom_sketch::tdigest::{AddError, Compression, TDigest};

/// Bytes of a node: its mean, and the sum of weights up to it.
const NODE_BYTES: u64 = 16;

pub const MERGE: Command<ReplyError> = Command {
    name: c"tdigest.merge",
    arity: -4,
    access: KeyAccess::AddFromOthers,
    summary: c"Adds the numbers of some t-digests to one, or puts them in the place of its own",
    complexity: c"O(N*C) with N sources and a capacity of C nodes",
    parameters: &[
        Parameter::new(c"destination", Kind::Key, Times::Once),
        Parameter::new(c"numkeys", Kind::Integer, Times::Once),
        Parameter::new(c"source", Kind::OtherKey, Times::OnceOrMore),
        COMPRESSION,
        Parameter::new(c"override", Kind::Token, Times::AtMostOnce).after(c"OVERRIDE"),
    ],
    run: merge,
    ..Command::WRITE
};

/// The options of a merge.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    /// The destination's compression, if one is requested.
    compression: Option<Compression>,
    /// Whether the destination's own numbers are left out.
    overrides: bool,
}

fn merge(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    merge::end(context, arguments, put_union(context, arguments), MISSING, c"tdigest.merge")
}

/// The index of the argument after the last source, if there are `len` arguments.
fn parse_end(word: &[u8], len: usize) -> Result<usize, ReplyError> {
    let number = parse_number(word, BAD_NUMBER_OF_KEYS, TOO_FEW_KEYS)?;
    let end = number.saturating_add(FIRST_SOURCE);
    if end > len {
        return Err(ReplyError::WRONG_ARITY);
    }
    Ok(end)
}

/// Of a repeated word the first counts, as in RedisBloom, which also skips all other words once one
/// of the two is present, and replicates them.
fn parse_options<'a>(
    mut words: impl Iterator<Item = &'a [u8]>,
    is_replay: bool,
) -> Result<Options, ReplyError> {
    let mut options = Options { compression: None, overrides: false };
    while let Some(word) = words.next() {
        if word.eq_ignore_ascii_case(b"OVERRIDE") {
            options.overrides = true;
        } else if is_replay && options.compression.is_some() {
            // RedisBloom does not even parse a second compression.
        } else if word.eq_ignore_ascii_case(b"COMPRESSION") {
            let word = words.next().ok_or(ReplyError::WRONG_ARITY)?;
            let compression = parse_compression(word, is_replay)?;
            options.compression.get_or_insert(compression);
        } else if !is_replay {
            return Err(WRONG_KEYWORD);
        }
    }
    Ok(options)
}

/// Puts the union into the destination. A client's errors come in RedisBloom's order.
fn put_union<'a>(
    context: &'a Context,
    arguments: Arguments<'a>,
) -> Result<Target<'a, StoredDigest>, ReplyError> {
    let end = parse_end(arguments.bytes(2), arguments.len());
    // Before any key is opened: newer servers would look for it in the slot of the destination.
    if end.is_ok_and(|end| context.needs_several_slots(arguments, FIRST_SOURCE..end)) {
        return Err(ReplyError::SEVERAL_SLOTS);
    }
    let entry = context.entry::<StoredDigest>(arguments.at(1))?;
    let own = match &entry {
        Entry::Occupied(target) => Some(target.value().sketch()),
        Entry::Vacant(_) => None,
    };
    let end = end?;
    let options = parse_options(arguments.bytes_from(end), context.is_replay())?;
    let own = own.filter(|_| !options.overrides);
    let compression = match (options.compression, own) {
        (Some(compression), _) => compression,
        (None, Some(own)) => own.compression(),
        (None, None) => largest_compression(context, arguments, end)?,
    };
    let ration = Ration::begin(context);
    let union = unite(context, arguments, end, own, compression);
    let union = union.map_err(|error| error.within(&ration))?;
    drop(ration);
    match entry {
        Entry::Occupied(mut target) => {
            *target.value_mut().sketch_mut() = union;
            Ok(target)
        }
        Entry::Vacant(vacant) => vacant.with(StoredDigest::new(union)).ok_or(NO_MEMORY_TO_MERGE),
    }
}

/// Calls `visit` with each source, up to the argument before `end`.
fn visit_sources(
    context: &Context,
    arguments: Arguments<'_>,
    end: usize,
    mut visit: impl FnMut(&TDigest) -> Result<(), ReplyError>,
) -> Result<(), ReplyError> {
    (FIRST_SOURCE..end).try_for_each(|source| {
        let source = context.open_to_read(arguments.at(source));
        visit(source.value::<StoredDigest>()?.ok_or(MISSING)?.sketch())
    })
}

/// The largest compression of the sources.
fn largest_compression(
    context: &Context,
    arguments: Arguments<'_>,
    end: usize,
) -> Result<Compression, ReplyError> {
    let mut largest = Compression::new(1).unwrap_or(Compression::DEFAULT);
    visit_sources(context, arguments, end, |source| {
        largest = largest.max(source.compression());
        Ok(())
    })?;
    Ok(largest)
}

/// The union of `own` and the sources. A source costs a step for each node of the union so far and
/// for each of its own. If the sum is more than the setting allows, nothing is merged.
fn unite(
    context: &Context,
    arguments: Arguments<'_>,
    end: usize,
    own: Option<&TDigest>,
    compression: Compression,
) -> Result<TDigest, ReplyError> {
    let (mut nodes, mut work) = (own.map_or(0, TDigest::num_nodes), 0);
    visit_sources(context, arguments, end, |source| {
        nodes = compression.most_of_union(nodes) + source.num_nodes();
        work += nodes as u64 * NODE_BYTES;
        Ok(())
    })?;
    if work > context.limit(&MAX_MERGE_BYTES) {
        return Err(MERGE_TOO_LARGE);
    }
    let mut union = TDigest::new(compression);
    own.map_or(Ok(()), |own| add(&mut union, own))?;
    visit_sources(context, arguments, end, |source| add(&mut union, source))?;
    Ok(union)
}

fn add(union: &mut TDigest, source: &TDigest) -> Result<(), ReplyError> {
    union.merge(source).map_err(|error| match error {
        AddError::OutOfMemory => NO_MEMORY_TO_MERGE,
        error => error.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str, is_replay: bool) -> Result<Options, ReplyError> {
        parse_options(line.split_whitespace().map(str::as_bytes), is_replay)
    }

    fn some(compression: Option<u64>, overrides: bool) -> Result<Options, ReplyError> {
        Ok(Options { compression: compression.and_then(Compression::new), overrides })
    }

    #[test]
    fn the_words_after_the_sources_are_options() {
        let options = |line: &str| parse(line, false);
        assert_eq!(options(""), some(None, false));
        assert_eq!(options("override"), some(None, true));
        assert_eq!(options("compression 30 OVERRIDE"), some(Some(30), true));
        assert_eq!(options("OVERRIDE COMPRESSION 30 COMPRESSION 40"), some(Some(30), true));
        assert_eq!(options("COMPRESSION"), Err(ReplyError::WRONG_ARITY));
        assert_eq!(options("COMPRESSION OVERRIDE"), Err(crate::errors::tdigest::BAD_COMPRESSION));
        assert_eq!(options("OVERRIDE x"), Err(WRONG_KEYWORD));
    }

    #[test]
    fn a_replay_skips_the_words_that_redisbloom_skips() {
        let options = |line: &str| parse(line, true);
        assert_eq!(options("x OVERRIDE y"), some(None, true));
        assert_eq!(options("COMPRESSION 30 x"), some(Some(30), false));
        assert_eq!(options("COMPRESSION 30 COMPRESSION x"), some(Some(30), false));
        assert_eq!(options("COMPRESSION 30 COMPRESSION OVERRIDE"), some(Some(30), true));
        assert_eq!(options("COMPRESSION x"), Err(crate::errors::tdigest::BAD_COMPRESSION));
    }

    #[test]
    fn the_sources_are_as_many_as_their_number_says() {
        assert_eq!(parse_end(b"2", 5), Ok(5));
        assert_eq!(parse_end(b"2", 6), Ok(5));
        assert_eq!(parse_end(b"3", 5), Err(ReplyError::WRONG_ARITY));
        assert_eq!(parse_end(b"9223372036854775807", 5), Err(ReplyError::WRONG_ARITY));
        assert_eq!(parse_end(b"0", 5), Err(TOO_FEW_KEYS));
        assert_eq!(parse_end(b"-1", 5), Err(TOO_FEW_KEYS));
        assert_eq!(parse_end(b"x", 5), Err(BAD_NUMBER_OF_KEYS));
    }
}
