//! Batches that have been sent. A connection that waits for its replies leaves its thread free for
//! other connections.

use super::wire::{command_for, separate};
use super::{Changes, Cut, Family, Layout, Piece, Pieces, Wording};
use crate::link::{Request, Retry, Sent};
use crate::{Error, PartitionedFilter};
use redis::Value;
use splitbloom_partition::slot_of;

/// A batch that has been sent. It owns the filter until its replies are read: they could not be
/// distinguished from those to other commands.
pub struct UnderWay<T> {
    filter: PartitionedFilter,
    sent: Sent,
    retry: Retry,
    cut: Cut,
    read: fn(&Cut, Vec<Result<Value, Error>>) -> T,
}

impl<T> UnderWay<T> {
    /// Waits for the replies; after a failure, sends again what may be sent again, for as long as
    /// [`PartitionedFilter::set_patience`] says.
    pub fn receive(mut self) -> (PartitionedFilter, T) {
        let replies = self.filter.link.receive_all(self.retry, self.sent);
        (self.filter, (self.read)(&self.cut, replies))
    }
}

/// When a batch asks whether its keys exist.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Existence {
    /// Never: a command on a missing key is refused, or may create it.
    NotAsked,
    /// Before the commands, which would create a missing key.
    Before,
    /// After lookups, which also work on a missing key: if it exists then, it existed for them.
    After,
}

impl PartitionedFilter {
    /// Adds packed items. The keys must exist if the filter is partitioned or [known to
    /// exist](Self::known_to_exist): a lost one is created anew, and reported as the refusal. After
    /// a failure, adds to a Bloom filter are sent again: an item that was added and whose reply was
    /// lost is not counted as new. A counting filter would count the item twice, so there a lost
    /// connection ends the batch.
    pub fn pack_add(self, family: Family, layout: Layout, items: &[u8]) -> UnderWay<Changes> {
        let retry = match family {
            Family::Bloom => Retry::Yes,
            Family::Counting => Retry::No,
        };
        let to_command =
            |key: &[u8], piece: &Piece<'_>| command_for(family, "ADD", key, layout, piece);
        let existence = match self.must_exist {
            true => Existence::Before,
            false => Existence::NotAsked,
        };
        self.send(retry, existence, layout, items, to_command, Cut::changes)
    }

    /// Removes a copy of each of the packed items from a counting filter.
    pub fn pack_delete(self, layout: Layout, items: &[u8]) -> UnderWay<Changes> {
        let family = Family::Counting;
        let to_command =
            |key: &[u8], piece: &Piece<'_>| command_for(family, "DEL", key, layout, piece);
        let existence = Existence::NotAsked;
        self.send(Retry::No, existence, layout, items, to_command, Cut::changes)
    }

    /// Whether packed items are (probably) in the filter, in order; or the first refusal, or that a
    /// key does not exist.
    pub fn pack_exists(
        self,
        family: Family,
        wording: Wording,
        layout: Layout,
        items: &[u8],
    ) -> UnderWay<Result<Vec<bool>, Error>> {
        let existence = Existence::After;
        match wording {
            Wording::Packed => {
                let to_command = |key: &[u8], piece: &Piece<'_>| {
                    command_for(family, "EXISTS", key, layout, piece)
                };
                let read = |cut: &Cut, replies| cut.answers(Wording::Packed, replies);
                self.send(Retry::Yes, existence, layout, items, to_command, read)
            }
            Wording::Separate => {
                let name = family.command("MEXISTS");
                let to_command =
                    |key: &[u8], piece: &Piece<'_>| separate(&name, key, layout, &piece.items);
                let read = |cut: &Cut, replies| cut.answers(Wording::Separate, replies);
                self.send(Retry::Yes, existence, layout, items, to_command, read)
            }
        }
    }

    fn send<T>(
        mut self,
        retry: Retry,
        existence: Existence,
        layout: Layout,
        items: &[u8],
        to_command: impl Fn(&[u8], &Piece<'_>) -> Vec<u8>,
        read: fn(&Cut, Vec<Result<Value, Error>>) -> T,
    ) -> UnderWay<T> {
        let pieces = match self.keys.len() {
            1 => Pieces::in_order(layout, items),
            _ => Pieces::by_partition(layout, items, |item| self.partitions.of(item)),
        };
        let requests = pieces.all.iter().map(|piece| {
            let key = &self.keys[usize::from(piece.partition)];
            Request { slot: slot_of(key), packed: to_command(key, piece), replies: 1 }
        });
        let mut must_exist = Vec::new();
        if existence != Existence::NotAsked {
            let partitions = pieces.partitions().into_iter();
            must_exist.extend(partitions.map(|number| self.keys[usize::from(number)].clone()));
        }
        let questions = crate::existence(&must_exist);
        let requests: Vec<Request> = match existence {
            Existence::Before => questions.chain(requests).collect(),
            _ => requests.chain(questions).collect(),
        };
        let sent = self.link.send_first(requests);
        UnderWay { sent, retry, cut: pieces.cut(must_exist), read, filter: self }
    }
}
