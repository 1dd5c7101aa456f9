//! TDIGEST.CREATE and TDIGEST.RESET.

use super::value::StoredDigest;
use crate::errors::tdigest::{
    BAD_COMPRESSION, COMPRESSION_RANGE, EXISTS, MISSING, NO_COMPRESSION, NO_MEMORY, WRONG_KEYWORD,
};
use crate::errors::ReplyError;
use splitbloom_foundation::number::parse_integer;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::change::Entry;
use splitbloom_server::command::{Command, Kind, Parameter, Times};
use splitbloom_server::context::Context;
use splitbloom_sketch::tdigest::{Compression, TDigest};

pub const COMPRESSION: Parameter =
    Parameter::new(c"compression", Kind::Integer, Times::AtMostOnce).after(c"COMPRESSION");

pub const CREATE: Command<ReplyError> = Command {
    name: c"tdigest.create",
    arity: -2,
    summary: c"Creates an empty t-digest",
    parameters: &[Parameter::KEY, COMPRESSION],
    run: create,
    ..Command::FAST_WRITE
};

pub const RESET: Command<ReplyError> = Command {
    name: c"tdigest.reset",
    arity: 2,
    summary: c"Empties a t-digest; its compression stays",
    run: reset,
    ..Command::FAST_REMOVE
};

/// Parses `word`, a compression. If `is_replay`, a primary has created the digest, and the limit
/// for new ones does not apply. (Beyond the largest that exists, RedisBloom's capacity overflows.)
pub fn parse_compression(word: &[u8], is_replay: bool) -> Result<Compression, ReplyError> {
    let number = parse_integer(word).ok_or(BAD_COMPRESSION)?;
    let number = u64::try_from(number).ok().filter(|number| *number > 0).ok_or(NO_COMPRESSION)?;
    let compression = match is_replay {
        true => Compression::saved(number.min(Compression::MAX_SAVED.get().into())),
        false => Compression::new(number),
    };
    compression.ok_or(COMPRESSION_RANGE)
}

fn create(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    if !matches!(arguments.len(), 2 | 4) {
        return Err(ReplyError::WRONG_ARITY);
    }
    let Entry::Vacant(vacant) = context.entry::<StoredDigest>(arguments.at(1))? else {
        return Err(EXISTS);
    };
    let compression = match arguments.len() {
        2 => Compression::DEFAULT,
        _ if arguments.bytes(2).eq_ignore_ascii_case(b"COMPRESSION") => {
            parse_compression(arguments.bytes(3), context.is_replay())?
        }
        _ => return Err(WRONG_KEYWORD),
    };
    let target = vacant.with(StoredDigest::new(TDigest::new(compression))).ok_or(NO_MEMORY)?;
    target.settle().replicate_verbatim().signal(c"tdigest.create");
    context.reply_ok();
    Ok(())
}

fn reset(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let mut target = context.existing::<StoredDigest>(arguments.at(1))?.ok_or(MISSING)?;
    target.value_mut().sketch_mut().clear();
    target.settle().replicate_verbatim().signal(c"tdigest.reset");
    context.reply_ok();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compression_is_an_integer_in_its_range() {
        assert_eq!(parse_compression(b"1", false).map(Compression::get), Ok(1));
        assert_eq!(parse_compression(b"100000", false).map(Compression::get), Ok(100_000));
        assert_eq!(parse_compression(b"100001", true).map(Compression::get), Ok(100_001));
        let largest = parse_compression(b"4294967301", true);
        assert_eq!(largest, Ok(Compression::MAX_SAVED));
        for (word, error) in [
            ("0", NO_COMPRESSION),
            ("-1", NO_COMPRESSION),
            ("100001", COMPRESSION_RANGE),
            ("9223372036854775807", COMPRESSION_RANGE),
            ("9223372036854775808", BAD_COMPRESSION),
            ("1.5", BAD_COMPRESSION),
            ("", BAD_COMPRESSION),
        ] {
            assert_eq!(parse_compression(word.as_bytes(), false), Err(error), "{word}");
        }
    }
}
