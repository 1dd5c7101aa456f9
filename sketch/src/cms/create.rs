//! CMS.INITBYDIM and CMS.INITBYPROB: create a sketch, of given dimensions or for given bounds.
//! After these come `CELL_SIZE n` and the words of a window, in either order.

use super::value::StoredSketch;
use crate::errors::cms::{
    BAD_CELL_SIZE, BAD_DEPTH, BAD_ERROR, BAD_PROBABILITY, BAD_WIDTH, EXISTS, NO_MEMORY_TO_CREATE,
    UNKNOWN_ARGUMENT,
};
use crate::errors::ReplyError;
use crate::window::{parse_window, SLICES, WINDOW};
use splitbloom_foundation::number::{parse_error_rate, parse_integer, parse_within};
use splitbloom_foundation::span::Span;
use splitbloom_foundation::OutOfMemory;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::change::{Change, Entry, Replicated};
use splitbloom_server::command::{Command, Kind, Parameter, Times};
use splitbloom_server::context::Context;
use splitbloom_server::text::ShortText;
use splitbloom_sketch::cms::{CellSize, CountMinSketch, Shape, ShapeError};

const CELL_SIZE: Parameter =
    Parameter::new(c"cell-size", Kind::Integer, Times::AtMostOnce).after(c"CELL_SIZE");

pub const BY_DIMENSIONS: Command<ReplyError> = Command {
    name: c"cms.initbydim",
    arity: -4,
    summary: c"Creates a count-min sketch of a width and a depth",
    parameters: &[
        Parameter::KEY,
        Parameter::new(c"width", Kind::Integer, Times::Once),
        Parameter::new(c"depth", Kind::Integer, Times::Once),
        CELL_SIZE,
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
        CELL_SIZE,
        WINDOW,
        SLICES,
    ],
    run: |context, arguments| create(context, arguments, parse_bounds),
    ..BY_DIMENSIONS
};

/// Parses a width and a depth.
fn parse_dimensions(words: [&[u8]; 2]) -> Result<(u64, u64), ReplyError> {
    let [width, depth] = words.map(|word| parse_within(word, 1..=i64::MAX as u64));
    Ok((width.map_err(|_| BAD_WIDTH)?, depth.map_err(|_| BAD_DEPTH)?))
}

/// Parses an error and a probability; returns the width and depth for them.
fn parse_bounds([error, probability]: [&[u8]; 2]) -> Result<(u64, u64), ReplyError> {
    let error = parse_error_rate(error).map_err(|_| BAD_ERROR)?;
    let probability = parse_error_rate(probability).map_err(|_| BAD_PROBABILITY)?;
    Ok(Shape::dimensions_for(error, probability))
}

/// Parses the words after width and depth: the size of a cell, and the window if there is one.
fn parse_options(words: &[&[u8]]) -> Result<(CellSize, Option<Span>), ReplyError> {
    let is = |word: &[u8], name: &[u8]| word.eq_ignore_ascii_case(name);
    if !words.len().is_multiple_of(2) {
        return Err(ReplyError::WRONG_ARITY);
    }
    let (size, rest) = match words {
        [name, size, rest @ ..] | [rest @ .., name, size] if is(name, b"CELL_SIZE") => {
            (parse_cell_size(size)?, rest)
        }
        _ => (CellSize::default(), words),
    };
    match rest.first() {
        Some(name) if !is(name, b"WINDOW") => Err(UNKNOWN_ARGUMENT),
        _ => Ok((size, parse_window(rest)?)),
    }
}

fn parse_cell_size(word: &[u8]) -> Result<CellSize, ReplyError> {
    let bytes = parse_integer(word).and_then(|bytes| u64::try_from(bytes).ok());
    bytes.and_then(CellSize::of).ok_or(BAD_CELL_SIZE)
}

/// Returns the shape of `width`, `depth` and `cell_size`. If `is_replay`, a primary has created the
/// sketch, and the limits for new ones do not apply.
fn shape_of(
    (width, depth): (u64, u64),
    cell_size: CellSize,
    is_replay: bool,
) -> Result<Shape, ShapeError> {
    match is_replay {
        true => Shape::saved(width, depth, cell_size),
        false => Shape::new(width, depth, cell_size),
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
    let (cell_size, span) = parse_options(&words)?;
    let shape = shape_of(dimensions, cell_size, context.is_replay())?;
    let shape = span.map_or(Ok(shape), |span| shape.in_window(span))?;
    let sketch = CountMinSketch::new(shape, span);
    let sketch = sketch.map_err(|OutOfMemory| NO_MEMORY_TO_CREATE)?;
    let target = vacant.with(StoredSketch::new(sketch)).ok_or(NO_MEMORY_TO_CREATE)?;
    replicate(target.settle(), shape, span).signal(c"cms.init");
    context.reply_ok();
    Ok(())
}

/// Replicates the creation with its dimensions: those that follow from bounds need not be the same
/// on another machine, whose logarithms may differ in the last digit. The default cell size is left
/// out: an older replica knows no other.
fn replicate<'c>(
    change: Change<'c, StoredSketch>,
    shape: Shape,
    span: Option<Span>,
) -> Replicated<'c> {
    let dimensions = [ShortText::of(shape.width()), ShortText::of(shape.depth())];
    let size = shape.cell_size();
    let size = (size != CellSize::default()).then(|| ShortText::of(size.bytes()));
    let size = size.iter().flat_map(|size| [b"CELL_SIZE".as_slice(), size.bytes()]);
    let window = span.map(|span| [ShortText::of(span.seconds()), ShortText::of(span.slices())]);
    let window = window.iter().flat_map(|[seconds, slices]| {
        [b"WINDOW".as_slice(), seconds.bytes(), b"SLICES", slices.bytes()]
    });
    let words = dimensions.iter().map(ShortText::bytes).chain(size).chain(window);
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
            for size in CellSize::ALL {
                assert!(shape_of((width, depth), size, false).is_err());
                let shape = shape_of((width, depth), size, true).unwrap();
                assert_eq!((shape.width(), shape.depth()), (width, depth));
            }
        }
    }

    #[test]
    fn a_size_of_cells_and_a_window_come_in_either_order() {
        let parse = |line: &str| {
            let words: Vec<&[u8]> = line.split_whitespace().map(str::as_bytes).collect();
            parse_options(&words)
        };
        assert_eq!(parse(""), Ok((CellSize::Four, None)));
        assert_eq!(parse("cell_size 1"), Ok((CellSize::One, None)));
        assert_eq!(parse("WINDOW 60"), Ok((CellSize::Four, Span::new(60, 8))));
        for line in ["CELL_SIZE 8 WINDOW 60 SLICES 3", "WINDOW 60 SLICES 3 CELL_SIZE 8"] {
            assert_eq!(parse(line), Ok((CellSize::Eight, Span::new(60, 3))));
        }
        for (line, error) in [
            ("CELL_SIZE", ReplyError::WRONG_ARITY),
            ("3", ReplyError::WRONG_ARITY),
            ("CELL_SIZE 3", BAD_CELL_SIZE),
            ("CELL_SIZE -1", BAD_CELL_SIZE),
            ("CELL_SIZE x", BAD_CELL_SIZE),
            ("CELL_SIZES 1", UNKNOWN_ARGUMENT),
            ("SLICES 3 CELL_SIZE 1", UNKNOWN_ARGUMENT),
            ("CELL_SIZE 1 CELL_SIZE 1", UNKNOWN_ARGUMENT),
            ("WINDOW 60 OOR 3", ReplyError::WRONG_ARITY),
        ] {
            assert_eq!(parse(line), Err(error), "{line}");
        }
    }
}
