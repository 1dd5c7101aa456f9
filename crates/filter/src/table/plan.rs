//! The lengths of fingerprints and sizes of pages that keep a table within its error rate.
//!
//! # The mathematics
//! A fingerprint of t bits of path is matched by an absent item with probability 2^-t. That never
//! changes: a split moves a bit from the fingerprint to the page. So the false-positive rate is at
//! most the sum of 2^-t over all fingerprints, and each generation of entries adds to it once and
//! for all.
//!
//! A page of depth d holds at most n entries, and half of those that fill it are new: the other
//! half came from the page that it was split from. If a new entry gets R + extra(d) bits below
//! depth d, the 2^d pages of generation d add
//! 2^d * n/2 * 2^-(d + R + extra(d)) = n/2 * 2^-(R + extra(d)). The sum over all d is
//!
//! ```text
//!   rate = n * 2^-R * B,   where B = (first page) + 1/2 * sum of 2^-extra(d)
//! ```
//!
//! What `extra` is, and so B, depends on what the table knows of its size: see
//! [`schedule`](super::schedule).
//!
//! R is an integer, but n need not be: it uses up what is left of the rate, within a factor of two.
//! With b = 2^k buckets in a page, an entry costs R - k + 1 bits of slot, 1 of unary and b/n more.
//! Halving n for one bit less of R costs nothing at n/b = 1.38, so n/b is kept from 0.67 to 1.34.
//!
//! Deletions cannot break the sum: pages merge only when both together hold less than a full one,
//! so no more than 2^d * n entries are ever of generation d or earlier.

use crate::math::power;
use crate::table::fingerprint::{SlotShape, MAX_LENGTH, MAX_PAYLOAD, MAX_SLOT_BITS};
use crate::table::grid::{Shape, MAX_LINES};
use crate::table::line::BODY_BITS;
use crate::table::path::{Path, MAX_DEPTH};
use crate::table::rate::Weight;
use crate::table::schedule::{Reservation, Schedule};

/// The number of entries per bucket of a full page: an octave.
const MIN_LOAD: f64 = 0.67;
const MAX_LOAD: f64 = 2.0 * MIN_LOAD;
/// Bits of the bucket number in a full page, if its entries fit: some 2 000 entries are 3 to 8 KiB.
/// Half as many buckets cost 0.2 bits an item more for the directory.
pub const BUCKET_BITS: u8 = 11;
/// The most entries of a full page, whatever the plan: [`MAX_LOAD`] for each bucket.
const MAX_ENTRIES: usize = 2_744;
/// The most entries that a page is written with: a full page, plus short entries that were
/// lengthened into one for each bucket ([`Plan::max_without_suffix`]).
pub const MAX_WRITTEN: usize = MAX_ENTRIES + (1 << BUCKET_BITS) * 5 / 8;
/// More lines than any page has: requests a split.
pub const TOO_MANY_LINES: usize = MAX_LINES + 1;
/// Higher error rates are treated as this one: with shorter fingerprints, pages would be full of
/// entries without bits.
const MAX_RATE: f64 = 0.25;
/// Lower error rates are treated as this one: fingerprints would be longer than paths.
const MIN_RATE: f64 = 1e-12;

/// The constants of a table, derived from its error rate and from what it was reserved for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Entries of a full page.
    max_entries: u16,
    /// The plain length, in bits of path below the depth of a page.
    length: u8,
    /// Buckets of a full page, as a power of two, and the bits of a payload: four bits each.
    bucket_and_payload_bits: u8,
    schedule: Schedule,
}

impl Plan {
    /// The plan for `error_rate` and entries with `payload_bits` bits of payload (0 to 4). With a
    /// reservation, a table takes a quarter less at that number of items, and more beyond.
    pub fn new(error_rate: f64, payload_bits: u8, reservation: Option<Reservation>) -> Self {
        let rate = error_rate.clamp(MIN_RATE, MAX_RATE);
        let payload_bits = payload_bits.min(MAX_PAYLOAD.count_ones() as u8);
        // A reservation of less than a page does not say that the table stays that small.
        let reservation = reservation.filter(|it| !it.grows || it.items > MAX_ENTRIES as u64);
        let of_buckets = |bits| Self::of_buckets(rate, payload_bits, bits, reservation);
        let mut plan = of_buckets(BUCKET_BITS);
        while !plan.full_page_fits() {
            plan = of_buckets(plan.max_bucket_bits() - 1);
        }
        plan
    }

    fn of_buckets(
        rate: f64,
        payload_bits: u8,
        bucket_bits: u8,
        reservation: Option<Reservation>,
    ) -> Self {
        let entries = |load: f64| (load * power(2.0, u64::from(bucket_bits))) as u16;
        let schedule = |max_entries| {
            reservation.map_or(Schedule::Endless, |items| Schedule::of(items, max_entries))
        };
        // With the fewest entries per page, pages are deepest and the budget is largest.
        let least = entries(MIN_LOAD);
        let items = reservation.map_or(0, |reservation| reservation.items);
        let mut load = (rate / schedule(least).budget(items, least)).min(MAX_LOAD);
        // The fingerprint bits with which a bucket may hold MIN_LOAD entries or more.
        let mut fingerprint_bits = 0;
        while load < MIN_LOAD {
            load *= 2.0;
            fingerprint_bits += 1;
        }
        Self {
            max_entries: entries(load),
            length: bucket_bits + fingerprint_bits,
            bucket_and_payload_bits: bucket_bits << 4 | payload_bits,
            schedule: schedule(entries(load)),
        }
    }

    /// Whether a full page of the widest entries takes at most nine tenths of the largest page.
    fn full_page_fits(&self) -> bool {
        let longest = self.length + self.schedule.widest();
        let slot = self.shape(self.max_bucket_bits(), longest).slot.bits();
        let bits = self.max_entries() * (slot + 1) + (1 << self.max_bucket_bits());
        slot <= MAX_SLOT_BITS && bits * 10 <= MAX_LINES * (BODY_BITS - slot / 2) * 9
    }

    /// The plan for a table of `pages` pages and total weight `weight`. Entries with a payload are
    /// dropped again, their weight goes with them, and new entries may be shorter.
    #[inline]
    pub fn now(self, pages: u32, weight: Weight) -> Self {
        if self.payload_bits() == 0 {
            return self;
        }
        let unit = Weight::of_many(self.max_entries.into(), self.length);
        Self { length: self.length - self.schedule.spared(pages, weight, unit), ..self }
    }

    fn max_bucket_bits(&self) -> u8 {
        self.bucket_and_payload_bits >> 4
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
        (1 << self.max_bucket_bits()) * 5 / 8
    }

    pub fn payload_bits(&self) -> u8 {
        self.bucket_and_payload_bits & 0xf
    }

    /// A payload, truncated to the bits that an entry has.
    pub fn payload(&self, payload: u8) -> u8 {
        payload & ((1 << self.payload_bits()) - 1)
    }

    /// The fingerprint length of a new entry in the path's page, which has this depth and number of
    /// entries, in bits of path below `depth`.
    #[inline]
    pub fn length(&self, path: Path, depth: u8, entries: usize) -> u8 {
        let length = self.schedule.length(path, depth, entries, self.length, self.max_entries());
        length.min(MAX_LENGTH).min(64 - depth)
    }

    /// The shape of a page of `entries` entries of their plain length.
    pub fn shape_of_new(&self, path: Path, depth: u8, entries: usize) -> Shape {
        let length = self.length(path, depth, entries);
        self.shape(self.bucket_bits(path, depth, entries, length), length)
    }

    /// The shape of a page of `2^bucket_bits` buckets whose longest fingerprint has `longest` bits.
    /// A slot has at least one of them.
    pub fn shape(&self, bucket_bits: u8, longest: u8) -> Shape {
        let longest = longest.max(bucket_bits + 1);
        let fingerprint_bits = longest + 1 - bucket_bits;
        Shape {
            bucket_bits,
            slot: SlotShape { fingerprint_bits, payload_bits: self.payload_bits() },
        }
    }

    /// Binary logarithm of the number of buckets of a page with `entries` entries: one less below
    /// 0.45 of the maximum, and so on, as long as a slot holds the rest of a fingerprint of
    /// `longest` bits, and of a new one. (At most 59 + 1 + 4 - 57 = 7 bits are needed for that.)
    pub fn bucket_bits(&self, path: Path, depth: u8, entries: usize, longest: u8) -> u8 {
        let longest = longest.max(self.length(path, depth, self.max_entries()));
        let widest = usize::from(longest + 1 + self.payload_bits());
        let fewest = widest.saturating_sub(MAX_SLOT_BITS).max(1) as u8;
        let mut bits = self.max_bucket_bits();
        let mut least = self.max_entries() * 9 / 20;
        while entries < least && bits > fewest {
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
    /// average page, at most n * 2^-R * B / 2: that adds at most half the error rate even if all
    /// items of the table are aimed at such pages.
    pub fn max_depth(&self, pages: u64) -> u8 {
        let weight = f64::from(self.max_entries) * self.schedule.least_budget();
        let slack = self.length + 1 - (weight as u32).ilog2() as u8;
        ((64 - pages.leading_zeros()) as u8 + slack).min(MAX_DEPTH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATES: [f64; 8] = [0.9, 0.1, 0.03, 0.01, 0.001, 0.0001, 1e-6, 1e-12];

    fn reservations() -> impl Iterator<Item = Option<Reservation>> {
        let items = (0..=40).map(|bits| 1 << bits);
        let reserved = |items| [false, true].map(|grows| Some(Reservation { items, grows }));
        items.flat_map(reserved).chain([None])
    }

    #[test]
    fn shorter_entries_leave_all_generations_to_come_their_share() {
        // At lower rates paths have no bits for deeper pages.
        for rate in RATES.into_iter().filter(|rate| *rate >= 0.001) {
            let plan = Plan::new(rate, 4, None);
            let unit = |times| Weight::of_many(u64::from(plan.max_entries) * times, plan.length);
            // What full pages of a depth weigh, in units.
            let full = |depth| {
                let extra = plan.length(Path(0), depth, plan.max_entries()) - plan.length;
                0.5f64.powi(extra.into())
            };
            let budget = plan.schedule.budget(0, plan.max_entries);
            for depth in 5..32 {
                let halves = depth.min(19) - 1;
                let later: f64 = (depth + 1..38).map(|depth| full(depth) / 2.0).sum();
                assert!(f64::from(halves) / 2.0 + full(depth) + later < budget);
                let there = |weight| plan.length - plan.now(1 << depth, weight).length;
                let spared = there(Weight::default());
                assert!(unit(1 << spared).is_within_halves(halves, unit(1)));
                assert_eq!(there(unit(u64::from(halves) / 2)), spared);
                assert_eq!(there(unit(u64::from(halves) / 2 + 1)), 0);
            }
        }
        let plan = Plan::new(0.01, 4, None);
        let spared = |pages| plan.length - plan.now(pages, Weight::default()).length;
        let pages = [0, 1, 31, 32, 511, 512, 1 << 17, u32::MAX];
        assert_eq!(pages.map(spared), [0, 0, 0, 1, 1, 2, 3, 3]);
        let without_payload = Plan::new(0.01, 0, None);
        assert_eq!(without_payload.now(512, Weight::default()), without_payload);
    }

    #[test]
    fn every_plan_fits_its_pages_and_its_paths() {
        for rate in RATES {
            for payload_bits in 0..=4 {
                for reservation in reservations() {
                    let plan = Plan::new(rate, payload_bits, reservation);
                    let bits = plan.max_bucket_bits();
                    assert!(plan.full_page_fits() && bits >= 8, "{plan:?}");
                    assert!(plan.max_entries() >= 1 << (bits - 1), "{plan:?}");
                    assert!(plan.max_entries() <= MAX_ENTRIES, "{plan:?}");
                    assert!(plan.length(Path(u64::MAX), 63, 1) <= MAX_LENGTH);
                    let full = |entries| plan.bucket_bits(Path(0), 0, entries, 1);
                    assert_eq!((full(0) >= 1, full(plan.max_entries())), (true, bits));
                    assert_eq!(plan.payload_bits(), payload_bits);
                }
            }
        }
    }

    #[test]
    fn every_page_has_slots_that_one_read_returns_and_a_file_may_have() {
        let lower = [1e-8, 1e-9, 1e-10, 1e-11];
        for (rate, payload_bits) in RATES.into_iter().chain(lower).flat_map(|it| [(it, 0), (it, 4)])
        {
            for plan in reservations().map(|it| Plan::new(rate, payload_bits, it)) {
                for (depth, longest) in (0..=MAX_DEPTH).flat_map(|it| [0, 30, 59].map(|l| (it, l)))
                {
                    let longest = longest.min(64 - depth);
                    for entries in [1, 2, 5, 40, 300, 700, plan.max_entries(), MAX_WRITTEN] {
                        let length = longest.max(plan.length(Path(0), depth, entries));
                        let bits = plan.bucket_bits(Path(0), depth, entries, longest);
                        let shape = plan.shape(bits, length);
                        let fits = bits <= plan.max_bucket_bits()
                            && (2..=60).contains(&shape.slot.fingerprint_bits)
                            && shape.slot.bits() <= MAX_SLOT_BITS
                            && shape.longest() <= MAX_LENGTH
                            && shape.longest() + depth <= 64;
                        assert!(fits, "{plan:?} {depth} {longest} {entries}: {shape:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn every_plan_spends_at_most_its_rate_and_usually_more_than_half_of_it() {
        for rate in RATES {
            for reservation in reservations() {
                let plan = Plan::new(rate, 0, reservation);
                let items = reservation.map_or(0, |it| it.items);
                let budget = plan.schedule.budget(items, plan.max_entries);
                let full_page = f64::from(plan.max_entries) * power(0.5, plan.length.into());
                let spent = full_page * budget / rate.clamp(MIN_RATE, MAX_RATE);
                assert!(spent <= 1.05, "{spent} of {rate} {reservation:?} {plan:?}");
                let is_tiny = reservation.is_some_and(|it| it.items < MAX_ENTRIES as u64);
                assert!(spent > 0.6 || is_tiny, "{spent} of {rate} {reservation:?} {plan:?}");
            }
        }
    }

    #[test]
    fn a_slot_at_one_percent_has_eleven_bits_and_two_or_three_less_if_the_table_was_reserved() {
        let of = |reservation| {
            let plan = Plan::new(0.01, 0, reservation);
            (plan.max_entries, plan.length, plan.max_bucket_bits())
        };
        assert_eq!(of(None), (1_740, 21, 11));
        let items = 1_000_000;
        assert_eq!(of(Some(Reservation { items, grows: true })), (2_260, 19, 11));
        assert_eq!(of(Some(Reservation { items, grows: false })), (2_425, 18, 11));
        let items = MAX_ENTRIES as u64;
        assert_eq!(of(Some(Reservation { items, grows: true })), of(None));
    }
}
