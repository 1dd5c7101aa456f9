//! Rewrites the entries of a page into one page, or as many as they need.

use crate::error::AddError;
use crate::table::budget::Budget;
use crate::table::directory::Subtree;
use crate::table::entries::Entries;
use crate::table::page::{lines_for_half, Page};
use crate::table::path::Path;
use crate::table::plan::{Plan, TOO_MANY_LINES};
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
    let Rewrite {
        start,
        depth,
        max_depth,
        newest,
        budget,
    } = rewrite;
    if entries.fingerprints.len() <= plan.max_entries() && min_lines < TOO_MANY_LINES {
        let reserved = budget.min_lines(plan, start, depth, entries.fingerprints.len());
        let min_lines = min_lines.max(reserved);
        if let Some(page) = Page::of(plan, depth, entries, min_lines, newest)? {
            *totals = totals.plus(Totals::of(&page, entries, start));
            return Ok(Grown::Page(page));
        }
    }
    if depth >= max_depth {
        let page = Page::saturated(depth, newest);
        *totals = totals.plus(Totals::of(&page, entries, start));
        return Ok(Grown::Page(page));
    }
    let [mut low, mut high] = entries.split()?;
    let mut half = |start, entries: &mut Entries| {
        let depth = depth + 1;
        let half = Rewrite {
            start,
            depth,
            ..rewrite
        };
        let min_lines = lines_for_half(plan, depth, entries.fingerprints.len());
        match grown(plan, entries, half, min_lines, totals)? {
            Grown::Page(page) => Ok(Subtree::Page(page)),
            Grown::Halves(halves) => {
                totals.children += 2;
                Subtree::node(depth, halves)
            }
        }
    };
    let second = Path(start.0 | 1 << (63 - depth));
    Ok(Grown::Halves([
        half(start, &mut low)?,
        half(second, &mut high)?,
    ]))
}
