//! Copies that follow a filter: each finds all that the filter has acknowledged.

use super::*;
use crate::codec::encode_chunk;
use crate::filter::Part;
use crate::table::Table;

/// A filter, what was new in it since its copy began, and all items that it has acknowledged.
struct Original {
    filter: Filter,
    new: Vec<(Part, ItemHash)>,
    acknowledged: u64,
    by_chance: u64,
}

impl Original {
    fn of(filter: Filter) -> Self {
        Self { filter, new: Vec::new(), acknowledged: 0, by_chance: 0 }
    }

    fn add(&mut self, items: u64) {
        for item in self.acknowledged..self.acknowledged + items {
            let in_sub_filter = |filter: &Filter| filter.bloom().map(|bloom| bloom.fill().items());
            let before = in_sub_filter(&self.filter);
            match add(&mut self.filter, item).unwrap() {
                false => self.by_chance += 1,
                true => {
                    let is_in_table = before == in_sub_filter(&self.filter);
                    let part = if is_in_table { Part::Table } else { Part::SubFilter };
                    self.new.push((part, self.filter.hash(&item.to_le_bytes())));
                }
            }
        }
        self.acknowledged += items;
    }

    /// Fetches a copy, while `between` two chunks items are added; or takes what is new only at the
    /// end.
    fn copied(&mut self, between: u64, at_the_end: bool) -> Filter {
        let (mut copy, mut iterator, mut position): (Option<Filter>, _, _) = (None, 0, 0);
        self.new.clear();
        while let Some(chunk) = encode_chunk(&self.filter, iterator).unwrap() {
            let read = Chunk::parse(&chunk.bytes).unwrap();
            copy = load_chunk(copy.as_mut(), &read, SizeLimit::Unlimited).unwrap().or(copy);
            iterator = chunk.next;
            self.add(between);
            if !at_the_end {
                self.bring(copy.as_mut().unwrap(), &mut position);
            }
        }
        let mut copy = copy.unwrap();
        self.bring(&mut copy, &mut position);
        copy
    }

    /// Brings what is new since `position` to a copy, in several calls.
    fn bring(&self, copy: &mut Filter, position: &mut usize) {
        for new in self.new[*position..].chunk_by(|one, next| one.0 == next.0) {
            let hashes: Vec<ItemHash> = new.iter().map(|(_, hash)| *hash).collect();
            for hashes in hashes.chunks(1000) {
                copy.follow(new[0].0, hashes).unwrap();
            }
        }
        *position = self.new.len();
    }

    /// A copy is the original but for its counts.
    fn check(&mut self, copy: &mut Filter) {
        let mut position = self.new.len();
        for _ in 0..2 {
            let denied = (0..self.acknowledged).filter(|item| !copy.contains(&item.to_le_bytes()));
            assert_eq!(denied.count(), 0);
            assert_eq!(copy.table().map(Table::digest), self.filter.table().map(Table::digest));
            let set_bits = |filter: &Filter| filter.bloom().map(|bloom| bloom.set_bits());
            assert_eq!(set_bits(copy), set_bits(&self.filter));
            self.add(20_000);
            self.bring(copy, &mut position);
        }
    }
}

#[test]
fn a_copy_has_all_that_was_acknowledged_while_its_sub_filter_fills() {
    // Two chunks of sub-filter, which is full before, between, or after them.
    for (first, at_the_end) in
        [(860_000, true), (880_000, false), (880_000, true), (920_000, true), (960_000, false)]
    {
        let mut original = Original::of(filter(0.01, 950_000, Growth::Times(2)));
        original.add(first);
        let mut copy = original.copied(40_000, at_the_end);
        original.check(&mut copy);
        assert!(original.by_chance > 100 && original.filter.table().is_some());
    }
}

#[test]
fn a_copy_has_all_that_was_acknowledged_while_its_table_grows() {
    let mut original = Original::of(filter(0.1, 100, Growth::Times(2)));
    original.add(600_000);
    for at_the_end in [false, true] {
        let mut copy = original.copied(60_000, at_the_end);
        original.check(&mut copy);
    }
    assert!(original.by_chance > 5_000);
}

#[test]
fn a_copy_of_a_filter_that_does_not_grow_has_what_other_servers_acknowledged_beyond_its_capacity() {
    let mut original = Original::of(filter(0.01, 1_000, Growth::Fixed));
    original.add(900);
    let mut copy = original.copied(10, false);
    let mut position = original.new.len();
    for item in 1_000_000..1_000_500u64 {
        let item = item.to_le_bytes();
        let is_full = original.filter.bloom().unwrap().fill().is_full();
        if original.filter.add_limited(&item, SizeLimit::Replay).unwrap() {
            let part = if is_full { Part::Table } else { Part::SubFilter };
            original.new.push((part, original.filter.hash(&item)));
        }
    }
    original.bring(&mut copy, &mut position);
    assert!((1_000_000..1_000_500u64).all(|item| copy.contains(&item.to_le_bytes())));
    assert_eq!(copy.table().unwrap().digest(), original.filter.table().unwrap().digest());
}

#[test]
fn hashes_for_a_part_that_a_copy_has_not_are_refused() {
    let hash = [ItemHash { place: 1, probes: 2 }];
    let mut copy = filter(0.01, 100, Growth::Times(2));
    assert_eq!(copy.follow(Part::SubFilter, &hash), Err(AddError::Full));
    assert_eq!(copy.follow(Part::Table, &hash), Ok(()));
}
