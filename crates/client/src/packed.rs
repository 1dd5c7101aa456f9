//! Packed commands: many items in one argument.
//!
//! ```text
//!   items ──► one body for each partition ──► cut into pieces ──► one command for each piece
//! ```
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

use super::Error;
use layout::PIECE_BYTES;
use redis::Value;
use replies::{bits, booleans, change};
use std::borrow::Cow;

/// The commands of a kind of filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// BF.*: items are added and looked up.
    Bloom,
    /// CF.*: they are counted, and removed as well.
    Counting,
}

impl Family {
    /// The name of its command with this ending: `BF.` or `CF.` and that.
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
pub struct Changes {
    /// How many there were.
    pub items: u64,
    /// How many were new, or were removed.
    pub changed: u64,
    /// Why some were not tried.
    pub refusal: Option<Refusal>,
}

/// The first refusal among the items of a batch.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The leading items that have all been carried out. Later ones may have been as well. Of a
    /// filter with more than one partition it is 0.
    pub before: u64,
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
    /// The piece of each item, unless they follow one another.
    piece_of: Option<Vec<u32>>,
}

/// How a batch was cut: what it takes to tell from the replies to its pieces what became of its
/// items.
#[derive(Debug)]
pub(super) struct Cut {
    /// The items of each piece.
    lens: Vec<usize>,
    piece_of: Option<Vec<u32>>,
}

impl<'a> Pieces<'a> {
    /// The pieces of a batch for a single key.
    pub fn in_order(layout: Layout, mut items: &'a [u8]) -> Self {
        let mut all = Vec::new();
        while !items.is_empty() {
            let (piece, rest) = layout.split_piece(items);
            all.push(Piece {
                partition: 0,
                items: piece.into(),
                len: layout.count(piece),
            });
            items = rest;
        }
        Self {
            all,
            piece_of: None,
        }
    }

    /// The pieces of a batch for many partitions; `of` knows the partition of an item.
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
                all.push(Piece {
                    partition,
                    items: Cow::Owned(Vec::new()),
                    len: 0,
                });
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
        Self {
            all,
            piece_of: Some(piece_of),
        }
    }

    /// What it takes to read the replies.
    pub fn cut(self) -> Cut {
        Cut {
            lens: self.all.iter().map(|piece| piece.len).collect(),
            piece_of: self.piece_of,
        }
    }
}

impl Cut {
    /// What became of the items, from the replies to their pieces.
    pub fn changes(&self, replies: Vec<Result<Value, Error>>) -> Changes {
        let items = self.lens.iter().sum::<usize>() as u64;
        let mut changes = Changes {
            items,
            ..Changes::default()
        };
        let mut before = 0;
        for (len, reply) in self.lens.iter().zip(replies) {
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

    /// Whether each item is present, in the order of the batch.
    pub fn answers(
        &self,
        wording: Wording,
        replies: Vec<Result<Value, Error>>,
    ) -> Result<Vec<bool>, Error> {
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
        let answers = piece_of
            .iter()
            .map(|piece| of_pieces[*piece as usize].next());
        Ok(answers.flatten().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::wire::{command, separate};
    use super::*;
    use proptest::prelude::*;
    use splitbloom_partition::Partitions;

    const FULL: &str = "ERR non scaling filter is full";

    fn reply(text: &str) -> Value {
        redis::parse_redis_value(text.as_bytes()).expect("a reply")
    }

    fn items(layout: Layout, mut bytes: &[u8]) -> Vec<&[u8]> {
        let mut all = Vec::new();
        while !bytes.is_empty() {
            let (item, rest) = layout.split_item(bytes);
            all.push(layout.bare(item));
            bytes = rest;
        }
        all
    }

    #[test]
    fn a_command_is_an_array_of_its_words() {
        let lines = command("BF.PACKADD", b"k", Layout::Lines, b"a\nb");
        assert_eq!(
            lines,
            b"*4\r\n$10\r\nBF.PACKADD\r\n$1\r\nk\r\n$5\r\nLINES\r\n$3\r\na\nb\r\n"
        );
        let fixed = command("BF.PACKADD", b"k", Layout::Fixed(10), &[b'x'; 10]);
        let end = b"*5\r\n$10\r\nBF.PACKADD\r\n$1\r\nk\r\n$5\r\nFIXED\r\n$2\r\n10\r\n$10\r\nxxxxxxxxxx\r\n";
        assert_eq!(fixed, end);
        let each = separate("BF.MEXISTS", b"k", Layout::Lines, b"a\n\nb");
        assert_eq!(
            each,
            b"*5\r\n$10\r\nBF.MEXISTS\r\n$1\r\nk\r\n$1\r\na\r\n$0\r\n\r\n$1\r\nb\r\n"
        );
    }

    #[test]
    fn an_item_longer_than_a_piece_is_a_piece() {
        let long = [vec![b'x'; PIECE_BYTES * 2], b"\ny\nz".to_vec()].concat();
        let pieces = Pieces::in_order(Layout::Lines, &long);
        let lens: Vec<usize> = pieces.all.iter().map(|piece| piece.len).collect();
        assert_eq!(lens, [1, 2]);
        let wide = vec![0; PIECE_BYTES * 4];
        let pieces = Pieces::in_order(Layout::Fixed(PIECE_BYTES * 2), &wide);
        assert_eq!(pieces.all.len(), 2);
    }

    #[test]
    fn a_refusal_says_how_many_items_came_before_it() {
        let wide = vec![0; PIECE_BYTES * 3];
        let pieces = Pieces::in_order(Layout::Fixed(PIECE_BYTES / 4), &wide);
        let replies = [
            ":3\r\n",
            &format!("*3\r\n:2\r\n:1\r\n-{FULL}\r\n"),
            ":4\r\n",
        ];
        let changes = pieces
            .cut()
            .changes(replies.map(|text| Ok(reply(text))).into());
        assert_eq!((changes.items, changes.changed), (12, 8));
        let refusal = changes.refusal.expect("a refusal");
        assert_eq!(refusal.before, 6);
        assert!(matches!(refusal.error, Error::Refused(text) if text == FULL));
    }

    #[test]
    fn replies_that_no_command_gives_are_errors() {
        let cut = Pieces::in_order(Layout::Fixed(1), b"abc").cut();
        for text in [
            ":4\r\n",
            ":-1\r\n",
            "+OK\r\n",
            "*0\r\n",
            "*3\r\n:4\r\n:1\r\n-ERR x\r\n",
        ] {
            let refusal = cut.changes(vec![Ok(reply(text))]).refusal;
            let error = refusal.map(|refusal| refusal.error);
            assert!(matches!(error, Some(Error::Unexpected(_))), "{text}");
        }
        for text in ["$0\r\n\r\n", "$2\r\nab\r\n", ":1\r\n"] {
            let answers = cut.answers(Wording::Packed, vec![Ok(reply(text))]);
            assert!(matches!(answers, Err(Error::Unexpected(_))), "{text}");
        }
        let answers = cut.answers(Wording::Separate, vec![Ok(reply("*1\r\n:1\r\n"))]);
        assert!(matches!(answers, Err(Error::Unexpected(_))));
    }

    proptest! {
        #[test]
        fn answers_come_in_the_order_of_the_items(
            lines in prop::collection::vec("[a-h]{0,4}", 0..300),
            power in 0..8_u32,
            ends in any::<bool>(),
        ) {
            let partitions = Partitions::new(1 << power).unwrap();
            let mut text = lines.join("\n");
            if ends && !lines.is_empty() {
                text.push('\n');
            }
            // The answer for an item is whether its length is odd.
            let answer = |piece: &Piece<'_>| {
                let mut bytes = vec![0_u8; piece.len.div_ceil(8)];
                for (at, item) in items(Layout::Lines, &piece.items).iter().enumerate() {
                    bytes[at / 8] |= (item.len() as u8 % 2) << (at % 8);
                }
                Ok(Value::BulkString(bytes))
            };
            let of = |item: &[u8]| partitions.of(item);
            let expected: Vec<bool> =
                items(Layout::Lines, text.as_bytes()).iter().map(|item| item.len() % 2 == 1).collect();
            for pieces in [
                Pieces::in_order(Layout::Lines, text.as_bytes()),
                Pieces::by_partition(Layout::Lines, text.as_bytes(), of),
            ] {
                let total: usize = pieces.all.iter().map(|piece| piece.len).sum();
                prop_assert_eq!(total, Layout::Lines.count(text.as_bytes()));
                let replies = pieces.all.iter().map(answer).collect();
                prop_assert_eq!(&pieces.cut().answers(Wording::Packed, replies).unwrap(), &expected);
            }
            for piece in Pieces::by_partition(Layout::Lines, text.as_bytes(), of).all {
                for item in items(Layout::Lines, &piece.items) {
                    prop_assert_eq!(of(item), piece.partition);
                }
            }
        }

        #[test]
        fn pieces_in_order_are_the_batch(bytes in prop::collection::vec(any::<u8>(), 0..2000), width in 1..20_usize) {
            let whole = bytes.len() - bytes.len() % width;
            for (layout, bytes) in [(Layout::Lines, &bytes[..]), (Layout::Fixed(width), &bytes[..whole])] {
                let pieces = Pieces::in_order(layout, bytes).all;
                let all: Vec<u8> = pieces.iter().flat_map(|piece| piece.items.to_vec()).collect();
                prop_assert_eq!(all, bytes);
            }
        }
    }
}
