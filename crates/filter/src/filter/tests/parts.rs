use crate::filter::{Filter, Growth, Parameters, SizeLimit};
use crate::hash::Seed;
use crate::storage::Mover;
use std::num::NonZeroU64;

fn filter(capacity: u64, items: u64) -> Filter {
    let parameters =
        Parameters { error_rate: 0.01, capacity, growth: Growth::Times(2), seed: Seed(5) };
    let mut filter = Filter::new(parameters, SizeLimit::Unlimited).unwrap();
    for i in 0..items {
        filter.add(&i.to_le_bytes()).unwrap();
    }
    filter
}

/// A Bloom filter and a table, and a table alone.
fn filters() -> [Filter; 2] {
    [filter(100_000, 200_000), filter(100, 300_000)]
}

/// Bytes and blocks.
fn visited(filter: &Filter) -> (u64, u64) {
    let (mut bytes, mut blocks) = (0, 0);
    filter.visit_allocations(|layout, times| {
        bytes += layout.size() as u64 * times;
        blocks += times;
    });
    (bytes, blocks)
}

#[test]
fn the_allocations_visited_are_the_bits_and_little_more() {
    for filter in filters() {
        let (bytes, _) = visited(&filter);
        let bits = filter.num_bits() / 8;
        assert!(bytes >= bits && bytes < bits + bits / 100 + 2_000, "{bytes} for {bits}");
        assert_eq!(filter.allocated_segments(), filter.reserved_segments());
        assert!(bytes <= filter.reserved_bytes());
    }
}

/// Copies everything, and says stop after it was called `allowed` times.
#[derive(Default)]
struct Copier {
    moved: u64,
    allowed: u64,
}

impl Mover for Copier {
    fn relocate<T>(&mut self, elements: Vec<T>) -> Vec<T> {
        self.moved += 1;
        let mut copy = Vec::with_capacity(elements.capacity());
        copy.extend(elements);
        copy
    }

    fn should_stop(&mut self) -> bool {
        self.allowed = self.allowed.wrapping_sub(1);
        self.allowed == u64::MAX
    }
}

#[test]
fn what_a_copy_has_too_stays_where_it_is_until_the_copy_is_gone() {
    for mut filter in filters() {
        let copy = filter.try_clone().unwrap();
        let mut mover = Copier { allowed: u64::MAX / 2, ..Copier::default() };
        assert_eq!(filter.relocate(0, &mut mover), None);
        assert!(mover.moved < 20, "lists alone: {}", mover.moved);
        assert_eq!(filter.digest(), copy.digest());
        drop(copy);
        assert_eq!(filter.relocate(0, &mut mover), None);
        assert!(mover.moved > visited(&filter).1);
    }
}

#[test]
fn everything_is_offered_once_however_little_time_a_step_has() {
    for allowed in [0, 1, 2] {
        for mut filter in filters() {
            let before = filter.digest();
            let (_, blocks) = visited(&filter);
            let (mut mover, mut cursor, mut steps) = (Copier::default(), 0, 0);
            loop {
                mover.allowed = allowed;
                let next = filter.relocate(cursor, &mut mover);
                steps += 1;
                // As a server does: it keeps a number, and 0 means the end.
                let next = next.map_or(0, NonZeroU64::get);
                if next == 0 {
                    break;
                }
                assert!(next > cursor, "it gets on");
                cursor = next;
            }
            assert_eq!(mover.moved, blocks);
            assert!(3 * steps * (allowed + 1) > blocks, "{steps} for {blocks}");
            assert_eq!(filter.digest(), before);
        }
    }
}
