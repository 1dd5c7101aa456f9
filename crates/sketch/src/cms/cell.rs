//! Cells: counters of 1, 2, 4 or 8 bytes, little-endian numbers.

use super::MAX_COUNT;

/// Evaluates an expression with the bytes of a cell as the constant `$n`: each size has code of its
/// own.
macro_rules! by_size {
    ($size:expr, $n:ident => $value:expr) => {{
        use $crate::cms::cell::CellSize;
        match $size {
            CellSize::One => {
                const $n: usize = 1;
                $value
            }
            CellSize::Two => {
                const $n: usize = 2;
                $value
            }
            CellSize::Four => {
                const $n: usize = 4;
                $value
            }
            CellSize::Eight => {
                const $n: usize = 8;
                $value
            }
        }
    }};
}
pub(super) use by_size;

/// The bytes of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CellSize {
    /// Counts to 255.
    One = 1,
    /// Counts to 65 535.
    Two = 2,
    /// Counts to 2^32 - 1: the size before Redis 8.12.
    #[default]
    Four = 4,
    /// Counts to 2^63 - 1, as RedisBloom: the largest integer of a reply.
    Eight = 8,
}

impl CellSize {
    /// All sizes.
    pub const ALL: [Self; 4] = [Self::One, Self::Two, Self::Four, Self::Eight];

    /// The size of cells of `bytes` bytes; `None` unless `bytes` is 1, 2, 4 or 8.
    pub fn of(bytes: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|size| size.bytes() == bytes)
    }

    /// Its number of bytes.
    pub fn bytes(self) -> u64 {
        self as u64
    }

    /// The largest count of a cell.
    pub fn max(self) -> u64 {
        by_size!(self, N => max::<N>())
    }
}

/// The bits of a count in a cell of `N` bytes.
pub(super) const fn bits<const N: usize>() -> u32 {
    if N < 8 {
        8 * N as u32
    } else {
        MAX_COUNT.count_ones()
    }
}

/// The largest count of a cell of `N` bytes.
pub(super) const fn max<const N: usize>() -> u64 {
    MAX_COUNT >> (63 - bits::<N>())
}

/// The count in a cell.
#[inline]
pub(super) fn count_in<const N: usize>(cell: &[u8; N]) -> u64 {
    let mut bytes = [0; 8];
    bytes[..N].copy_from_slice(cell);
    u64::from_le_bytes(bytes)
}

/// Puts a count into a cell: as much of it as the cell has bytes for.
#[inline]
pub(super) fn put<const N: usize>(cell: &mut [u8; N], count: u64) {
    cell.copy_from_slice(&count.to_le_bytes()[..N]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_counts_as_far_as_its_bits() {
        let largest = CellSize::ALL.map(CellSize::max);
        assert_eq!(largest, [255, 65_535, u32::MAX.into(), i64::MAX as u64]);
        assert_eq!(CellSize::ALL.map(|size| CellSize::of(size.bytes())), CellSize::ALL.map(Some));
        assert_eq!([0, 3, 16, u64::MAX].map(CellSize::of), [None; 4]);
    }

    #[test]
    fn a_cell_keeps_what_it_has_bytes_for() {
        let mut cell = [0; 2];
        put(&mut cell, 0x1_02_03);
        assert_eq!((cell, count_in(&cell)), ([3, 2], 0x203));
    }
}
