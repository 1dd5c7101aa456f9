//! The union of two tables. An entry of one table is to the other an item of which only some bits
//! are known: those that led to its page, and its fingerprint.

use crate::error::AddError;
use crate::growing::change::Adding;
use crate::growing::path::Path;
use crate::growing::room::Room;
use crate::growing::table::Table;

/// Bits of a path.
const PATH_BITS: u8 = u64::BITS as u8;
/// Unions are of tables without payloads.
const NO_PAYLOAD: u8 = 0;

impl Table {
    /// Adds every entry of another table of the same error rate, which has no payloads either,
    /// unless one of this table matches all that it matches: whatever the other finds, this one
    /// finds from then on. Returns whether anything was added.
    ///
    /// The number of items is at most the sum of both: an item that both have is counted twice if
    /// its entries differ in length.
    ///
    /// Costs an insert for each entry of the other table.
    ///
    /// # Errors
    /// `OverLimit` if it would grow to more than `most_bytes`; `OutOfMemory`; `Full` if copies
    /// cannot be counted any more. Some entries may have been added.
    pub fn unite(&mut self, other: &Self, most_bytes: u64) -> Result<bool, AddError> {
        debug_assert_eq!(
            (self.plan.payload_bits(), other.plan.payload_bits()),
            (0, 0)
        );
        let (mut has_changed, mut next) = (false, Some(0));
        while let Some(from) = next {
            let start = Path(from);
            let page = other.root.page(start);
            let depth = page.depth();
            if page.is_saturated() {
                has_changed |= self.cover(start, depth, most_bytes)?;
            }
            for mark in page.entries()?.marks {
                let path = Path(start.0 | mark.path().checked_shr(depth.into()).unwrap_or(0));
                let known = (depth + mark.length()).min(PATH_BITS);
                has_changed |= self.cover(path, known, most_bytes)?;
            }
            next = start.after(depth);
        }
        Ok(has_changed)
    }

    /// Sees to it that every item is found whose path begins with the first `known` bits of this
    /// one, which has no others. Returns whether that took an entry.
    fn cover(&mut self, path: Path, known: u8, most_bytes: u64) -> Result<bool, AddError> {
        let page = self.root.page(path);
        let depth = page.depth();
        if known < depth {
            let other_half = Path(path.0 | 1 << (PATH_BITS - 1 - known));
            let one = self.cover(path, known + 1, most_bytes)?;
            let other = self.cover(other_half, known + 1, most_bytes)?;
            return Ok(one || other);
        }
        let length = self.plan.length(depth, page.len()).min(known - depth);
        let below = path.below(depth);
        let is_covered = page.is_saturated() || page.matching(below).any(|m| m.length() <= length);
        if !is_covered {
            let room = Room::up_to(most_bytes);
            self.add(path, length, NO_PAYLOAD, room, Adding::Copies)?;
        }
        Ok(!is_covered)
    }
}
