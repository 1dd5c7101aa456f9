//! Items that are hashed, and then prefetched, together, so that their cache misses overlap.

use crate::hash::ItemHash;
use crate::prefetch::GROUP;

/// The hashes of some items.
#[derive(Default)]
pub struct Group {
    hashes: [ItemHash; GROUP],
    len: usize,
}

impl Group {
    /// Takes the next hashes, as many as fit; none at the end.
    #[inline]
    pub fn read(&mut self, hashes: &mut impl Iterator<Item = ItemHash>) -> &[ItemHash] {
        self.len = 0;
        for (hash, next) in self.hashes.iter_mut().zip(hashes) {
            *hash = next;
            self.len += 1;
        }
        self.hashes()
    }

    /// Those taken last.
    #[inline]
    pub fn hashes(&self) -> &[ItemHash] {
        &self.hashes[..self.len]
    }
}
