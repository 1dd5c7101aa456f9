//! Many items at once: prefetched in groups, so that the cache misses of many items overlap.

use super::{Adding, CountingFilter};
use crate::error::AddError;
use crate::group::Group;
use crate::hash::ItemHash;
use crate::size_limit::SizeLimit;

impl CountingFilter {
    /// Looks up many items and calls `answer` for each in order. The cache misses of 16 items
    /// overlap.
    pub fn contains_many<'a>(
        &self,
        items: impl Iterator<Item = &'a [u8]>,
        mut answer: impl FnMut(bool),
    ) {
        if self.series().is_some() {
            return items.for_each(|item| answer(self.contains(item)));
        }
        let hashes = items.map(|item| self.hash(item));
        if let Some(table) = self.parts.table() {
            table.contains_many(hashes, answer);
        }
    }

    /// Adds many items and calls `answer` for each in order with what [`CountingFilter::add`]
    /// returns. An item that is refused does not keep those after it from being tried. The cache
    /// misses of 16 items overlap.
    pub fn add_many<'a>(
        &mut self,
        items: impl Iterator<Item = &'a [u8]>,
        adding: Adding,
        limit: SizeLimit,
        mut answer: impl FnMut(Result<bool, AddError>),
    ) {
        if self.series().is_some() {
            return items.for_each(|item| answer(self.add(item, adding, limit)));
        }
        // No item ends the groups.
        let _ = self.in_groups(items, |filter, hash| {
            answer(filter.add_hash(hash, adding, limit));
            Ok(())
        });
    }

    /// Adds many items up to the first one refused, and calls `answer` for each in order with
    /// whether it was added.
    ///
    /// # Errors
    /// As [`CountingFilter::add`], at the first item refused: those before it are kept; it and
    /// those after it have changed nothing.
    pub fn add_until_refused<'a>(
        &mut self,
        mut items: impl Iterator<Item = &'a [u8]>,
        adding: Adding,
        limit: SizeLimit,
        mut answer: impl FnMut(bool),
    ) -> Result<(), AddError> {
        if self.series().is_some() {
            return items.try_for_each(|item| self.add(item, adding, limit).map(&mut answer));
        }
        self.in_groups(items, |filter, hash| {
            filter.add_hash(hash, adding, limit).map(&mut answer)
        })
    }

    /// Removes a copy of each of many items, and calls `answer` for each in order with whether
    /// there was one.
    ///
    /// # Errors
    /// As [`CountingFilter::remove`], at the first item refused: copies of those before it are
    /// gone; it and those after it have changed nothing.
    pub fn remove_many<'a>(
        &mut self,
        mut items: impl Iterator<Item = &'a [u8]>,
        mut answer: impl FnMut(bool),
    ) -> Result<(), AddError> {
        if self.series().is_some() {
            return items.try_for_each(|item| self.remove(item).map(&mut answer));
        }
        self.in_groups(items, |filter, hash| {
            filter.remove_hash(hash).map(&mut answer)
        })
    }

    /// Calls `act` with the hash of each item, whose memory is on its way by then.
    fn in_groups<'a>(
        &mut self,
        items: impl Iterator<Item = &'a [u8]>,
        mut act: impl FnMut(&mut Self, ItemHash) -> Result<(), AddError>,
    ) -> Result<(), AddError> {
        let seed = self.parameters.seed;
        let mut hashes = items.map(|item| ItemHash::of(item, seed));
        let mut group = Group::default();
        while !group.read(&mut hashes).is_empty() {
            if let Some(table) = self.parts.table() {
                table.prefetch(group.hashes());
            }
            for hash in group.hashes() {
                act(self, *hash)?;
            }
        }
        Ok(())
    }
}
