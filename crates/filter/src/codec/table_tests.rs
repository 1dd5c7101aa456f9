//! Which chunks of tables a load takes.

use super::encode::Encoded;
use super::format::*;
use super::*;
use crate::error::DecodeError;
use crate::filter::{Filter, Growth, Parameters, SizeLimit};
use crate::hash::Seed;
use xxhash_rust::xxh3::xxh3_64;

fn filter(capacity: u64, items: u64) -> Filter {
    let parameters =
        Parameters { error_rate: 0.01, capacity, growth: Growth::Times(2), seed: Seed(5) };
    let mut filter = Filter::new(parameters, SizeLimit::Unlimited).unwrap();
    add(&mut filter, 0..items);
    filter
}

fn add(to: &mut Filter, items: std::ops::Range<u64>) {
    for i in items {
        to.add(&i.to_le_bytes()).unwrap();
    }
}

fn encode(filter: &Filter) -> Vec<Encoded> {
    chunks(filter).map(|chunk| chunk.encode().unwrap()).collect()
}

fn load(to: Option<&mut Filter>, bytes: &[u8]) -> Result<Option<Filter>, DecodeError> {
    load_chunk(to, &Chunk::parse(bytes).unwrap(), SizeLimit::Unlimited)
}

fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let body = bytes.len() - CHECKSUM_BYTES;
    let checksum = xxh3_64(&bytes[..body]);
    bytes[body..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// The only chunk of a filter, as if it were part loaded.
fn part_loaded(filter: &Filter, next: u64, sub_filters: u32) -> Vec<u8> {
    let mut bytes = encode(filter).remove(0).bytes;
    let end = bytes.len() - CHECKSUM_BYTES - 12;
    bytes[end..end + 8].copy_from_slice(&next.to_le_bytes());
    bytes[end + 8..end + 12].copy_from_slice(&sub_filters.to_le_bytes());
    sealed(bytes)
}

#[test]
fn items_added_to_pages_that_were_dumped_do_not_break_the_load() {
    let mut original = filter(100, 900_000);
    let mut loaded: Option<Filter> = None;
    let (mut iterator, mut items) = (0, 900_000);
    while let Some(chunk) = encode_chunk(&original, iterator).unwrap() {
        let begun = load(loaded.as_mut(), &chunk.bytes).unwrap();
        loaded = begun.or(loaded);
        iterator = chunk.next;
        add(&mut original, items..items + 50_000);
        items += 50_000;
    }
    let loaded = loaded.unwrap();
    assert!(items > 950_000 && loaded.loading().is_none());
    assert!((0..900_000u64).all(|i| loaded.contains(&i.to_le_bytes())));
    // Those that came to pages that were written already are not there.
    assert!(loaded.items() < original.items());
    let absent =
        50_000 - (900_000..950_000u64).filter(|i| loaded.contains(&i.to_le_bytes())).count();
    assert!((5_000..50_000).contains(&absent), "{absent}");
}

#[test]
fn where_a_load_goes_on_fits_what_has_come() {
    for (filter, sub_filters, at_table) in [(filter(100, 50), 0, true), (filter(10, 5), 1, false)] {
        let take = |next| load(None, &part_loaded(&filter, next, sub_filters)).map(|_| ());
        let (fits, does_not) = match at_table {
            true => (TABLE_START + 1, 1),
            false => (1, TABLE_START + 1),
        };
        assert_eq!(take(fits), Ok(()));
        assert_eq!(take(does_not), Err(DecodeError::Order));
    }
}

#[test]
fn a_limit_is_exact_for_what_is_complete_and_bounds_what_is_allocated() {
    for filter in [filter(3, 2), filter(100, 50), filter(10, 500)] {
        let bytes = &encode(&filter)[0].bytes;
        let with = |limit| {
            let chunk = Chunk::parse(bytes).unwrap();
            load_chunk(None, &chunk, SizeLimit::Bytes(limit))
        };
        let loaded = with(filter.reserved_bytes()).unwrap().unwrap();
        assert_eq!(with(loaded.reserved_bytes() - 1).err(), Some(DecodeError::OverLimit));
    }
    let half = encode(&filter(100, 900_000)).remove(0).bytes;
    let half = load(None, &half).unwrap().unwrap();
    let mut bytes = size_of::<Filter>() as u64;
    half.visit_allocations(|layout, times| bytes += layout.size() as u64 * times);
    assert!(bytes <= half.reserved_bytes());
}
