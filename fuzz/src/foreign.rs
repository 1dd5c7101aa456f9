//! Arbitrary bytes as what RedisBloom writes: the fields of a saved filter, or a header and pieces.
//!
//! The first byte says which encoding version the fields have (0 to 5), or that there is a header (6
//! and more). A number of fields is one byte, its width, and so many more; a string two bytes, its
//! length, and so many more. A header comes as a string; then pieces as iterators and strings.

use super::decode::use_it;
use super::fuzzed::Fuzzed;
use super::redisbloom::Filter;
use super::survival::assert_survives;
use splitbloom_filter::codec::MEMORY_PER_BYTE;
use splitbloom_filter::foreign::rdb::{read_bloom, Fields};
use splitbloom_filter::foreign::{pieces, ForeignFilter};
use splitbloom_filter::{Seed, SizeLimit};
use splitbloom_test_allocator::meter::measured;

const SEED: Seed = Seed(3);
/// What a filter takes beside what its bytes bring.
const MEMORY_BEFORE: isize = 4096;
/// What a piece may touch, of any length: two segments and what leads to them.
const MEMORY_OF_A_PIECE: isize = 2 * 70_000;
/// More layers than these would take a second to be asked by the second reader.
const MOST_LAYERS: usize = 64;

/// Bytes, field by field.
#[derive(Clone, Copy)]
pub struct Stream<'a>(&'a [u8]);

impl<'a> Stream<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }
}

impl<'a> Fields for Stream<'a> {
    type String = &'a [u8];

    fn unsigned(&mut self) -> Option<u64> {
        let width = self.take(1)?[0];
        let digits = self.take(usize::from(width % 9))?.iter().rev();
        Some(digits.fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn double(&mut self) -> Option<f64> {
        let bytes = self.take(8)?;
        Some(f64::from_le_bytes(bytes.try_into().ok()?))
    }

    fn string(&mut self) -> Option<&'a [u8]> {
        let len = self.take(2)?;
        self.take(usize::from(u16::from_le_bytes([len[0], len[1]])))
    }
}

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
    let Some((mut filter, twin)) = read else {
        return;
    };
    if filter.layers().len() > MOST_LAYERS {
        return;
    }
    assert_alike(&filter, &twin);
    assert_survives(&mut filter);
    use_it(&mut filter);
    filter.assert_sound();
}

/// A saved filter.
fn saved(version: u32, mut fields: Stream<'_>) -> Option<(ForeignFilter, Filter)> {
    let (given, twin) = (fields.0.len() as isize, Filter::of_fields(version, fields));
    let (read, taken) = measured(|| read_bloom(version, &mut fields, SEED));
    let most = MEMORY_PER_BYTE as isize * given + MEMORY_BEFORE;
    assert!(taken.peak <= most, "{taken:?} for {given} bytes");
    assert_eq!(read.is_ok(), twin.is_some(), "{:?} {twin:?}", read.err());
    Some((read.ok()?, twin?))
}

/// One that comes as a header and pieces.
fn dumped(mut stream: Stream<'_>) -> Option<(ForeignFilter, Filter)> {
    let header = stream.string()?;
    let twin = Filter::of_header(header);
    let (begun, taken) = measured(|| pieces::begin(header, SEED, SizeLimit::Unlimited));
    let most = MEMORY_PER_BYTE as isize * header.len() as isize + MEMORY_BEFORE;
    assert!(taken.peak <= most, "{taken:?} for {} bytes", header.len());
    assert_eq!(begun.is_ok(), twin.is_some(), "{:?} {twin:?}", begun.err());
    let (mut filter, mut twin) = (begun.ok()?, twin?);
    while let (Some(iterator), Some(piece)) = (stream.unsigned(), stream.string()) {
        let before = filter.digest();
        let (result, taken) = measured(|| filter.take_piece(iterator, piece));
        let most = MEMORY_PER_BYTE as isize * piece.len() as isize + MEMORY_OF_A_PIECE;
        assert!(taken.peak <= most, "{taken:?} for {} bytes", piece.len());
        assert_eq!(
            result.is_ok(),
            twin.take_piece(iterator, piece),
            "{result:?}"
        );
        assert!(result.is_ok() || filter.digest() == before);
    }
    Some((filter, twin))
}

fn assert_alike(filter: &ForeignFilter, twin: &Filter) {
    assert_eq!(filter.layers().len(), twin.layers.len());
    assert_eq!(u64::from(filter.options().0), twin.options);
    assert_eq!(
        (filter.items(), filter.set_bits()),
        (twin.items(), twin.set_bits())
    );
    let items: Vec<String> = (0..24).map(|number| format!("item:{number}")).collect();
    let mut expected = items.iter().map(|item| twin.contains(item.as_bytes()));
    filter.contains_many(items.iter().map(String::as_bytes), |is_there| {
        assert_eq!(Some(is_there), expected.next());
    });
    assert_eq!(expected.next(), None);
}

#[cfg(test)]
mod tests {
    use super::super::decode::decode;
    use super::*;
    use proptest::prelude::*;
    use proptest::sample::Index;
    use std::fs;

    /// The inputs in this folder of `kept` whose names begin so.
    fn kept(folder: &str, prefix: &str) -> Vec<Vec<u8>> {
        let folder = format!("{}/kept/{folder}", env!("CARGO_MANIFEST_DIR"));
        let entries = fs::read_dir(folder).expect("the kept inputs");
        let entries = entries.map(|entry| entry.expect("a readable folder"));
        let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
        named
            .map(|entry| fs::read(entry.path()).expect("a readable file"))
            .collect()
    }

    /// One of the inputs, changed.
    fn changed(inputs: &[Vec<u8>], input: Index, changes: Vec<(Index, u8, u8)>) -> Vec<u8> {
        let mut bytes = inputs[input.index(inputs.len())].clone();
        for (at, value, change) in changes {
            // The fields come first; those of the array do not matter.
            let at = at.index(bytes.len().min(300));
            match change {
                0 => bytes[at] = value,
                1 => bytes[at] ^= 1 << (value % 8),
                2 => bytes.truncate(at + 1),
                3 => bytes.insert(at, value),
                4 => bytes[0] = value,
                _ => {
                    bytes.remove(at);
                    bytes.push(value);
                }
            }
        }
        bytes
    }

    fn changes() -> impl Strategy<Value = Vec<(Index, u8, u8)>> {
        prop::collection::vec((any::<Index>(), any::<u8>(), 0..6u8), 1..4)
    }

    #[test]
    fn what_redisbloom_wrote_is_accepted() {
        let accepted = kept("foreign", "")
            .into_iter()
            .filter(|input| match input[0] {
                6 => dumped(Stream(&input[1..])).is_some(),
                version => saved(version.into(), Stream(&input[1..])).is_some(),
            });
        assert!(accepted.count() >= 21);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        #[test]
        fn what_redisbloom_wrote_and_somebody_changed_breaks_no_law(
            input in any::<Index>(),
            changes in changes(),
        ) {
            foreign(&changed(&kept("foreign", ""), input, changes));
        }

        #[test]
        fn chunks_of_such_filters_that_somebody_changed_break_no_law(
            input in any::<Index>(),
            changes in changes(),
        ) {
            decode(&changed(&kept("decode", "redisbloom"), input, changes));
        }
    }
}
