//! Behaviour of a top-k, with a window and without.

mod golden;
mod hostile;
mod model;
mod windows;

use super::*;
use splitbloom_foundation::fields::Field;

pub fn shape(k: u32, width: u32, depth: u32) -> Shape {
    Shape::new(k, width, depth, DEFAULT_DECAY).unwrap()
}

/// One without a window.
pub fn whole(k: u32, width: u32, depth: u32) -> TopK {
    TopK::new(shape(k, width, depth), None).unwrap()
}

/// Adds `units` of `item` at `now`. Returns the item that has left the list.
pub fn add(topk: &mut TopK, item: &[u8], units: u32, now: u64) -> Option<Vec<u8>> {
    let mut answers = Answers::default();
    topk.open(now, drop).unwrap().add_many([(item, units)].into_iter(), &mut answers).unwrap();
    let left = answers.iter().next().unwrap().map(<[u8]>::to_vec);
    left
}

fn add_all(topk: &mut TopK, items: &[Vec<u8>], units: u32) {
    let items = items.iter().map(|item| (&**item, units));
    topk.open(0, drop).unwrap().add_many(items, &mut Answers::default()).unwrap();
}

pub fn list(topk: &TopK, now: u64) -> Vec<(Vec<u8>, u64)> {
    let list = topk.list(now).unwrap().into_iter();
    list.map(|listed| (listed.item.to_vec(), listed.count)).collect()
}

pub fn query(topk: &TopK, item: &[u8], now: u64) -> bool {
    topk.lookup(now).unwrap().contains(item)
}

pub fn count(topk: &TopK, item: &[u8], now: u64) -> u64 {
    topk.counts(now).unwrap().of(item)
}

pub fn fields(topk: &TopK) -> Vec<Field> {
    let mut fields = Vec::new();
    topk.save(&mut fields).unwrap();
    fields
}

/// Reads what was encoded, with a window or without.
pub fn decode(topk: &TopK) -> TopK {
    let mut fields = fields(topk).into_iter();
    let decoded = match topk.window() {
        None => TopK::decode(&mut fields),
        Some(_) => TopK::decode_windowed(&mut fields),
    };
    assert_eq!(fields.next(), None);
    decoded.unwrap()
}

#[test]
fn the_list_has_the_highest_counts_and_tells_who_leaves_it() {
    let mut topk = whole(2, 100, 3);
    assert_eq!(add(&mut topk, b"a", 1, 0), None);
    assert_eq!(add(&mut topk, b"b", 5, 0), None);
    assert_eq!(add(&mut topk, b"c", 3, 0), Some(b"a".to_vec()));
    assert_eq!(add(&mut topk, b"a", 1, 0), None, "2 is below 3");
    assert_eq!(list(&topk, 0), [(b"b".to_vec(), 5), (b"c".to_vec(), 3)]);
    assert_eq!([&b"a"[..], b"b", b"c"].map(|item| count(&topk, item, 0)), [2, 5, 3]);
    assert_eq!([&b"a"[..], b"b", b"c"].map(|item| query(&topk, item, 0)), [false, true, true]);
    // The newer of two equal counts enters.
    assert_eq!(add(&mut topk, b"a", 1, 0), Some(b"c".to_vec()));
}

#[test]
fn items_are_any_bytes() {
    let mut topk = whole(5, 100, 3);
    let items: [&[u8]; 5] = [b"", b"\0", b"a\0b", b"a\0c", &[0xff; 300]];
    for item in items {
        add(&mut topk, item, 2, 0);
    }
    let decoded = decode(&topk);
    for item in items {
        assert!(query(&decoded, item, 0));
        assert_eq!(count(&decoded, item, 0), 2);
    }
    assert!(!query(&decoded, b"a", 0));
    assert_eq!(decoded.digest(), topk.digest());
}

#[test]
fn an_item_that_takes_the_place_of_one_that_no_query_finds_is_found() {
    let mut saved = fields(&whole(1, 10, 1));
    // As RedisBloom has cut it: the fingerprint is that of the whole.
    saved[5] = Field::String([7, 4, 0, 0, 1, 0].map(u32::to_le_bytes).concat());
    saved[6] = Field::String(b"cut\0".to_vec());
    let mut topk = TopK::decode(&mut saved.into_iter()).unwrap();
    assert_eq!(list(&topk, 0), [(b"cut".to_vec(), 1)]);
    assert!(!query(&topk, b"cut", 0));
    assert_eq!(add(&mut topk, b"new", 2, 0), Some(b"cut".to_vec()));
    assert!(query(&topk, b"new", 0));
}

#[test]
fn an_item_without_units_is_in_the_list_but_not_listed() {
    let mut topk = whole(2, 10, 1);
    add(&mut topk, b"a", 0, 0);
    assert!(query(&topk, b"a", 0) && count(&topk, b"a", 0) == 0);
    assert_eq!(list(&topk, 0), []);
    assert_eq!(decode(&topk).digest(), topk.digest());
}

#[test]
fn counts_end_where_a_bucket_ends() {
    let mut topk = whole(1, 1, 1);
    let mut saved = fields(&topk);
    let mut bucket = rules::fingerprint(b"a").to_le_bytes().to_vec();
    bucket.extend((u32::MAX - 5).to_le_bytes());
    saved[4] = Field::String(bucket);
    topk = TopK::decode(&mut saved.into_iter()).unwrap();
    add(&mut topk, b"a", 3, 0);
    assert_eq!(count(&topk, b"a", 0), u64::from(u32::MAX) - 2);
    add(&mut topk, b"a", 3, 0);
    assert_eq!(list(&topk, 0), [(b"a".to_vec(), u64::from(u32::MAX))]);
}

#[test]
fn equal_commands_leave_equal_values_however_they_are_batched() {
    // Few buckets, so that most items decay others; and many, which are prefetched.
    for (width, depth) in [(8, 3), (50_000, 3)] {
        let items: Vec<Vec<u8>> =
            skewed(3, 5_000).map(|item| item.to_le_bytes().to_vec()).collect();
        let mut one = whole(10, width, depth);
        let mut other = whole(10, width, depth);
        for item in &items {
            add(&mut one, item, 1, 0);
        }
        add_all(&mut other, &items, 1);
        assert_eq!(one.digest(), other.digest());
        let mut loaded = decode(&one);
        for topk in [&mut loaded, &mut other] {
            add(topk, b"one more", 9, 0);
            add_all(topk, &items, 2);
        }
        assert_eq!(loaded.digest(), other.digest());
        assert_ne!(loaded.digest(), one.digest());
    }
}

#[test]
fn a_copy_lives_its_own_life() {
    let mut topk = whole(3, 20_000, 2);
    (0..50_u32).for_each(|item| drop(add(&mut topk, &item.to_le_bytes(), item, 0)));
    let digest = topk.digest();
    let mut copy = topk.try_clone().unwrap();
    assert_eq!(copy.digest(), digest);
    add(&mut copy, b"more", 7, 0);
    assert_eq!(topk.digest(), digest);
    add(&mut topk, b"more", 7, 0);
    assert_eq!(topk.digest(), copy.digest());
}

/// Numbers of a Zipf-like distribution with exponent 1.2, by its inverse: fixed for a `seed`.
pub fn skewed(seed: u64, len: usize) -> impl Iterator<Item = u64> {
    let mut random = Random(seed);
    (0..len).map(move |_| random.unit().max(1e-12).powf(-1.0 / 0.2).min(1e9) as u64)
}

#[test]
fn the_heavy_items_are_found() {
    const ITEMS: usize = 200_000;
    let mut topk = whole(50, 500, 4);
    let mut counts = std::collections::HashMap::new();
    for item in skewed(7, ITEMS) {
        *counts.entry(item).or_insert(0_u64) += 1;
        add(&mut topk, &item.to_le_bytes(), 1, 0);
    }
    let mut exact: Vec<(u64, u64)> = counts.iter().map(|(item, count)| (*count, *item)).collect();
    exact.sort_unstable();
    let heavy: Vec<u64> = exact.iter().rev().take(50).map(|(_, item)| *item).collect();
    let found = heavy.iter().filter(|item| query(&topk, &item.to_le_bytes(), 0)).count();
    assert!(found >= 49, "{found} of 50");
    for (item, count) in list(&topk, 0) {
        let exact = counts[&u64::from_le_bytes(item.try_into().unwrap())];
        assert!(count <= exact, "never above the true count");
        assert!(count as f64 >= 0.9 * exact as f64, "{count} of {exact}");
    }
}

#[test]
fn shapes_out_of_range_are_refused() {
    let new = |k, width, depth, decay| Shape::new(k, width, depth, decay).err();
    assert_eq!(new(0, 8, 7, 0.9), Some(ShapeError::K));
    assert_eq!(new(1 << 20, 8, 7, 1.0), None);
    assert_eq!(new((1 << 20) + 1, 8, 7, 0.9), Some(ShapeError::K));
    assert_eq!(new(1, 0, 7, 0.9), Some(ShapeError::Width));
    assert_eq!(new(1, 8, 0, 0.9), Some(ShapeError::Depth));
    assert_eq!(new(1, 8, 257, 0.9), Some(ShapeError::Depth));
    assert_eq!(new(1, 1 << 25, 1, 0.9), None);
    assert_eq!(new(1, (1 << 25) + 1, 1, 0.9), Some(ShapeError::Buckets));
    assert_eq!(new(1, u32::MAX, 256, 0.9), Some(ShapeError::Buckets));
    for decay in [0.0, -0.1, 1.1, f64::NAN, f64::INFINITY] {
        assert_eq!(new(1, 8, 7, decay), Some(ShapeError::Decay));
    }
}

#[test]
fn buckets_are_allocated_as_they_are_touched() {
    let bytes = |topk: &TopK| {
        let mut bytes = 0;
        topk.visit_allocations(&mut |layout, times| bytes += layout.size() as u64 * times);
        bytes
    };
    let mut topk = whole(10, 1 << 20, 7);
    assert!(bytes(&topk) < 32 << 10, "{}", bytes(&topk));
    add(&mut topk, b"a", 1, 0);
    assert!(bytes(&topk) < (32 << 10) + (7 << 16), "{}", bytes(&topk));
}

#[test]
fn a_long_list_is_moved_in_steps() {
    let mut topk = whole(2_000, 200_000, 1);
    for item in 0..2_000_u32 {
        add(&mut topk, &item.to_le_bytes(), item, 0);
    }
    let (digest, mut from, mut moved) = (topk.digest(), 0, Vec::new());
    loop {
        let mut mover = Restless(0);
        let next = topk.relocate(from, &mut mover);
        moved.push(mover.0);
        let Some(next) = next else { break };
        from = next.get();
    }
    assert!(moved.len() > 7 && moved.iter().all(|blocks| *blocks < 300), "{moved:?}");
    assert!(moved.iter().sum::<u64>() > 2_000);
    assert_eq!(topk.digest(), digest);
}

/// Moves blocks, and stops after each.
struct Restless(u64);

impl Mover for Restless {
    fn relocate<T>(&mut self, elements: Vec<T>) -> Vec<T> {
        self.0 += 1;
        let mut moved = Vec::with_capacity(elements.len());
        moved.extend(elements);
        moved
    }

    fn should_stop(&mut self) -> bool {
        true
    }
}

#[test]
fn what_is_moved_stays_what_it_is() {
    let span = Span::new(60, 4).unwrap();
    for mut topk in [whole(20, 30_000, 2), TopK::new(shape(20, 30_000, 2), Some(span)).unwrap()] {
        for item in 0..1_000_u32 {
            add(&mut topk, &item.to_le_bytes(), 1, u64::from(item) * 50);
        }
        let (digest, answers) = (topk.digest(), list(&topk, 0));
        let (mut from, mut mover) = (0, Restless(0));
        while let Some(next) = topk.relocate(from, &mut mover) {
            from = next.get();
        }
        assert!(mover.0 > 20);
        assert_eq!((topk.digest(), list(&topk, 0)), (digest, answers));
        assert!(add(&mut topk, b"x", 1_000, 50_000).is_some());
    }
}
