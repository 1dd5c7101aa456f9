//! States that no filter of ours writes, in chunks whose checksums are right.

use super::loading::{sealed, STATE};
use super::*;
use crate::error::AddError;

/// A slice without items.
const NONE: (u8, u64) = (0xFF, 0);

/// The chunk of a filter of two slices with these pages, and these payloads and items of slices.
/// The dead payloads are being swept.
fn forged(pages: &[Vec<u8>], dead: u16, swept: u64, slices: [(u8, u64); 3]) -> Vec<u8> {
    const FIRST_PAGE: usize = STATE + 30 + 9 * 2;
    const END_OF_FILTER: usize = 13 + 8;
    let mut original = filter(0.01, 10, 2, true);
    original.advance_to(START);
    let bytes = bytes_of(&original).remove(0);
    let mut forged = bytes[..FIRST_PAGE].to_vec();
    forged[STATE + 9..STATE + 11].copy_from_slice(&dead.to_le_bytes());
    forged[STATE + 11..STATE + 13].copy_from_slice(&dead.to_le_bytes());
    forged[STATE + 13..STATE + 21].copy_from_slice(&swept.to_le_bytes());
    for (place, (payload, items)) in slices.iter().enumerate() {
        let at = STATE + 21 + 9 * place;
        forged[at] = *payload;
        forged[at + 1..at + 9].copy_from_slice(&items.to_le_bytes());
    }
    for page in pages {
        forged.push(6);
        forged.extend((page.len() as u16).to_le_bytes());
        forged.extend(page);
    }
    forged.push(7);
    forged.extend(slices.iter().map(|(_, items)| items).sum::<u64>().to_le_bytes());
    forged.extend(0u64.to_le_bytes());
    forged.extend(&bytes[bytes.len() - END_OF_FILTER..]);
    sealed(forged)
}

/// A page without entries, which is saturated if its kind is 2.
fn short(depth: u8, kind: u8, payload: u8) -> Vec<u8> {
    let mut page = vec![0; 15];
    page[..3].copy_from_slice(&[depth, kind, payload]);
    page
}

#[test]
fn pages_that_the_sweep_has_passed_have_none_of_its_payloads() {
    let pages = [short(1, 2, 0), short(1, 0, 0)];
    let load = |swept| try_load(&[forged(&pages, 1, swept, [NONE, NONE, (1, 0)])]).map(|_| ());
    assert_eq!(load(0), Ok(()));
    assert_eq!(load(1 << 63), Err(DecodeError::Field("sweep")));
}

#[test]
fn the_items_of_a_state_can_be_counted_on_from() {
    let pages = [short(1, 2, 1), short(1, 0, 0)];
    let load = |items| try_load(&[forged(&pages, 0, 0, [NONE, (1, items), NONE])]);
    for items in [(1 << 59) + 1, u64::MAX] {
        let refused = load(items).map(|_| ());
        assert_eq!(refused, Err(DecodeError::Field("items of a slice")));
    }
    let mut filter = load(1 << 59).unwrap();
    // Renewed into a slice that has counted some already.
    add(&mut filter, 0..20, START);
    assert_eq!(loaded(&bytes_of(&filter)).digest(), filter.digest());
    assert!(filter.items_at(START) <= (1 << 59) + 20);

    let mut full = try_load(&[forged(&pages, 0, 0, [NONE, NONE, (1, 1 << 59)])]).unwrap();
    let absent = (0..).find(|n| !full.contains_at(&item(*n), START)).unwrap();
    let refused = full.add_at(&item(absent), START, UNLIMITED);
    assert_eq!(refused, Err(AddError::Uncountable));
    assert_eq!(loaded(&bytes_of(&full)).digest(), full.digest());
}

/// Strings of bits, least first.
#[derive(Default)]
struct Bits(Vec<bool>);

impl Bits {
    fn put(&mut self, value: u64, bits: u32) {
        self.0.extend((0..bits).map(|n| value >> n & 1 == 1));
    }

    fn bytes(&self) -> Vec<u8> {
        let byte =
            |bits: &[bool]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit));
        self.0.chunks(8).map(byte).collect()
    }
}

/// A page of 64 lines with 1 290 entries of eleven bits and payload 1, more than a page that is
/// rewritten may have, and one with payload 0.
fn page_of_short_entries() -> Vec<u8> {
    const BUCKET_BITS: u8 = 11;
    const VOID: u64 = 1 << 11;
    let (mut bits, mut slots) = (Bits::default(), Vec::new());
    for bucket in 0..2_048 {
        if bucket == 0 {
            slots.push(VOID << 2);
            bits.put(0, 1);
        }
        if bucket < 1_290 {
            slots.push(VOID << 2 | 1);
            bits.put(0, 1);
        }
        bits.put(1, 1);
    }
    slots.iter().for_each(|slot| bits.put(*slot, 14));
    let mut page = vec![0, 1, BUCKET_BITS, 12, 64];
    page.extend((slots.len() as u16).to_le_bytes());
    page.extend([0, 0]);
    page.extend(bits.bytes());
    page
}

#[test]
fn a_page_that_a_sweep_gives_up_remembers_as_long_as_its_newest_entries() {
    let page = page_of_short_entries();
    // A record has as many bytes as the page takes in memory, whatever those are.
    let padded = (page.len()..1 << 16).map(|length| {
        let mut page = page.clone();
        page.resize(length, 0);
        forged(&[page], 1, 0, [NONE, NONE, (1, 1_290)])
    });
    let mut loads = padded.map(|chunk| try_load(&[chunk]));
    let mut filter = loads.find_map(Result::ok).expect("a page that is sound");
    let new = (0..).find(|n| !filter.contains_at(&item(*n), START)).unwrap();
    add(&mut filter, new..new + 1, START);
    assert!(filter.sweep_step(START).unwrap().has_changed);
    assert!(filter.table().is_some_and(|table| !table.is_counted()));
    assert!(filter.contains_at(&item(new), START));
    assert_eq!(loaded(&bytes_of(&filter)).digest(), filter.digest());
}
