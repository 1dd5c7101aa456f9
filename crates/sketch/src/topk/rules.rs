//! Where an item belongs: what all slices of a window share.

use super::decay::Decay;
use super::shape::Shape;
use crate::rows::{Rows, ABREAST};
use splitbloom_foundation::alloc::OutOfMemory;
use splitbloom_foundation::murmur::murmur32;

/// What RedisBloom hashes fingerprints under.
const FINGERPRINT_SEED: u32 = 1919;
/// The items of a list come most often. Up to this many buckets of theirs stay in the caches of a
/// core, 512 KiB with a cache line each, and to prefetch them would cost a quarter of the time.
const CACHED_BUCKETS: u64 = 8192;

/// The fingerprint of an item.
#[inline]
pub(super) fn fingerprint(item: &[u8]) -> u32 {
    murmur32(item, FINGERPRINT_SEED)
}

/// Where an item belongs. Items of the list remember it: so most items of a skewed stream are
/// hashed once, by the index.
#[derive(Clone, Copy, Default)]
pub(super) struct Path {
    pub fingerprint: u32,
    /// The bucket of each row, if the value has so few that they are kept here.
    cells: [u32; ABREAST],
}

/// What all slices of a window share.
pub(super) struct Rules {
    pub shape: Shape,
    pub rows: Rows,
    pub decay: Decay,
    /// Whether a [`Path`] holds the buckets of its item.
    has_cells: bool,
    /// Whether the buckets of the items of a list are so few that they stay in the caches.
    pub is_list_cached: bool,
}

impl Rules {
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(shape: Shape) -> Result<Self, OutOfMemory> {
        let rows = Rows::new(shape.width.into(), shape.depth.into());
        let has_cells = rows.depth() <= ABREAST && u32::try_from(shape.buckets()).is_ok();
        let is_list_cached = u64::from(shape.k) * u64::from(shape.depth) <= CACHED_BUCKETS;
        Ok(Self { shape, rows, decay: Decay::new(shape.decay)?, has_cells, is_list_cached })
    }

    /// Where `item` belongs. Cost: a hash for each row.
    #[inline]
    pub fn path(&self, item: &[u8]) -> Path {
        if !self.has_cells {
            return Path { fingerprint: fingerprint(item), cells: [0; ABREAST] };
        }
        let (cells, fingerprint) = self.rows.counters_and_hash(item, FINGERPRINT_SEED);
        Path { fingerprint, cells: cells.map(|cell| cell as u32) }
    }

    /// The bucket of an item in each row, if its path has them.
    #[inline]
    pub fn cells<'a>(&self, path: &'a Path) -> Option<&'a [u32]> {
        self.has_cells.then(|| &path.cells[..self.rows.depth()])
    }

    /// Calls `visit` with the bucket of an item in each row.
    #[inline]
    pub fn visit(&self, item: &[u8], path: &Path, mut visit: impl FnMut(u64)) {
        match self.cells(path) {
            Some(cells) => cells.iter().for_each(|cell| visit((*cell).into())),
            None => self.rows.visit(item, visit),
        }
    }
}
