//! A table that follows another one: it began as a copy, and gets the items that were new there.
//!
//! Pages are independent: an insert reads and writes one page, and what it does there depends on
//! nothing else, with one exception. At which depth a page saturates depends on the number of pages
//! ([`Plan::max_depth`](super::plan::Plan::max_depth)), which a copy that is being fetched does not
//! know. So a copy always splits, and whoever records items for copies must tell them to begin anew
//! when an item came to a page at that depth.

use crate::error::AddError;
use crate::hash::ItemHash;
use crate::table::fingerprint::MAX_LENGTH;
use crate::table::grow::Budget;
use crate::table::page::Adding;
use crate::table::path::Path;
use crate::table::table::Table;

impl Table {
    /// Adds an item that was new in the table that this one follows. If its page has come with the
    /// item, nothing changes.
    ///
    /// # Errors
    /// `OutOfMemory`; nothing has changed.
    pub fn follow(&mut self, hash: ItemHash) -> Result<(), AddError> {
        self.add(Path::of(hash), MAX_LENGTH, 0, Budget::OF_COPY, Adding::Absent).map(drop)
    }

    /// Whether the item's page is one that could not split when the table had `pages` pages.
    pub fn is_at_max_depth(&self, hash: ItemHash, pages: u64) -> bool {
        self.root.page(Path::of(hash)).depth() >= self.plan.max_depth(pages)
    }

    /// Whether the item's page begins before `end`.
    pub fn is_before(hash: ItemHash, end: u64) -> bool {
        Path::of(hash).0 < end
    }
}
