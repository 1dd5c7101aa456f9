//! Cuckoo filters as RedisBloom writes them: the fields of an RDB file, or a header and pieces;
//! with numbers that do not fit, and slots that no item has made.
//!
//! They are judged by a second reader, which is plain and written from the same facts alone.

use super::laws::assert_sound_counting;
use super::plain_reader::Slots;
use super::survival::assert_survives;
use arbitrary::{Arbitrary, Unstructured};
use splitbloom_filter::error::{AddError, DecodeError};
use splitbloom_filter::filter::{Adding, Filter, SizeLimit};
use splitbloom_filter::foreign::cuckoo::{self, read_header};
use splitbloom_filter::foreign::{Fields, Source};
use splitbloom_filter::hash::Seed;
use splitbloom_test_allocator::meter::measured;
use std::collections::VecDeque;

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

/// A part of the slots, as it comes or to another place.
#[derive(Arbitrary, Debug)]
struct Piece {
    start: u32,
    len: u16,
    moved: Option<u64>,
}

#[derive(Clone)]
enum Field {
    Number(u64),
    Slots(Vec<u8>),
}

/// Fields to be read.
#[derive(Clone)]
struct Recorded(VecDeque<Field>);

impl Fields for Recorded {
    type String = Vec<u8>;

    fn unsigned(&mut self) -> Option<u64> {
        match self.0.pop_front()? {
            Field::Number(number) => Some(number),
            Field::Slots(_) => None,
        }
    }

    fn double(&mut self) -> Option<f64> {
        None
    }

    fn string(&mut self) -> Option<Vec<u8>> {
        match self.0.pop_front()? {
            Field::Slots(slots) => Some(slots),
            Field::Number(_) => None,
        }
    }
}

fn begin(header: &[u8], limit: SizeLimit) -> Result<Filter, DecodeError> {
    Filter::of_cuckoo(read_header(header)?, RATE, SEED, limit)
}

fn read_cuckoo(version: u32, fields: &mut impl Fields) -> Result<Filter, DecodeError> {
    let cuckoo = cuckoo::read_cuckoo(version, &mut Source::new(fields))?;
    Filter::of_cuckoo(cuckoo, RATE, SEED, SizeLimit::Unlimited)
}

/// What the plain reader makes of it.
struct Twin {
    slots: Slots,
    /// All slots, oldest layer first.
    bytes: Vec<u8>,
}

impl Twin {
    fn places(&self, item: &[u8]) -> (Vec<usize>, u8) {
        let (places, fingerprint) = self.slots.places(item);
        (places.into_iter().map(|slot| slot as usize).collect(), fingerprint)
    }

    fn count(&self, item: &[u8]) -> u64 {
        let (places, fingerprint) = self.places(item);
        let places = places.into_iter().map(|slot| self.bytes[slot]);
        places.filter(|slot| *slot == fingerprint).count() as u64
    }

    fn remove(&mut self, item: &[u8]) -> bool {
        let (places, fingerprint) = self.places(item);
        let found = places.into_iter().find(|slot| self.bytes[*slot] == fingerprint);
        found.map(|slot| self.bytes[slot] = 0).is_some()
    }

    fn items(&self) -> u64 {
        self.bytes.iter().filter(|slot| **slot != 0).count() as u64
    }
}

/// Both readers make the same of a filter, or refuse it; and it works in every respect.
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
    let mut fields: VecDeque<Field> = numbers.map(Field::Number).into();
    if version >= 4 {
        fields.extend(more.map(Field::Number));
    }
    let mut rest = all;
    for buckets in slots.sizes().expect("it is good") {
        let of_layer;
        (of_layer, rest) = rest.split_at((buckets * slots.bucket_size) as usize);
        if version >= 4 {
            fields.push_back(Field::Number(buckets));
        }
        fields.push_back(Field::Slots(of_layer.to_vec()));
    }
    for (place, forged) in &input.forged {
        if let Some(Field::Number(number)) = fields.get_mut(usize::from(*place)) {
            *number = *forged;
        }
    }
    fields.truncate(fields.len().saturating_sub(usize::from(input.cut % 4)));
    let given: usize = fields
        .iter()
        .map(|field| match field {
            Field::Number(_) => 8,
            Field::Slots(slots) => slots.len(),
        })
        .sum();

    let twin = plain_fields(fields.clone(), version);
    // What the server reads is not the reader's.
    let mut fields = Recorded(fields);
    let held = given as isize;
    let (result, taken) = measured(|| read_cuckoo(version, &mut fields));
    // The last segment may have begun when a field was refused.
    let most = MEMORY_FACTOR * held + MEMORY_BEFORE + SEGMENT;
    assert!(taken.peak <= most, "{taken:?} for {given} bytes");
    assert_eq!(result.is_ok(), twin.is_some(), "{:?}", result.err());
    if let (Ok(filter), Some((twin, deletes))) = (result, twin) {
        assert_eq!(filter.deleted(), deletes);
        assert_like(filter, twin, &input.removed);
    }
}

/// The slots and the number of deletions, if the fields are those of a filter.
fn plain_fields(mut fields: VecDeque<Field>, version: u32) -> Option<(Twin, u64)> {
    if !(1..=4).contains(&version) {
        return None;
    }
    let mut next = || match fields.pop_front()? {
        Field::Number(number) => Some((number, Vec::new())),
        Field::Slots(slots) => Some((u64::MAX, slots)),
    };
    let ((layers, _), (buckets, _), _) = (next()?, next()?, next()?);
    let [deletes, bucket_size, iterations, expansion] = match version {
        4 => [next()?.0, next()?.0, next()?.0, next()?.0],
        _ => [0, 2, 20, 1],
    };
    if bucket_size >= 65_536 || iterations >= 65_536 {
        return None;
    }
    // A bucket has as many slots as the low byte says.
    let bucket_size = bucket_size % 256;
    let slots = Slots { buckets, bucket_size, expansion, layers, is_narrow: version < 4 };
    if !slots.is_good() {
        return None;
    }
    let mut bytes = Vec::new();
    for buckets in slots.sizes()? {
        if version == 4 && next()?.0 != buckets {
            return None;
        }
        let (_, of_layer) = next()?;
        if of_layer.len() as u64 != buckets * bucket_size {
            return None;
        }
        bytes.extend(of_layer);
    }
    Some((Twin { slots, bytes }, deletes))
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
    let mut header = numbers.map(u64::to_le_bytes).as_flattened().to_vec();
    header.extend(small.map(u16::to_le_bytes).as_flattened());
    header.truncate(header.len() - usize::from(input.cut % 4));

    let forged = Slots {
        buckets: numbers[1],
        bucket_size: u64::from(small[0] % 256),
        expansion: small[2].into(),
        layers: numbers[3],
        is_narrow: false,
    };
    let is_good = forged.is_good() && header.len() == 38;
    let (result, taken) = measured(|| begin(&header, SizeLimit::Unlimited));
    assert!(taken.peak <= MEMORY_BEFORE, "{taken:?} for a header");
    assert_eq!(result.is_ok(), is_good, "{:?}", result.err());
    let Ok(mut filter) = result else {
        return;
    };
    if begin(&header, ROOM).is_err() || forged.number() > MOST_SLOTS {
        return;
    }
    let mut twin = Twin { slots: forged, bytes: vec![0; forged.number() as usize] };
    for Piece { start, len, moved } in pieces {
        let start = *start as usize % all.len();
        let piece = &all[start..all.len().min(start + usize::from(*len))];
        let iterator = moved.unwrap_or((start + piece.len() + 1) as u64);
        let (result, taken) = measured(|| filter.take_piece(iterator, piece));
        assert!(taken.peak <= 2 * SEGMENT, "{taken:?} for a piece");
        let end = usize::try_from(iterator).ok().and_then(|end| end.checked_sub(1));
        let place = end.and_then(|end| Some(end.checked_sub(piece.len())?..end));
        let place = place.and_then(|place| twin.bytes.get_mut(place));
        assert_eq!(result.is_ok(), place.is_some());
        if let Some(place) = place {
            place.copy_from_slice(piece);
        }
    }
    assert_eq!(filter.deleted(), numbers[2]);
    assert_like(filter, twin, &input.removed);
}

/// The filter answers as the twin, before and after removals and adds, and survives.
fn assert_like(mut filter: Filter, mut twin: Twin, removed: &[u8]) {
    assert_sound_counting(&filter);
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_break_no_law(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            cuckoo(&bytes);
        }
    }
}
