//! How many bits more than the plain length a new entry gets, by the depth of its page.
//!
//! [`plan`](super::plan) has the mathematics: a schedule `extra` costs a table B times the rate of
//! one full page of plain entries, where B = (first page) + 1/2 * sum of 2^-extra(d).
//!
//! # A table that may grow without bound
//! The sum converges if `extra` grows without bound, and then the table may grow without bound.
//! Lengths that grow from the start cost some 2 bits more at a million items than a budget spent
//! evenly up to a horizon (2^30 items) and sparingly beyond. Entries added before the fifth split
//! get one bit more: they are few, and no later entry has to make up for them. B is 12.05.
//!
//! The first hundred or so entries get three bits less than the plain length, so that a small table
//! takes three lines instead of four. That permanently uses one twentieth of the rate, and costs
//! larger tables 0.03 bits an item. After some 18 splits such an entry has no bits left and covers
//! a whole page, which then saturates: that adds no more to the rate than the entry did.
//!
//! # A table that was reserved
//! If the number of items is known, so is the depth D of a page when the table is full. An entry
//! added at depth d gets D - d bits more than the plain length, and has exactly that length left at
//! depth D. All entries of a full table then have the plain length, and weigh as one full page of
//! such entries, whenever they came: B is 1 instead of 12, which saves 3 bits an item.
//!
//! ```text
//!   added at depth   path of an entry, D = 9
//!     6              | page, 6 |-------- R + 3 --------|
//!     8              | page, 8   |------ R + 1 --------|
//!     9              | page, 9     |---- R ------------|
//! ```
//!
//! A small table would take wide slots for the sake of a size that it may never have. So an entry
//! gets at most four bits more (three if D is more than eight splits away), and each generation
//! before depth D - 4 adds 1/32 or 1/16 to B: 0.2 for a million items, 0.6 for 10^8. A table that
//! is reserved far too large takes up to a fifth more for that.
//!
//! Entries that come after the table is full pay for being late. The first four generations beyond
//! D get two bits more than plain, the next four three, and so on: together they add
//! 1/2 * 4 * (1/4 + 1/8 + ...) = 1 to B, however far the table grows. In a table that does not grow
//! nothing comes after that, and its pages are only as full as the capacity fills them, 0.73 of
//! the most on average: B is 0.76 plus what small tables need.
//!
//! Cells are unequal, so each has its own D: cell c has 2^(c/8) times the items of the first. The
//! schedule holds one number for all, in eighths of a doubling.
//!
//! # Entries that are dropped again
//! In a steady stream of entries that are dropped again, all present ones are of the last
//! generation: they weigh at most n * 2^-R, a twelfth of the rate of a table that may grow without
//! bound. So if entries have a payload, new ones are up to three bits shorter. In units of
//! n * 2^-R, a table of 2^d pages may still get 1 of its own generation in full length, and 1/2 of
//! each later generation, 2 in all from the 20th on. Of 12.05 that leaves
//!
//! ```text
//!   12.05 - 1 - (19 - d) / 2 - 2  >  (d - 1) / 2
//! ```
//!
//! for the present entries. If they weigh no more, the next entry is s bits shorter, where s is the
//! largest number for which full pages of such entries weigh no more either: 2^s <= (d - 1) / 2.
//! That is one bit from 2^5 pages on (some 40 000 entries), two from 2^9 (700 000), and three from
//! 2^17. However fast the table then grows, the budget for entries of full length is left. (A table
//! that was reserved has spent its budget on present entries already.)

use crate::math::power;
use crate::table::path::{Path, CELL_BITS, MAX_DEPTH, SHARES};
use crate::table::rate::Weight;
use std::ops::RangeInclusive;

/// Depths at which new entries get the plain length. Earlier entries are few, and one bit more is
/// cheap; beyond, at some 2^30 items, each generation must leave room for all later ones.
const PLAIN_DEPTHS: std::ops::Range<u8> = 5..20;
/// Beyond these depths, each group of this many generations gets half the share of the previous
/// one.
const GENERATIONS_A_BIT: u8 = 4;
/// The first 1/13 of the entries of a table's first page gets shorter fingerprints: 107 items at
/// 0.1 %, 133 at 1 %.
const FIRST_PART: usize = 13;
/// In a table that may grow without bound, they are shorter by this many bits than those after
/// them, but at least as long as the next constant: at high rates fingerprints are short anyway,
/// and would have no bits left in tables of some million items.
const FIRST_LESS: u8 = 4;
const FIRST_MIN: u8 = 18;
/// The most bits that an entry gets ahead of the depth of a full table.
const MAX_AHEAD: u8 = 4;
/// An entry further ahead than this gets one bit less: a table that is that far from full was
/// probably reserved too large.
const FAR: u8 = 8;
/// The bits that the first generation beyond the depth of a full table gets.
const LATE: u8 = 2;
/// The fill of an average page at the number of items reserved. It varies by a fiftieth from page
/// to page, and a page that splits early is half empty.
const FULL: f64 = 0.96;
/// The weight of entries in unequal cells relative to equal ones, at most: 8 times the sum of
/// share^2.
const UNEVEN: f64 = 1.04;
/// The largest share of all items, of cells that had equal ones on average.
const LARGEST: f64 = SHARES[SHARES.len() - 1] as f64 * SHARES.len() as f64 / 256.0;
/// B of a table that may grow without bound: see `the_budget_is_that_of_the_schedule`.
const ENDLESS: f64 = 12.05;
/// 2^(1/8).
const EIGHTH: f64 = 1.090_507_732_665_257_7;
const CELLS: u8 = 1 << CELL_BITS;

/// The number of items that a table is made for.
#[derive(Clone, Copy, Debug)]
pub struct Reservation {
    /// The number of items that it probably holds in the end.
    pub items: u64,
    /// Whether it may get more.
    pub grows: bool,
}

/// How many bits more than the plain length a new entry gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// For any number of items.
    Endless,
    /// For a table that was reserved and may grow. The depth of a page of the largest cell when the
    /// table is full, in eighths; at most 255, which is beyond the largest capacity.
    Growing(u8),
    /// The same for a table that does not grow.
    Fixed(u8),
}

impl Schedule {
    /// The schedule for `reservation`, if full pages have `max_entries` entries.
    pub fn of(reservation: Reservation, max_entries: u16) -> Self {
        let Reservation { items, grows } = reservation;
        let mut room = f64::from(max_entries) * FULL / LARGEST;
        let mut eighths = 0;
        while room < items as f64 && eighths < u8::MAX {
            room *= EIGHTH;
            eighths += 1;
        }
        match grows {
            true => Self::Growing(eighths),
            false => Self::Fixed(eighths),
        }
    }

    /// The depth of the path's page when a table of this many eighths is full.
    #[inline]
    fn full_depth(eighths: u8, path: Path) -> u8 {
        eighths.saturating_sub(CELLS - 1 - path.cell()).div_ceil(CELLS)
    }

    /// The bits that a new entry gets in the path's page, which has this depth.
    #[inline]
    fn extra(self, path: Path, depth: u8) -> u8 {
        let (eighths, grows) = match self {
            Self::Endless if depth < PLAIN_DEPTHS.start => return 1,
            Self::Endless => return late(1, depth, PLAIN_DEPTHS.end),
            Self::Growing(eighths) => (eighths, true),
            Self::Fixed(eighths) => (eighths, false),
        };
        let full = Self::full_depth(eighths, path);
        match depth > full && grows {
            true => late(LATE, depth, full + 1),
            false => ahead(full.saturating_sub(depth)),
        }
    }

    /// The length of a new entry in the path's page, which has this depth and `entries` entries, if
    /// the plain length is `plain` and full pages have `max_entries` entries.
    #[inline]
    pub fn length(
        self,
        path: Path,
        depth: u8,
        entries: usize,
        plain: u8,
        max_entries: usize,
    ) -> u8 {
        let length = plain + self.extra(path, depth);
        if depth > 0 || entries >= max_entries / FIRST_PART {
            return length;
        }
        length.min(FIRST_MIN.max(plain + 1 - self.first_less()))
    }

    /// The number of bits by which the first entries of a table are shorter than the plain length
    /// plus one.
    fn first_less(self) -> u8 {
        match self {
            Self::Endless => FIRST_LESS,
            Self::Growing(_) | Self::Fixed(_) => 0,
        }
    }

    /// B: the weight of all entries, in full pages of plain entries: of `items` entries in a table
    /// that does not grow, and of any number in one that does.
    pub fn budget(self, items: u64, max_entries: u16) -> f64 {
        match self {
            Self::Endless => ENDLESS,
            Self::Growing(_) => self.weight_of(0..=MAX_DEPTH),
            Self::Fixed(eighths) => {
                let full = Self::full_depth(eighths, Path(u64::MAX));
                // All pages of a cell are equally full; `of` tells how full the largest cell's are.
                let fill = (items as f64 / f64::from(max_entries)).min(FULL / LARGEST);
                self.weight_of(0..=full) - 1.0 + UNEVEN * fill
            }
        }
    }

    /// The least that [`Schedule::budget`] returns for more items than fit in a page.
    pub fn least_budget(self) -> f64 {
        match self {
            Self::Endless => ENDLESS,
            Self::Growing(_) => 2.0,
            Self::Fixed(_) => UNEVEN * FULL / LARGEST,
        }
    }

    /// The weight of all entries that were added at these depths.
    fn weight_of(self, depths: RangeInclusive<u8>) -> f64 {
        // Pages of the largest cell are the deepest.
        let weight = |depth| power(0.5, self.extra(Path(u64::MAX), depth).into());
        let first_part = 1.0 / FIRST_PART as f64;
        let first = first_part * f64::from(1u32 << self.first_less()) / 2.0;
        let first_page = first + (1.0 - first_part) * weight(0);
        let later = |depths: RangeInclusive<u8>| depths.map(weight).sum::<f64>() / 2.0;
        let (cells, last) = (CELL_BITS as u8, *depths.end());
        UNEVEN * (first_page + later(1..=last.min(cells - 1))) + later(cells..=last)
    }

    /// The most bits that an entry gets in a table of up to 2^30 items, or of twice the number that
    /// was reserved.
    pub fn widest(self) -> u8 {
        let most_ahead = |eighths| Self::full_depth(eighths, Path(u64::MAX)).min(MAX_AHEAD);
        match self {
            Self::Endless => 1,
            Self::Growing(eighths) => most_ahead(eighths).max(LATE),
            Self::Fixed(eighths) => most_ahead(eighths),
        }
    }

    /// The number of bits by which new entries with a payload may be shorter than planned, in a
    /// table of `pages` pages and total weight `weight`: see the module, "Entries that are dropped
    /// again". `unit` is the weight of a full page of plain entries.
    #[inline]
    pub fn spared(self, pages: u32, weight: Weight, unit: Weight) -> u8 {
        if self != Self::Endless {
            return 0;
        }
        let depth = (pages.max(1).ilog2() as u8).min(PLAIN_DEPTHS.end - 1);
        let halves = depth.saturating_sub(1);
        match weight.is_within_halves(halves, unit) {
            true => (halves / 2).checked_ilog2().unwrap_or(0) as u8,
            false => 0,
        }
    }
}

/// The bits that an entry gets whose page is `splits` splits away from its final depth.
#[inline]
fn ahead(splits: u8) -> u8 {
    splits.min(MAX_AHEAD - u8::from(splits > FAR))
}

/// `bits` bits for the generation `first`, and one more for every four generations after it.
#[inline]
fn late(bits: u8, depth: u8, first: u8) -> u8 {
    match depth.checked_sub(first) {
        Some(generations) => bits + generations / GENERATIONS_A_BIT,
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAST: Path = Path(u64::MAX);

    fn cells() -> impl Iterator<Item = Path> {
        (0..u64::from(CELLS)).map(|cell| Path(cell << (u64::BITS - CELL_BITS)))
    }

    #[test]
    fn the_budget_is_that_of_the_schedule() {
        let budget = Schedule::Endless.weight_of(0..=42);
        assert!(budget < ENDLESS && budget > 0.95 * ENDLESS, "{budget}");
    }

    #[test]
    fn late_generations_of_a_reserved_table_add_one_to_its_budget_at_most() {
        for eighths in [0, 1, 8, 60, 130, u8::MAX] {
            let full = Schedule::full_depth(eighths, LAST);
            let growing = Schedule::Growing(eighths);
            let late = growing.weight_of(0..=MAX_DEPTH) - growing.weight_of(0..=full);
            assert!((0.0..=UNEVEN).contains(&late), "{late} after {full}");
            assert!(full > 40 || late > 0.95, "{late} after {full}");
        }
    }

    #[test]
    fn entries_that_come_shortly_before_a_table_is_full_all_have_the_plain_length_then() {
        for eighths in 0..=u8::MAX {
            for path in cells() {
                let full = Schedule::full_depth(eighths, path);
                for depth in full.saturating_sub(MAX_AHEAD)..=full {
                    for schedule in [Schedule::Growing(eighths), Schedule::Fixed(eighths)] {
                        assert_eq!(schedule.extra(path, depth) + depth, full);
                    }
                }
                assert_eq!(Schedule::Fixed(eighths).extra(path, full + 9), 0);
                assert_eq!(Schedule::Growing(eighths).extra(path, full + 9), LATE + 2);
            }
        }
    }

    #[test]
    fn pages_hold_what_was_reserved_at_their_full_depth_and_half_of_them_would_not() {
        for items in [3_000, 10_000, 123_456, 1 << 20, 1 << 30, 1 << 40] {
            let max_entries = 1_500;
            let schedule = Schedule::of(Reservation { items, grows: false }, max_entries);
            let Schedule::Fixed(eighths) = schedule else { panic!("{schedule:?}") };
            let fill = |path: Path, depth: u8| {
                let cell = items as f64 * path.share() as f64 / 256.0;
                cell * power(2.0, CELL_BITS.into()) * power(0.5, depth.into()) / 1_500.0
            };
            for path in cells() {
                let full = Schedule::full_depth(eighths, path);
                assert!(fill(path, full) < FULL * 1.03, "{items} {full}");
                assert!(full == 0 || fill(path, full - 1) > FULL * 0.87, "{items} {full}");
            }
        }
    }

    #[test]
    fn the_first_entries_of_an_empty_table_are_short() {
        let length = |schedule: Schedule, entries| schedule.length(LAST, 0, entries, 21, 1_300);
        assert_eq!([0, 99, 100].map(|n| length(Schedule::Endless, n)), [18, 18, 22]);
        assert_eq!([0, 99, 100].map(|n| length(Schedule::Fixed(64), n)), [22, 22, 25]);
        assert_eq!([0, 99, 100].map(|n| length(Schedule::Fixed(100), n)), [22, 22, 24]);
    }
}
