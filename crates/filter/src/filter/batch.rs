//! Many items at once: hashed and prefetched in groups, so that the cache misses of many items
//! overlap.

use crate::bloom::blocked_bloom::BlockedBloom;
use crate::error::AddError;
use crate::filter::{Filter, SizeLimit};
use crate::group::Group;
use crate::hash::{ItemHash, Seed};
use crate::parts::Parts;
use crate::table::{Probes, Routes, Table};

/// The most lines prefetched for an item, newest Bloom filters first: those of two groups fill an
/// L1 cache of 32 KiB.
const LINES_AHEAD: usize = 16;

impl Filter {
    /// Looks up many items and calls `answer` for each in order.
    pub fn contains_many<'a>(
        &self,
        items: impl Iterator<Item = &'a [u8]>,
        answer: impl FnMut(bool),
    ) {
        let seed = self.parameters.seed;
        match (self.blooms(), self.table()) {
            ([], Some(table)) => {
                table.contains_many(items.map(|item| ItemHash::of(item, seed)), answer);
            }
            (blooms, Some(table)) => both_contain_many(blooms, table, seed, items, answer),
            (_, None) => self.blooms_contain_many(items, answer),
        }
    }

    /// One group is prefetched while the group before it is answered.
    fn blooms_contain_many<'a>(
        &self,
        items: impl Iterator<Item = &'a [u8]>,
        mut answer: impl FnMut(bool),
    ) {
        let seed = self.parameters.seed;
        let mut hashes = items.map(|item| ItemHash::of(item, seed));
        let (mut group, mut ahead) = (&mut Group::default(), &mut Group::default());
        self.prefetch(group.read(&mut hashes));
        while !group.hashes().is_empty() {
            self.prefetch(ahead.read(&mut hashes));
            for hash in group.hashes() {
                answer(self.parts.contain(*hash));
            }
            std::mem::swap(&mut group, &mut ahead);
        }
    }

    /// Adds many items and calls `answer` for each in order with whether it was new.
    ///
    /// # Errors
    /// As [`Filter::add`], at the first item refused: those before it are kept; it and those after
    /// it have changed nothing.
    pub fn add_many<'a>(
        &mut self,
        items: impl Iterator<Item = &'a [u8]>,
        limit: SizeLimit,
        answer: impl FnMut(bool),
    ) -> Result<(), AddError> {
        let seed = self.parameters.seed;
        let hashes = items.map(|item| ItemHash::of(item, seed));
        self.add_hashes(hashes, limit, answer)
    }

    /// The same for items of which the caller has the hashes, under the seed of the filter.
    ///
    /// # Errors
    /// As [`Filter::add_many`].
    #[inline]
    pub fn add_hashes(
        &mut self,
        mut hashes: impl Iterator<Item = ItemHash>,
        limit: SizeLimit,
        mut answer: impl FnMut(bool),
    ) -> Result<(), AddError> {
        let (mut group, mut ahead) = (&mut Group::default(), &mut Group::default());
        self.prefetch(group.read(&mut hashes));
        while !group.hashes().is_empty() {
            self.prefetch(ahead.read(&mut hashes));
            self.add_group(group.hashes(), limit, &mut answer)?;
            std::mem::swap(&mut group, &mut ahead);
        }
        Ok(())
    }

    #[inline(always)]
    fn add_group(
        &mut self,
        group: &[ItemHash],
        limit: SizeLimit,
        mut answer: impl FnMut(bool),
    ) -> Result<(), AddError> {
        match &mut self.parts {
            Parts::Bloom(only) if only.has_room_for(group.len() as u64) => {
                only.insert_group(group, answer)
            }
            _ => group
                .iter()
                .try_for_each(|hash| self.add_hash(*hash, limit).map(&mut answer)),
        }
    }

    #[inline]
    fn prefetch(&self, group: &[ItemHash]) {
        prefetch_blooms(self.parts.blooms(), group);
        if let Some(table) = self.parts.table() {
            table.prefetch(group);
        }
    }
}

/// The same for Bloom filters and a table. A lookup in a table has two stages: the first stage of a
/// group overlaps the second of the group before it.
fn both_contain_many<'a>(
    blooms: &[BlockedBloom],
    table: &Table,
    seed: Seed,
    items: impl Iterator<Item = &'a [u8]>,
    mut answer: impl FnMut(bool),
) {
    let mut hashes = items.map(|item| ItemHash::of(item, seed));
    let (mut group, mut ahead) = (&mut Group::default(), &mut Group::default());
    let (mut routes, mut probes) = (Routes::default(), Probes::default());
    loop {
        let hashes = ahead.read(&mut hashes);
        prefetch_blooms(blooms, hashes);
        routes.fetch(table, hashes);
        let in_table = probes.answers(table);
        for (n, hash) in group.hashes().iter().enumerate() {
            let is_in_table = in_table >> n & 1 == 1;
            answer(is_in_table || blooms.iter().rev().any(|bloom| bloom.contains(*hash)));
        }
        routes.fetch_lines(&mut probes);
        std::mem::swap(&mut group, &mut ahead);
        if group.hashes().is_empty() {
            return;
        }
    }
}

/// Prefetches items in Bloom filters, newest first.
#[inline]
pub(super) fn prefetch_blooms(blooms: &[BlockedBloom], group: &[ItemHash]) {
    let mut lines = 0;
    for bloom in blooms.iter().rev() {
        for hash in group {
            bloom.prefetch(*hash);
        }
        lines += bloom.prefetched_lines();
        if lines >= LINES_AHEAD {
            return;
        }
    }
}
