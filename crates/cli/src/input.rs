//! Items from files: lines, or pieces of a fixed width; plain, gzip or zstd.

mod kind;
mod text;
mod unpack;

pub use kind::{check, packing, FIRST_BYTES};

use crate::error::Error;
use crate::output::FileId;
use clap::Args;
use memchr::{memchr, memrchr};
use std::fs::{File, Metadata};
use std::io::{self, stdin, BufRead, BufReader, Cursor, Read};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use text::Text;
use unpack::unpack;

/// Bytes read at a time.
const READ_BYTES: usize = 256 * 1024;

/// No item is longer: a server's longest string, by default.
pub const MAX_ITEM_BYTES: usize = 512 << 20;

/// The refusal of a longer one.
pub fn too_long(name: &str) -> Error {
    Error::Contents(format!("{name}: an item is longer than 512 MiB"))
}

/// The refusal of an input that ends within an item of fixed width.
pub fn left_over(name: &str, width: usize, bytes: u64) -> Error {
    Error::Contents(format!(
        "{name}: its length is no multiple of {width}: {bytes} bytes are left over"
    ))
}

/// The name of that input in messages.
pub const STANDARD_INPUT: &str = "standard input";

/// Bytes that a pipe holds, on Linux.
const PIPE_BYTES: usize = 64 * 1024;

/// Where items come from, and where one ends.
#[derive(Args, Clone, Debug)]
pub struct InputArguments {
    /// Files of items, plain or packed with gzip or zstd; `-` or none is standard input
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Items are pieces of WIDTH bytes rather than lines
    #[arg(long, value_name = "WIDTH", value_parser = clap::value_parser!(u32).range(1..))]
    pub fixed: Option<u32>,
    /// Lines may end with \r\n, and files begin with a byte order mark: neither is part of an item
    #[arg(long, conflicts_with = "fixed")]
    pub text: bool,
}

impl InputArguments {
    /// Where an item ends.
    pub fn framing(&self) -> Framing {
        match self.fixed {
            Some(width) => Framing::Fixed(width as usize),
            None if self.text => Framing::Text,
            None => Framing::Lines,
        }
    }

    /// The inputs, in order: the files, or standard input.
    ///
    /// # Errors
    /// One of the files cannot be read, or contains no items: it is better to know before anything
    /// is done with the first.
    pub fn sources(&self) -> Result<Vec<Source>, Error> {
        let sources: Vec<Source> = match self.files.as_slice() {
            [] => vec![Source::StandardInput],
            files => files.iter().map(|file| Source::of(file)).collect(),
        };
        for source in &sources {
            if source.regular()?.is_some() {
                source.open(self.framing(), |_| ())?;
            }
        }
        Ok(sources)
    }
}

/// Waits for the first bytes of standard input, if that is the first source, and refuses those that
/// belong to no items. They stay where they are.
///
/// # Errors
/// Such bytes, or none that can be read.
pub fn await_standard_input(sources: &[Source], framing: Framing) -> Result<(), Error> {
    if sources.first() != Some(&Source::StandardInput) {
        return Ok(());
    }
    let mut input = stdin().lock();
    let first = input.fill_buf().map_err(|error| failed(STANDARD_INPUT, error))?;
    match packing(first) {
        Some(_) => Ok(()),
        None => check(STANDARD_INPUT, first, framing),
    }
}

/// Where an item ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// At `\n`, or at the end of the input. `\r` belongs to the item; an empty line is an empty
    /// item.
    Lines,
    /// The same, after `\r` before `\n` and a byte order mark at the beginning have been removed.
    Text,
    /// After so many bytes, at least one.
    Fixed(usize),
}

impl Framing {
    /// How many of these bytes are whole items, with what ends the last one.
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

/// One input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    StandardInput,
    File(PathBuf),
}

impl Source {
    fn of(file: &Path) -> Self {
        match file.as_os_str().as_encoded_bytes() {
            b"-" => Self::StandardInput,
            _ => Self::File(file.to_owned()),
        }
    }

    /// Its name in messages.
    pub fn name(&self) -> String {
        match self {
            Self::StandardInput => STANDARD_INPUT.into(),
            Self::File(path) => path.display().to_string(),
        }
    }

    /// What the system knows of it, if it is a regular file, which can be read again.
    ///
    /// # Errors
    /// There is no such file, or it is a folder.
    pub fn regular(&self) -> Result<Option<Metadata>, Error> {
        let Self::File(path) = self else {
            return Ok(None);
        };
        match path.metadata() {
            Ok(metadata) if metadata.is_dir() => {
                Err(Error::file(path, io::ErrorKind::IsADirectory.into()))
            }
            Ok(metadata) => Ok(Some(metadata).filter(Metadata::is_file)),
            Err(error) => Err(Error::file(path, error)),
        }
    }

    /// Its size before unpacking, if that is known: for progress.
    pub fn bytes(&self) -> Option<u64> {
        let metadata = self.regular().ok().flatten();
        metadata.map(|metadata| metadata.len())
    }

    /// Which file it is, whatever its name.
    pub fn id(&self) -> Option<FileId> {
        match self {
            Self::StandardInput => {
                let file = stdin().as_fd().try_clone_to_owned().map(File::from).ok()?;
                file.metadata().ok().map(|metadata| FileId::from(&metadata))
            }
            Self::File(path) => FileId::of(path),
        }
    }

    /// Opens it. `observe` is called with the number of bytes of each read, before unpacking.
    ///
    /// # Errors
    /// It cannot be read, or contains no items.
    pub fn open(
        &self,
        framing: Framing,
        observe: impl FnMut(u64) + Send + 'static,
    ) -> Result<Input, Error> {
        let name = self.name();
        let raw: Box<dyn Read + Send> = match self {
            Self::StandardInput => Box::new(stdin()),
            Self::File(path) => Box::new(File::open(path).map_err(|error| failed(&name, error))?),
        };
        let raw = Observed { raw, observe };
        Input::new(name, *self == Self::StandardInput, framing, raw)
    }
}

/// An error of reading or unpacking an input.
fn failed(name: &str, error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::InvalidData => Error::Contents(format!("{name}: {error}")),
        _ => Error::File(name.into(), error),
    }
}

/// An input, unpacked and cut into blocks of whole items.
pub struct Input {
    name: String,
    /// Whether more input may arrive later: then items do not wait for others to fill a block.
    is_live: bool,
    unpacked: Box<dyn Read + Send>,
    /// The beginning of an item whose end has not been read.
    rest: Vec<u8>,
}

impl Input {
    fn new(
        name: String,
        is_live: bool,
        framing: Framing,
        raw: impl Read + Send + 'static,
    ) -> Result<Self, Error> {
        let unpacked = unpack(raw).map_err(|error| failed(&name, error))?;
        check(&name, &unpacked.first, framing)?;
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
        Ok(Self { name, is_live, unpacked, rest: Vec::new() })
    }

    /// Reads past so many unpacked bytes, showing them; returns how many there were.
    ///
    /// # Errors
    /// The input cannot be read or unpacked.
    pub fn skip(&mut self, bytes: u64, mut show: impl FnMut(&[u8])) -> Result<u64, Error> {
        let mut block = vec![0; READ_BYTES];
        let mut skipped = 0;
        while skipped < bytes {
            let most = (bytes - skipped).min(READ_BYTES as u64) as usize;
            let read = self.unpacked.read(&mut block[..most]);
            let read = read.map_err(|error| failed(&self.name, error))?;
            if read == 0 {
                break;
            }
            show(&block[..read]);
            skipped += read as u64;
        }
        Ok(skipped)
    }

    /// Replaces `block` by the next whole items: about `len` bytes, or more if an item is longer;
    /// of standard input those that have come. Returns false at the end, with an empty block.
    ///
    /// # Errors
    /// The input cannot be read or unpacked, or ends within an item of fixed width.
    pub fn next_block(
        &mut self,
        framing: Framing,
        len: usize,
        block: &mut Vec<u8>,
    ) -> Result<bool, Error> {
        block.clear();
        block.append(&mut self.rest);
        let mut wanted = len;
        loop {
            let missing = wanted.saturating_sub(block.len()) as u64;
            let read = match self.is_live {
                true => read_some(&mut self.unpacked, missing as usize, block),
                false => (&mut self.unpacked).take(missing).read_to_end(block),
            };
            let read = read.map_err(|error| failed(&self.name, error))?;
            let is_end = match self.is_live {
                true => read == 0,
                false => block.len() < wanted,
            };
            let whole = framing.whole(block);
            match framing {
                Framing::Fixed(width) if is_end && whole < block.len() => {
                    let over = (block.len() - whole) as u64;
                    return Err(left_over(&self.name, width, over));
                }
                _ if is_end => return Ok(!block.is_empty()),
                _ if whole > 0 => {
                    self.rest.extend_from_slice(&block[whole..]);
                    block.truncate(whole);
                    return Ok(true);
                }
                _ if block.len() < wanted => {}
                _ if wanted > MAX_ITEM_BYTES => return Err(too_long(&self.name)),
                _ => wanted = wanted.saturating_mul(2),
            }
        }
    }
}

/// Appends the result of one read, at most `len` bytes.
fn read_some(from: &mut impl Read, len: usize, to: &mut Vec<u8>) -> io::Result<usize> {
    let before = to.len();
    to.resize(before + len.min(PIPE_BYTES), 0);
    let read = loop {
        match from.read(&mut to[before..]) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => break read,
        }
    };
    to.truncate(before + *read.as_ref().unwrap_or(&0));
    read
}

/// Tells what is read.
struct Observed<R, F> {
    raw: R,
    observe: F,
}

impl<R: Read, F: FnMut(u64)> Read for Observed<R, F> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.raw.read(to)?;
        (self.observe)(read as u64);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn input(bytes: &[u8], framing: Framing) -> Result<Input, Error> {
        Input::new("test".into(), false, framing, Cursor::new(bytes.to_vec()))
    }

    /// Its items, read in blocks of about `len` bytes.
    fn items(bytes: &[u8], framing: Framing, len: usize) -> Result<Vec<Vec<u8>>, Error> {
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
            assert!(matches!(error, Error::Contents(_)), "{error}");
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
        let mut input = Input::new("test".into(), true, Framing::Lines, drops).unwrap();
        let mut block = Vec::new();
        for expected in [b"a\n".as_slice(), b"bcd\n\n", b"ef"] {
            assert!(input.next_block(Framing::Lines, 1000, &mut block).unwrap());
            assert_eq!(block, expected);
        }
        assert!(!input.next_block(Framing::Lines, 1000, &mut block).unwrap());
    }
}
