//! Lookups: whether an item is (probably) in some part, one by one and in groups.

use crate::bloom::blocked_bloom::BlockedBloom;
use crate::filter::body::{Body, Organs};
use crate::filter::series::Series;
use crate::filter::Filter;
use crate::foreign::layers::Pairs;
use crate::foreign::Layers;
use crate::hash::{Group, Hashes, ItemHash, Seed};
use crate::table::{Probes, Routes, Table};

impl Filter {
    /// Whether the item is (probably) present, at the latest time: see [`Filter::contains_at`].
    pub fn contains(&self, item: &[u8]) -> bool {
        self.contains_at(item, 0)
    }

    /// Whether the item is (probably) present; in a windowed filter, remembered at `now`. It reads
    /// one cache line for each part, or a few in a Bloom filter whose error rate is below 0.4 %; in
    /// a filter from RedisBloom, a line for each hash in each layer.
    pub fn contains_at(&self, item: &[u8], now: u64) -> bool {
        let hash = self.hash(item);
        match &self.body {
            // No branch on the answer, which is unpredictable: the processor continues while the
            // cache miss is outstanding.
            Body::Bloom(bloom) => bloom.contains(hash),
            Body::Table { table, .. } => table.contains(hash),
            Body::Organs(one) => one[0].contain(item, hash, now),
        }
    }

    /// The hash of an item under the seed of the filter.
    #[inline]
    pub fn hash(&self, item: &[u8]) -> ItemHash {
        ItemHash::of(item, self.head.seed)
    }

    /// The hashes of items under the seed of the filter.
    #[inline]
    pub(super) fn hashes<I>(&self, items: I) -> Hashes<I> {
        Hashes { items, seed: self.head.seed }
    }

    /// Looks up many items and calls `answer` for each in order: see [`Filter::contains`].
    pub fn contains_many<'a>(
        &self,
        items: impl Iterator<Item = &'a [u8]>,
        answer: impl FnMut(bool),
    ) {
        self.contains_many_at(items, 0, answer);
    }

    /// Looks up many items at the time `now` and calls `answer` for each in order. The cache misses
    /// of 16 items overlap.
    pub fn contains_many_at<'a>(
        &self,
        items: impl Iterator<Item = &'a [u8]>,
        now: u64,
        mut answer: impl FnMut(bool),
    ) {
        match &self.body {
            Body::Bloom(bloom) => bloom_contains_many(bloom, self.hashes(items), answer),
            Body::Table { table, .. } => table.contains_many(self.hashes(items), answer),
            Body::Organs(one) => match (&one[0].series, &one[0].table) {
                (Series::Empty, Some(table)) => match one[0].visible(now) {
                    0 => items.for_each(|_| answer(false)),
                    visible => table.contains_many_among(self.hashes(items), visible, answer),
                },
                (Series::Empty, None) => items.for_each(|_| answer(false)),
                (Series::Blocked(bloom), None) => {
                    bloom_contains_many(bloom, self.hashes(items), answer);
                }
                (Series::Blocked(bloom), Some(table)) => {
                    both_contain_many(bloom, table, self.hashes(items), answer);
                }
                (Series::Layers(layers), table) => {
                    layers_contain_many(layers, table.as_ref(), self.head.seed, items, answer);
                }
                (Series::Cuckoo(_), _) => {
                    items.for_each(|item| answer(one[0].contain(item, self.hash(item), now)));
                }
            },
        }
    }
}

impl Organs {
    /// The payloads of the entries that the table remembers at `now`.
    fn visible(&self, now: u64) -> u16 {
        let clock = self.clock();
        clock.map_or(crate::table::ALL_PAYLOADS, |clock| clock.visible(now))
    }

    /// Whether the item is in some part. It looks into the table first, which has most items.
    fn contain(&self, item: &[u8], hash: ItemHash, now: u64) -> bool {
        if let Series::Blocked(bloom) = &self.series {
            bloom.prefetch(hash);
        }
        let visible = self.visible(now);
        let table = self.table.as_ref().filter(|_| visible != 0);
        table.is_some_and(|table| table.contains_among(hash, visible))
            || self.series_contains(item, hash)
    }

    /// Whether the item is in a sub-filter.
    pub fn series_contains(&self, item: &[u8], hash: ItemHash) -> bool {
        match &self.series {
            Series::Empty => false,
            Series::Blocked(bloom) => bloom.contains(hash),
            Series::Layers(layers) => layers.contains(item),
            Series::Cuckoo(series) => series.contains(item),
        }
    }
}

fn bloom_contains_many(
    bloom: &BlockedBloom,
    mut hashes: impl Iterator<Item = ItemHash>,
    mut answer: impl FnMut(bool),
) {
    let (mut group, mut ahead) = (&mut Group::default(), &mut Group::default());
    prefetch_in(bloom, group.read(&mut hashes));
    while !group.hashes().is_empty() {
        prefetch_in(bloom, ahead.read(&mut hashes));
        for hash in group.hashes() {
            answer(bloom.contains(*hash));
        }
        std::mem::swap(&mut group, &mut ahead);
    }
}

/// The same for a Bloom filter and a table. A lookup in a table has two stages: the first stage of
/// a group overlaps the second of the group before it.
fn both_contain_many(
    bloom: &BlockedBloom,
    table: &Table,
    mut hashes: impl Iterator<Item = ItemHash>,
    mut answer: impl FnMut(bool),
) {
    let (mut group, mut ahead) = (&mut Group::default(), &mut Group::default());
    let (mut slots, mut lines) = (Routes::default(), Probes::default());
    loop {
        let hashes = ahead.read(&mut hashes);
        prefetch_in(bloom, hashes);
        slots.fetch(table, hashes);
        let in_table = lines.answers(table);
        for (n, hash) in group.hashes().iter().enumerate() {
            let is_in_table = in_table >> n & 1 == 1;
            answer(is_in_table || bloom.contains(*hash));
        }
        slots.fetch_lines(&mut lines);
        std::mem::swap(&mut group, &mut ahead);
        if group.hashes().is_empty() {
            return;
        }
    }
}

/// The same for layers from another module and a table.
fn layers_contain_many<'a>(
    layers: &Layers,
    table: Option<&Table>,
    seed: Seed,
    mut items: impl Iterator<Item = &'a [u8]>,
    mut answer: impl FnMut(bool),
) {
    let mut group = Pairs::default();
    let (mut slots, mut lines) = (Routes::default(), Probes::default());
    while !group.read(&mut items, layers, seed).is_empty() {
        let mut found = 0;
        if let Some(table) = table {
            slots.fetch(table, group.hashes());
            slots.fetch_lines(&mut lines);
            found = lines.answers(table);
        }
        let found = group.find_in(layers, found);
        (0..group.hashes().len()).for_each(|n| answer(found >> n & 1 == 1));
    }
}

/// Prefetches items in a Bloom filter.
#[inline]
fn prefetch_in(bloom: &BlockedBloom, group: &[ItemHash]) {
    for hash in group {
        bloom.prefetch(*hash);
    }
}

impl Filter {
    /// Prefetches items in our own parts.
    #[inline]
    pub(super) fn prefetch(&self, group: &[ItemHash]) {
        match &self.body {
            Body::Bloom(bloom) => prefetch_in(bloom, group),
            Body::Table { table, .. } => table.prefetch(group),
            Body::Organs(_) => {
                if let Some(bloom) = self.body.bloom() {
                    prefetch_in(bloom, group);
                }
                if let Some(table) = self.body.table() {
                    table.prefetch(group);
                }
            }
        }
    }
}
