//! From an item to its entry in the list: open addressing over hashes of the items.
//!
//! The hash is keyed by a random number of the process, so that no client can aim items at one
//! place. Places differ between servers, and nothing that a client sees depends on them.

use splitbloom_foundation::alloc::{relocate_box, try_boxed, Mover, OutOfMemory};
use std::alloc::Layout;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::OnceLock;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The hash of an item. The low 32 bits of XXH3 are as good as the others.
#[inline]
pub(super) fn hash(item: &[u8]) -> u32 {
    static SEED: OnceLock<u64> = OnceLock::new();
    // Its keys are random numbers of the system.
    let seed = SEED.get_or_init(|| RandomState::new().hash_one(0));
    xxh3_64_with_seed(item, *seed) as u32
}

/// A place: an entry's number plus 1, and its hash.
#[derive(Clone, Copy, Default)]
struct Place {
    entry: u32,
    hash: u32,
}

/// A table of at least twice as many places as entries, a power of two.
#[derive(Default)]
pub(super) struct Index {
    places: Box<[Place]>,
    len: usize,
}

impl Index {
    /// The entries under a hash, in the order in which they were inserted unless some were removed.
    #[inline]
    pub fn find(&self, hash: u32) -> impl Iterator<Item = u32> + '_ {
        let mask = self.mask();
        let places = (hash as usize..).map_while(move |at| self.places.get(at & mask));
        let used = places.take_while(|place| place.entry != 0);
        used.filter(move |place| place.hash == hash).map(|place| place.entry - 1)
    }

    /// Makes room for one more entry.
    ///
    /// # Errors
    /// `OutOfMemory`; nothing has changed.
    #[inline]
    pub fn reserve(&mut self) -> Result<(), OutOfMemory> {
        match 2 * (self.len + 1) <= self.places.len() {
            true => Ok(()),
            false => self.grow(),
        }
    }

    #[cold]
    fn grow(&mut self) -> Result<(), OutOfMemory> {
        let len = (2 * self.places.len()).max(8);
        let empty = try_boxed(len, |places| places.resize(len, Place::default()))?;
        let old = std::mem::replace(&mut self.places, empty);
        // Chains begin after a free place: from there on, their order is kept.
        let start = old.iter().position(|place| place.entry == 0).unwrap_or(0);
        let (before, after) = old.split_at(start);
        after
            .iter()
            .chain(before)
            .filter(|place| place.entry != 0)
            .for_each(|place| self.put(*place));
        Ok(())
    }

    /// Inserts an entry, for which [`Index::reserve`] has made room.
    pub fn insert(&mut self, hash: u32, entry: u32) {
        self.put(Place { entry: entry + 1, hash });
        self.len += 1;
    }

    /// Without room, the entry would be missing: there always is.
    fn put(&mut self, place: Place) {
        let mask = self.mask();
        let mut places = (place.hash as usize..).take(self.places.len()).map(|at| at & mask);
        if let Some(free) = places.find(|at| self.places[*at].entry == 0) {
            self.places[free] = place;
        }
    }

    /// Removes an entry if it is there, and moves up those after it that are not at their own
    /// place: Knuth, "The Art of Computer Programming", volume 3, 6.4, algorithm R.
    pub fn remove(&mut self, hash: u32, entry: u32) {
        let mask = self.mask();
        let chain = (hash as usize..).take(self.places.len()).map(|at| at & mask);
        let mut chain = chain.take_while(|at| self.places[*at].entry != 0);
        let Some(mut free) = chain.find(|at| self.places[*at].entry == entry + 1) else {
            return;
        };
        let mut at = free;
        loop {
            at = (at + 1) & mask;
            let place = self.places[at];
            if place.entry == 0 {
                break;
            }
            // From its own place, the distance to where it is and to the free place.
            let own = place.hash as usize;
            let distance = |at: usize| at.wrapping_sub(own) & mask;
            if distance(free) < distance(at) {
                self.places[free] = place;
                free = at;
            }
        }
        self.places[free] = Place::default();
        self.len -= 1;
    }

    fn mask(&self) -> usize {
        self.places.len().wrapping_sub(1)
    }

    /// A copy.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let places = try_boxed(self.places.len(), |to| to.extend_from_slice(&self.places))?;
        Ok(Self { places, len: self.len })
    }

    /// Visits its allocation.
    pub fn visit_allocations(&self, visit: &mut dyn FnMut(Layout, u64)) {
        visit(Layout::for_value(&*self.places), 1);
    }

    /// Passes its allocation through `mover`.
    pub fn relocate(&mut self, mover: &mut impl Mover) {
        self.places = relocate_box(std::mem::take(&mut self.places), mover);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn insert(index: &mut Index, hash: u32, entry: u32) {
        index.reserve().unwrap();
        index.insert(hash, entry);
    }

    #[test]
    fn an_empty_index_finds_nothing() {
        assert_eq!(Index::default().find(7).next(), None);
    }

    #[test]
    fn entries_of_one_hash_are_found_in_the_order_of_their_insertion() {
        let mut index = Index::default();
        // They wrap around the end of every table up to 256 places.
        (0..100).for_each(|entry| insert(&mut index, 255, entry));
        assert!(index.find(255).eq(0..100));
    }

    proptest! {
        /// The model: a list of hashes and entries.
        #[test]
        fn what_is_inserted_is_found_until_it_is_removed(
            steps in prop::collection::vec((any::<bool>(), 0..12_u32, 0..50_usize), 0..200),
        ) {
            let mut index = Index::default();
            let mut model: Vec<(u32, u32)> = Vec::new();
            for (entry, (removes, hash, which)) in (0..).zip(steps) {
                if removes && !model.is_empty() {
                    let (hash, entry) = model.swap_remove(which % model.len());
                    index.remove(hash, entry);
                } else {
                    insert(&mut index, hash, entry);
                    model.push((hash, entry));
                }
                for hash in 0..12 {
                    let mut found: Vec<u32> = index.find(hash).collect();
                    let of_hash = model.iter().filter(|(other, _)| *other == hash);
                    let mut known: Vec<u32> = of_hash.map(|(_, entry)| *entry).collect();
                    found.sort_unstable();
                    known.sort_unstable();
                    prop_assert_eq!(found, known);
                }
            }
        }
    }
}
