//! What a lookup and an insert cost in the growing table, next to a blocked Bloom filter of the
//! right size and the series of them that an unreserved filter was before.
//!
//! `cargo bench -p splitbloom-filter --bench table -- [items ...]`, by default 10 000, 1 000 000
//! and 10 000 000; 100 000 000 takes 1 GB. In every round each contender does the same operations,
//! one contender after the other; medians over the rounds.

use splitbloom_filter::hash::{ItemHash, Seed, GROUP};
use splitbloom_filter::table::Table;
use splitbloom_filter::{Filter, Growth, Parameters, SizeLimit};
use std::hint::black_box;
use std::time::Instant;

const ERROR_RATE: f64 = 0.01;
const SEED: Seed = Seed(1);
/// Operations of a round.
const LOOKUPS: u64 = 200_000;
const ROUNDS: usize = 9;
const BATCH: usize = 32;

/// Twelve bytes made of a number, all different.
fn item(n: u64) -> [u8; 12] {
    let mut x = n.wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^= x >> 31;
    let mut item = [0; 12];
    item[..8].copy_from_slice(&x.to_le_bytes());
    item[8..].copy_from_slice(&(n as u32).to_le_bytes());
    item
}

enum Contender {
    Table(Table),
    Filter(Filter),
}

impl Contender {
    fn filter(capacity: u64, growth: Growth) -> Self {
        let parameters = Parameters { error_rate: ERROR_RATE, capacity, growth, seed: SEED };
        Self::Filter(Filter::new(parameters, SizeLimit::Unlimited).expect("memory"))
    }

    fn insert(&mut self, items: &[[u8; 12]]) {
        match self {
            Self::Table(table) => {
                for group in items.chunks(GROUP) {
                    let mut hashes = [ItemHash::default(); GROUP];
                    for (hash, item) in hashes.iter_mut().zip(group) {
                        *hash = ItemHash::of(item, SEED);
                    }
                    let hashes = &hashes[..group.len()];
                    table.prefetch(hashes);
                    for hash in hashes {
                        table.insert_if_absent(*hash, 0, u64::MAX).expect("memory");
                    }
                }
            }
            Self::Filter(filter) => {
                let items = items.iter().map(|item| &item[..]);
                filter.add_many(items, |_| ()).expect("memory");
            }
        }
    }

    fn batch(&self, items: &[[u8; 12]]) -> u64 {
        let mut found = 0;
        for batch in items.chunks(BATCH) {
            match self {
                Self::Table(table) => {
                    let hashes = batch.iter().map(|item| ItemHash::of(item, SEED));
                    table.contains_many(hashes, |is_there| found += u64::from(is_there));
                }
                Self::Filter(filter) => {
                    let items = batch.iter().map(|item| &item[..]);
                    filter.contains_many(items, |is_there| found += u64::from(is_there));
                }
            }
        }
        found
    }

    fn single(&self, items: &[[u8; 12]]) -> u64 {
        let mut found = 0;
        for item in items {
            found += u64::from(match self {
                Self::Table(table) => table.contains(ItemHash::of(item, SEED)),
                Self::Filter(filter) => filter.contains(item),
            });
        }
        found
    }

    fn bytes(&self) -> u64 {
        let mut bytes = 0;
        let mut add = |layout: std::alloc::Layout, times| bytes += layout.size() as u64 * times;
        match self {
            Self::Table(table) => table.visit_allocations(&mut add),
            Self::Filter(filter) => filter.visit_allocations(&mut add),
        }
        bytes
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn nanoseconds(items: &[[u8; 12]], work: impl FnOnce(&[[u8; 12]]) -> u64) -> (f64, u64) {
    let start = Instant::now();
    let found = black_box(work(items));
    (start.elapsed().as_nanos() as f64 / items.len() as f64, found)
}

/// What inserts take that write a page anew or split it: the median, and what one of a hundred
/// takes longer than. (The longest of all says how long the machine did something else.)
fn print_growth_steps(size: u64) {
    let mut table = Table::new(ERROR_RATE, 0);
    let mut steps = Vec::new();
    for n in 0..size {
        let hash = ItemHash::of(&item(n), SEED);
        let bytes = table.bytes();
        let start = Instant::now();
        table.insert(hash, 0, u64::MAX).expect("memory");
        if table.bytes() != bytes {
            steps.push(start.elapsed().as_nanos() as f64 / 1e3);
        }
    }
    steps.sort_by(f64::total_cmp);
    let (half, last) = (steps[steps.len() / 2], steps[steps.len() - 1 - steps.len() / 100]);
    println!("{size:<10} {} growth steps: median {half:.1} us, 99 % {last:.1} us", steps.len());
}

/// What a copy takes, and the first writes to places all over it, each of which has to copy a page
/// or a node.
fn print_copies(size: u64, table: &mut Table) {
    let start = Instant::now();
    let mut copy = table.try_clone().expect("memory");
    let took = start.elapsed().as_nanos() as f64 / 1e3;
    let mut writes: Vec<_> = (0..1_000)
        .map(|n| {
            let hash = ItemHash::of(&item(1 << 50 | n), SEED);
            let start = Instant::now();
            copy.insert(hash, 0, u64::MAX).expect("memory");
            start.elapsed().as_nanos() as f64 / 1e3
        })
        .collect();
    writes.sort_by(f64::total_cmp);
    println!(
        "{size:<10} copy {took:.0} us; writes to it: median {:.1} us, 99 % {:.1} us",
        writes[500], writes[990]
    );
}

fn main() {
    let sizes: Vec<u64> = std::env::args().filter_map(|size| size.parse().ok()).collect();
    let sizes = if sizes.is_empty() { vec![10_000, 1_000_000, 10_000_000] } else { sizes };
    println!("ns an operation; bits and false positives");
    println!("items      contender       insert  absent  present  single  bits/item  found absent");
    for size in sizes {
        let contenders = [
            ("growing table", Contender::Table(Table::new(ERROR_RATE, 0))),
            ("right-sized", Contender::filter(size, Growth::Fixed)),
            ("series", Contender::filter(100, Growth::Times(2))),
        ];
        let mut results = contenders
            .map(|(name, contender)| (name, contender, 0.0, [(); 4].map(|()| Vec::new())));
        for (_, contender, insert, _) in &mut results {
            let start = Instant::now();
            for first in (0..size).step_by(1024) {
                let items: Vec<_> = (first..size.min(first + 1024)).map(item).collect();
                contender.insert(&items);
            }
            *insert = start.elapsed().as_nanos() as f64 / size as f64;
        }
        for round in 0..ROUNDS as u64 {
            let absent: Vec<_> = (0..LOOKUPS).map(|n| item(1 << 40 | round << 32 | n)).collect();
            let present: Vec<_> =
                (0..LOOKUPS).map(|n| item((n * 0x9E37_79B9 + round * 77_777_777) % size)).collect();
            for (_, contender, _, times) in &mut results {
                let (time, found) = nanoseconds(&absent, |items| contender.batch(items));
                times[0].push(time);
                times[3].push(found as f64 / LOOKUPS as f64);
                let (time, found) = nanoseconds(&present, |items| contender.batch(items));
                assert_eq!(found, LOOKUPS, "all are present");
                times[1].push(time);
                times[2].push(nanoseconds(&absent, |items| contender.single(items)).0);
            }
        }
        for (name, mut contender, insert, times) in results {
            if let Contender::Table(table) = &mut contender {
                print_copies(size, table);
            }
            let bits = contender.bytes() as f64 * 8.0 / size as f64;
            let [absent, present, single, found] = times.map(median);
            println!(
                "{size:<10} {name:<14} {insert:>7.0} {absent:>7.1} {present:>8.1} {single:>7.1} \
                 {bits:>10.1} {:>11.2} %",
                found * 100.0
            );
        }
        print_growth_steps(size);
    }
}
