//! Buckets and a list: a whole top-k without a window, or one slice of a window.

use super::answers::Answers;
use super::decay::Decay;
use super::index::hash;
use super::list::List;
use super::random::Random;
use super::rules::{fingerprint, Path, Rules};
use super::shape::{Shape, BUCKET_BYTES};
use crate::body::Part;
use crate::counters::{Counters, CACHED_SEGMENTS};
use splitbloom_foundation::alloc::{Mover, OutOfMemory};
use std::alloc::Layout;
use std::num::NonZeroU64;

/// Bytes of a bucket.
const BUCKET: usize = BUCKET_BYTES as usize;
/// How many items are found before the first of them is added, so that their buckets come from
/// memory at the same time: with 7 rows, 56 cache lines, more than a core waits for.
const GROUP: usize = 8;

/// Buckets, and the list of the items with the highest counts.
pub struct Slice {
    pub(super) buckets: Counters,
    pub(super) list: List,
}

/// An item to be added.
#[derive(Clone, Copy, Default)]
struct Coming<'a> {
    item: &'a [u8],
    units: u32,
    /// Its hash in the index.
    hash: u32,
    /// Its entry in the list, if it has one.
    entry: Option<u32>,
    path: Path,
}

impl Slice {
    /// An empty slice. Allocates the list, but no buckets.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(super) fn new(shape: Shape) -> Result<Self, OutOfMemory> {
        let buckets = Counters::new(BUCKET_BYTES * shape.buckets())?;
        Ok(Self { buckets, list: List::new(shape.k)? })
    }

    /// Adds items, each with its units, and pushes the item that has left the list for each to
    /// `answers`.
    ///
    /// # Errors
    /// `OutOfMemory`: the items with an answer have been added, and no others.
    pub(super) fn add_many<'a>(
        &mut self,
        rules: &Rules,
        random: &mut Random,
        mut items: impl Iterator<Item = (&'a [u8], u32)>,
        answers: &mut Answers,
    ) -> Result<(), OutOfMemory> {
        if items.size_hint().1 == Some(1) {
            // One item is not worth setting up a group.
            return items.try_for_each(|item| {
                let coming = self.find(rules, item);
                self.add(rules, random, &coming, answers)
            });
        }
        let mut group = [Coming::default(); GROUP];
        loop {
            let mut len = 0;
            for (coming, item) in group.iter_mut().zip(&mut items) {
                *coming = self.find(rules, item);
                len += 1;
            }
            if len == 0 {
                return Ok(());
            }
            let entered = self.list.entered();
            for coming in &mut group[..len] {
                if self.list.entered() != entered {
                    // An item that has entered since may have its entry.
                    coming.entry = self.list.find(coming.hash, coming.item);
                }
                self.add(rules, random, coming, answers)?;
            }
        }
    }

    /// Finds where an item belongs, and prefetches its buckets if they may be out of the caches.
    #[inline(always)]
    fn find<'a>(&self, rules: &Rules, (item, units): (&'a [u8], u32)) -> Coming<'a> {
        let hash = hash(item);
        let entry = self.list.find(hash, item);
        let path = entry.map_or_else(|| rules.path(item), |entry| self.list.path(entry));
        let is_cached = entry.is_some() && rules.is_list_cached;
        if !is_cached && self.buckets.reserved() > CACHED_SEGMENTS {
            rules.visit(item, &path, |cell| self.buckets.prefetch::<BUCKET>(cell));
        }
        Coming { item, units, hash, entry, path }
    }

    /// Adds an item, and pushes the item that has left the list, if one has, to `answers`.
    ///
    /// # Errors
    /// `OutOfMemory`; nothing has changed.
    #[inline(always)]
    fn add(
        &mut self,
        rules: &Rules,
        random: &mut Random,
        coming: &Coming<'_>,
        answers: &mut Answers,
    ) -> Result<(), OutOfMemory> {
        let Coming { item, units, hash, entry, ref path } = *coming;
        let Self { buckets, list } = self;
        if entry.is_none() {
            list.reserve(item.len())?;
            if let Some(first_to_leave) = list.first_to_leave() {
                answers.reserve(first_to_leave.len())?;
            }
        }
        if !buckets.owns_all() {
            let mut owned = Ok(());
            rules.visit(item, path, |cell| {
                owned = owned.and_then(|()| buckets.own::<BUCKET>(cell));
            });
            owned?;
        }
        let (fingerprint, decay, mut count) = (path.fingerprint, &rules.decay, 0);
        match rules.cells(path) {
            // A loop of its own: in `visit`, a closure out of line takes a tenth longer.
            Some(cells) => {
                for cell in cells {
                    let own = raise(buckets, (*cell).into(), fingerprint, units, decay, random);
                    count = count.max(own);
                }
            }
            None => rules.rows.visit(item, |cell| {
                count = count.max(raise(buckets, cell, fingerprint, units, decay, random));
            }),
        }
        answers.push(list.offer(item, hash, entry, path, count));
        Ok(())
    }

    /// The highest count of the buckets that an item owns; 0 if it owns none. As in RedisBloom, an
    /// item of the list does not own a bucket below the lowest count there.
    pub(super) fn count(&self, rules: &Rules, item: &[u8]) -> u32 {
        let fingerprint = fingerprint(item);
        let is_listed = self.lists(item);
        let least = if is_listed { self.list.least() } else { 0 };
        let mut highest = 0;
        rules.rows.visit(item, |cell| {
            let count = self.owned(cell, fingerprint);
            highest = highest.max(if count < least { 0 } else { count });
        });
        highest
    }

    /// The best estimate of the count of an item whose buckets are `cells`: that of the list, or
    /// the highest of its buckets.
    pub(super) fn estimate(&self, cells: &[u64], item: &[u8], fingerprint: u32) -> u32 {
        let listed = self.list.count(item).unwrap_or(0);
        cells.iter().map(|cell| self.owned(*cell, fingerprint)).fold(listed, u32::max)
    }

    /// The count of a bucket if its owner has this fingerprint; else 0.
    #[inline]
    fn owned(&self, cell: u64, fingerprint: u32) -> u32 {
        match parts(self.buckets.get(cell)) {
            [owner, count] if owner == fingerprint => count,
            _ => 0,
        }
    }

    /// Whether an item is in the list.
    pub(super) fn lists(&self, item: &[u8]) -> bool {
        self.list.count(item).is_some()
    }
}

impl Part for Slice {
    fn try_clone(&mut self) -> Result<Self, OutOfMemory> {
        Ok(Self { buckets: self.buckets.try_clone()?, list: self.list.try_clone()? })
    }

    fn allocations(&self) -> usize {
        4 + self.buckets.allocated() + self.list.len()
    }

    fn visit_allocations(&self, visit: &mut dyn FnMut(Layout, u64)) {
        self.buckets.visit_allocations(visit);
        self.list.visit_allocations(visit);
    }

    /// The steps of the list come before the segments.
    fn relocate(&mut self, from: u64, mover: &mut impl Mover) -> Option<NonZeroU64> {
        let steps = self.list.steps();
        for step in from..steps {
            self.list.relocate(step, mover);
            if mover.should_stop() {
                return NonZeroU64::new(step + 1);
            }
        }
        let next = self.buckets.relocate(from.saturating_sub(steps), mover)?;
        next.checked_add(steps)
    }
}

/// Adds `units` to a bucket, if the item of this fingerprint owns it or comes to own it; else they
/// wear it. Returns the count of the item in it.
#[inline]
fn raise(
    buckets: &mut Counters,
    cell: u64,
    fingerprint: u32,
    units: u32,
    decay: &Decay,
    random: &mut Random,
) -> u32 {
    let Some(bucket) = buckets.get_mut(cell) else {
        return 0;
    };
    let [owner, count] = parts(*bucket);
    let (owner, count, own) = if owner == fingerprint || count == 0 {
        let count = count.saturating_add(units);
        (fingerprint, count, count)
    } else if units == 1 {
        // Whether a bucket changes its owner is unpredictable, so no branch depends on it.
        let left = count - u32::from(decay.hits(count, random));
        let is_taken = left == 0;
        let owner = if is_taken { fingerprint } else { owner };
        (owner, if is_taken { 1 } else { left }, is_taken.into())
    } else {
        match decay.wear(count, units, random) {
            (0, own) => (fingerprint, own, own),
            (left, own) => (owner, left, own),
        }
    };
    *bucket = (u64::from(count) << 32 | u64::from(owner)).to_le_bytes();
    own
}

/// A bucket's parts: the fingerprint of its owner, and its count.
#[inline]
fn parts(bucket: [u8; BUCKET]) -> [u32; 2] {
    let bucket = u64::from_le_bytes(bucket);
    [bucket as u32, (bucket >> 32) as u32]
}
