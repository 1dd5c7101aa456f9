//! TOPK.RESERVE: creates an empty top-k.

use super::value::StoredTopK;
use crate::errors::topk::{BAD_DECAY, BAD_DEPTH, BAD_K, BAD_WIDTH, EXISTS, NO_MEMORY_TO_CREATE};
use crate::errors::ReplyError;
use crate::window::{parse_window, SLICES, WINDOW};
use splitbloom_foundation::number::{parse_double, parse_integer};
use splitbloom_foundation::span::Span;
use splitbloom_foundation::OutOfMemory;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::change::Entry;
use splitbloom_server::command::{Command, Kind, Parameter, Times};
use splitbloom_server::context::Context;
use splitbloom_server::ration::Ration;
use splitbloom_sketch::topk::{Shape, TopK, DEFAULT_DECAY, DEFAULT_DEPTH, DEFAULT_WIDTH};

pub const RESERVE: Command<ReplyError> = Command {
    name: c"topk.reserve",
    arity: -3,
    summary: c"Creates an empty top-k, of all items or of those in a window",
    complexity: c"O(k)",
    parameters: &[
        Parameter::KEY,
        Parameter::new(c"topk", Kind::Integer, Times::Once),
        Parameter::block(
            c"params",
            Times::AtMostOnce,
            &[
                Parameter::new(c"width", Kind::Integer, Times::Once),
                Parameter::new(c"depth", Kind::Integer, Times::Once),
                Parameter::new(c"decay", Kind::Double, Times::Once),
            ],
        ),
        WINDOW,
        SLICES,
    ],
    run: reserve,
    ..Command::FAST_WRITE
};

fn reserve(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let Ok(Entry::Vacant(vacant)) = context.entry::<StoredTopK>(arguments.at(1)) else {
        return Err(EXISTS); // also for a key of another type, as in RedisBloom
    };
    let words = arguments.try_list_from(2).ok_or(NO_MEMORY_TO_CREATE)?;
    let (shape, span) = parse(&words, context.is_replay())?;
    let ration = Ration::begin(context);
    let topk = TopK::new(shape, span);
    let topk = topk.map_err(|OutOfMemory| NO_MEMORY_TO_CREATE.within(&ration))?;
    drop(ration);
    let target = vacant.with(StoredTopK::new(topk)).ok_or(NO_MEMORY_TO_CREATE)?;
    target.settle().replicate_verbatim().signal(c"topk.reserve");
    context.reply_ok();
    Ok(())
}

/// Parses `words`: `k [width depth decay] [WINDOW seconds [SLICES n]]`. If `is_replay`, the limits
/// for new lists do not apply to one without a window, which RedisBloom may have created.
fn parse(words: &[&[u8]], is_replay: bool) -> Result<(Shape, Option<Span>), ReplyError> {
    let is_window = |word: &&[u8]| word.eq_ignore_ascii_case(b"WINDOW");
    let end = words.iter().position(is_window).unwrap_or(words.len());
    let (numbers, window) = words.split_at(end);
    let (k, width, depth, decay) = match numbers {
        [k] => (number(k, BAD_K)?, DEFAULT_WIDTH, DEFAULT_DEPTH, DEFAULT_DECAY),
        [k, width, depth, decay] => (
            number(k, BAD_K)?,
            number(width, BAD_WIDTH)?,
            number(depth, BAD_DEPTH)?,
            parse_double(decay).ok_or(BAD_DECAY)?, // `Shape` checks the range
        ),
        _ => return Err(ReplyError::WRONG_ARITY),
    };
    let span = parse_window(window)?;
    let shape = match span {
        Some(span) => Shape::new(k, width, depth, decay)?.in_window(span)?,
        None if is_replay => Shape::saved(k, width, depth, decay)?,
        None => Shape::new(k, width, depth, decay)?,
    };
    Ok((shape, span))
}

/// A number of 32 bits above 0.
fn number(word: &[u8], error: ReplyError) -> Result<u32, ReplyError> {
    let number = parse_integer(word).and_then(|number| u32::try_from(number).ok());
    number.filter(|number| *number > 0).ok_or(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<(Shape, Option<Span>), ReplyError> {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        parse(&words, false)
    }

    #[test]
    fn the_words_are_those_of_redisbloom_and_a_window() {
        let shape = |k, width, depth, decay| Shape::new(k, width, depth, decay).unwrap();
        assert_eq!(parsed("5"), Ok((shape(5, 8, 7, 0.9), None)));
        assert_eq!(parsed("5 20 3 1"), Ok((shape(5, 20, 3, 1.0), None)));
        assert_eq!(parsed("5 20 3 1e-3"), Ok((shape(5, 20, 3, 0.001), None)));
        assert_eq!(parsed("5 20 3 0x1p-2"), Ok((shape(5, 20, 3, 0.25), None)));
        assert_eq!(parsed("5 WINDOW 60"), Ok((shape(5, 8, 7, 0.9), Span::new(60, 8))));
        let window = parsed("5 20 3 0.5 window 60 slices 4");
        assert_eq!(window, Ok((shape(5, 20, 3, 0.5), Span::new(60, 4))));
    }

    #[test]
    fn errors_are_those_of_redisbloom() {
        for (line, error) in [
            ("0", BAD_K),
            ("x", BAD_K),
            ("-1", BAD_K),
            ("4294967296", BAD_K),
            ("", BAD_K),
            ("5 8", ReplyError::WRONG_ARITY),
            ("5 8 7", ReplyError::WRONG_ARITY),
            ("5 8 7 0.9 x", ReplyError::WRONG_ARITY),
            ("WINDOW 60", ReplyError::WRONG_ARITY),
            ("5 0 7 0.9", BAD_WIDTH),
            ("5 4294967296 7 0.9", BAD_WIDTH),
            ("5 8 x 0.9", BAD_DEPTH),
            ("5 8 0 0.9", BAD_DEPTH),
            ("5 8 7 0", BAD_DECAY),
            ("5 8 7 1.1", BAD_DECAY),
            ("5 8 7 nan", BAD_DECAY),
            ("5 8 7 inf", BAD_DECAY),
            ("5 8 7 x", BAD_DECAY),
        ] {
            assert_eq!(parsed(line), Err(error), "{line}");
        }
    }

    #[test]
    fn what_a_primary_has_created_is_not_too_large() {
        let words = [b"4000000".as_slice(), b"8", b"7", b"0.9"];
        assert!(parse(&words, false).is_err());
        assert_eq!(parse(&words, true).map(|(shape, _)| shape.k()), Ok(4_000_000));
    }
}
