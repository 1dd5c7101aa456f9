//! A filter that follows another one: it began as a copy, and gets the hashes that were new there.
//!
//! An item is found in the original because of its own bits or fingerprint, or by chance, because
//! of those of others. What the copy lacks would not be sent again: an item found by chance is not
//! new. So the copy must have the same bits and the same fingerprints, and decides nothing itself:
//!
//! - The original says for each hash in which [`Part`] it is. A copy cannot know when its
//!   sub-filter is full: its count is that of the first chunk, and some hashes come twice, in a
//!   chunk and after it.
//! - Bits are only set, so their order makes no difference.
//! - A page of the table depends on the items that came to it, and their order. A copy gets them in
//!   that order. Those that its page had when it was copied are found there, and change nothing.
//!
//! A copy may follow before all its chunks have come. Bits of a segment that is still to come are
//! set early. A hash whose page is still to come is skipped: the page will have it.

use crate::error::AddError;
use crate::filter::body::Loading;
use crate::filter::Filter;
use crate::hash::{ItemHash, GROUP};
use crate::table::Table;

/// A part of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The Bloom filter of the capacity reserved.
    SubFilter,
    /// The table after it, or after layers, or alone.
    Table,
}

impl Filter {
    /// Applies `hashes`, in the order in which they were new in `part` of the filter that this one
    /// follows. The effect of hashes of another filter is random.
    ///
    /// # Errors
    /// `OutOfMemory`: some are missing, and all may be applied again. `Full` if it has no such
    /// part.
    pub fn follow(&mut self, part: Part, hashes: &[ItemHash]) -> Result<(), AddError> {
        match part {
            _ if hashes.is_empty() => Ok(()),
            Part::SubFilter => self.body.bloom_mut().ok_or(AddError::Full)?.insert_all(hashes),
            Part::Table => self.follow_in_table(hashes),
        }
    }

    fn follow_in_table(&mut self, hashes: &[ItemHash]) -> Result<(), AddError> {
        let end = self.loading().map(Loading::end_of_pages);
        if self.table().is_none() && end.is_none() {
            let rate = self.table_error_rate().ok_or(AddError::Full)?;
            self.body.append_table(Table::new(rate, 0))?;
            self.set_table_rate(rate);
        }
        let Some(table) = self.body.table_mut() else {
            return Ok(()); // it comes with a later chunk
        };
        let has_come = |hash: &&ItemHash| end.is_none_or(|end| Table::is_before(**hash, end));
        for group in hashes.chunks(GROUP) {
            table.prefetch(group);
            group.iter().filter(has_come).try_for_each(|hash| table.follow(*hash))?;
        }
        Ok(())
    }
}
