//! Items from files and pipes: lines, or pieces of a fixed width; plain, gzip or zstd. The tool and
//! the Python package read with it.
//!
//! ```text
//!   kind    what an input contains, by its first bytes
//!   unpack  plain bytes from packed ones
//!   text    lines that end with \r\n
//! ```
//!
//! Memory that is short is an error, except for what the decoders take: at most 128 MiB.

mod kind;
mod text;
mod unpack;

pub use kind::{check, packing, Contents, Doubt, Packing, FIRST_BYTES};

use memchr::{memchr, memrchr};
use std::fmt;
use std::io::{self, BufReader, Cursor, Read};
use text::Text;
use unpack::unpack;

/// Bytes read at a time.
pub const READ_BYTES: usize = 256 * 1024;

/// No item is longer: a server's longest string, by default.
pub const MAX_ITEM_BYTES: usize = 512 << 20;

/// Bytes that a pipe holds, on Linux.
const PIPE_BYTES: usize = 64 * 1024;

/// Where an item ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// At `\n`, or at the end of the input. `\r` belongs to the item; an empty line is an empty
    /// item.
    Lines,
    /// The same, after `\r` before `\n` and a byte order mark at the beginning have been removed.
    Text,
    /// Items of a fixed width, at least 1 byte.
    Fixed(usize),
}

impl Framing {
    /// Returns the length of the whole items in `bytes`, including what ends the last one.
    pub fn whole(self, bytes: &[u8]) -> usize {
        match self {
            Self::Lines | Self::Text => memrchr(b'\n', bytes).map_or(0, |at| at + 1),
            Self::Fixed(width) => bytes.len() - bytes.len() % width,
        }
    }

    /// The items of bytes that end with a whole item. The last line need not have its `\n`.
    pub fn items(self, bytes: &[u8]) -> Items<'_> {
        Items { framing: self, rest: bytes }
    }
}

/// The items of a piece of input.
#[derive(Clone, Debug)]
pub struct Items<'a> {
    framing: Framing,
    rest: &'a [u8],
}

impl<'a> Iterator for Items<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let (item, rest) = match self.framing {
            Framing::Lines | Framing::Text => match memchr(b'\n', self.rest) {
                Some(end) => (&self.rest[..end], &self.rest[end + 1..]),
                None => (self.rest, [].as_slice()),
            },
            Framing::Fixed(width) => self.rest.split_at(width.min(self.rest.len())),
        };
        self.rest = rest;
        Some(item)
    }
}

/// Why an input is refused.
#[derive(Debug)]
pub enum InputError {
    /// It cannot be read; `InvalidData` if its packed data is damaged.
    Io(io::Error),
    /// It contains no items.
    Contents(Contents),
    /// An item is longer than [`MAX_ITEM_BYTES`].
    TooLong,
    /// It ends after `bytes` bytes, within an item of `width` bytes.
    LeftOver { width: usize, bytes: u64 },
}

impl From<io::Error> for InputError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(out),
            Self::Contents(contents) => write!(out, "it contains {}, not items", contents.name()),
            Self::TooLong => write!(out, "an item is longer than {} MiB", MAX_ITEM_BYTES >> 20),
            Self::LeftOver { width, bytes } => {
                write!(out, "its length is no multiple of {width}: {bytes} bytes are left over")
            }
        }
    }
}

impl std::error::Error for InputError {}

/// An input, unpacked and cut into blocks of whole items.
pub struct Input {
    /// Whether more input may arrive later: then items do not wait for others to fill a block.
    is_live: bool,
    unpacked: Box<dyn Read + Send>,
    doubts: Vec<Doubt>,
    /// Bytes of the longest item: [`MAX_ITEM_BYTES`], or fewer in a test.
    longest: usize,
    /// The beginning of an item whose end has not been read.
    rest: Vec<u8>,
}

impl Input {
    /// Reads its first bytes.
    ///
    /// # Errors
    /// It cannot be read or unpacked, or contains no items.
    pub fn new(
        raw: impl Read + Send + 'static,
        framing: Framing,
        is_live: bool,
    ) -> Result<Self, InputError> {
        let unpacked = unpack(raw)?;
        let doubts = check(&unpacked.first, framing).map_err(InputError::Contents)?;
        let mark = match framing {
            Framing::Text if unpacked.first.starts_with(kind::BYTE_ORDER_MARK) => {
                kind::BYTE_ORDER_MARK.len()
            }
            _ => 0,
        };
        let mut first = Cursor::new(unpacked.first);
        first.set_position(mark as u64);
        let plain = BufReader::with_capacity(READ_BYTES, first.chain(unpacked.rest));
        let unpacked: Box<dyn Read + Send> = match framing {
            Framing::Text => Box::new(Text::new(plain)),
            _ => Box::new(plain),
        };
        Ok(Self { is_live, unpacked, doubts, longest: MAX_ITEM_BYTES, rest: Vec::new() })
    }

    /// Why its items are probably not the ones that the user expects.
    pub fn doubts(&self) -> &[Doubt] {
        &self.doubts
    }

    /// Skips up to `bytes` unpacked bytes, showing them; returns how many it skipped.
    ///
    /// # Errors
    /// The input cannot be read or unpacked.
    pub fn skip(&mut self, bytes: u64, mut show: impl FnMut(&[u8])) -> Result<u64, InputError> {
        let mut block = vec![0; READ_BYTES];
        let mut skipped = 0;
        while skipped < bytes {
            let most = (bytes - skipped).min(READ_BYTES as u64) as usize;
            let read = self.unpacked.read(&mut block[..most])?;
            if read == 0 {
                break;
            }
            show(&block[..read]);
            skipped += read as u64;
        }
        Ok(skipped)
    }

    /// Replaces `block` by the next whole items: about `len` bytes, or more if an item is longer;
    /// for a live input, those that have come. Returns false at the end, with an empty block.
    ///
    /// # Errors
    /// The input cannot be read or unpacked, has too long an item, or ends within an item of fixed
    /// width; `Io` of the kind `OutOfMemory`.
    pub fn next_block(
        &mut self,
        framing: Framing,
        len: usize,
        block: &mut Vec<u8>,
    ) -> Result<bool, InputError> {
        block.clear();
        reserve(block, self.rest.len())?;
        block.append(&mut self.rest);
        let mut wanted = len;
        loop {
            let (before, missing) = (block.len(), wanted.saturating_sub(block.len()));
            reserve(block, missing)?;
            let read = match self.is_live {
                true => read_some(&mut self.unpacked, missing, block)?,
                false => (&mut self.unpacked).take(missing as u64).read_to_end(block)?,
            };
            let is_end = match self.is_live {
                true => read == 0,
                false => block.len() < wanted,
            };
            let whole = match framing {
                Framing::Fixed(_) => framing.whole(block),
                // The bytes before contain no line end; searching them again would be quadratic.
                _ => match framing.whole(&block[before..]) {
                    0 => 0,
                    new => before + new,
                },
            };
            match framing {
                Framing::Fixed(width) if is_end && whole < block.len() => {
                    let bytes = (block.len() - whole) as u64;
                    return Err(InputError::LeftOver { width, bytes });
                }
                _ if is_end => return Ok(!block.is_empty()),
                _ if whole > 0 => {
                    reserve(&mut self.rest, block.len() - whole)?;
                    self.rest.extend_from_slice(&block[whole..]);
                    block.truncate(whole);
                    return Ok(true);
                }
                _ if block.len() < wanted => {}
                // The last byte is the end of the longest item.
                _ if wanted > self.longest => return Err(InputError::TooLong),
                _ => wanted = wanted.saturating_mul(2).min(self.longest + 1),
            }
        }
    }
}

fn reserve(bytes: &mut Vec<u8>, more: usize) -> io::Result<()> {
    bytes.try_reserve_exact(more).map_err(|_| io::ErrorKind::OutOfMemory.into())
}

/// Appends the result of one read, at most `len` bytes.
fn read_some(from: &mut impl Read, len: usize, to: &mut Vec<u8>) -> io::Result<usize> {
    let (before, len) = (to.len(), len.min(PIPE_BYTES));
    reserve(to, len)?;
    to.resize(before + len, 0);
    let read = loop {
        match from.read(&mut to[before..]) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => break read,
        }
    };
    to.truncate(before + *read.as_ref().unwrap_or(&0));
    read
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(bytes: &[u8], framing: Framing) -> Result<Input, InputError> {
        Input::new(Cursor::new(bytes.to_vec()), framing, false)
    }

    /// Its items, read in blocks of about `len` bytes.
    fn items(bytes: &[u8], framing: Framing, len: usize) -> Result<Vec<Vec<u8>>, InputError> {
        let (mut input, mut block, mut all) = (input(bytes, framing)?, Vec::new(), Vec::new());
        while input.next_block(framing, len, &mut block)? {
            all.extend(framing.items(&block).map(<[u8]>::to_vec));
        }
        assert!(block.is_empty());
        Ok(all)
    }

    #[test]
    fn lines_end_at_a_line_feed_or_at_the_end() {
        for (bytes, expected) in [
            (b"".as_slice(), [].as_slice()),
            (b"a\nbc\n", &[b"a".as_slice(), b"bc"]),
            (b"a\nbc", &[b"a".as_slice(), b"bc"]),
            (b"\n\na\r\n", &[b"".as_slice(), b"", b"a\r"]),
        ] {
            for len in 1..6 {
                assert_eq!(items(bytes, Framing::Lines, len).unwrap(), expected, "{len}");
            }
        }
    }

    #[test]
    fn text_has_no_carriage_returns_and_no_byte_order_mark() {
        let text = b"\xef\xbb\xbfa\r\n\r\n\xef\xbb\xbf\r\nb\r";
        for len in 1..6 {
            let stripped: [&[u8]; 4] = [b"a", b"", b"\xef\xbb\xbf", b"b\r"];
            assert_eq!(items(text, Framing::Text, len).unwrap(), stripped);
            let bare: [&[u8]; 4] = [b"\xef\xbb\xbfa\r", b"\r", b"\xef\xbb\xbf\r", b"b\r"];
            assert_eq!(items(text, Framing::Lines, len).unwrap(), bare);
        }
    }

    #[test]
    fn pieces_have_one_width_and_none_is_left_over() {
        for len in 1..9 {
            let pieces = items(b"abcdef", Framing::Fixed(3), len).unwrap();
            assert_eq!(pieces, [b"abc", b"def"], "{len}");
            let error = items(b"abcde", Framing::Fixed(3), len).unwrap_err();
            assert!(matches!(error, InputError::LeftOver { width: 3, bytes: 2 }), "{error}");
        }
    }

    /// Its first read brings three bytes, its second two, and so on.
    struct Drops(Vec<&'static [u8]>);

    impl Read for Drops {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            let Some(drop) = (!self.0.is_empty()).then(|| self.0.remove(0)) else {
                return Ok(0);
            };
            to[..drop.len()].copy_from_slice(drop);
            Ok(drop.len())
        }
    }

    #[test]
    fn items_that_have_come_do_not_wait_for_those_that_have_not() {
        let drops = Drops(vec![b"a\nb", b"c", b"d\n\ne", b"f"]);
        let mut input = Input::new(drops, Framing::Lines, true).unwrap();
        let mut block = Vec::new();
        for expected in [b"a\n".as_slice(), b"bcd\n\n", b"ef"] {
            assert!(input.next_block(Framing::Lines, 1000, &mut block).unwrap());
            assert_eq!(block, expected);
        }
        assert!(!input.next_block(Framing::Lines, 1000, &mut block).unwrap());
    }

    #[test]
    fn an_item_is_never_longer_than_the_longest() {
        for (len, is_taken) in [(999, true), (1000, true), (1001, false), (5000, false)] {
            let line = [vec![b'x'; len], b"\ny".to_vec()].concat();
            for is_live in [false, true] {
                let raw = Cursor::new(line.clone());
                let mut input = Input::new(raw, Framing::Lines, is_live).unwrap();
                input.longest = 1000;
                let mut block = Vec::new();
                match input.next_block(Framing::Lines, 16, &mut block) {
                    Ok(is_block) => assert!(is_block && is_taken && block == line[..len + 1]),
                    Err(error) => assert!(matches!(error, InputError::TooLong) && !is_taken),
                }
            }
        }
    }
}
