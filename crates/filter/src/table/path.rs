//! From a hash to the bit string that leads to an item's page, bucket and fingerprint.
//!
//! ```text
//!   place (low half of the hash)    its top 8 bits choose one of 8 cells of unequal size
//!   probes (high half)              its top 61 bits follow
//!
//!   path:  | cell, 3 bits | 61 bits of probes |
//!          '--- page -----'- bucket -'- remainder -'  ...
//! ```
//!
//! Part of the stored format: a saved table depends on these bits.
//!
//! # Why cells of unequal size
//! If all paths were equally likely, all pages would fill up at the same moment. Memory would then
//! swing by 15 % while the table grows, and an allocator with size classes would be left with whole
//! classes of free blocks. Cell c gets a share of all items that is proportional to 2^(c/8), so at
//! any moment pages are at all stages between two splits, and the cost is flat.

use crate::hash::ItemHash;

/// Bits of a path that name the cell.
pub const CELL_BITS: u32 = 3;

/// The share of each cell, in 256ths of all items: 256 * 2^(c/8) / sum, rounded.
pub const SHARES: [u64; 1 << CELL_BITS] = [23, 25, 28, 30, 33, 36, 39, 42];

/// The cell of each of the 256 parts.
const CELLS: [u8; 256] = {
    let mut cells = [0; 256];
    let (mut part, mut cell, mut end) = (0, 0, SHARES[0] as usize);
    while part < 256 {
        if part == end {
            cell += 1;
            end += SHARES[cell] as usize;
        }
        cells[part] = cell as u8;
        part += 1;
    }
    cells
};

/// The deepest page: a path needs further bits for buckets and fingerprints, and the iterator of a
/// dump has 51 bits for the start of a page.
pub const MAX_DEPTH: u8 = 51;

/// The bit string of an item. Pages, buckets and fingerprints are parts of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path(pub u64);

impl Path {
    /// The path of an item.
    #[inline]
    pub fn of(hash: ItemHash) -> Self {
        let cell = u64::from(CELLS[(hash.place >> 56) as usize]);
        Self(cell << (64 - CELL_BITS) | hash.probes >> CELL_BITS)
    }

    /// The path without its first `depth` bits, from the top.
    #[inline]
    pub fn below(self, depth: u8) -> u64 {
        self.0 << depth
    }

    /// The first path that begins with the same `depth` bits.
    pub fn start(self, depth: u8) -> Self {
        Self(self.0 & !u64::MAX.checked_shr(u32::from(depth)).unwrap_or(0))
    }

    /// The first path after those that begin with the same `depth` bits; `None` at the end.
    pub fn after(self, depth: u8) -> Option<u64> {
        let paths = 1u64.checked_shl(64 - u32::from(depth))?;
        self.start(depth).0.checked_add(paths)
    }

    /// The path's cell.
    #[inline]
    pub fn cell(self) -> u8 {
        (self.0 >> (64 - CELL_BITS)) as u8
    }

    /// The share of all items, in 256ths, that fall into the path's cell.
    #[inline]
    pub fn share(self) -> u64 {
        SHARES[usize::from(self.cell())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Seed;

    #[test]
    fn the_path_of_known_items_never_changes() {
        // XXH3-128 of the empty item is 99aa06d3014798d8 6001c324468d497f: part 0x60 lies in cell
        // 3.
        let path = Path::of(ItemHash::of(b"", Seed(0)));
        assert_eq!(path, Path(3 << 61 | 0x99aa_06d3_0147_98d8 >> 3));
        assert_eq!(CELLS[0], 0);
        assert_eq!(CELLS[255], 7);
    }

    #[test]
    fn the_cells_have_their_shares_of_all_items_and_fill_evenly_through_a_doubling() {
        assert_eq!(SHARES.iter().sum::<u64>(), 256);
        for (cell, share) in SHARES.iter().enumerate() {
            let parts = CELLS.iter().filter(|c| **c as usize == cell).count();
            assert_eq!(parts as u64, *share);
            let exact = 256.0 * (cell as f64 / 8.0).exp2() * (0.125f64.exp2() - 1.0);
            assert!((exact - *share as f64).abs() < 0.6, "{exact}");
        }
    }
}
