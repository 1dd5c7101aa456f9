//! Folding: the same bits in fewer sub-bitmaps.
//!
//! ```text
//!   n = 6      │ 0 │ 1 │ 2 │ 3 │ 4 │ 5 │       an item with place h is in h * 6 / 2^64
//!   f = 2          ╲ │     ╲ │     ╲ │
//!   n / f = 3        0       1       2         in h * 3 / 2^64: half of that, rounded down
//! ```
//!
//! The probes of an item depend on the size of a sub-bitmap only, so the union of `f` neighbours is
//! the sub-bitmap that the smaller filter would have, bit for bit. (Sailhan and Stehr, "Folding and
//! unfolding Bloom filters", 2012, fold filters that are not split.)

use crate::bloom::blocked_bloom::{BlockedBloom, Header};
use crate::bloom::guard::{self, UNIT};
use crate::bloom::shape::Shape;
use crate::bloom::sizing::capacity_of;
use crate::error::AddError;

impl Header {
    /// The header of the sub-filter that results if every `factor` neighbours are united: that of
    /// one reserved so small. `None` if `factor` does not divide the sub-bitmaps, if no capacity
    /// has so few, or if this header itself is none that sizing makes. Costs some sizings.
    pub(crate) fn folded(&self, factor: u64) -> Option<Self> {
        let n = self.shape.num_sub_bitmaps;
        if factor < 2 {
            return (factor == 1).then_some(*self);
        }
        if !n.is_multiple_of(factor) {
            return None;
        }
        let shape = Shape { num_sub_bitmaps: n / factor, ..self.shape };
        let capacity = capacity_of(&shape, self.error_rate)?;
        let guard_limit = guard::limit(&shape, capacity, self.error_rate);
        Some(Self { shape, capacity, guard_limit, ..*self })
    }

    /// The factors from 2 on by which it may be folded so that at least `capacity` items fit, the
    /// largest first; with the header after that.
    pub(crate) fn folds_for(&self, capacity: u64) -> impl Iterator<Item = (u64, Self)> + '_ {
        let n = self.shape.num_sub_bitmaps;
        // A forged number may have any factors; one that sizing makes has an odd part below 256.
        let odd = n >> n.trailing_zeros();
        let odd_factors =
            (1..=odd.min(255)).rev().filter(move |factor| odd.is_multiple_of(*factor));
        let mut factors = [0; 1024];
        let mut len = 0;
        // 128 divisors at most, and 46 powers of two: only those that leave enough matter.
        let fewest = (capacity as f64 / self.capacity as f64 * n as f64 * 0.9) as u64;
        for odd in odd_factors {
            for twos in 0..=n.trailing_zeros() {
                let factor = odd << twos;
                if factor > 1 && n / factor >= fewest.max(2) && len < factors.len() {
                    factors[len] = factor;
                    len += 1;
                }
            }
        }
        factors[..len].sort_unstable_by(|one, other| other.cmp(one));
        let fold = move |factor| Some((factor, self.folded(factor)?));
        let folds = factors.into_iter().take(len).filter_map(fold);
        folds.filter(move |(_, header)| header.capacity >= capacity)
    }
}

impl BlockedBloom {
    /// A copy whose sub-bitmaps are unions of `factor` neighbours of this one, with the header
    /// `header`, that of [`Header::folded`]. It counts the same items, and weighs its bits anew.
    ///
    /// It costs what reading this one costs, and at most the memory of `header`.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn fold(&self, factor: u64, header: Header) -> Result<Self, AddError> {
        let mut folded = Self::from_header(Header { items: self.fill().items(), ..header });
        folded.make_room_for(self, factor)?;
        folded.set_all(self, factor);
        Ok(folded)
    }

    /// Whether its false-positive rate is at most its error rate, as the guard weighs its bits.
    pub(crate) fn keeps_its_rate(&self) -> bool {
        self.fill().weight() <= self.header().shape.num_sub_bitmaps.saturating_mul(UNIT)
    }
}
