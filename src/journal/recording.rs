//! Adds to a filter that clients follow: the hash of each new item goes into its journal.

use super::{address, is_any, journals, limits, Journal, Limits};
use crate::config;
use splitbloom_filter::hash::{ItemHash, Seed};
use splitbloom_filter::Filter;
use splitbloom_server::clock::time_of_command;
use std::thread::panicking;

/// An add to a filter that is followed.
struct Recording<I> {
    address: usize,
    seed: Seed,
    /// The items, in the order of the answers.
    items: I,
    limits: Limits,
    /// Taken out of the list of journals, and put back at the end. `None` if there was no memory
    /// for a hash, which ends it.
    journal: Option<Journal>,
}

/// Wraps `answer`, which is called for each of `items` in order with whether it was new: puts the
/// hashes of those that were into the journal of `filter`, if it has one. The journal is complete
/// once what is returned is dropped. Cost: one load without any journal; some 100 ns for a filter
/// that is followed, and its hash for each new item.
pub fn recording<'a, I, A>(
    filter: &Filter,
    items: impl FnOnce() -> I,
    mut answer: A,
) -> impl FnMut(bool)
where
    I: Iterator<Item = &'a [u8]>,
    A: FnMut(bool),
{
    let mut recording = Recording::begin(filter, items);
    move |is_new| {
        if let Some(recording) = &mut recording {
            recording.note(is_new);
        }
        answer(is_new);
    }
}

impl<'a, I: Iterator<Item = &'a [u8]>> Recording<I> {
    /// `None` if nobody follows `filter`.
    fn begin(filter: &Filter, items: impl FnOnce() -> I) -> Option<Self> {
        if !is_any() {
            return None;
        }
        let address = address(filter);
        let journal = journals().by_address.remove(&address)?;
        let is_idle = journal.pulse.is_idle(time_of_command(), config::journal_idle_ms());
        (!is_idle).then(|| Self {
            address,
            seed: filter.parameters().seed,
            items: items(),
            limits: limits(),
            journal: Some(journal),
        })
    }

    /// The next item has been answered.
    fn note(&mut self, is_new: bool) {
        let (Some(item), Some(journal)) = (self.items.next(), &mut self.journal) else {
            return;
        };
        if is_new {
            let hash = ItemHash::of(item, self.seed);
            if journal.ring.push(hash, self.limits).is_err() {
                self.journal = None;
            }
        }
    }
}

impl<I> Drop for Recording<I> {
    fn drop(&mut self) {
        // After a panic, the filter may have items that have not been answered.
        if let Some(journal) = self.journal.take().filter(|_| !panicking()) {
            journals().put_back(self.address, journal);
        }
    }
}
