//! Payloads (time slices): lookups skip entries with a dead payload; sweeps drop them page by page.

use crate::error::AddError;
use crate::hash::ItemHash;
use crate::table::fingerprint::Fingerprint;
use crate::table::grow::Budget;
use crate::table::path::Path;
use crate::table::table::Table;

/// The outcome of one step of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SweepStep {
    /// Where the next step begins; `None` at the end.
    pub next: Option<u64>,
    /// Whether a page was rewritten, which is most of the cost of a step.
    pub has_written: bool,
}

/// An entry as lookups see it, independent of its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The first path that it matches.
    pub start: u64,
    /// The number of leading bits of a path that must equal those of `start`.
    pub length: u8,
    /// Its payload.
    pub payload: u8,
    /// `u64::MAX` where a saturated page has lost count.
    pub copies: u64,
}

impl Table {
    /// Gives the longest entry that matches the item another payload: a shorter one matches more
    /// items, which would all be remembered longer. Returns its previous payload and the number of
    /// its copies, which all change; `None` if no entry matches. A saturated page gets the new
    /// payload, and also returns `None`.
    ///
    /// # Errors
    /// `OutOfMemory`; nothing has changed.
    pub fn replace_payload(
        &mut self,
        hash: ItemHash,
        payload: u8,
    ) -> Result<Option<(u8, u64)>, AddError> {
        let path = Path::of(hash);
        let (alive, payload) = (self.alive, self.plan.payload(payload));
        let Some(page) = self.root.page_to_write(path, |_| false)? else {
            return Ok(None);
        };
        page.set_saturated_payload(payload);
        let fingerprints = page.matching(path.below(page.depth()));
        let fingerprints =
            fingerprints.filter(|fingerprint| alive >> fingerprint.payload() & 1 == 1);
        let Some(fingerprint) =
            fingerprints.max_by_key(|fingerprint| (fingerprint.length(), fingerprint.payload()))
        else {
            return Ok(None);
        };
        let mut copies = 1;
        if fingerprint.payload() != payload && !page.set_payload(fingerprint, payload) {
            self.rewrite(path, 1, Budget::UNLIMITED, payload, |entries| {
                copies = entries.copies_of(fingerprint);
                entries.set_payload(fingerprint, payload)
            })?;
        }
        Ok(Some((fingerprint.payload(), copies)))
    }

    /// Whether every page has an exact count of its items.
    pub fn is_counted(&self) -> bool {
        self.totals.uncounted == 0
    }

    /// Visits every entry that lookups find, in order of paths.
    pub fn visit_alive(&self, mut visit: impl FnMut(Entry)) {
        let mut from = Some(0);
        while let Some(start) = from.map(Path) {
            let page = self.root.page(start);
            let depth = page.depth();
            if let Some(payload) = page.saturated_payload() {
                if self.alive >> payload & 1 == 1 {
                    visit(Entry { start: start.0, length: depth, payload, copies: u64::MAX });
                }
            }
            let mut visit_copies = |(fingerprint, copies): (Fingerprint, u64)| {
                visit(Entry {
                    start: start.0 | fingerprint.path() >> depth,
                    length: depth + fingerprint.length(),
                    payload: fingerprint.payload(),
                    copies: copies + u64::from(page.surplus_of(fingerprint)),
                });
            };
            let mut last: Option<(Fingerprint, u64)> = None;
            page.visit_fingerprints(|fingerprint| match &mut last {
                _ if !self.is_alive(fingerprint) => {}
                Some((there, copies)) if *there == fingerprint => *copies += 1,
                _ => last.replace((fingerprint, 1)).into_iter().for_each(&mut visit_copies),
            });
            last.into_iter().for_each(&mut visit_copies);
            from = start.after(depth);
        }
    }

    /// Sets which payloads lookups find, bit i for payload i, and the number of items that have
    /// them, since the table does not count by payload. Entries with other payloads are dropped
    /// when their page is next rewritten, or by [`Table::sweep`].
    pub fn set_alive(&mut self, payloads: u16, items: u64) {
        self.alive = payloads;
        self.items = items;
    }

    /// Drops the entries with a dead payload from the page at `from` (0 at first); or, if it has
    /// none, merges the page with its buddy if both are far from full. If more can be merged, the
    /// next step continues with the same page, so no step writes more than one page. A page that
    /// saturates has the payload `newest`.
    ///
    /// # Errors
    /// `OutOfMemory`; nothing has changed.
    pub fn sweep(&mut self, from: u64, newest: u8) -> Result<SweepStep, AddError> {
        let path = Path(from);
        let has_written = if self.root.page(path).has_others(self.alive) {
            self.rewrite(path, 1, Budget::UNLIMITED, newest, |_| Ok(()))?;
            true
        } else {
            // The pages are valid as they are, so without memory they stay.
            self.merge(path).unwrap_or(false)
        };
        let next = match has_written && self.buddy_to_merge(path).is_some() {
            true => Some(from),
            false => path.after(self.root.page(path).depth()),
        };
        Ok(SweepStep { next, has_written })
    }
}

#[cfg(test)]
impl Table {
    /// Whether the item belongs to a saturated page.
    pub fn is_saturated_at(&self, hash: ItemHash) -> bool {
        self.root.page(Path::of(hash)).is_saturated()
    }
}
