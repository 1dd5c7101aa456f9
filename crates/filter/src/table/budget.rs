//! The memory that a table may take, and how many lines a page gets when it needs more.
//!
//! Usually a page gets the next size, about a fifth more, because the final number of items is
//! unknown. That happens two or three times between two splits, so an entry is rewritten some four
//! times (3 / ln 2). If a number of items was reserved, the expected entries of each page are
//! known, and a page gets lines for twice its entries, up to that number. It grows in less than
//! half as many steps, and an insert takes a fifth fewer instructions. Until the table holds the
//! reserved number it takes up to 1.45 times the memory; with only a page or two, up to twice.

use crate::table::page::lines_for_new;
use crate::table::path::Path;
use crate::table::plan::Plan;
use crate::table::rate::Weight;

/// The percentage of a page's lines that its expected entries fill. At 100, about half of all pages
/// receive fewer entries than expected and keep this size; the others grow once more or split. With
/// 94, as for a page that is rewritten, a full table is 6 % larger.
const FILL: usize = 100;

/// The limits of an insert.
#[derive(Clone, Copy)]
pub struct Budget {
    /// The maximum size of the table in bytes ([`crate::table::Table::bytes`]).
    pub max_bytes: u64,
    /// The number of items that the table was reserved for; 0 if unknown.
    pub items: u64,
}

impl Budget {
    /// For changes that free memory, or take hardly any.
    pub const UNLIMITED: Self = Self::up_to(u64::MAX);

    /// A limit in bytes, and no reservation.
    pub const fn up_to(max_bytes: u64) -> Self {
        Self {
            max_bytes,
            items: 0,
        }
    }

    /// The minimum number of lines for the page of this depth at `start`, which now has this many
    /// entries.
    pub fn min_lines(self, plan: &Plan, start: Path, depth: u8, entries: usize) -> usize {
        // A table of one page has little to gain.
        if self.items <= plan.max_entries() as u64 {
            return 1;
        }
        let expected = Weight::of_all(start, depth).rate() * self.items as f64;
        let entries = (2 * entries).min(expected as usize).min(plan.max_entries());
        lines_for_new(plan, depth, entries, FILL)
    }
}
