//! CMS.INITBYDIM and CMS.INITBYPROB: create a sketch, of given dimensions or for given bounds.

use super::value::StoredSketch;
use crate::errors::cms::{
    BAD_DEPTH, BAD_ERROR, BAD_PROBABILITY, BAD_WIDTH, EXISTS, NO_MEMORY_TO_CREATE,
};
use crate::errors::ReplyError;
use crate::window::{parse_window, SLICES, WINDOW};
use splitbloom_foundation::number::{parse_error_rate, parse_within};
use splitbloom_foundation::span::Span;
use splitbloom_foundation::OutOfMemory;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::change::{Change, Entry, Replicated};
use splitbloom_server::command::{Command, Kind, Parameter, Times};
use splitbloom_server::context::Context;
use splitbloom_server::text::ShortText;
use splitbloom_sketch::cms::{CountMinSketch, Shape, ShapeError};

pub const BY_DIMENSIONS: Command<ReplyError> = Command {
    name: c"cms.initbydim",
    arity: -4,
    summary: c"Creates a count-min sketch of a width and a depth",
    parameters: &[
        Parameter::KEY,
        Parameter::new(c"width", Kind::Integer, Times::Once),
        Parameter::new(c"depth", Kind::Integer, Times::Once),
        WINDOW,
        SLICES,
    ],
    run: |context, arguments| create(context, arguments, parse_dimensions),
    ..Command::FAST_WRITE
};

pub const BY_BOUNDS: Command<ReplyError> = Command {
    name: c"cms.initbyprob",
    summary: c"Creates a count-min sketch of an error bound and the probability of exceeding it",
    parameters: &[
        Parameter::KEY,
        Parameter::new(c"error", Kind::Double, Times::Once),
        Parameter::new(c"probability", Kind::Double, Times::Once),
        WINDOW,
        SLICES,
    ],
    run: |context, arguments| create(context, arguments, parse_bounds),
    ..BY_DIMENSIONS
};

/// Width and depth from themselves.
fn parse_dimensions(words: [&[u8]; 2]) -> Result<(u64, u64), ReplyError> {
    let [width, depth] = words.map(|word| parse_within(word, 1..=i64::MAX as u64));
    Ok((width.map_err(|_| BAD_WIDTH)?, depth.map_err(|_| BAD_DEPTH)?))
}

/// Width and depth from error and probability.
fn parse_bounds([error, probability]: [&[u8]; 2]) -> Result<(u64, u64), ReplyError> {
    let error = parse_error_rate(error).map_err(|_| BAD_ERROR)?;
    let probability = parse_error_rate(probability).map_err(|_| BAD_PROBABILITY)?;
    Ok(Shape::dimensions_for(error, probability))
}

/// Returns the shape of `width` and `depth`. If `is_replay`, a primary has created the sketch, and
/// the limits for new ones do not apply.
fn shape_of((width, depth): (u64, u64), is_replay: bool) -> Result<Shape, ShapeError> {
    match is_replay {
        true => Shape::saved(width, depth),
        false => Shape::new(width, depth),
    }
}

fn create(
    context: &Context,
    arguments: Arguments<'_>,
    parse: impl Fn([&[u8]; 2]) -> Result<(u64, u64), ReplyError>,
) -> Result<(), ReplyError> {
    let Ok(Entry::Vacant(vacant)) = context.entry::<StoredSketch>(arguments.at(1)) else {
        return Err(EXISTS); // also for a key of another type, as in RedisBloom
    };
    let words = arguments.try_list_from(4).ok_or(NO_MEMORY_TO_CREATE)?;
    let dimensions = parse([arguments.bytes(2), arguments.bytes(3)])?;
    let shape = shape_of(dimensions, context.is_replay())?;
    let span = parse_window(&words)?;
    let shape = span.map_or(Ok(shape), |span| shape.in_window(span))?;
    let sketch = match span {
        None => CountMinSketch::new(shape),
        Some(span) => CountMinSketch::windowed(shape, span),
    };
    let sketch = sketch.map_err(|OutOfMemory| NO_MEMORY_TO_CREATE)?;
    let target = vacant.with(StoredSketch::new(sketch)).ok_or(NO_MEMORY_TO_CREATE)?;
    replicate(target.settle(), shape, span).signal(c"cms.init");
    context.reply_ok();
    Ok(())
}

/// Replicates the creation with its dimensions: those that follow from bounds need not be the same
/// on another machine, whose logarithms may differ in the last digit.
fn replicate<'c>(
    change: Change<'c, StoredSketch>,
    shape: Shape,
    span: Option<Span>,
) -> Replicated<'c> {
    let dimensions = [ShortText::of(shape.width()), ShortText::of(shape.depth())];
    let window = span.map(|span| [ShortText::of(span.seconds()), ShortText::of(span.slices())]);
    let window = window.iter().flat_map(|[seconds, slices]| {
        [b"WINDOW".as_slice(), seconds.bytes(), b"SLICES", slices.bytes()]
    });
    let words = dimensions.iter().map(ShortText::bytes).chain(window);
    change.replicate(c"CMS.INITBYDIM", words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_primary_has_created_is_not_too_large_by_dimensions_or_by_bounds() {
        for dimensions in [
            parse_dimensions([b"2000000000", b"7"]),
            parse_bounds([b"0.000000001", b"0.01"]),
            parse_dimensions([b"5", b"2000"]),
        ] {
            let (width, depth) = dimensions.unwrap();
            assert!(shape_of((width, depth), false).is_err());
            let shape = shape_of((width, depth), true).unwrap();
            assert_eq!((shape.width(), shape.depth()), (width, depth));
        }
    }
}
