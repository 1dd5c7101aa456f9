//! The lengths of fingerprints and sizes of pages that keep a table within its error rate.
//!
//! # The mathematics
//! A fingerprint of t bits of path is matched by an absent item with probability 2^-t. That never
//! changes: a split moves a bit from the fingerprint to the page. So the false-positive rate is at
//! most the sum of 2^-t over all fingerprints, and each generation of entries adds to it once and
//! for all.
//!
//! A page of depth d holds at most n entries, and half of those that fill it are new: the other
//! half came from the page that it was split from. With R(d) the bits that a new entry gets below
//! depth d, the 2^d pages of generation d add 2^d * n/2 * 2^-(d + R(d)) = n/2 * 2^-R(d). The sum
//! over all d
//!
//! ```text
//!   rate = n * 2^-R * B,   where R(d) = R + extra(d)
//!                          and   B = (first page) + 1/2 * sum of 2^-extra(d)
//! ```
//!
//! converges if `extra` grows without bound, and then the table may grow without bound. Lengths
//! that grow from the start cost some 2 bits more at a million items than a budget spent evenly up
//! to a horizon (2^30 items) and sparingly beyond. Entries added before the fifth split get one bit
//! more: they are few, and no later entry has to make up for them.
//!
//! The first hundred or so entries get three bits less than the plain length, so that a small table
//! takes three lines instead of four. That permanently uses one twentieth of the rate, and costs
//! larger tables 0.03 bits an item. After some 18 splits such an entry has no bits left and covers
//! a whole page, which then saturates ([`Plan::max_without_suffix`]): that adds no more to the rate
//! than the entry did.
//!
//! R is an integer, but n need not be: it uses up what is left of the rate, within a factor of two.
//! With b = 2^k buckets in a page, an entry costs R - k + 1 bits of slot, 1 of unary and b/n more.
//! Halving n for one bit less of R costs nothing at n/b = 1.38, so n/b is kept from 0.67 to 1.34.
//!
//! Deletions cannot break the sum: pages merge only when both together hold less than a full one,
//! so no more than 2^d * n entries are ever of generation d or earlier.
//!
//! # Entries that are dropped again
//! In a steady stream of entries that are dropped again, all present ones are of the last
//! generation: they weigh at most n * 2^-R, a twelfth of the rate. So if entries have a payload,
//! new ones are up to three bits shorter. In units of n * 2^-R, a table of 2^d pages may still get
//! 1 of its own generation in full length, and 1/2 of each later generation, 2 in all from the 20th
//! on. Of 12.05 that leaves
//!
//! ```text
//!   12.05 - 1 - (19 - d) / 2 - 2  >  (d - 1) / 2
//! ```
//!
//! for the present entries. If they weigh no more, the next entry is s bits shorter, where s is the
//! largest number for which full pages of such entries weigh no more either: 2^s <= (d - 1) / 2.
//! That is one bit from 2^5 pages on (some 40 000 entries), two from 2^9 (700 000), and three from
//! 2^17. However fast the table then grows, the budget for entries of full length is left.

use crate::math::power;
use crate::table::fingerprint::{SlotShape, MAX_LENGTH, MAX_PAYLOAD, MAX_SLOT_BITS};
use crate::table::grid::{Shape, MAX_LINES};
use crate::table::line::BODY_BITS;
use crate::table::rate::Weight;

/// Depths at which new entries get the plain length. Earlier entries are few, and one bit more is
/// cheap; beyond, at some 2^30 items, each generation must leave room for all later ones.
const PLAIN_DEPTHS: std::ops::Range<u8> = 5..20;
/// Beyond these depths, each group of this many generations gets half the share of the previous
/// one.
const GENERATIONS_A_BIT: u8 = 4;
/// The budget B above, in units of the rate that n entries of plain length have: see
/// `the_budget_is_that_of_the_schedule`.
const BUDGET: f64 = 12.05;
/// The first 1/13 of the entries of a table's first page gets shorter fingerprints: 107 items at
/// 0.1 %, 133 at 1 %.
const FIRST_PART: usize = 13;
/// The number of bits by which they are shorter, and the length below which they are not: at high
/// rates fingerprints are short anyway, and would have no bits left in tables of some million
/// items.
const FIRST_LESS: u8 = 3;
const FIRST_MIN: u8 = 18;
/// The minimum number of entries per bucket of a full page; the maximum is twice that.
const MIN_LOAD: f64 = 0.67;
/// Bits of the bucket number in a full page, if its entries fit: some 2 000 entries are 3 to 8 KiB.
/// Half as many buckets cost 0.2 bits an item more for the directory.
const BUCKET_BITS: u8 = 11;
/// More lines than any page has: requests a split.
pub const TOO_MANY_LINES: usize = MAX_LINES + 1;
/// The deepest page: a path needs further bits for buckets and fingerprints, and the iterator of a
/// dump has 51 bits for the start of a page.
pub const MAX_DEPTH: u8 = 51;
/// Higher error rates are treated as this one: with shorter fingerprints, pages would be full of
/// entries without bits.
const MAX_RATE: f64 = 0.25;
/// Lower error rates are treated as this one: fingerprints would be longer than paths.
const MIN_RATE: f64 = 1e-12;

/// The constants of a table, derived from its error rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Entries of a full page.
    max_entries: u16,
    /// Bits of path, below a page's depth, of a new entry at the plain depths.
    length: u8,
    /// Buckets of a full page, as a power of two.
    bucket_bits: u8,
    payload_bits: u8,
    /// By how much a page may be deeper than the average one: see [`Plan::max_depth`].
    slack: u8,
}

impl Plan {
    /// The plan for `error_rate` and entries with `payload_bits` bits of payload (0 to 4).
    pub fn new(error_rate: f64, payload_bits: u8) -> Self {
        let rate = error_rate.clamp(MIN_RATE, MAX_RATE);
        let payload_bits = payload_bits.min(MAX_PAYLOAD.count_ones() as u8);
        let mut plan = Self::of_buckets(rate, payload_bits, BUCKET_BITS);
        while !plan.full_page_fits() {
            plan = Self::of_buckets(rate, payload_bits, plan.bucket_bits - 1);
        }
        plan
    }

    fn of_buckets(rate: f64, payload_bits: u8, bucket_bits: u8) -> Self {
        // The fingerprint bits with which a bucket may hold MIN_LOAD entries or more.
        let mut load = rate / BUDGET;
        let mut fingerprint_bits = 0;
        while load < MIN_LOAD {
            load *= 2.0;
            fingerprint_bits += 1;
        }
        let mut slack = 1;
        while power(0.5, u64::from(slack)) > rate / 2.0 {
            slack += 1;
        }
        Self {
            max_entries: (load * power(2.0, u64::from(bucket_bits))) as u16,
            length: bucket_bits + fingerprint_bits,
            bucket_bits,
            payload_bits,
            slack,
        }
    }

    /// Whether a full page of the widest entries takes at most nine tenths of the largest page.
    fn full_page_fits(&self) -> bool {
        let slot = usize::from(self.length + 2 - self.bucket_bits + self.payload_bits);
        let bits = usize::from(self.max_entries) * (slot + 1) + (1 << self.bucket_bits);
        slot <= MAX_SLOT_BITS && bits * 10 <= MAX_LINES * (BODY_BITS - slot / 2) * 9
    }

    /// The plan for a table of `pages` pages and total weight `weight`. Entries with a payload are
    /// dropped again, their weight goes with them, and new entries may be shorter: see the module,
    /// "Entries that are dropped again".
    #[inline]
    pub fn now(self, pages: u32, weight: Weight) -> Self {
        if self.payload_bits == 0 {
            return self;
        }
        let depth = (pages.max(1).ilog2() as u8).min(PLAIN_DEPTHS.end - 1);
        let halves = depth.saturating_sub(1);
        let spared = (halves / 2).checked_ilog2().unwrap_or(0) as u8;
        let unit = Weight::of_many(self.max_entries.into(), self.length);
        if !weight.is_within_halves(halves, unit) {
            return self;
        }
        Self { length: self.length - spared, ..self }
    }

    /// The number of entries at which a page splits.
    pub fn max_entries(&self) -> usize {
        usize::from(self.max_entries)
    }

    /// The number of entries from which a page that lacks room splits instead of getting more
    /// lines. The largest size is a few entries short of a full page: at 1 %, 48 lines hold some 1
    /// 715 of 1 740 entries, so the next size, 56, would be written for the last 25 only.
    pub fn nearly_full(&self) -> usize {
        self.max_entries() - self.max_entries() / 16
    }

    /// The maximum number of entries without bits beyond the bucket's number, which match
    /// everything in their bucket; a page with more saturates. An entry of length 1 becomes one
    /// such entry for half of all buckets, and 5/8 leaves room for others. After the next split it
    /// would cover one of the halves wholly, which may as well saturate.
    pub fn max_without_suffix(&self) -> usize {
        (1 << self.bucket_bits) * 5 / 8
    }

    /// The maximum number of entries that a page is written with: a full page, plus short entries
    /// that were lengthened into one for each bucket.
    pub fn max_written(&self) -> usize {
        self.max_entries() + self.max_without_suffix()
    }

    pub fn payload_bits(&self) -> u8 {
        self.payload_bits
    }

    /// A payload, truncated to the bits that an entry has.
    pub fn payload(&self, payload: u8) -> u8 {
        payload & ((1 << self.payload_bits) - 1)
    }

    /// The fingerprint length of a new entry in a page of this depth and number of entries, in bits
    /// of path below `depth`.
    #[inline]
    pub fn length(&self, depth: u8, entries: usize) -> u8 {
        let length = if depth >= PLAIN_DEPTHS.end {
            self.length + 1 + (depth - PLAIN_DEPTHS.end) / GENERATIONS_A_BIT
        } else if depth == 0 && entries < self.max_entries() / FIRST_PART {
            self.length.min(FIRST_MIN.max(self.length - FIRST_LESS))
        } else {
            self.length + u8::from(depth < PLAIN_DEPTHS.start)
        };
        length.min(MAX_LENGTH).min(64 - depth)
    }

    /// The shape of a page of `2^bucket_bits` buckets whose longest fingerprint has `longest` bits.
    pub fn shape(&self, bucket_bits: u8, longest: u8) -> Shape {
        let fingerprint_bits = longest + 1 - bucket_bits;
        Shape { bucket_bits, slot: SlotShape { fingerprint_bits, payload_bits: self.payload_bits } }
    }

    /// Binary logarithm of the number of buckets of a page with `entries` entries: one less below
    /// 0.45 of the maximum, and so on.
    pub fn bucket_bits(&self, entries: usize) -> u8 {
        let mut bits = self.bucket_bits;
        let mut least = self.max_entries() * 9 / 20;
        while entries < least && bits > 1 {
            bits -= 1;
            least /= 2;
        }
        bits
    }

    /// The depth at which a page of a table of `pages` pages no longer splits.
    ///
    /// The hash spreads items evenly over all pages. An attacker who knows the seed can aim items
    /// at one page and make it split again and again. So a page that is `slack` deeper than the
    /// average one saturates instead: from then on it matches everything. It covers 2^-slack of an
    /// average page, which adds at most half the error rate even if all items of the table are
    /// aimed at such pages.
    pub fn max_depth(&self, pages: u64) -> u8 {
        ((64 - pages.leading_zeros()) as u8 + self.slack).min(MAX_DEPTH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATES: [f64; 8] = [0.9, 0.1, 0.03, 0.01, 0.001, 0.0001, 1e-6, 1e-12];

    #[test]
    fn the_budget_is_that_of_the_schedule() {
        let plan = Plan::new(0.01, 0);
        let most = plan.max_entries() as f64;
        let weight = |depth, n| {
            let extra = i32::from(plan.length(depth, n)) - i32::from(plan.length);
            0.5f64.powi(extra)
        };
        // Cells are unequal, which counts before they are apart: sum of share^2 times 8.
        let uneven = 1.05;
        let first: f64 = (0..plan.max_entries()).map(|n| weight(0, n) / most).sum();
        let later = |depth| weight(depth, plan.max_entries()) / 2.0;
        let budget = uneven * (first + later(1) + later(2)) + (3..43).map(later).sum::<f64>();
        assert!(budget < BUDGET && budget > 0.95 * BUDGET, "{budget}");
    }

    #[test]
    fn shorter_entries_leave_all_generations_to_come_their_share() {
        // At lower rates paths have no bits for deeper pages.
        for rate in RATES.into_iter().filter(|rate| *rate >= 0.001) {
            let plan = Plan::new(rate, 4);
            let unit = |times| Weight::of_many(u64::from(plan.max_entries) * times, plan.length);
            // What full pages of a depth weigh, in units.
            let full = |depth| {
                let extra = plan.length(depth, plan.max_entries()) - plan.length;
                0.5f64.powi(extra.into())
            };
            for depth in 5..32 {
                let halves = depth.min(19) - 1;
                let later: f64 = (depth + 1..38).map(|depth| full(depth) / 2.0).sum();
                assert!(f64::from(halves) / 2.0 + full(depth) + later < BUDGET);
                let there = |weight| plan.length - plan.now(1 << depth, weight).length;
                let spared = there(Weight::default());
                assert!(unit(1 << spared).is_within_halves(halves, unit(1)));
                assert_eq!(there(unit(u64::from(halves) / 2)), spared);
                assert_eq!(there(unit(u64::from(halves) / 2 + 1)), 0);
            }
        }
        let plan = Plan::new(0.01, 4);
        let spared = |pages| plan.length - plan.now(pages, Weight::default()).length;
        let pages = [0, 1, 31, 32, 511, 512, 1 << 17, u32::MAX];
        assert_eq!(pages.map(spared), [0, 0, 0, 1, 1, 2, 3, 3]);
        let without_payload = Plan::new(0.01, 0);
        assert_eq!(without_payload.now(512, Weight::default()), without_payload);
    }

    #[test]
    fn every_plan_fits_its_pages_and_its_paths() {
        for rate in RATES {
            for payload_bits in 0..=4 {
                let plan = Plan::new(rate, payload_bits);
                assert!(plan.full_page_fits() && plan.bucket_bits >= 8, "{plan:?}");
                assert!(plan.max_entries() >= 1 << (plan.bucket_bits - 1), "{plan:?}");
                assert!(plan.length(63, 1) <= MAX_LENGTH);
                assert!(
                    plan.bucket_bits(0) >= 1
                        && plan.bucket_bits(plan.max_entries()) == plan.bucket_bits
                );
            }
        }
    }

    #[test]
    fn a_table_of_one_percent_has_eleven_bits_a_slot() {
        let plan = Plan::new(0.01, 0);
        assert_eq!((plan.max_entries, plan.length, plan.bucket_bits), (1740, 21, 11));
    }
}
