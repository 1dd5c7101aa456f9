//! Lookups, one by one and in batches.
//!
//! A lookup waits for memory twice: for a child of the directory, and for a line. A batch
//! prefetches the directory children of 16 items, then their lines, and tests them while the next
//! 16 are on their way. A caller that searches other parts too can run the stages itself:
//!
//! ```text
//!   routes.fetch(table, hashes)   routes.fetch_lines(probes)   probes.answers(table)
//! ```

use crate::hash::{ItemHash, GROUP};
use crate::table::directory::Route;
use crate::table::fingerprint::ALL_PAYLOADS;
use crate::table::instructions::{compiled_per_cpu, Instructions};
use crate::table::page::Probe;
use crate::table::path::Path;
use crate::table::table::Table;

impl Table {
    /// Whether the item is (probably) present.
    #[inline]
    pub fn contains(&self, hash: ItemHash) -> bool {
        self.contains_among(hash, self.alive)
    }

    /// Whether the item is (probably) present with one of these payloads.
    #[inline]
    pub fn contains_among(&self, hash: ItemHash, payloads: u16) -> bool {
        self.path_is_among(Path::of(hash), payloads)
    }

    #[inline]
    pub(super) fn path_is_among(&self, path: Path, payloads: u16) -> bool {
        let page = self.root.page(path);
        probe_contains(&page.probe(path.below(page.depth())), payloads)
    }

    /// Prefetches the directory children, then the lines, of a group of items that are about to be
    /// added. A single item has nothing to overlap with.
    #[inline]
    pub fn prefetch(&self, hashes: &[ItemHash]) {
        if hashes.len() > 1 {
            self.prefetch_several(hashes);
        }
    }

    fn prefetch_several(&self, hashes: &[ItemHash]) {
        let mut routes = Routes::default();
        routes.fetch(self, hashes);
        routes.fetch_lines(&mut Probes::default());
    }

    /// Looks up many items and calls `answer` for each in order. One group is prefetched while the
    /// group before it is tested.
    pub fn contains_many(
        &self,
        hashes: impl IntoIterator<Item = ItemHash>,
        answer: impl FnMut(bool),
    ) {
        self.contains_many_among(hashes, self.alive, answer);
    }

    compiled_per_cpu! {
        /// The same for entries with one of these payloads.
        pub fn contains_many_among(
            self: &Table,
            hashes: impl IntoIterator<Item = ItemHash>,
            payloads: u16,
            answer: impl FnMut(bool),
        ) = Table::contains_many_with;
    }

    #[inline(always)]
    fn contains_many_with<I: Instructions>(
        &self,
        instructions: I,
        hashes: impl IntoIterator<Item = ItemHash>,
        payloads: u16,
        mut answer: impl FnMut(bool),
    ) {
        let mut hashes = hashes.into_iter();
        let mut routes = Routes::default();
        let mut probes = Probes::default();
        loop {
            routes.fetch_next(self, &mut hashes);
            let answers = probes.answers_with(instructions, payloads);
            for n in 0..probes.len {
                answer(answers >> n & 1 == 1);
            }
            routes.fetch_lines_with(instructions, &mut probes);
            if probes.len == 0 {
                return;
            }
        }
    }
}

compiled_per_cpu! {
    #[inline]
    fn probe_contains(probe: &Probe<'_>, payloads: u16) -> bool = probe_contains_with;
}

#[inline(always)]
fn probe_contains_with<I: Instructions>(probe: &Probe<'_>, instructions: I, payloads: u16) -> bool {
    if payloads == ALL_PAYLOADS {
        probe.contains(instructions)
    } else {
        probe.contains_among(instructions, payloads)
    }
}

/// The first stage of a group of lookups: the directory children are being fetched.
pub struct Routes<'a> {
    items: [(Path, Option<Route<'a>>); GROUP],
    len: usize,
}

/// The second stage: the lines are being fetched.
pub struct Probes<'a> {
    items: [Option<Probe<'a>>; GROUP],
    len: usize,
}

impl Default for Routes<'_> {
    #[inline(always)]
    fn default() -> Self {
        Self { items: [(Path(0), None); GROUP], len: 0 }
    }
}

impl Default for Probes<'_> {
    #[inline(always)]
    fn default() -> Self {
        Self { items: [None; GROUP], len: 0 }
    }
}

impl<'a> Routes<'a> {
    /// Prefetches the directory children of these items, the first [`GROUP`] of them.
    #[inline]
    pub fn fetch(&mut self, table: &'a Table, hashes: &[ItemHash]) {
        self.fetch_next(table, &mut hashes.iter().copied());
    }

    #[inline(always)]
    fn fetch_next(&mut self, table: &'a Table, hashes: &mut impl Iterator<Item = ItemHash>) {
        self.len = 0;
        for ((path, route), hash) in self.items.iter_mut().zip(hashes) {
            *path = Path::of(hash);
            let next = table.root.route(*path);
            next.prefetch();
            *route = Some(next);
            self.len += 1;
        }
    }

    /// Prefetches the lines of the same items.
    #[inline]
    pub fn fetch_lines(&self, probes: &mut Probes<'a>) {
        fetch_lines(self, probes);
    }

    // No closures: they might not be inlined, and are not compiled for the CPU features of the
    // caller.
    #[inline(always)]
    fn fetch_lines_with<I: Instructions>(&self, _: I, probes: &mut Probes<'a>) {
        probes.len = self.len;
        for ((path, route), probe) in self.items[..self.len].iter().zip(&mut probes.items) {
            if let Some(route) = route {
                let page = route.page(*path);
                let found = page.probe(path.below(page.depth()));
                found.prefetch();
                *probe = Some(found);
            }
        }
    }
}

compiled_per_cpu! {
    #[inline]
    fn fetch_lines<'a>(routes: &Routes<'a>, probes: &mut Probes<'a>) = Routes::fetch_lines_with;
}

impl Probes<'_> {
    /// Which of the items are (probably) present: bit i for item i.
    #[inline]
    pub fn answers(&self, table: &Table) -> u32 {
        answers(self, table.alive)
    }

    #[inline(always)]
    fn answers_with<I: Instructions>(&self, instructions: I, payloads: u16) -> u32 {
        let mut answers = 0;
        for (n, probe) in self.items[..self.len].iter().enumerate() {
            let is_there = match probe {
                Some(probe) => probe_contains_with(probe, instructions, payloads),
                None => false,
            };
            answers |= u32::from(is_there) << n;
        }
        answers
    }
}

compiled_per_cpu! {
    #[inline]
    fn answers(probes: &Probes<'_>, payloads: u16) -> u32 = Probes::answers_with;
}
