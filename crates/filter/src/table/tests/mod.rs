//! The table against its oracle, against itself rewritten, and against attackers.
//!
//! These helpers are shared by all tests.

mod adversaries;
mod behaviour;
mod copies;
mod loading;
mod oracle;
mod steps;
mod union;

use self::oracle::Oracle;
use crate::error::{AddError, DecodeError};
use crate::hash::{ItemHash, Seed};
use crate::storage::Mover;
use crate::table::directory::{Child, Subtree};
use crate::table::fingerprint::ALL_PAYLOADS;
use crate::table::grow::Budget;
use crate::table::instructions::Portable;
use crate::table::page::Page;
use crate::table::parse::Pages;
use crate::table::path::{Path, MAX_DEPTH};
use crate::table::table::Table;
use crate::table::totals::Totals;
use proptest::prelude::*;
use splitbloom_foundation::shared::Shared;

fn hash(n: u64) -> ItemHash {
    ItemHash::of(&n.to_le_bytes(), Seed(7))
}

/// A hash with this path.
fn hash_of(path: Path) -> ItemHash {
    let place = (0..256u64).map(|part| part << 56);
    let hashes = place.map(|place| ItemHash { place, probes: path.0 << 3 });
    let mut hashes = hashes.filter(|hash| Path::of(*hash) == Path(path.0));
    hashes.next().expect("every cell has its part")
}

impl Table {
    /// All pages, with their first paths.
    fn all_pages(&self) -> Vec<(Path, &Page)> {
        let (mut pages, mut from) = (Vec::new(), Some(0));
        while let Some(start) = from {
            let page = self.root.page(Path(start));
            pages.push((Path(start), page));
            from = Path(start).after(page.depth());
        }
        pages
    }

    /// The depth of the path's page, its bucket bits, and whether it is saturated: they decide how
    /// short a fingerprint may be.
    fn form_at(&self, path: Path) -> (u8, u8, bool) {
        let page = self.root.page(path);
        (page.depth(), page.shape().bucket_bits, page.is_saturated())
    }

    /// The largest payload among the entries that match the item.
    fn payload(&self, hash: ItemHash) -> Option<u8> {
        let path = Path::of(hash);
        let page = self.root.page(path);
        let fingerprints = page.matching(path.below(page.depth()));
        let alive = fingerprints.filter(|fingerprint| self.is_alive(*fingerprint));
        alive.map(|fingerprint| fingerprint.payload()).max()
    }

    /// Tells the oracle how short prefixes may be, and which ones saturate.
    fn teach(&self, oracle: &mut Oracle) {
        for (start, page) in self.all_pages() {
            let (depth, bucket_bits, is_saturated) = self.form_at(start);
            if is_saturated {
                oracle.saturate(start, depth);
            } else if page.len() > 0 {
                oracle.lengthen(start, depth, depth + bucket_bits);
            }
        }
    }

    /// The invariants.
    fn check(&self) {
        let (mut totals, mut items) = (Totals::default(), 0);
        for (start, page) in self.all_pages() {
            assert_eq!(start, start.start(page.depth()));
            let entries = page.entries().unwrap();
            totals = totals.plus(Totals::of(page, &entries, start));
            items += entries.items();
            // Entries that were lengthened count several times.
            assert!(page.len() <= self.plan.max_entries() * 3 / 2);
            if page.len() > 0 {
                let again =
                    Page::with_lines(page.depth(), page.shape(), &entries, page.lines().len());
                assert!(again.unwrap().unwrap() == *page, "not as if written anew");
            }
        }
        let mut slots = 0;
        self.visit_allocations(|layout, times| {
            if layout.align() == 8 && layout.size() != Shared::<Subtree>::layout().size() {
                slots += layout.size() as u32 * times as u32 / size_of::<Child>() as u32;
            }
        });
        totals.children = self.totals.children;
        assert_eq!(slots, totals.children);
        assert_eq!(totals, self.totals);
        assert!(self.len() <= items || totals.uncounted > 0, "as set_len demands");
    }
}

fn records_of(table: &Table) -> Vec<Vec<u8>> {
    let (mut records, mut from) = (Vec::new(), Some(0));
    while let Some(start) = from {
        let record = table.page_record(start);
        let mut bytes = Vec::new();
        record.write(&mut |more| bytes.extend(more));
        assert_eq!(bytes.len(), record.num_bytes());
        assert!(bytes.len() <= 32 << 10);
        records.push(bytes);
        from = record.next();
    }
    records
}

impl Pages {
    /// The pages of consecutive records.
    fn parse(table: &Table, from: u64, mut bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut pages = Self::starting_at(from);
        while pages.next() == Some(from) || !bytes.is_empty() {
            bytes = pages.push(table, bytes)?;
        }
        Ok(pages)
    }
}

/// A table of these records, loaded in runs of `run` records.
fn loaded(records: &[Vec<u8>], like: &Table, run: usize) -> Result<Table, DecodeError> {
    let mut table = like.empty_like();
    let mut from = Some(0);
    for run in records.chunks(run) {
        let start = from.ok_or(DecodeError::Order)?;
        let pages = Pages::parse(&table, start, &run.concat())?;
        from = pages.next();
        table.load(pages, from.is_none().then_some(like.len()))?;
    }
    assert_eq!(from, None);
    Ok(table)
}

/// A table with everything: payloads, surplus counters, pages of several depths, a saturated one.
fn varied(items: u64) -> Table {
    let mut table = Table::new(0.01, 2);
    for n in 0..items {
        table.insert(hash(n), (n % 4) as u8, u64::MAX).unwrap();
    }
    for n in 0..items / 100 {
        for _ in 0..n % 9 {
            table.insert(hash(n), (n % 4) as u8, u64::MAX).unwrap();
        }
    }
    for n in 0..20_000 {
        table.insert(hash_of(Path(Path::of(hash(n)).0 >> 14 | 7 << 60)), 1, u64::MAX).unwrap();
    }
    table
}

/// Moves everything into fresh memory, and stops when it must.
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

/// The share of absent items that are found.
fn measured_rate(table: &Table, lookups: u64) -> f64 {
    let mut found = 0;
    table.contains_many((0..lookups).map(|n| hash(n | 1 << 60)), |is_there| {
        found += u64::from(is_there)
    });
    found as f64 / lookups as f64
}
