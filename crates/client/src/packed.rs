//! Packed commands: many items in one argument.
//!
//! ```text
//!   items ──► one body for each partition ──► cut into pieces ──► one command for each piece
//! ```
//!
//! An item that is longer than a piece is sent by itself, in a command that is not packed: the
//! server bounds packed items only (`bf.max-pack-bytes`).
//!
//! All commands of a batch are sent at once, in one pipeline for each node. A filter of one key has
//! its items in order; otherwise each item remembers its piece, and the answers of a piece are in
//! the order of its items.

mod layout;
mod replies;
mod under_way;
mod wire;

pub use layout::Layout;
pub use under_way::UnderWay;

use super::{must_exist, Error};
use layout::PIECE_BYTES;
use redis::Value;
use replies::{bits, booleans, change};
use splitbloom_filter::StoredType;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// The commands of a kind of filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// BF.*: items are added and looked up.
    Bloom,
    /// CF.*: items are counted, and can be removed.
    Counting,
}

impl From<StoredType> for Family {
    fn from(kind: StoredType) -> Self {
        match kind {
            StoredType::Bloom | StoredType::ValkeyBloom => Self::Bloom,
            StoredType::Counting => Self::Counting,
        }
    }
}

impl Family {
    /// The name of its command: `BF.` or `CF.`, and `ending`.
    pub fn command(self, ending: &str) -> String {
        match self {
            Self::Bloom => format!("BF.{ending}"),
            Self::Counting => format!("CF.{ending}"),
        }
    }
}

/// How lookups are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wording {
    /// PACKEXISTS: the items in one argument.
    Packed,
    /// MEXISTS, which RedisBloom has as well: an argument for each item.
    Separate,
}

/// What became of items that were to be added or removed.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Changes {
    /// The number of items in the batch.
    pub items: u64,
    /// How many were new, or were removed.
    pub changed: u64,
    /// Why some were not tried.
    pub refusal: Option<Refusal>,
}

/// The first refusal among the items of a batch.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Refusal {
    /// The number of items at the start of the batch that were all carried out. Later ones may have
    /// been, too. It is 0 for a filter with more than one partition.
    pub before: u64,
    /// What was refused.
    pub error: Error,
}

/// Items that one command takes.
#[derive(Debug, PartialEq)]
pub(super) struct Piece<'a> {
    pub partition: u16,
    pub items: Cow<'a, [u8]>,
    pub len: usize,
}

/// A batch of items, cut into pieces.
#[derive(Debug, PartialEq)]
pub(super) struct Pieces<'a> {
    pub all: Vec<Piece<'a>>,
    /// The piece of each item; `None` if the pieces hold the items in order.
    piece_of: Option<Vec<u32>>,
}

impl Piece<'_> {
    /// Whether it is an item that is too long to be packed.
    pub fn is_alone(&self) -> bool {
        self.len == 1 && self.items.len() > PIECE_BYTES
    }
}

/// How a batch was cut, which is needed to interpret the replies to its pieces.
#[derive(Debug)]
pub(super) struct Cut {
    /// The items of each piece.
    lens: Vec<usize>,
    piece_of: Option<Vec<u32>>,
    /// The keys that an EXISTS in the same pipeline checks.
    must_exist: Vec<Vec<u8>>,
}

impl<'a> Pieces<'a> {
    /// The pieces of a batch for a single key.
    pub fn in_order(layout: Layout, mut items: &'a [u8]) -> Self {
        let mut all = Vec::new();
        while !items.is_empty() {
            let (piece, rest) = layout.split_piece(items);
            all.push(Piece { partition: 0, items: piece.into(), len: layout.count(piece) });
            items = rest;
        }
        Self { all, piece_of: None }
    }

    /// The pieces of a batch for many partitions; `of` returns the partition of an item.
    pub fn by_partition(layout: Layout, mut items: &[u8], of: impl Fn(&[u8]) -> u16) -> Self {
        let mut all: Vec<Piece<'_>> = Vec::new();
        // The last piece of each partition.
        let mut open: Vec<Option<u32>> = Vec::new();
        let mut piece_of = Vec::new();
        while !items.is_empty() {
            let (item, rest) = layout.split_item(items);
            let bare = layout.bare(item);
            let partition = of(bare);
            if open.len() <= usize::from(partition) {
                open.resize(usize::from(partition) + 1, None);
            }
            let place = &mut open[usize::from(partition)];
            let has_room = |piece: &u32| {
                let len = all[*piece as usize].items.len();
                len == 0 || len + item.len() <= PIECE_BYTES
            };
            let index = *place.filter(has_room).get_or_insert_with(|| {
                all.push(Piece { partition, items: Cow::Owned(Vec::new()), len: 0 });
                all.len() as u32 - 1
            });
            *place = Some(index);
            let piece = &mut all[index as usize];
            let bytes = piece.items.to_mut();
            bytes.extend_from_slice(bare);
            if layout == Layout::Lines {
                bytes.push(b'\n');
            }
            piece.len += 1;
            piece_of.push(index);
            items = rest;
        }
        Self { all, piece_of: Some(piece_of) }
    }

    /// The partitions of its items.
    pub fn partitions(&self) -> BTreeSet<u16> {
        self.all.iter().map(|piece| piece.partition).collect()
    }

    /// How to read the replies to the pieces, and to an EXISTS for each key of `must_exist`.
    pub fn cut(self, must_exist: Vec<Vec<u8>>) -> Cut {
        Cut {
            lens: self.all.iter().map(|piece| piece.len).collect(),
            piece_of: self.piece_of,
            must_exist,
        }
    }
}

impl Cut {
    /// Checks that the keys of `must_exist` exist, given the replies to EXISTS.
    fn check(&self, replies: Vec<Result<Value, Error>>) -> Result<(), Error> {
        let mut questions = self.must_exist.iter().zip(replies);
        questions.try_for_each(|(key, reply)| must_exist(key, reply))
    }

    /// What became of the items, given the replies: first those to EXISTS, then those to the
    /// pieces.
    pub fn changes(&self, mut replies: Vec<Result<Value, Error>>) -> Changes {
        let items = self.lens.iter().sum::<usize>() as u64;
        let of_pieces = replies.split_off(self.must_exist.len());
        let mut changes = Changes {
            items,
            changed: 0,
            refusal: self.check(replies).err().map(|error| Refusal { before: 0, error }),
        };
        let mut before = 0;
        for (len, reply) in self.lens.iter().zip(of_pieces) {
            let len = *len as u64;
            let (done, error) = match reply.and_then(|reply| change(&reply, len)) {
                Ok((changed, done, error)) => {
                    changes.changed += changed;
                    (done, error)
                }
                Err(error) => (0, Some(error)),
            };
            if changes.refusal.is_none() {
                before += done;
                changes.refusal = error.map(|error| Refusal {
                    before: if self.piece_of.is_none() { before } else { 0 },
                    error,
                });
            }
        }
        changes
    }

    /// Whether each item is present, in the order of the batch, given the replies: first those to
    /// the pieces, then those to EXISTS.
    pub fn answers(
        &self,
        wording: Wording,
        mut replies: Vec<Result<Value, Error>>,
    ) -> Result<Vec<bool>, Error> {
        // Checked first, because lookups in a missing key may be refused.
        self.check(replies.split_off(self.lens.len()))?;
        let mut of_pieces = Vec::with_capacity(self.lens.len());
        for (len, reply) in self.lens.iter().zip(replies) {
            of_pieces.push(match wording {
                Wording::Packed => bits(reply?, *len)?,
                Wording::Separate => booleans(reply?, *len)?,
            });
        }
        let Some(piece_of) = &self.piece_of else {
            return Ok(of_pieces.concat());
        };
        let mut of_pieces: Vec<_> = of_pieces.into_iter().map(Vec::into_iter).collect();
        let answers = piece_of.iter().map(|piece| of_pieces[*piece as usize].next());
        Ok(answers.flatten().collect())
    }
}

#[cfg(test)]
mod tests;
