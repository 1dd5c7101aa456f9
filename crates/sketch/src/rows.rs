//! From an item to its counters: one in each row.

use splitbloom_foundation::murmur::{murmur32, murmur32_of_each};

/// Rows whose hashes are computed side by side. A power of two: the compiler puts the hashes of
/// eight rows into registers for several numbers, whatever the depth.
pub(crate) const ABREAST: usize = 8;

/// The bytes of an item that take as long to hash for a row as a counter takes to touch: some 10
/// cycles for 4 bytes and eight rows.
const BYTES_OF_A_STEP: u64 = 256;

/// The steps of hashing `bytes` bytes of items for `rows` rows, where one is to touch a counter.
/// Eight rows are hashed together, and fewer take as long.
pub fn steps_to_hash(bytes: u64, rows: u64) -> u64 {
    (bytes / BYTES_OF_A_STEP).saturating_mul(rows.max(ABREAST as u64))
}

/// Finds the counters of items in a table of rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows {
    width: u64,
    depth: u64,
    /// 2^64 divided by the width, rounded up; 0 for a width of 1.
    inverse: u64,
}

impl Rows {
    /// `depth` rows of `width` counters, at least 1 of each.
    pub fn new(width: u64, depth: u64) -> Self {
        Self { width, depth, inverse: (u64::MAX / width).wrapping_add(1) }
    }

    /// The number of rows.
    pub fn depth(&self) -> usize {
        self.depth as usize
    }

    /// The remainder of `hash` by the width, without a division: "Faster remainder by direct
    /// computation" (Lemire, Kaser, Kurz 2019), which is exact where both have 32 bits. A wider row
    /// is wider than any hash.
    #[inline]
    fn remainder(&self, hash: u32) -> u64 {
        if self.width > u64::from(u32::MAX) {
            return hash.into();
        }
        let fraction = self.inverse.wrapping_mul(hash.into());
        ((u128::from(fraction) * u128::from(self.width)) >> 64) as u64
    }

    /// The numbers of the item's counters in at most [`ABREAST`] rows, 0 after these; and its hash
    /// under `seed`, at no cost if there are fewer rows than that.
    #[inline]
    pub fn counters_and_hash(&self, item: &[u8], seed: u32) -> ([u64; ABREAST], u32) {
        const LAST: usize = ABREAST - 1;
        let rows = self.depth.min(ABREAST as u64) as usize;
        let has_spare = rows < ABREAST;
        let seed_of = |row| if has_spare && row == LAST as u32 { seed } else { row };
        let hashes: [u32; ABREAST] = murmur32_of_each(item, seed_of);
        let mut counters = [0; ABREAST];
        for (row, counter) in counters.iter_mut().enumerate().take(rows) {
            *counter = row as u64 * self.width + self.remainder(hashes[row]);
        }
        (counters, if has_spare { hashes[LAST] } else { murmur32(item, seed) })
    }

    /// Calls `visit` with the number of the item's counter in each row, counted over all rows.
    #[inline]
    pub fn visit(&self, item: &[u8], mut visit: impl FnMut(u64)) {
        let (mut row, mut start) = (0, 0);
        while row < self.depth {
            let first = row as u32;
            let hashes: [u32; ABREAST] = murmur32_of_each(item, |n| first.wrapping_add(n));
            let rows = (self.depth - row).min(ABREAST as u64) as usize;
            for hash in &hashes[..rows] {
                visit(start + self.remainder(*hash));
                start += self.width;
            }
            row += ABREAST as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_counter_is_the_remainder_of_its_rows_hash(
            item in prop::collection::vec(any::<u8>(), 0..40),
            width in prop_oneof![
                1u64..100, any::<u32>().prop_map(|width| u64::from(width.max(1))),
                Just(u64::from(u32::MAX)), Just(1 << 32), Just((1 << 32) + 7),
            ],
            depth in 1u64..20,
        ) {
            let mut found = Vec::new();
            Rows::new(width, depth).visit(&item, |cell| found.push(cell));
            let row = |row| row * width + u64::from(murmur32(&item, row as u32)) % width;
            prop_assert_eq!(&found, &(0..depth).map(row).collect::<Vec<_>>());
            let (near, hash) = Rows::new(width, depth).counters_and_hash(&item, 1919);
            found.resize(found.len().max(ABREAST), 0);
            prop_assert_eq!(&near[..], &found[..ABREAST]);
            prop_assert_eq!(hash, murmur32(&item, 1919));
        }
    }
}
