//! Top-k while memory is short: a change happens whole or not at all, and no byte leaks.

use splitbloom_foundation::fields::Field;
use splitbloom_foundation::span::Span;
use splitbloom_sketch::topk::{Answers, Shape, TopK};
use splitbloom_sketch::{DecodeError, Part, Sketch};
use splitbloom_test_allocator::{meter, refusal, TestAllocator};

#[global_allocator]
static ALLOCATOR: TestAllocator = TestAllocator;

/// Seven rows in seven segments, so that batches are prefetched.
fn shape() -> Shape {
    Shape::new(4, 8_192, 7, 0.9).unwrap()
}

fn add(topk: &mut TopK, item: &[u8], now: u64) -> bool {
    topk.open(now, drop)
        .and_then(|open| open.add_many([(item, 3)].into_iter(), &mut Answers::default()))
        .is_ok()
}

/// With a full list, whose lowest count is 3.
fn filled() -> TopK {
    let mut topk = TopK::new(shape(), None).unwrap();
    [b"a", b"b", b"c", b"d", b"a"].iter().for_each(|item| assert!(add(&mut topk, *item, 0)));
    topk
}

/// The second of three slices is the current one.
fn windowed() -> TopK {
    let mut topk = TopK::new(shape(), Some(Span::new(60, 2).unwrap())).unwrap();
    assert!(add(&mut topk, b"a", 90_000) && add(&mut topk, b"b", 120_000));
    topk
}

fn encoded(topk: &TopK) -> Vec<Field> {
    let mut fields = Vec::new();
    topk.save(&mut fields).unwrap();
    fields
}

#[test]
fn an_item_is_added_whole_or_not_at_all() {
    let empty = || TopK::new(shape(), None).unwrap();
    let first = refusal::at_every(empty, |topk| add(topk, b"item", 0), TopK::digest);
    assert!(first > 9, "a segment for each row, the item, its entry, the index: {first}");
    let mut refused = 0;
    for item in [&b"takes a place"[..], b"a", &[7; 100_000]] {
        refused += refusal::at_every(filled, |topk| add(topk, item, 0), TopK::digest);
    }
    assert_eq!(refused, 2 * 16, "room, the index and two arrays a row, for each new item");
}

#[test]
fn an_item_that_finds_no_memory_for_its_exact_size_takes_what_was_requested() {
    // An item that does not enter the list leaves more room than the next one needs.
    let prepare = || {
        let mut topk = filled();
        let items = [(&[7; 3_000][..], 1)].into_iter();
        let mut answers = Answers::default();
        topk.open(0, drop).unwrap().add_many(items, &mut answers).unwrap();
        assert!(answers.iter().eq([None]));
        topk
    };
    let mut used = 0;
    for n in 0..60 {
        let mut topk = prepare();
        let (has_worked, was_refused) = refusal::of_the_nth(n, || add(&mut topk, b"new", 0));
        if has_worked && was_refused {
            let mut sound = prepare();
            assert!(add(&mut sound, b"new", 0));
            assert_eq!(topk.digest(), sound.digest());
            used += 1;
        }
    }
    assert_eq!(used, 1);
}

#[test]
fn a_slice_begins_whole_or_not_at_all() {
    // The time may advance without the item, so a slice begins before.
    let prepare = || {
        let mut topk = windowed();
        assert!(topk.open(150_000, drop).is_ok());
        topk
    };
    let refused = refusal::at_every(prepare, |topk| add(topk, b"new", 150_000), TopK::digest);
    assert!(refused > 9, "{refused}");
    let begin = |topk: &mut TopK| topk.open(150_000, drop).is_ok();
    let refused = refusal::at_every(windowed, begin, TopK::digest);
    assert_eq!(refused, 2, "the lists of segments and of items");
}

#[test]
fn what_reads_or_copies_fails_cleanly() {
    for prepare in [filled, windowed] {
        let copies = refusal::at_every(prepare, |topk| topk.try_clone().is_ok(), TopK::digest);
        assert!(copies > 9, "{copies}");
        let now = 120_000;
        let lists = refusal::at_every(prepare, |topk| topk.list(now).is_ok(), TopK::digest);
        assert!(lists >= 2, "{lists}");
        refusal::at_every(prepare, |topk| topk.lookup(now).is_ok(), TopK::digest);
        let counts = refusal::at_every(prepare, |topk| topk.counts(now).is_ok(), TopK::digest);
        assert_eq!(counts, 1, "room for the buckets of an item");
    }
}

#[test]
fn a_value_that_cannot_be_saved_writes_no_field() {
    let topk = filled();
    let mut fields = Vec::new();
    let len = 8 * 8_192 * 7;
    refusal::of_blocks_from(len, || assert!(topk.save(&mut fields).is_err()));
    assert!(fields.is_empty());
}

#[test]
fn a_load_that_is_refused_leaves_nothing() {
    let held = meter::bytes_held();
    for (topk, is_windowed) in [(filled(), false), (windowed(), true)] {
        let fields = encoded(&topk);
        let load = |fields: Vec<Field>| match is_windowed {
            false => TopK::decode(&mut fields.into_iter()),
            true => TopK::decode_windowed(&mut fields.into_iter()),
        };
        for n in 0.. {
            let fields = fields.clone();
            let (loaded, was_refused) = refusal::of_the_nth(n, || load(fields));
            match loaded {
                Ok(loaded) => {
                    assert!(!was_refused && n > 9);
                    assert_eq!(loaded.digest(), topk.digest());
                    break;
                }
                Err(error) => assert_eq!(error, DecodeError::OutOfMemory),
            }
        }
    }
    assert_eq!(meter::bytes_held(), held);
}

/// The fields of a value with buckets and k items of `len` bytes.
fn fields_of(k: u32, width: u32, depth: u32, len: usize) -> Vec<Field> {
    let mut fields = [k, width, depth].map(|number| Field::Unsigned(number.into())).to_vec();
    fields.push(Field::Double(0.9));
    fields.push(Field::String(vec![1; 8 * (width * depth) as usize]));
    fields.push(Field::String(vec![1; 24 * k as usize]));
    fields.extend((0..k).map(|_| Field::String([vec![b'x'; len], vec![0]].concat())));
    fields
}

#[test]
fn memory_for_a_load_is_bounded_by_its_bytes() {
    for (k, width, depth, len) in
        [(1, 1, 1, 0), (100_000, 1, 1, 0), (10_000, 1, 1, 30), (1, 50_000, 7, 1), (3, 1, 30_000, 9)]
    {
        let fields = fields_of(k, width, depth, len);
        let strings = fields.iter().map(|field| match field {
            Field::String(bytes) => bytes.len() as isize,
            _ => 8,
        });
        let bytes: isize = strings.sum();
        let mut fields = fields.into_iter();
        let (topk, taken) = meter::measured(|| TopK::decode(&mut fields).unwrap());
        // 4 KiB: the powers of the decay, and rounding. Strings are freed as they are read.
        assert!(taken.peak <= 7 * bytes + 4096, "{k} {width} {depth} {len}: {taken:?} of {bytes}");
        drop(topk);
    }
    // No bytes, no memory, except for the powers.
    let numbers = [1 << 20, u32::MAX, 1 << 16].map(|number| Field::Unsigned(number.into()));
    let fields: Vec<Field> = numbers.into_iter().chain([Field::Double(0.9)]).collect();
    let mut fields = fields.into_iter();
    let (refused, taken) = meter::measured(|| TopK::decode(&mut fields).err());
    assert_eq!(refused, Some(DecodeError::Length));
    assert!(taken.peak <= 2048, "{taken:?}");
}
