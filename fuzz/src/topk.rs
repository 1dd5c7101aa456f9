//! Arbitrary bytes as a saved top-k, and what comes then.
//!
//! The first byte says whether it is one with a window; then come its fields, and items.

use super::twins::{self, read_by_both};
use splitbloom_foundation::fields::{Field, Fields};
use splitbloom_oracles::heavy_keeper::{PlainTopK, PlainWindow};
use splitbloom_oracles::stream::Stream;
use splitbloom_sketch::topk::{Answers, TopK, MAX_UNITS};
use splitbloom_sketch::{Part, Sketch};
use splitbloom_test_allocator::meter::bytes_held;

/// Allocations of a top-k besides its bytes: the powers of its decay, and the slots of a window.
const MEMORY_BEFORE: isize = 16_384;
/// The most bytes that are held for a byte of input: an item of one byte has an entry, and its
/// bucket a cache line.
const MEMORY_FACTOR: isize = 16;
/// The second reader takes long for more places or rows than this.
const MOST_PLACES: u32 = 64;
const MOST_ROWS: u32 = 64;
/// The most items.
const MOST_ITEMS: usize = 16;

/// Any bytes are refused, or are a top-k that answers as the second reader's.
pub fn topk(bytes: &[u8]) {
    let Some((kind, rest)) = bytes.split_first() else {
        return;
    };
    let held = bytes_held();
    match kind % 2 {
        0 => plain(Stream(rest)),
        _ => windowed(Stream(rest)),
    }
    assert_eq!(bytes_held(), held);
}

/// The most bytes that may be held while these are read.
fn most_memory(given: Stream<'_>) -> isize {
    MEMORY_FACTOR * given.0.len() as isize + MEMORY_BEFORE
}

/// The next items, each with its units.
fn items<'a>(from: &mut Stream<'a>) -> Vec<(&'a [u8], u32)> {
    let units = |from: &mut Stream<'_>| Some(from.number(3)? as u32 % (MAX_UNITS + 1));
    twins::items(from, MOST_ITEMS, units)
}

/// Adds items. Returns the items that have left the list.
fn add(topk: &mut TopK, now: u64, items: &[(&[u8], u32)]) -> Vec<Option<Vec<u8>>> {
    let mut answers = Answers::default();
    let open = topk.open(now, drop).expect("memory");
    open.add_many(items.iter().copied(), &mut answers).expect("memory");
    answers.iter().map(|item| item.map(<[u8]>::to_vec)).collect()
}

fn list(topk: &TopK, now: u64) -> Vec<(Vec<u8>, u64)> {
    let list = topk.list(now).expect("memory").into_iter();
    list.map(|listed| (listed.item.to_vec(), listed.count)).collect()
}

fn is_small(topk: &TopK) -> bool {
    topk.shape().k() <= MOST_PLACES && topk.shape().depth() <= MOST_ROWS
}

/// The top-k survives saving, loading and copying; and many units of items, in a batch or one after
/// the other.
fn assert_survives(mut topk: TopK, now: u64, items: &[(&[u8], u32)]) {
    let mut copy = topk.try_clone().expect("memory");
    assert_eq!(copy.digest(), topk.digest());
    let left = add(&mut copy, now, items);
    let each = items.iter().flat_map(|item| add(&mut topk, now, &[*item]));
    assert_eq!(left, each.collect::<Vec<_>>());
    for topk in [&topk, &copy] {
        let mut saved: Vec<Field> = Vec::new();
        topk.save(&mut saved).expect("memory");
        let loaded = match topk.window() {
            None => TopK::decode(&mut saved.into_iter()),
            Some(_) => TopK::decode_windowed(&mut saved.into_iter()),
        };
        let loaded = loaded.expect("what was saved");
        assert_eq!(loaded.digest(), topk.digest());
        assert_eq!(list(&loaded, now), list(topk, now));
    }
    if !items.is_empty() {
        assert_eq!(topk.digest(), copy.digest());
    }
}

fn plain(mut fields: Stream<'_>) {
    let (most, twin) = (most_memory(fields), PlainTopK::of_fields(&mut fields.clone()));
    let read = read_by_both(most, || TopK::decode(&mut fields), twin);
    let Some((mut topk, mut twin)) = read.filter(|(topk, _)| is_small(topk)) else {
        return;
    };
    let shape = topk.shape();
    let twins = &twin.plain.shape;
    assert_eq!(
        [shape.k(), shape.width(), shape.depth()].map(u64::from),
        [twins.k, twins.width, twins.depth]
    );
    assert_eq!(shape.decay().to_bits(), twins.decay.to_bits());
    let items = items(&mut fields);
    for step in 0..=items.len() {
        assert_eq!(list(&topk, 0), twin.plain.list());
        for (item, _) in &items {
            assert_eq!(topk.lookup(0).expect("memory").contains(item), twin.plain.lists(item));
            assert_eq!(topk.counts(0).expect("memory").of(item), twin.plain.count(item));
        }
        if let Some((item, _)) = items.get(step) {
            let left = add(&mut topk, 0, &[(item, 1)]);
            assert_eq!(left, [twin.plain.add(item, &mut twin.generator)]);
        }
    }
    assert_survives(topk, 0, &items);
}

fn windowed(mut fields: Stream<'_>) {
    let (most, twin) = (most_memory(fields), PlainWindow::of_fields(&mut fields.clone()));
    let read = read_by_both(most, || TopK::decode_windowed(&mut fields), twin);
    let Some((mut topk, mut twin)) = read.filter(|(topk, _)| is_small(topk)) else {
        return;
    };
    let span = topk.window().expect("a window");
    assert_eq!(
        (span.seconds().into(), span.slices().into()),
        (twin.slices.seconds, twin.slices.slices)
    );
    let mut last = Vec::new();
    for _ in 0..4 {
        let Some(now) = fields.unsigned() else { break };
        let items = items(&mut fields);
        for (item, _) in &items {
            let left = add(&mut topk, now, &[(item, 1)]);
            assert_eq!(left, [twin.add(item, now)]);
        }
        for now in [now, now.saturating_add(span.slice())] {
            let listed = list(&topk, now);
            assert_eq!(listed, twin.list(now));
            for (item, _) in &items {
                assert_eq!(topk.counts(now).expect("memory").of(item), twin.count(item, now));
                let is_in = topk.lookup(now).expect("memory").contains(item);
                assert_eq!(is_in, listed.iter().any(|(other, _)| other == item));
            }
        }
        if !items.is_empty() {
            assert_eq!(topk.latest(), twin.slices.latest);
        }
        last = items;
    }
    let now = topk.latest();
    assert_survives(topk, now, &last);
}
