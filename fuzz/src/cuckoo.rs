//! Cuckoo filters as RedisBloom writes them: the fields of an RDB file, or a header and pieces;
//! with numbers that do not fit, and slots that no item has made.

use super::laws::assert_sound;
use super::survival::assert_survives;
use super::twins::read_by_both;
use arbitrary::{Arbitrary, Unstructured};
use splitbloom_filter::error::{AddError, DecodeError};
use splitbloom_filter::filter::{Adding, Filter, SizeLimit};
use splitbloom_filter::foreign::cuckoo::{self, read_header};
use splitbloom_filter::foreign::{Fields, Source};
use splitbloom_filter::hash::Seed;
use splitbloom_foundation::fields::Field;
use splitbloom_oracles::cuckoo::{Filter as Twin, Slots};
use splitbloom_oracles::written;
use splitbloom_test_allocator::meter::measured;

/// The error rate of the table.
const RATE: f64 = 1e-9;
const SEED: Seed = Seed(1);
/// No filter gets larger: a fuzzer should try many inputs, not large ones.
const ROOM: SizeLimit = SizeLimit::Bytes(4 << 20);
/// The most slots that are made up for an input.
const MOST_SLOTS: u64 = 1 << 18;

/// The most bytes that the reader may hold for a byte of fields: slots are copied once, and the
/// longest list of segments doubles.
const MEMORY_FACTOR: isize = 3;
/// What a filter takes besides.
const MEMORY_BEFORE: isize = 8192;
/// What a piece may take of each segment that it touches: the segment, and the way to it.
const SEGMENT: isize = 65_536 + 8192;

#[derive(Arbitrary, Debug)]
struct Input {
    version: u8,
    log_buckets: u8,
    bucket_size: u8,
    log_expansion: u8,
    layers: u8,
    iterations: u16,
    deletes: u64,
    /// Slots, repeated until they are as many as needed.
    pattern: Vec<u8>,
    /// Numbers that are replaced, by their place among the fields.
    forged: Vec<(u8, u64)>,
    /// Fields that are cut off.
    cut: u8,
    pieces: Option<Vec<Piece>>,
    removed: Vec<u8>,
}

/// A part of the slots, as it comes or with an iterator that points elsewhere.
#[derive(Arbitrary, Debug)]
struct Piece {
    start: u32,
    len: u16,
    moved: Option<u64>,
}

fn read_cuckoo(version: u32, fields: &mut impl Fields) -> Result<Filter, DecodeError> {
    let cuckoo = cuckoo::read_cuckoo(version, &mut Source::new(fields))?;
    Filter::of_cuckoo(cuckoo, RATE, SEED, SizeLimit::Unlimited)
}

/// Both readers refuse the input, or read the same filter, which works in every respect.
pub fn cuckoo(bytes: &[u8]) {
    let mut source = Unstructured::new(bytes);
    let Ok(input) = Input::arbitrary(&mut source) else {
        return;
    };
    let mut slots = Slots {
        buckets: 1 << (input.log_buckets % 18),
        bucket_size: u64::from(input.bucket_size).max(1),
        expansion: 1u64.checked_shl(u32::from(input.log_expansion % 18)).unwrap_or(0) >> 1,
        layers: u64::from(input.layers).max(1),
        is_narrow: input.pieces.is_none() && input.version % 6 < 4,
    };
    if slots.is_narrow {
        // What these versions do not store.
        (slots.bucket_size, slots.expansion) = (2, 1);
    }
    if !slots.is_good() || slots.number() > MOST_SLOTS {
        return;
    }
    let pattern = if input.pattern.is_empty() { &[0] } else { &input.pattern[..] };
    let all: Vec<u8> = pattern.iter().copied().cycle().take(slots.number() as usize).collect();
    match &input.pieces {
        None => from_fields(&input, slots, &all),
        Some(pieces) => from_pieces(&input, pieces, slots, &all),
    }
}

fn from_fields(input: &Input, slots: Slots, all: &[u8]) {
    let version = u32::from(input.version % 6);
    let numbers = [slots.layers, slots.buckets, 0];
    let more = [input.deletes, slots.bucket_size, input.iterations.into(), slots.expansion];
    let mut fields: Vec<Field> = numbers.map(Field::Unsigned).into();
    if version >= 4 {
        fields.extend(more.map(Field::Unsigned));
    }
    let mut rest = all;
    for buckets in slots.sizes().expect("it is good") {
        let of_layer;
        (of_layer, rest) = rest.split_at((buckets * slots.bucket_size) as usize);
        if version >= 4 {
            fields.push(Field::Unsigned(buckets));
        }
        fields.push(Field::String(of_layer.to_vec()));
    }
    for (place, forged) in &input.forged {
        if let Some(Field::Unsigned(number)) = fields.get_mut(usize::from(*place)) {
            *number = *forged;
        }
    }
    fields.truncate(fields.len().saturating_sub(usize::from(input.cut % 4)));
    let given = fields.iter().map(|field| match field {
        Field::String(slots) => slots.len(),
        _ => 8,
    });
    // The last segment may have begun when a field was refused.
    let most = MEMORY_FACTOR * given.sum::<usize>() as isize + MEMORY_BEFORE + SEGMENT;
    let twin = Twin::of_fields(version, &mut fields.clone().into_iter());
    // The server reads the fields, so their memory does not count as the reader's.
    let mut fields = fields.into_iter();
    if let Some(both) = read_by_both(most, || read_cuckoo(version, &mut fields), twin) {
        assert_like(both, &input.removed);
    }
}

fn from_pieces(input: &Input, pieces: &[Piece], slots: Slots, all: &[u8]) {
    let mut numbers = [0, slots.buckets, input.deletes, slots.layers];
    let mut small = [slots.bucket_size as u16, input.iterations, slots.expansion as u16];
    for (place, forged) in &input.forged {
        match usize::from(*place) {
            place @ 0..4 => numbers[place] = *forged,
            place => small[place % 3] = *forged as u16,
        }
    }
    let mut header = [written([8; 4], numbers), written([2; 3], small.map(u64::from))].concat();
    header.truncate(header.len() - usize::from(input.cut % 4));

    let forged = Slots {
        buckets: numbers[1],
        bucket_size: u64::from(small[0] % 256),
        expansion: small[2].into(),
        layers: numbers[3],
        is_narrow: false,
    };
    let is_good = forged.is_good() && header.len() == 38;
    let begin = |limit| Filter::of_cuckoo(read_header(&header)?, RATE, SEED, limit);
    let unlimited = || begin(SizeLimit::Unlimited);
    let Some((mut filter, ())) = read_by_both(MEMORY_BEFORE, unlimited, is_good.then_some(()))
    else {
        return;
    };
    if begin(ROOM).is_err() || forged.number() > MOST_SLOTS {
        return;
    }
    let bytes = vec![0; forged.number() as usize];
    let mut twin = Twin { slots: forged, bytes, deletes: numbers[2] };
    for Piece { start, len, moved } in pieces {
        let start = *start as usize % all.len();
        let piece = &all[start..all.len().min(start + usize::from(*len))];
        let iterator = moved.unwrap_or((start + piece.len() + 1) as u64);
        let (result, taken) = measured(|| filter.take_piece(iterator, piece));
        assert!(taken.peak <= 2 * SEGMENT, "{taken:?} for a piece");
        assert_eq!(result.is_ok(), twin.take_piece(iterator, piece));
    }
    assert_like((filter, twin), &input.removed);
}

/// The filter answers as the twin, before and after removals and adds, and survives.
fn assert_like((mut filter, mut twin): (Filter, Twin), removed: &[u8]) {
    assert_eq!(filter.deleted(), twin.deletes);
    assert_sound(&filter);
    assert_survives(&mut filter);
    assert_eq!(filter.items(), twin.items());
    if !twin.slots.is_quick() {
        return;
    }
    for item in removed {
        assert_eq!(filter.remove(&[*item]), Ok(twin.remove(&[*item])));
    }
    assert_eq!(filter.items(), twin.items());
    for item in 0..16u8 {
        assert_eq!(filter.count(&[item]), twin.count(&[item]));
        assert_eq!(filter.contains(&[item]), twin.count(&[item]) > 0);
    }
    let (item, known) = (b"item".as_slice(), twin.count(b"item"));
    match filter.add_copy(item, Adding::Copies, ROOM) {
        Ok(is_added) => {
            assert!(is_added);
            assert_eq!(filter.count(item), known + 1);
            assert_eq!(filter.remove(item), Ok(true));
        }
        Err(error) => assert!(matches!(error, AddError::Full | AddError::OverLimit)),
    }
    assert_eq!(filter.count(item), known);
    assert_survives(&mut filter);
}
