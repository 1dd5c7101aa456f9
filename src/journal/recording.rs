//! Adds to a filter that clients follow: the hash of each new item goes into its journal.

use super::fold::{self, Folded};
use super::idle::idle_ms;
use super::{address, is_any, journals, limits, Journal, Limits};
use splitbloom_filter::hash::ItemHash;
use splitbloom_filter::table::Table;
use splitbloom_filter::Filter;
use splitbloom_server::clock::time_of_command;
use std::sync::Arc;

/// An add to a filter that is followed. Its journal is taken out of the list of journals, and ends
/// unless [`Recording::end`] puts it back: after a panic the filter may have items whose hashes
/// were not noted.
pub struct Recording {
    address: usize,
    limits: Limits,
    journal: Journal,
    /// The fold in progress, if any.
    fold: Option<Arc<Folded>>,
    before: Before,
}

/// The state of a filter before an add.
struct Before {
    /// The number of hashes in its journal.
    hashes: u64,
    /// Items that were new in its sub-filter.
    items: u64,
    /// Pages of its table.
    pages: u64,
}

fn items_in_sub_filter(filter: &Filter) -> u64 {
    filter.bloom().map_or(0, |bloom| bloom.fill().items())
}

impl Recording {
    /// Begins an add; `None` if `filter` is not followed. Cost: one load without any journal; some
    /// 100 ns for a filter that is followed.
    #[inline]
    pub fn begin(filter: &Filter) -> Option<Self> {
        if !is_any() {
            return None;
        }
        Self::of_followed(filter)
    }

    #[cold]
    fn of_followed(filter: &Filter) -> Option<Self> {
        let address = address(filter);
        let journal = journals().by_address.remove(&address)?;
        if journal.pulse.is_idle(time_of_command(), idle_ms()) {
            return None;
        }
        let before = Before {
            hashes: journal.ring.next(),
            items: items_in_sub_filter(filter),
            pages: filter.pages(),
        };
        let fold = journal.fold.upgrade();
        Some(Self { address, limits: limits(), journal, fold, before })
    }

    /// Notes the hash of an item that was new.
    #[inline]
    pub fn note(&mut self, hash: ItemHash) {
        self.journal.ring.push(hash, self.limits);
        if let Some(folded) = &self.fold {
            fold::add(folded, hash);
        }
    }

    /// Ends the add to `filter`.
    pub fn end(self, filter: &Filter) {
        let Self { address, mut journal, before, .. } = self;
        let (ring, items) = (&mut journal.ring, items_in_sub_filter(filter) - before.items);
        ring.divide(ring.next() - before.hashes, items);
        let in_table = before.hashes + items;
        // A copy does not know when a page may not split: see the core's `table/follow`.
        let is_last = |table: &Table| {
            let mut hashes = ring.since(in_table.max(ring.first())).into_iter().flatten();
            hashes.any(|hash| table.is_at_max_depth(*hash, before.pages))
        };
        if filter.table().is_some_and(is_last) {
            ring.begin_anew();
        }
        journals().put_back(address, journal);
    }
}
