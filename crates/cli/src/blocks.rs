//! The items of all inputs in numbered blocks, which several threads take.
//!
//! Each thread reads a range of a plain file: an item belongs to the range in which it begins. A
//! pipe or a compressed file is read by one thread at a time, block by block, while the others
//! work.

use crate::error::Error;
use crate::input::{check, packing, refused, Framing, Input, Items, Source};
use crate::input::{FIRST_BYTES, MAX_ITEM_BYTES};
use indicatif::ProgressBar;
use memchr::memchr;
use splitbloom_input::InputError;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of a block: read in some 50 µs, and small enough for the cache of a core.
const BLOCK_BYTES: usize = 256 * 1024;
/// Bytes read at a time to find the end of a block's last item.
const TAIL_BYTES: usize = 4096;

/// The blocks of all inputs, in order.
pub struct Blocks {
    framing: Framing,
    queue: Mutex<Queue>,
    bar: ProgressBar,
}

struct Queue {
    /// Those that are still to come, last first.
    sources: Vec<Source>,
    current: Option<Current>,
    /// The number of the next block.
    number: u64,
}

enum Current {
    /// An input that can only be read in order.
    Stream(Input),
    /// A plain file, read up to a place.
    Plain(Arc<Plain>, u64),
}

struct Plain {
    file: File,
    name: String,
    len: u64,
}

/// A block of whole items.
#[derive(Default)]
pub struct Block {
    bytes: Vec<u8>,
    /// Where its first item begins.
    from: usize,
}

impl Block {
    /// Its items.
    pub fn items(&self, framing: Framing) -> Items<'_> {
        framing.items(self.bytes())
    }

    /// The bytes of its items.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(self.from..).unwrap_or_default()
    }
}

/// What a thread got from the queue: the number of a block, which has been read, or is a range of a
/// file from there, to be read by the thread.
type Taken = (u64, Option<(Arc<Plain>, u64)>);

impl Blocks {
    /// Of these inputs. The bar counts the bytes read, before unpacking.
    pub fn new(framing: Framing, mut sources: Vec<Source>, bar: ProgressBar) -> Self {
        sources.reverse();
        Self { framing, queue: Mutex::new(Queue { sources, current: None, number: 0 }), bar }
    }

    /// Reads the next block into `block`, and returns its number; nothing at the end. Blocks come
    /// in order, but their threads may be done in any order.
    ///
    /// # Errors
    /// An input cannot be read, or ends within an item.
    pub fn next(&self, block: &mut Block) -> Result<Option<u64>, Error> {
        let Some((number, range)) = self.take(block)? else {
            return Ok(None);
        };
        if let Some((plain, start)) = range {
            self.read_range(&plain, start, block)?;
        }
        Ok(Some(number))
    }

    fn take(&self, block: &mut Block) -> Result<Option<Taken>, Error> {
        // A panic of another thread ends the process anyway.
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let number = queue.number;
            match &mut queue.current {
                Some(Current::Stream(input)) => {
                    block.from = 0;
                    if input.next_block(self.framing, BLOCK_BYTES, &mut block.bytes)? {
                        queue.number += 1;
                        return Ok(Some((number, None)));
                    }
                }
                Some(Current::Plain(plain, start)) if *start < plain.len => {
                    let range = (plain.clone(), *start);
                    *start += self.range_bytes() as u64;
                    queue.number += 1;
                    return Ok(Some((number, Some(range))));
                }
                _ => {}
            }
            match queue.sources.pop() {
                Some(source) => queue.current = Some(self.open(&source)?),
                None => {
                    queue.current = None;
                    return Ok(None);
                }
            }
        }
    }

    fn open(&self, source: &Source) -> Result<Current, Error> {
        if let Some(plain) = self.plain(source)? {
            return Ok(Current::Plain(Arc::new(plain), 0));
        }
        source.open(self.framing, &self.bar).map(Current::Stream)
    }

    /// A file whose ranges can be read, in any order.
    fn plain(&self, source: &Source) -> Result<Option<Plain>, Error> {
        let (Source::File(path), Some(metadata)) = (source, source.regular()?) else {
            return Ok(None);
        };
        let (name, len) = (source.name(), metadata.len());
        let failed = |error| Error::file(path, error);
        let file = File::open(path).map_err(failed)?;
        // Files of the kernel are longer or shorter than they say, which is mostly 0.
        let at_end = len.checked_sub(1);
        let has_end = at_end.map(|at| file.read_at(&mut [0], at)).transpose();
        if has_end.map_err(failed)? != Some(1) || self.framing == Framing::Text {
            return Ok(None);
        }
        let mut first = [0; FIRST_BYTES];
        let read = file.read_at(&mut first, 0).map_err(failed)?;
        if packing(&first[..read]).is_some() {
            return Ok(None);
        }
        check(&name, &first[..read], self.framing)?;
        match self.framing {
            Framing::Fixed(width) if len % width as u64 > 0 => {
                let bytes = len % width as u64;
                Err(refused(&name, InputError::LeftOver { width, bytes }))
            }
            _ => Ok(Some(Plain { file, name, len })),
        }
    }

    /// Bytes of a range: whole items, if these are of one width.
    fn range_bytes(&self) -> usize {
        match self.framing {
            Framing::Lines | Framing::Text => BLOCK_BYTES,
            Framing::Fixed(width) => (BLOCK_BYTES / width).max(1) * width,
        }
    }

    /// Reads the items that begin in a range.
    fn read_range(&self, plain: &Plain, start: u64, block: &mut Block) -> Result<(), Error> {
        let end = plain.len.min(start + self.range_bytes() as u64);
        let is_cut = start > 0 && self.framing == Framing::Lines;
        // An item begins at the start of the range if a line ends before it.
        let first = start - u64::from(is_cut);
        block.bytes.resize((end - first) as usize, 0);
        plain.read(&mut block.bytes, first)?;
        self.bar.inc(end - start);
        block.from = 0;
        if is_cut {
            let before = memchr(b'\n', &block.bytes);
            block.from = before.map_or(block.bytes.len(), |at| at + 1);
        }
        if self.framing == Framing::Lines && !block.bytes().is_empty() {
            plain.read_tail(&mut block.bytes, end)?;
        }
        Ok(())
    }
}

impl Plain {
    fn read(&self, to: &mut [u8], at: u64) -> Result<(), Error> {
        let read = self.file.read_exact_at(to, at);
        read.map_err(|error| Error::File(format!("{}: {error}", self.name)))
    }

    /// Reads on until the last line is whole.
    fn read_tail(&self, bytes: &mut Vec<u8>, mut at: u64) -> Result<(), Error> {
        while bytes.last() != Some(&b'\n') && at < self.len {
            if bytes.len() > MAX_ITEM_BYTES {
                return Err(refused(&self.name, InputError::TooLong));
            }
            let known = bytes.len();
            let more = (self.len - at).min(TAIL_BYTES.max(known) as u64) as usize;
            bytes.resize(known + more, 0);
            self.read(&mut bytes[known..], at)?;
            at += more as u64;
            if let Some(end) = memchr(b'\n', &bytes[known..]) {
                bytes.truncate(known + end + 1);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::PathBuf;

    /// A file that is removed in the end.
    struct Sample(PathBuf);

    impl Sample {
        fn new(name: &str, bytes: &[u8]) -> Self {
            let name = format!("splitbloom-blocks-{}-{name}", std::process::id());
            let path = std::env::temp_dir().join(name);
            fs::write(&path, bytes).unwrap();
            Self(path)
        }
    }

    impl Drop for Sample {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.0);
        }
    }

    /// All items, in order, and the number of blocks.
    fn items(files: &[&Sample], framing: Framing) -> (Vec<Vec<u8>>, u64) {
        let sources = files.iter().map(|file| Source::File(file.0.clone()));
        let blocks = Blocks::new(framing, sources.collect(), ProgressBar::hidden());
        let (mut block, mut all, mut count) = (Block::default(), Vec::new(), 0);
        while let Some(number) = blocks.next(&mut block).unwrap() {
            assert_eq!(number, count);
            count += 1;
            all.extend(block.items(framing).map(<[u8]>::to_vec));
        }
        (all, count)
    }

    #[test]
    fn ranges_of_a_file_have_each_line_once_and_in_order() {
        // Lines of all lengths up to a few blocks, so that borders fall everywhere.
        for (name, lengths) in [
            ("short", vec![0, 1, 2, 30, 61]),
            ("edges", vec![BLOCK_BYTES - 1, 0, 0, BLOCK_BYTES - 2, BLOCK_BYTES, 5]),
            ("long", vec![3 * BLOCK_BYTES + 7, 1, 2 * BLOCK_BYTES]),
        ] {
            let mut bytes = Vec::new();
            while bytes.len() < 10 * BLOCK_BYTES {
                for len in &lengths {
                    bytes.extend((0..*len).map(|at| b'a' + (at % 26) as u8));
                    bytes.push(b'\n');
                }
            }
            for end in ["", "\n", "x", "last"] {
                let bytes = [&bytes, end.as_bytes()].concat();
                let expected: Vec<Vec<u8>> =
                    Framing::Lines.items(&bytes).map(<[u8]>::to_vec).collect();
                let sample = Sample::new(&format!("{name}{}", end.len()), &bytes);
                let (all, blocks) = items(&[&sample], Framing::Lines);
                assert!(all == expected, "{name} {end:?}");
                assert!(blocks >= 10);
            }
        }
    }

    #[test]
    fn pieces_of_one_width_are_never_cut() {
        for width in [3, 7, 300_000] {
            let bytes: Vec<u8> = (0..5 * width * 200_000 / width).map(|n| n as u8).collect();
            let bytes = &bytes[..bytes.len() / width * width];
            let sample = Sample::new(&format!("fixed{width}"), bytes);
            let (all, _) = items(&[&sample, &sample], Framing::Fixed(width));
            assert_eq!(all.concat(), [bytes, bytes].concat());
            assert!(all.iter().all(|item| item.len() == width));
        }
    }

    #[test]
    fn an_empty_file_has_no_items() {
        let sample = Sample::new("empty", b"");
        assert_eq!(items(&[&sample], Framing::Lines).0.len(), 0);
    }
}
