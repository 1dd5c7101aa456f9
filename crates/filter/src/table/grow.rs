//! Rewrites the entries of a page into one page, or as many as they need.

use crate::error::AddError;
use crate::storage::small_boxed_slice::SmallBoxedSlice;
use crate::table::budget::Budget;
use crate::table::directory::Child;
use crate::table::entries::{try_vec, Entries};
use crate::table::page::{lines_for_half, Page};
use crate::table::path::Path;
use crate::table::plan::{Plan, TOO_MANY_LINES};
use crate::table::totals::Totals;

/// The replacement of a page.
pub enum Grown {
    Page(Page),
    /// The children for either value of the next bit.
    Halves([Child; 2]),
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
    let mut halves = [Child::Alias(0), Child::Alias(0)];
    for (bit, entries) in entries.split()?.iter_mut().enumerate() {
        let start = Path(start.0 | (bit as u64) << (63 - depth));
        let rewrite = Rewrite {
            start,
            depth: depth + 1,
            ..rewrite
        };
        let min_lines = lines_for_half(plan, depth + 1, entries.fingerprints.len());
        halves[bit] = match grown(plan, entries, rewrite, min_lines, totals)? {
            Grown::Page(page) => Child::Page(page),
            Grown::Halves(halves) => {
                let mut children = try_vec(2)?;
                children.extend(halves);
                totals.children += 2;
                Child::Node {
                    depth: depth + 1,
                    children: SmallBoxedSlice::of(children),
                }
            }
        };
    }
    Ok(Grown::Halves(halves))
}
