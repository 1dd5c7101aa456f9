//! Looks items up, one by one and in batches, compiled for several instruction sets.
//!
//! A lookup waits for memory twice: for the slot of the directory and for the line. A batch
//! prefetches the slots of 16 items, then their lines, and reads them while the next 16 are being
//! fetched. A caller with other parts to search can run the stages one by one:
//!
//! ```text
//!   slots.fetch(table, hashes)   slots.fetch_lines(lines)   lines.answers(table)
//! ```

use crate::growing::directory::Way;
#[cfg(target_arch = "x86_64")]
use crate::growing::instructions::{has_fast_select, Bmi2};
use crate::growing::instructions::{Instructions, Portable};
use crate::growing::page::{Page, Probe};
use crate::growing::path::Path;
use crate::growing::table::{Table, ALL_PAYLOADS};
use crate::hash::{ItemHash, GROUP};
use crate::prefetch::prefetch;

impl Table {
    /// Whether the item is (probably) present.
    #[inline]
    pub fn contains(&self, hash: ItemHash) -> bool {
        self.contains_path(Path::of(hash))
    }

    #[inline]
    pub(super) fn contains_path(&self, path: Path) -> bool {
        self.path_is_among(path, self.alive)
    }

    /// Whether the item is (probably) present, with one of these payloads.
    #[inline]
    pub fn contains_among(&self, hash: ItemHash, payloads: u16) -> bool {
        self.path_is_among(Path::of(hash), payloads)
    }

    #[inline]
    fn path_is_among(&self, path: Path, payloads: u16) -> bool {
        let page = self.root.page(path);
        let probe = page.probe(path.below(page.depth()));
        #[cfg(target_arch = "x86_64")]
        if has_fast_select() {
            // SAFETY: the processor has these instructions.
            return unsafe { probe_contains_with_bmi2(&probe, payloads) };
        }
        probe_contains::<Portable>(&probe, payloads)
    }

    /// Asks for the slots and then for the lines of a group of items that are about to be added. A
    /// single one has nothing to overlap with.
    #[inline]
    pub fn prefetch(&self, hashes: &[ItemHash]) {
        if hashes.len() > 1 {
            self.prefetch_several(hashes);
        }
    }

    fn prefetch_several(&self, hashes: &[ItemHash]) {
        let mut slots = Slots::default();
        slots.fetch(self, hashes);
        slots.fetch_lines(&mut Lines::default());
    }

    /// Looks up many items and calls `answer` for each in order: the slots of one group are being
    /// fetched while the one before is answered.
    pub fn contains_many(
        &self,
        hashes: impl IntoIterator<Item = ItemHash>,
        answer: impl FnMut(bool),
    ) {
        self.contains_many_among(hashes, self.alive, answer);
    }

    /// The same for items that have one of these payloads.
    pub fn contains_many_among(
        &self,
        hashes: impl IntoIterator<Item = ItemHash>,
        payloads: u16,
        answer: impl FnMut(bool),
    ) {
        #[cfg(target_arch = "x86_64")]
        if has_fast_select() {
            // SAFETY: the processor has these instructions.
            return unsafe { self.contains_many_with_bmi2(hashes, payloads, answer) };
        }
        self.contains_many_with::<Portable>(hashes, payloads, answer);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "bmi1,bmi2,popcnt")]
    fn contains_many_with_bmi2(
        &self,
        hashes: impl IntoIterator<Item = ItemHash>,
        payloads: u16,
        answer: impl FnMut(bool),
    ) {
        self.contains_many_with::<Bmi2>(hashes, payloads, answer);
    }

    #[inline(always)]
    fn contains_many_with<I: Instructions>(
        &self,
        hashes: impl IntoIterator<Item = ItemHash>,
        payloads: u16,
        mut answer: impl FnMut(bool),
    ) {
        let mut hashes = hashes.into_iter();
        let mut slots = Slots::default();
        let mut lines = Lines::default();
        loop {
            slots.fetch_next(self, &mut hashes);
            let answers = lines.answers_with::<I>(payloads);
            for n in 0..lines.len {
                answer(answers >> n & 1 == 1);
            }
            slots.fetch_lines_with(&mut lines);
            if lines.len == 0 {
                return;
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi1,bmi2,popcnt")]
fn probe_contains_with_bmi2(probe: &Probe<'_>, payloads: u16) -> bool {
    probe_contains::<Bmi2>(probe, payloads)
}

#[inline(always)]
fn probe_contains<I: Instructions>(probe: &Probe<'_>, payloads: u16) -> bool {
    if payloads == ALL_PAYLOADS {
        probe.contains::<I>()
    } else {
        probe.contains_among::<I>(payloads)
    }
}

/// How many entries match an item with this path below the page; nothing if the page has counters,
/// or is saturated.
#[inline]
pub(super) fn count_in_slots(page: &Page, below: u64) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    if has_fast_select() {
        // SAFETY: the processor has these instructions.
        return unsafe { count_in_slots_with_bmi2(page, below) };
    }
    page.count_in_slots_with::<Portable>(below)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi1,bmi2,popcnt")]
fn count_in_slots_with_bmi2(page: &Page, below: u64) -> Option<usize> {
    page.count_in_slots_with::<Bmi2>(below)
}

/// The first stage of a group of lookups: the slots of the directory are on their way.
pub struct Slots<'a> {
    items: [(Path, Option<Way<'a>>); GROUP],
    len: usize,
}

/// The second: the lines are on their way.
pub struct Lines<'a> {
    items: [Option<Probe<'a>>; GROUP],
    len: usize,
}

impl Default for Slots<'_> {
    #[inline(always)]
    fn default() -> Self {
        Self {
            items: [(Path(0), None); GROUP],
            len: 0,
        }
    }
}

impl Default for Lines<'_> {
    #[inline(always)]
    fn default() -> Self {
        Self {
            items: [None; GROUP],
            len: 0,
        }
    }
}

impl<'a> Slots<'a> {
    /// Asks for the slots of these items, the first [`GROUP`] of them.
    #[inline]
    pub fn fetch(&mut self, table: &'a Table, hashes: &[ItemHash]) {
        self.fetch_next(table, &mut hashes.iter().copied());
    }

    #[inline(always)]
    fn fetch_next(&mut self, table: &'a Table, hashes: &mut impl Iterator<Item = ItemHash>) {
        self.len = 0;
        for ((path, way), hash) in self.items.iter_mut().zip(hashes) {
            *path = Path::of(hash);
            let next = table.root.way(*path);
            prefetch(next.next());
            *way = Some(next);
            self.len += 1;
        }
    }

    /// Asks for the lines of the same items.
    #[inline]
    pub fn fetch_lines(&self, lines: &mut Lines<'a>) {
        #[cfg(target_arch = "x86_64")]
        if has_fast_select() {
            // SAFETY: the processor has these instructions.
            return unsafe { self.fetch_lines_with_bmi2(lines) };
        }
        self.fetch_lines_with(lines);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "bmi1,bmi2,popcnt")]
    fn fetch_lines_with_bmi2(&self, lines: &mut Lines<'a>) {
        self.fetch_lines_with(lines);
    }

    // No closures in what is compiled for BMI2: they are not.
    #[inline(always)]
    fn fetch_lines_with(&self, lines: &mut Lines<'a>) {
        lines.len = self.len;
        for ((path, way), probe) in self.items[..self.len].iter().zip(&mut lines.items) {
            if let Some(way) = way {
                let page = way.page(*path);
                let found = page.probe(path.below(page.depth()));
                found.prefetch();
                *probe = Some(found);
            }
        }
    }
}

impl Lines<'_> {
    /// Which of the items are (probably) present: bit 0 for the first, and so on.
    #[inline]
    pub fn answers(&self, table: &Table) -> u32 {
        #[cfg(target_arch = "x86_64")]
        if has_fast_select() {
            // SAFETY: the processor has these instructions.
            return unsafe { self.answers_with_bmi2(table.alive) };
        }
        self.answers_with::<Portable>(table.alive)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "bmi1,bmi2,popcnt")]
    fn answers_with_bmi2(&self, payloads: u16) -> u32 {
        self.answers_with::<Bmi2>(payloads)
    }

    #[inline(always)]
    fn answers_with<I: Instructions>(&self, payloads: u16) -> u32 {
        let mut answers = 0;
        for (n, probe) in self.items[..self.len].iter().enumerate() {
            let is_there = match probe {
                Some(probe) => probe_contains::<I>(probe, payloads),
                None => false,
            };
            answers |= u32::from(is_there) << n;
        }
        answers
    }
}
