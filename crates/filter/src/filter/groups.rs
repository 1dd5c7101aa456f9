//! Many items at once: hashed and prefetched in groups, so that the cache misses of many items
//! overlap.

use crate::bloom::blocked_bloom::BlockedBloom;
use crate::error::AddError;
use crate::filter::body::Body;
use crate::filter::Filter;
use crate::hash::{Group, ItemHash};

/// Reads `hashes` in groups, and calls `act` with one while the memory of the next, which `fetch`
/// prefetches, is on its way.
///
/// # Errors
/// What `act` returns, which ends it.
#[inline(always)]
pub(super) fn in_groups<F>(
    mut filter: F,
    mut hashes: impl Iterator<Item = ItemHash>,
    fetch: impl Fn(&F, &[ItemHash]),
    mut act: impl FnMut(&mut F, &[ItemHash]) -> Result<(), AddError>,
) -> Result<(), AddError> {
    let (mut group, mut ahead) = (&mut Group::default(), &mut Group::default());
    fetch(&filter, group.read(&mut hashes));
    while !group.hashes().is_empty() {
        fetch(&filter, ahead.read(&mut hashes));
        act(&mut filter, group.hashes())?;
        std::mem::swap(&mut group, &mut ahead);
    }
    Ok(())
}

/// Prefetches items in a Bloom filter.
#[inline]
pub(super) fn prefetch_in(bloom: &BlockedBloom, group: &[ItemHash]) {
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
