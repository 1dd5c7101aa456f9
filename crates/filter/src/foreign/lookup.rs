//! Many items at once, so that the cache misses of a group overlap.
//!
//! A group visits one sub-filter after another, newest first, and each of them in rounds of a few
//! probes. Half of the bits are set, so two probes rule out three quarters of the absent items;
//! prefetching the lines of all probes would cost more memory bandwidth than it saves.

use super::layer::Layer;
use super::probes::{all_set, Hashing, Pair, Probe, ROUND};
use super::ForeignFilter;
use crate::error::AddError;
use crate::hash::{ItemHash, Seed};
use crate::size_limit::SizeLimit;
use crate::table::{Probes, Routes, GROUP};

/// The hashes of a group of items.
#[derive(Default)]
struct Group {
    pairs: [Pair; GROUP],
    hashes: [ItemHash; GROUP],
    len: usize,
}

impl Group {
    /// Hashes the next items, as many as fit.
    #[inline]
    fn read<'a>(
        &mut self,
        items: &mut impl Iterator<Item = &'a [u8]>,
        hashing: Hashing,
        seed: Seed,
    ) {
        self.len = 0;
        let places = self.pairs.iter_mut().zip(&mut self.hashes);
        for ((pair, hash), item) in places.zip(items) {
            *pair = hashing.pair(item);
            *hash = ItemHash::of(item, seed);
            self.len += 1;
        }
    }

    fn hashes(&self) -> &[ItemHash] {
        &self.hashes[..self.len]
    }

    fn all(&self) -> u32 {
        (1 << self.len) - 1
    }
}

/// The items of a set, one bit for each.
#[inline]
fn each(mut set: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let first = (set != 0).then(|| set.trailing_zeros() as usize);
        set &= set.wrapping_sub(1);
        first
    })
}

/// Which of the items in the bit set `asked` (bit 0 for the first item) are in `layer`.
#[inline]
fn those_in(layer: &Layer, pairs: &[Pair; GROUP], asked: u32) -> u32 {
    let mut probes = [[Probe::NONE; ROUND]; GROUP];
    let mut left = asked;
    let hashes = layer.hashes() as usize;
    for from in (0..hashes).step_by(ROUND) {
        let len = ROUND.min(hashes - from);
        for n in each(left) {
            layer.fetch_all(pairs[n], from, &mut probes[n][..len]);
        }
        for n in each(left) {
            left &= !(u32::from(!all_set(&probes[n][..len])) << n);
        }
        if left == 0 {
            break;
        }
    }
    left
}

/// Which items of the group are in the series, `known` ones aside.
#[inline]
fn those_in_series(layers: &[Layer], group: &Group, known: u32) -> u32 {
    let mut found = known;
    for layer in layers.iter().rev() {
        let asked = group.all() & !found;
        if asked == 0 {
            break;
        }
        found |= those_in(layer, &group.pairs, asked);
    }
    found
}

impl ForeignFilter {
    /// Looks up many items and calls `answer` for each in order. The cache misses of 16 items
    /// overlap.
    pub fn contains_many<'a>(
        &self,
        mut items: impl Iterator<Item = &'a [u8]>,
        mut answer: impl FnMut(bool),
    ) {
        let mut group = Group::default();
        let (mut routes, mut probes) = (Routes::default(), Probes::default());
        loop {
            group.read(&mut items, self.hashing(), self.seed);
            if group.len == 0 {
                return;
            }
            let mut found = 0;
            if let Some(table) = self.table() {
                routes.fetch(table, group.hashes());
                routes.fetch_lines(&mut probes);
                found = probes.answers(table);
            }
            let found = those_in_series(self.layers(), &group, found);
            (0..group.len).for_each(|n| answer(found >> n & 1 == 1));
        }
    }

    /// Adds many items and calls `answer` for each in order with whether it was new.
    ///
    /// # Errors
    /// As [`ForeignFilter::add`], at the first item refused: those before it are kept; it and those
    /// after it have changed nothing.
    pub fn add_many<'a>(
        &mut self,
        mut items: impl Iterator<Item = &'a [u8]>,
        limit: SizeLimit,
        mut answer: impl FnMut(bool),
    ) -> Result<(), AddError> {
        let mut group = Group::default();
        loop {
            group.read(&mut items, self.hashing(), self.seed);
            if group.len == 0 {
                return Ok(());
            }
            if let Some(table) = self.table() {
                table.prefetch(group.hashes());
            }
            let found = those_in_series(self.layers(), &group, 0);
            for (n, hash) in group.hashes().iter().enumerate() {
                let is_known = found >> n & 1 == 1;
                answer(!is_known && self.add_behind(*hash, limit)?);
            }
        }
    }
}
