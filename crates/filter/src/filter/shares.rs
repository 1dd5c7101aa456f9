//! A filter that several threads fill: each adds items to some of its sub-bitmaps.
//!
//! Where the bits of an item lie, whether it is new and what it weighs depends on its own
//! sub-bitmap alone. So the sub-bitmaps are divided into shares, and the items sorted into them:
//!
//! ```text
//!   items ─hash─► share 0: items in order ─► sub-bitmaps 0 … s-1     any thread, at any time
//!                 share 1: items in order ─► sub-bitmaps s … 2s-1
//!                 …
//! ```
//!
//! The shares together are, in every bit and count, the filter to which the items were added one by
//! one. Only what makes a filter full is counted over all of them, so that must not happen while it
//! is divided: see [`Shares::has_room_for`].

use crate::bloom::blocked_bloom::BlockedBloom;
use crate::error::{ensure, AddError};
use crate::filter::body::Body;
use crate::filter::head::Head;
use crate::filter::Filter;
use crate::hash::{multiply_high, ItemHash};
use crate::storage::SEGMENT_BITS;

/// The most shares: the number of one fits a byte.
pub const MAX_SHARES: usize = 256;

/// The part of the weight at which the guard closes a filter that may be reached while it is
/// divided. Fair items reach it at 97 % of the capacity, for 6 probes, and later for more.
const WEIGHT_IN_SHARES: f64 = 0.9;

/// A filter with a Bloom filter only, in shares.
pub struct Shares {
    head: Head,
    shares: Vec<Share>,
    routes: Routes,
}

/// Some of the sub-bitmaps of a filter.
pub struct Share(BlockedBloom);

/// Maps items to shares.
#[derive(Clone, Copy, Debug)]
pub struct Routes {
    num_sub_bitmaps: u64,
    /// A share has 2^shift sub-bitmaps, the last share the rest.
    shift: u32,
}

impl Routes {
    /// The number of the share that takes an item.
    #[inline]
    pub fn share_of(&self, hash: ItemHash) -> usize {
        (multiply_high(hash.place, self.num_sub_bitmaps) >> self.shift) as usize
    }
}

impl Filter {
    /// Divides an empty filter into at least `least` shares, and at most [`MAX_SHARES`]. Returns it
    /// as the inner `Err` if it is too small for that, or begins with a table.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn into_shares(self, least: usize) -> Result<Result<Shares, Self>, AddError> {
        let Body::Bloom(bloom) = &self.body else {
            return Ok(Err(self));
        };
        let header = bloom.header();
        let shape = header.shape;
        let least = least.clamp(1, MAX_SHARES / 2) as u64;
        // No two shares have a segment in common.
        let least_shift = (SEGMENT_BITS / shape.sub_bitmap_bits).ilog2();
        let shift = (shape.num_sub_bitmaps / least).checked_ilog2();
        let shift = shift.filter(|shift| *shift >= least_shift && bloom.set_bits() == 0);
        let Some(shift) = shift else {
            return Ok(Err(self));
        };
        let routes = Routes { num_sub_bitmaps: shape.num_sub_bitmaps, shift };
        let share = |_| {
            let mut share = BlockedBloom::from_header(header);
            share.segments_mut().make_leaves()?;
            Ok(Share(share))
        };
        let shares = (0..shape.num_sub_bitmaps.div_ceil(1 << shift)).map(share);
        Ok(Ok(Shares { head: self.head, shares: shares.collect::<Result<_, AddError>>()?, routes }))
    }
}

impl Shares {
    /// Returns the map from items to shares.
    pub fn routes(&self) -> Routes {
        self.routes
    }

    /// The shares.
    pub fn each_mut(&mut self) -> &mut [Share] {
        &mut self.shares
    }

    /// Whether `items` more items leave the filter below its capacity, with the weight of its bits
    /// well below the limit of the [guard](crate::bloom::guard).
    pub fn has_room_for(&self, items: u64) -> bool {
        let fills = self.shares.iter().map(|share| share.0.fill());
        let weight: f64 = fills.clone().map(|fill| fill.share_of_limit()).sum();
        let capacity = self.head.parameters().capacity;
        let all = fills.fold(items, |sum, fill| sum.saturating_add(fill.items()));
        all <= capacity && weight <= WEIGHT_IN_SHARES
    }

    /// Joins the shares into the filter.
    ///
    /// # Errors
    /// `Full` if the guard would have closed it meanwhile: fair items do not cause that if there
    /// was [room](Shares::has_room_for) each time; `OutOfMemory`.
    pub fn into_filter(self) -> Result<Filter, AddError> {
        let mut shares = self.shares.into_iter();
        let Share(mut whole) = shares.next().ok_or(AddError::OutOfMemory)?;
        for Share(share) in shares {
            whole.absorb(share)?;
        }
        ensure(!whole.fill().is_closed(), AddError::Full)?;
        Ok(Filter { head: self.head, body: Body::Bloom(whole) })
    }
}

impl Share {
    /// Adds items of this share. The cache misses of 16 items overlap.
    ///
    /// # Errors
    /// `OutOfMemory`, and some were not added.
    pub fn add(&mut self, hashes: &[ItemHash]) -> Result<(), AddError> {
        self.0.insert_all(hashes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::{Growth, Parameters, SizeLimit};
    use crate::hash::Seed;

    const UNLIMITED: SizeLimit = SizeLimit::Unlimited;

    fn empty(capacity: u64, error_rate: f64, growth: Growth) -> Filter {
        let parameters = Parameters { error_rate, capacity, growth, seed: Seed(11) };
        Filter::new(parameters, UNLIMITED).unwrap()
    }

    /// Items of which some come twice.
    fn hashes(count: u64) -> impl Iterator<Item = ItemHash> {
        (0..count).map(move |n| ItemHash::of(&(n * n % (count / 2 + 1)).to_le_bytes(), Seed(11)))
    }

    #[test]
    fn shares_are_the_filter_that_was_filled_item_by_item() {
        for (error_rate, growth) in [(0.01, Growth::Fixed), (0.0001, Growth::Times(2))] {
            let capacity = 2_000_000;
            let mut whole = empty(capacity, error_rate, growth);
            let all = hashes(400_000);
            whole.add_hashes(all, 0, UNLIMITED, |_, _| ()).unwrap();
            for least in [1, 3, 8] {
                let filter = empty(capacity, error_rate, growth);
                let mut shares = filter.into_shares(least).unwrap().ok().unwrap();
                assert!((least..2 * least + 1).contains(&shares.each_mut().len()));
                let routes = shares.routes();
                let mut sorted = vec![Vec::new(); shares.each_mut().len()];
                hashes(400_000).for_each(|hash| sorted[routes.share_of(hash)].push(hash));
                assert!(shares.has_room_for(capacity));
                // The last share first: their order makes no difference.
                for (share, hashes) in shares.each_mut().iter_mut().zip(sorted).rev() {
                    share.add(&hashes).unwrap();
                }
                let filter = shares.into_filter().unwrap();
                assert_eq!(filter.items(), whole.items());
                assert_eq!(filter.digest(), whole.digest());
                assert_eq!(filter.reserved_bytes(), whole.reserved_bytes());
                assert_eq!(filter.allocated_segments(), whole.allocated_segments());
            }
        }
    }

    #[test]
    fn there_is_room_up_to_the_capacity_and_far_below_the_limit_of_the_guard() {
        let capacity = 1_000_000;
        let filter = empty(capacity, 0.01, Growth::Fixed);
        let mut shares = filter.into_shares(1).unwrap().ok().unwrap();
        assert!(shares.has_room_for(capacity) && !shares.has_room_for(capacity + 1));
        let all = (0..capacity).map(|n| ItemHash::of(&n.to_le_bytes(), Seed(11)));
        let (routes, mut added) = (shares.routes(), 0);
        for hash in all {
            shares.each_mut()[routes.share_of(hash)].add(&[hash]).unwrap();
            added += 1;
            if !shares.has_room_for(1) {
                break;
            }
        }
        assert!((960_000..capacity).contains(&added), "{added}");
        assert!(shares.into_filter().is_ok());
    }

    #[test]
    fn small_filters_and_tables_are_not_divided() {
        assert!(empty(10_000, 0.01, Growth::Fixed).into_shares(2).unwrap().is_err());
        assert!(empty(100, 0.01, Growth::Times(2)).into_shares(1).unwrap().is_err());
        let mut used = empty(2_000_000, 0.01, Growth::Fixed);
        used.add(b"x").unwrap();
        assert!(used.into_shares(1).unwrap().is_err());
    }
}
