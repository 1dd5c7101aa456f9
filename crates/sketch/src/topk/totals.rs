//! The list as clients see it: of the whole, or summed over the slices of a window.

use super::rules::fingerprint;
use super::slice::Slice;
use super::TopK;
use crate::body::Body;
use crate::rows::steps_to_hash;
use splitbloom_foundation::alloc::{try_vec, OutOfMemory};
use std::cmp::Reverse;

/// An item of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed<'a> {
    /// The item.
    pub item: &'a [u8],
    /// Its count, in a window summed over the slices.
    pub count: u64,
}

/// Says what is in the list.
pub struct Lookup<'a>(List<'a>);

enum List<'a> {
    Whole(&'a Slice),
    /// By item.
    Window(Vec<Listed<'a>>),
}

impl Lookup<'_> {
    /// Whether `item` is in the list.
    pub fn contains(&self, item: &[u8]) -> bool {
        match &self.0 {
            List::Whole(slice) => slice.lists(item),
            List::Window(list) => list.binary_search_by_key(&item, |listed| listed.item).is_ok(),
        }
    }
}

/// Estimates counts.
pub struct Counts<'a> {
    topk: &'a TopK,
    now: u64,
    /// Room for the buckets of an item.
    cells: Vec<u64>,
}

impl Counts<'_> {
    /// The count of `item`: the highest of its buckets as RedisBloom has it, or in a window the sum
    /// that [`TopK::list`] has or would have. Cost: a step for each row, in a window for each row
    /// and slice.
    pub fn of(&mut self, item: &[u8]) -> u64 {
        let Self { topk, now, cells } = self;
        match &topk.body {
            Body::Whole(slice) => slice.count(&topk.rules, item).into(),
            Body::Window(ring) => topk.total(ring.live(*now), item, cells),
        }
    }
}

impl TopK {
    /// The items of the list at `now` with a count above 0, the highest first; among equal counts
    /// in the order of the heap, or in a window of their bytes.
    ///
    /// Cost in a window: for each item that is in the list of a slice, a hash for each row, and a
    /// step for each row and slice: 9 slices with 1 000 items each take some milliseconds. See
    /// [`MAX_WINDOW_READS`](super::MAX_WINDOW_READS).
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn list(&self, now: u64) -> Result<Vec<Listed<'_>>, OutOfMemory> {
        match &self.body {
            Body::Whole(slice) => listed(slice),
            Body::Window(ring) => {
                let mut totals = self.totals(ring.live(now))?;
                totals.sort_unstable_by_key(|total| (Reverse(total.count), total.item));
                totals.truncate(self.rules.shape.k as usize);
                Ok(totals)
            }
        }
    }

    /// The steps of hashing what [`TopK::list`] hashes at `now`: each item in the list of each
    /// slice. 0 without a window. Cost: a step for each of these items.
    pub fn steps_to_list(&self, now: u64) -> u64 {
        let Body::Window(ring) = &self.body else { return 0 };
        let entries = ring.live(now).flat_map(|slice| slice.list.places());
        let bytes: u64 = entries.filter_map(|(_, entry)| Some(entry?.item.len() as u64)).sum();
        steps_to_hash(bytes, self.rules.shape.depth.into())
    }

    /// Prepares for lookups at `now`. Cost: none; in a window that of [`TopK::list`].
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn lookup(&self, now: u64) -> Result<Lookup<'_>, OutOfMemory> {
        Ok(Lookup(match &self.body {
            Body::Whole(slice) => List::Whole(slice),
            Body::Window(_) => {
                let mut list = self.list(now)?;
                list.sort_unstable_by_key(|listed| listed.item);
                List::Window(list)
            }
        }))
    }

    /// Prepares for estimates at `now`.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn counts(&self, now: u64) -> Result<Counts<'_>, OutOfMemory> {
        Ok(Counts { topk: self, now, cells: try_vec(self.rules.rows.depth())? })
    }

    /// The sum of an item over `slices`. `cells` has room for its buckets.
    fn total<'a>(
        &self,
        slices: impl Iterator<Item = &'a Slice>,
        item: &[u8],
        cells: &mut Vec<u64>,
    ) -> u64 {
        let fingerprint = fingerprint(item);
        cells.clear();
        self.rules.rows.visit(item, |cell| cells.push(cell));
        slices.map(|slice| u64::from(slice.estimate(cells, item, fingerprint))).sum()
    }

    /// The sums of all items that are in the list of a slice, with a sum above 0.
    fn totals<'a>(
        &self,
        slices: impl Iterator<Item = &'a Slice> + Clone,
    ) -> Result<Vec<Listed<'a>>, OutOfMemory> {
        let entries = slices.clone().flat_map(|slice| slice.list.places());
        let items = entries.filter_map(|(_, entry)| Some(entry?.item.as_slice()));
        let mut totals = try_vec(slices.clone().map(|slice| slice.list.len()).sum())?;
        totals.extend(items.map(|item| Listed { item, count: 0 }));
        totals.sort_unstable_by_key(|total| total.item);
        totals.dedup_by_key(|total| total.item);
        let mut cells = try_vec(self.rules.rows.depth())?;
        for Listed { item, count } in &mut totals {
            *count = self.total(slices.clone(), item, &mut cells);
        }
        totals.retain(|total| total.count > 0);
        Ok(totals)
    }
}

/// The items of a list with a count above 0, the highest first, then in the order of the heap.
fn listed(slice: &Slice) -> Result<Vec<Listed<'_>>, OutOfMemory> {
    let mut places = try_vec(slice.list.len())?;
    let items = (0..).zip(slice.list.places());
    places.extend(items.filter_map(|(place, (count, entry))| {
        let item = entry?.item.as_slice();
        (count > 0).then_some((Reverse(count), place, item))
    }));
    places.sort_unstable_by_key(|(count, place, _): &(_, u32, _)| (*count, *place));
    let mut list = try_vec(places.len())?;
    list.extend(
        places.into_iter().map(|(Reverse(count), _, item)| Listed { item, count: count.into() }),
    );
    Ok(list)
}
