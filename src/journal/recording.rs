//! Adds to a filter that clients follow: the hash of each new item goes into its journal.

use super::idle::idle_ms;
use super::{address, is_any, journals, limits, Journal, Limits};
use splitbloom_filter::hash::ItemHash;
use splitbloom_filter::Filter;
use splitbloom_server::clock::time_of_command;
use std::thread::panicking;

/// An add to a filter that is followed. The journal is complete once this is dropped.
pub struct Recording {
    address: usize,
    limits: Limits,
    /// Taken out of the list of journals, and put back at the end. `None` if there was no memory
    /// for a hash, which ends it.
    journal: Option<Journal>,
}

impl Recording {
    /// Begins an add; `None` if nobody follows `filter`. Cost: one load without any journal; some
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
        let is_idle = journal.pulse.is_idle(time_of_command(), idle_ms());
        (!is_idle).then(|| Self { address, limits: limits(), journal: Some(journal) })
    }

    /// Notes the hash of an item that was new.
    #[inline]
    pub fn note(&mut self, hash: ItemHash) {
        let Some(journal) = &mut self.journal else {
            return;
        };
        if journal.ring.push(hash, self.limits).is_none() {
            self.journal = None;
        }
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        // After a panic, the filter may have items that have not been answered.
        if let Some(journal) = self.journal.take().filter(|_| !panicking()) {
            journals().put_back(self.address, journal);
        }
    }
}
