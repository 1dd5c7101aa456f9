//! Rewrites the entries of a page into one page, or as many as they need, within a [`Budget`].
//!
//! Usually a page gets the next size, about a fifth more, because the final number of items is
//! unknown. That happens two or three times between two splits, so an entry is rewritten some four
//! times (3 / ln 2). If a number of items was reserved, the expected entries of each page are
//! known, and a page gets lines for twice its entries, up to that number. It grows in less than
//! half as many steps, and an insert takes a fifth fewer instructions. Until the table holds the
//! reserved number it takes up to 1.45 times the memory; with only a page or two, up to twice.

use crate::error::AddError;
use crate::table::directory::Subtree;
use crate::table::entries::Entries;
use crate::table::page::{lines_for_half, lines_for_new, Page};
use crate::table::path::{Path, MAX_DEPTH};
use crate::table::plan::{Plan, TOO_MANY_LINES};
use crate::table::rate::Weight;
use crate::table::totals::Totals;

/// The replacement of a page.
pub enum Grown {
    Page(Page),
    /// The children for either value of the next bit.
    Halves([Subtree; 2]),
}

/// Which page is rewritten, and its limits.
#[derive(Clone, Copy)]
pub struct Rewrite {
    /// The first path of the page.
    pub start: Path,
    pub depth: u8,
    /// The depth at which a page saturates instead of splitting.
    pub max_depth: u8,
    /// The payload of the new entry, which a page that saturates gets.
    pub newest: u8,
    pub budget: Budget,
}

/// Writes one page of at least `min_lines` lines, or splits the entries until they fit;
/// `TOO_MANY_LINES` splits them in any case. All allocations happen here, before the table changes.
/// Even if all items are aimed at one path, the work is bounded by one page: each split divides the
/// same entries.
pub fn grown(
    plan: &Plan,
    entries: &mut Entries,
    rewrite: Rewrite,
    min_lines: usize,
    totals: &mut Totals,
) -> Result<Grown, AddError> {
    let (start, depth, newest) = (rewrite.start, rewrite.depth, rewrite.newest);
    let mut page = None;
    if entries.fingerprints.len() <= plan.max_entries() && min_lines < TOO_MANY_LINES {
        let reserved = rewrite.budget.min_lines(plan, start, depth, entries.fingerprints.len());
        page = Page::of(plan, start, depth, entries, min_lines.max(reserved), newest)?;
    }
    if depth >= rewrite.max_depth {
        page.get_or_insert_with(|| Page::saturated(depth, newest));
    }
    if let Some(page) = page {
        *totals = totals.plus(Totals::of(&page, entries, start));
        return Ok(Grown::Page(page));
    }
    let [mut low, mut high] = entries.split()?;
    let mut half = |start, entries: &mut Entries| {
        let half = Rewrite { start, depth: depth + 1, ..rewrite };
        let min_lines = lines_for_half(plan, start, half.depth, entries.fingerprints.len());
        match grown(plan, entries, half, min_lines, totals)? {
            Grown::Page(page) => Ok(Subtree::Page(page)),
            Grown::Halves(halves) => {
                totals.children += 2;
                Subtree::node(half.depth, halves)
            }
        }
    };
    let second = Path(start.0 | 1 << (63 - depth));
    Ok(Grown::Halves([half(start, &mut low)?, half(second, &mut high)?]))
}

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
    /// The depth at which a page saturates; `None`: what `Plan::max_depth` says.
    pub max_depth: Option<u8>,
}

impl Budget {
    /// For changes that free memory, or take hardly any.
    pub const UNLIMITED: Self = Self::up_to(u64::MAX);

    /// For a copy of another table, which decides when a page saturates.
    pub const OF_COPY: Self = Self { max_depth: Some(MAX_DEPTH), ..Self::UNLIMITED };

    /// A limit in bytes, and no reservation.
    pub const fn up_to(max_bytes: u64) -> Self {
        Self { max_bytes, items: 0, max_depth: None }
    }

    /// The depth at which a page of a table of `pages` pages saturates.
    pub fn max_depth(self, plan: &Plan, pages: u64) -> u8 {
        self.max_depth.unwrap_or_else(|| plan.max_depth(pages))
    }

    /// The minimum number of lines for the page of this depth at `start`, which now has this many
    /// entries.
    pub fn min_lines(self, plan: &Plan, start: Path, depth: u8, entries: usize) -> usize {
        // A table of one page has little to gain, and may never get another.
        if depth == 0 || self.items <= plan.max_entries() as u64 {
            return 1;
        }
        let expected = Weight::of_all(start, depth).rate() * self.items as f64;
        let entries = (2 * entries).min(expected as usize).min(plan.max_entries());
        lines_for_new(plan, start, depth, entries, FILL)
    }
}
