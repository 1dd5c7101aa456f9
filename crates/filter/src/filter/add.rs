//! Adding items, one by one and in groups. What a kind of filter does with an item that its first
//! part does not take is in its policy: [`bloom`](super::bloom), [`counting`](super::counting),
//! [`window`](super::window).

use crate::error::AddError;
use crate::filter::body::Body;
use crate::filter::{Filter, Kind, SizeLimit};
use crate::foreign::layers::Pairs;
use crate::hash::{Groups, ItemHash};

/// What an add did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The item was absent or forgotten, and has been added.
    New,
    /// The item was present, and its time has been restarted.
    Renewed,
    /// The item was present, and nothing has changed.
    Unchanged,
}

impl Outcome {
    /// Whether the item was absent.
    #[inline]
    pub fn is_new(self) -> bool {
        self == Self::New
    }

    /// Whether the filter has changed.
    #[inline]
    pub fn has_changed(self) -> bool {
        self != Self::Unchanged
    }

    #[inline(always)]
    pub(super) fn of(is_new: bool) -> Self {
        match is_new {
            true => Self::New,
            false => Self::Unchanged,
        }
    }
}

impl Filter {
    /// Adds an item, at the latest time; returns whether it was new: see [`Filter::add_at`].
    ///
    /// # Errors
    /// Any [`AddError`] but `OverLimit`, and nothing has changed.
    pub fn add(&mut self, item: &[u8]) -> Result<bool, AddError> {
        self.add_limited(item, SizeLimit::Unlimited)
    }

    /// The same, unless the filter would grow beyond `limit`.
    ///
    /// # Errors
    /// Any [`AddError`], and nothing has changed.
    pub fn add_limited(&mut self, item: &[u8], limit: SizeLimit) -> Result<bool, AddError> {
        self.add_at(item, 0, limit).map(Outcome::is_new)
    }

    /// Adds an item; in a windowed filter, at the time `now`; in a counting filter, one more copy.
    ///
    /// # Errors
    /// Any [`AddError`], and nothing has changed.
    pub fn add_at(&mut self, item: &[u8], now: u64, limit: SizeLimit) -> Result<Outcome, AddError> {
        self.add_hashed_at(item, self.hash(item), now, limit)
    }

    /// The same for an item of which the caller has the [`hash`](Filter::hash).
    ///
    /// # Errors
    /// As [`Filter::add_at`].
    #[inline]
    pub fn add_hashed_at(
        &mut self,
        item: &[u8],
        hash: ItemHash,
        now: u64,
        limit: SizeLimit,
    ) -> Result<Outcome, AddError> {
        match &mut self.body {
            Body::Bloom(bloom) if !bloom.fill().is_full() => {
                return bloom.insert(hash).map(Outcome::of);
            }
            Body::Organs(_) => {
                self.prefetch(&[hash]);
                if self.layers().is_some_and(|layers| layers.contains(item)) {
                    return Ok(Outcome::Unchanged);
                }
            }
            _ => {}
        }
        self.add_hash(hash, now, self.limit_of_table(limit))
    }

    /// The limit, here and below, is [that of the table](Filter::limit_of_table).
    #[inline(always)]
    fn add_hash(
        &mut self,
        hash: ItemHash,
        now: u64,
        limit: SizeLimit,
    ) -> Result<Outcome, AddError> {
        let is_counting = self.kind() == Kind::Counting;
        match &mut self.body {
            Body::Bloom(bloom) if !bloom.fill().is_full() => bloom.insert(hash).map(Outcome::of),
            Body::Table { table, .. } if !is_counting => {
                let added = table.insert_if_absent(hash, 0, limit.max_bytes());
                added.map(Outcome::of)
            }
            _ => self.add_by_policy(hash, now, limit),
        }
    }

    fn add_by_policy(
        &mut self,
        hash: ItemHash,
        now: u64,
        limit: SizeLimit,
    ) -> Result<Outcome, AddError> {
        match self.kind() {
            Kind::Bloom => self.add_beyond(hash, limit),
            Kind::Counting => self.add_copy_of(hash, limit).map(|()| Outcome::New),
            Kind::Windowed => self.add_in_window(hash, now, limit),
        }
    }

    /// Adds many items, at the latest time, and calls `answer` for each in order with whether it
    /// was new.
    ///
    /// # Errors
    /// As [`Filter::add`], at the first item refused: those before it are kept; it and those after
    /// it have changed nothing.
    pub fn add_many<'a>(
        &mut self,
        items: impl Iterator<Item = &'a [u8]>,
        mut answer: impl FnMut(bool),
    ) -> Result<(), AddError> {
        let limit = SizeLimit::Unlimited;
        self.add_many_at(items, 0, limit, |_, outcome| answer(outcome.is_new()))
    }

    /// Adds many items at the time `now`, and calls `answer` for each in order with its hash and
    /// outcome. The cache misses of 16 items overlap.
    ///
    /// # Errors
    /// As [`Filter::add_many`].
    #[inline]
    pub fn add_many_at<'a>(
        &mut self,
        mut items: impl Iterator<Item = &'a [u8]>,
        now: u64,
        limit: SizeLimit,
        mut answer: impl FnMut(ItemHash, Outcome),
    ) -> Result<(), AddError> {
        if items.size_hint().1 == Some(1) {
            // One item is not worth setting up a group.
            return items.try_for_each(|item| {
                let hash = self.hash(item);
                answer(hash, self.add_hashed_at(item, hash, now, limit)?);
                Ok(())
            });
        }
        if self.layers().is_some() {
            return self.add_many_after_layers(items, limit, answer);
        }
        self.add_hashes(self.hashes(items), now, limit, answer)
    }

    /// Adds items at the time `now`, of which the caller has the hashes under the seed of the
    /// filter, and calls `answer` for each in order. It does not look into layers from another
    /// module: an item there is added once more.
    ///
    /// # Errors
    /// As [`Filter::add_many`].
    #[inline]
    pub fn add_hashes(
        &mut self,
        hashes: impl Iterator<Item = ItemHash>,
        now: u64,
        limit: SizeLimit,
        mut answer: impl FnMut(ItemHash, Outcome),
    ) -> Result<(), AddError> {
        let mut groups = Groups::of(hashes);
        while let Some(group) = groups.next(|ahead| self.prefetch(ahead)) {
            match &mut self.body {
                Body::Bloom(bloom) if bloom.has_room_for(group.len() as u64) => {
                    bloom.insert_group(group, |hash, is_new| answer(hash, Outcome::of(is_new)))?;
                }
                _ => {
                    let limit = self.limit_of_table(limit);
                    for hash in group {
                        answer(*hash, self.add_hash(*hash, now, limit)?);
                    }
                }
            }
        }
        Ok(())
    }

    fn add_many_after_layers<'a>(
        &mut self,
        mut items: impl Iterator<Item = &'a [u8]>,
        limit: SizeLimit,
        mut answer: impl FnMut(ItemHash, Outcome),
    ) -> Result<(), AddError> {
        let limit = self.limit_of_table(limit);
        let (mut group, seed) = (Pairs::default(), self.head.seed);
        while let Some(layers) = self.layers() {
            if group.read(&mut items, layers, seed).is_empty() {
                break;
            }
            if let Some(table) = self.body.table() {
                table.prefetch(group.hashes());
            }
            let found = group.find_in(layers, 0);
            for (n, hash) in group.hashes().iter().enumerate() {
                let outcome = match found >> n & 1 {
                    0 => self.add_beyond(*hash, limit)?,
                    _ => Outcome::Unchanged,
                };
                answer(*hash, outcome);
            }
        }
        Ok(())
    }
}
