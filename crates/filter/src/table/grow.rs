//! Rewrites the entries of a page, into one page or as many as are needed.

use crate::error::AddError;
use crate::storage::short::Short;
use crate::table::directory::Slot;
use crate::table::entries::{try_vec, Entries};
use crate::table::page::{lines_for_half, Page};
use crate::table::path::Path;
use crate::table::plan::{Plan, TOO_MANY_LINES};
use crate::table::room::Room;
use crate::table::totals::Totals;

/// The replacement of a page.
pub enum Grown {
    Page(Page),
    /// What belongs to either value of the next bit.
    Halves([Slot; 2]),
}

/// The place of a page that is rewritten.
#[derive(Clone, Copy)]
pub struct Place {
    /// Its first path.
    pub start: Path,
    pub depth: u8,
    /// How deep any page may be.
    pub max_depth: u8,
    /// The payload of what is new, and of pages that are given up for it.
    pub newest: u8,
    pub room: Room,
}

/// Writes one page of at least `least` lines, or splits the entries until they fit;
/// `TOO_MANY_LINES` splits them in any case. All allocations happen here, before the table changes.
/// However aimed the items are, the work is that of one page: whatever the depth, it is the same
/// entries that are cut apart.
pub fn grown(
    plan: &Plan,
    entries: &mut Entries,
    place: Place,
    least: usize,
    totals: &mut Totals,
) -> Result<Grown, AddError> {
    let Place {
        start,
        depth,
        max_depth,
        newest,
        room,
    } = place;
    if entries.marks.len() <= plan.most() && least < TOO_MANY_LINES {
        let reserved = room.least_lines(plan, start, depth, entries.marks.len());
        let least = least.max(reserved);
        if let Some(page) = Page::of(plan, depth, entries, least, newest)? {
            *totals = totals.plus(Totals::of(&page, entries, start));
            return Ok(Grown::Page(page));
        }
    }
    if depth >= max_depth {
        let page = Page::saturated(depth, newest);
        *totals = totals.plus(Totals::of(&page, entries, start));
        return Ok(Grown::Page(page));
    }
    let mut halves = [Slot::See(0), Slot::See(0)];
    for (bit, entries) in entries.split()?.iter_mut().enumerate() {
        let start = Path(start.0 | (bit as u64) << (63 - depth));
        let place = Place {
            start,
            depth: depth + 1,
            ..place
        };
        let least = lines_for_half(plan, depth + 1, entries.marks.len());
        halves[bit] = match grown(plan, entries, place, least, totals)? {
            Grown::Page(page) => Slot::Own(page),
            Grown::Halves(halves) => {
                let mut slots = try_vec(2)?;
                slots.extend(halves);
                totals.slots += 2;
                Slot::Node {
                    depth: depth + 1,
                    slots: Short::of(slots),
                }
            }
        };
    }
    Ok(Grown::Halves(halves))
}
