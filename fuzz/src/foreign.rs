//! Arbitrary bytes as what RedisBloom writes: the fields of a saved filter, or a header and pieces.
//!
//! The first byte says which encoding version the fields have (0 to 5), or that there is a header
//! (6 and more), which comes as a string; then pieces as iterators and strings.

use super::twins::{assert_alike, layers_by_both};
use splitbloom_filter::codec::MEMORY_PER_BYTE;
use splitbloom_filter::foreign::Fields;
use splitbloom_filter::{Seed, SizeLimit};
use splitbloom_oracles::redisbloom::Filter;
use splitbloom_oracles::stream::Stream;
use splitbloom_test_allocator::meter::measured;

const SEED: Seed = Seed(3);
/// What a piece may touch, of any length: two segments and what leads to them.
const MEMORY_OF_A_PIECE: isize = 2 * 70_000;

/// Any bytes are refused, or are a filter that answers as the second reader's, whatever is done to
/// it.
pub fn foreign(bytes: &[u8]) {
    let Some((kind, rest)) = bytes.split_first() else {
        return;
    };
    let read = match kind % 8 {
        version @ 0..=5 => saved(version.into(), Stream(rest)),
        _ => dumped(Stream(rest)),
    };
    if let Some((filter, twin)) = read {
        assert_eq!(u64::from(filter.layers().unwrap().options()), twin.options);
        assert_alike(filter, &twin);
    }
}

/// A saved filter.
fn saved(version: u32, mut fields: Stream<'_>) -> Option<(splitbloom_filter::Filter, Filter)> {
    let (given, twin) = (fields.0.len(), Filter::of_fields(version, fields));
    layers_by_both(given, || splitbloom_filter::Filter::load_redisbloom(version, &mut fields), twin)
}

/// One that comes as a header and pieces.
fn dumped(mut stream: Stream<'_>) -> Option<(splitbloom_filter::Filter, Filter)> {
    let header = stream.string()?;
    let begin = || splitbloom_filter::Filter::begin_redisbloom(header, SEED, SizeLimit::Unlimited);
    let (mut filter, mut twin) = layers_by_both(header.len(), begin, Filter::of_header(header))?;
    while let (Some(iterator), Some(piece)) = (stream.unsigned(), stream.string()) {
        let before = filter.digest();
        let (result, taken) = measured(|| filter.take_piece(iterator, piece));
        let most = MEMORY_PER_BYTE as isize * piece.len() as isize + MEMORY_OF_A_PIECE;
        assert!(taken.peak <= most, "{taken:?} for {} bytes", piece.len());
        assert_eq!(result.is_ok(), twin.take_piece(iterator, piece), "{result:?}");
        assert!(result.is_ok() || filter.digest() == before);
    }
    Some((filter, twin))
}

#[test]
fn what_redisbloom_wrote_is_accepted() {
    for input in super::kept::inputs("foreign", "") {
        let (kind, rest) = (input[0], Stream(&input[1..]));
        let read = match kind {
            6 => dumped(rest),
            version => saved(version.into(), rest),
        };
        assert!(read.is_some());
    }
}
