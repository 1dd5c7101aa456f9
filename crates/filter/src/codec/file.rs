//! A filter in a file: its chunks, one after another, in a frame that shows at once what the file
//! is, and in the end whether it is whole.
//!
//! ```text
//!   header   magic:8 version:1 0:7
//!   chunk    length:4 chunk          the first to the last of a chain
//!   end      0:4 checksum:8          XXH3-64 of everything before the checksum
//! ```
//!
//! Reading is total, as decoding is: besides the filter it takes the memory of one chunk, whatever
//! the file says.

use super::{chunks, encode_chunk, load_chunk, Chunk, END, MAX_CHUNK_BYTES};
use crate::error::{ensure, DecodeError};
use crate::filter::{Filter, SizeLimit};
use std::fmt;
use std::io::{self, Read, Write};
use xxhash_rust::xxh3::Xxh3;

/// As in PNG, the first byte is not text, and a transfer that translates line ends or stops at a
/// control-Z damages these bytes.
const MAGIC: [u8; 8] = *b"\x89SBF\r\n\x1a\n";
/// The magic bytes, the version, which is 1, and 7 bytes that are 0.
const HEADER: [u8; 16] = *b"\x89SBF\r\n\x1a\n\x01\0\0\0\0\0\0\0";

/// Why a file was refused.
#[derive(Debug)]
#[non_exhaustive]
pub enum FileError {
    /// It could not be read or written.
    Io(io::Error),
    /// It does not begin with the magic bytes of a filter.
    Magic,
    /// It was written by a later version.
    Version,
    /// It ends too early.
    Cut,
    /// The chunk of this number, counted from 0, is damaged or out of order.
    Chunk(u64, DecodeError),
    /// Its checksum does not fit.
    Checksum,
    /// It goes on after its end.
    Excess,
}

impl fmt::Display for FileError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(out, "{error}"),
            Self::Magic => write!(out, "not a splitbloom file"),
            Self::Version => write!(out, "it was written by a later version"),
            Self::Cut => write!(out, "it ends too early"),
            Self::Chunk(number, error) => write!(out, "chunk {number}: {error}"),
            Self::Checksum => write!(out, "its checksum does not match"),
            Self::Excess => write!(out, "it goes on after its end"),
        }
    }
}

impl std::error::Error for FileError {}

impl From<io::Error> for FileError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::Cut,
            _ => Self::Io(error),
        }
    }
}

/// The chain of chunks so far.
#[derive(Clone, Copy, Debug, Default)]
struct Chain {
    chunks: u64,
    next: u64,
    is_whole: bool,
}

impl Chain {
    /// Checks the frame of a chunk, and that it comes next.
    fn accept(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        let refused = |error| FileError::Chunk(self.chunks, error);
        let chunk = Chunk::parse(bytes).map_err(refused)?;
        let is_next = chunk.start == self.next && chunk.next > chunk.start && chunk.next <= END;
        ensure(is_next, refused(DecodeError::Order))?;
        self.next = chunk.next;
        self.is_whole = chunk.ends_whole();
        self.chunks += 1;
        Ok(())
    }
}

/// Writes a filter to a file, chunk by chunk.
pub struct FileWriter<W> {
    to: W,
    hash: Xxh3,
    chain: Chain,
}

impl<W: Write> FileWriter<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// `Io`.
    pub fn new(to: W) -> Result<Self, FileError> {
        let mut writer = Self { to, hash: Xxh3::new(), chain: Chain::default() };
        writer.put(&HEADER)?;
        Ok(writer)
    }

    /// Writes the next chunk.
    ///
    /// # Errors
    /// `Chunk` if its frame is not sound, or another chunk is due; `Io`.
    pub fn write(&mut self, chunk: &[u8]) -> Result<(), FileError> {
        self.chain.accept(chunk)?;
        self.put(&(chunk.len() as u32).to_le_bytes())?;
        self.put(chunk)
    }

    /// Ends the file, and returns what it was written to.
    ///
    /// # Errors
    /// `Cut` if the last chunk was not written, or ends a filter that was not whole; `Io`.
    pub fn finish(mut self) -> Result<W, FileError> {
        ensure(self.chain.is_whole, FileError::Cut)?;
        self.put(&0u32.to_le_bytes())?;
        let checksum = self.hash.digest();
        self.put(&checksum.to_le_bytes())?;
        self.to.flush()?;
        Ok(self.to)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        self.hash.update(bytes);
        Ok(self.to.write_all(bytes)?)
    }
}

/// Reads a filter from a file, chunk by chunk.
pub struct FileReader<R> {
    from: R,
    hash: Xxh3,
    chain: Chain,
}

impl<R: Read> FileReader<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// `Magic`, `Version`, `Cut`, `Io`.
    pub fn new(from: R) -> Result<Self, FileError> {
        let mut reader = Self { from, hash: Xxh3::new(), chain: Chain::default() };
        let mut magic = [0; MAGIC.len()];
        match reader.take(&mut magic) {
            Ok(()) if magic == MAGIC => {}
            Ok(()) | Err(FileError::Cut) => return Err(FileError::Magic),
            Err(error) => return Err(error),
        }
        let mut rest = [0; HEADER.len() - MAGIC.len()];
        reader.take(&mut rest)?;
        ensure(rest == HEADER[MAGIC.len()..], FileError::Version)?;
        Ok(reader)
    }

    /// Reads the next chunk into `buffer`, in place of what it holds. Returns false after the last
    /// one, when the whole file has proved sound; the buffer is empty then.
    ///
    /// # Errors
    /// Any but `Magic` and `Version`.
    pub fn next(&mut self, buffer: &mut Vec<u8>) -> Result<bool, FileError> {
        buffer.clear();
        let mut len = [0; 4];
        self.take(&mut len)?;
        match u32::from_le_bytes(len) as usize {
            0 => self.end().map(|()| false),
            len @ 1..=MAX_CHUNK_BYTES => {
                buffer.try_reserve_exact(len).map_err(no_memory)?;
                buffer.resize(len, 0);
                self.take(buffer)?;
                self.chain.accept(buffer)?;
                Ok(true)
            }
            _ => Err(FileError::Chunk(self.chain.chunks, DecodeError::Length)),
        }
    }

    fn end(&mut self) -> Result<(), FileError> {
        let expected = self.hash.digest();
        let mut checksum = [0; 8];
        self.take(&mut checksum)?;
        ensure(u64::from_le_bytes(checksum) == expected, FileError::Checksum)?;
        ensure(self.chain.is_whole, FileError::Cut)?;
        ensure(self.from.read(&mut [0])? == 0, FileError::Excess)
    }

    fn take(&mut self, to: &mut [u8]) -> Result<(), FileError> {
        self.from.read_exact(to)?;
        self.hash.update(to);
        Ok(())
    }
}

fn no_memory<E>(_: E) -> FileError {
    FileError::Io(io::ErrorKind::OutOfMemory.into())
}

impl Filter {
    /// Writes it to a file, and returns what it was written to. Takes the memory of one chunk.
    ///
    /// # Errors
    /// `Io`, also if there is no memory.
    pub fn write_to<W: Write>(&self, to: W) -> Result<W, FileError> {
        let mut writer = FileWriter::new(to)?;
        let mut iterator = 0;
        while let Some(chunk) = encode_chunk(self, iterator).map_err(no_memory)? {
            writer.write(&chunk.bytes)?;
            iterator = chunk.next;
        }
        writer.finish()
    }

    /// Reads a filter from a file, to its end.
    ///
    /// # Errors
    /// Any [`FileError`]; `Cut` also if the filter that was written had not been loaded whole.
    pub fn read_from(from: impl Read) -> Result<Self, FileError> {
        let mut reader = FileReader::new(from)?;
        let (mut filter, mut chunk, mut number) = (None, Vec::new(), 0);
        while reader.next(&mut chunk)? {
            let chunk = Chunk::parse(&chunk);
            let begun = chunk
                .and_then(|chunk| load_chunk(filter.as_mut(), &chunk, SizeLimit::Unlimited))
                .map_err(|error| FileError::Chunk(number, error))?;
            filter = begun.or(filter);
            number += 1;
        }
        filter.filter(|filter| filter.loading().is_none()).ok_or(FileError::Cut)
    }

    /// Its file, as bytes: [`Filter::file_bytes`] of them.
    ///
    /// # Errors
    /// `Io` if there is no memory.
    pub fn to_bytes(&self) -> Result<Vec<u8>, FileError> {
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(self.file_bytes()).map_err(no_memory)?;
        self.write_to(bytes)
    }

    /// Reads a filter from the bytes of a file.
    ///
    /// # Errors
    /// Any [`FileError`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FileError> {
        Self::read_from(bytes)
    }

    /// The length of its file: header and end, and each chunk after its length.
    pub fn file_bytes(&self) -> usize {
        const END_BYTES: usize = 4 + 8;
        let chunks = chunks(self).map(|chunk| 4 + chunk.num_bytes());
        HEADER.len() + chunks.sum::<usize>() + END_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::{Growth, Parameters};
    use crate::hash::Seed;
    use proptest::prelude::*;
    use std::sync::OnceLock;

    /// A filter of several chunks, in a file.
    fn file() -> Vec<u8> {
        static FILE: OnceLock<Vec<u8>> = OnceLock::new();
        FILE.get_or_init(written).clone()
    }

    fn written() -> Vec<u8> {
        let parameters = Parameters {
            error_rate: 0.01,
            capacity: 2_000_000,
            growth: Growth::Times(2),
            seed: Seed(3),
        };
        let mut filter = Filter::new(parameters, SizeLimit::Unlimited).unwrap();
        for n in 0..300_000u64 {
            filter.add(&n.to_le_bytes()).unwrap();
        }
        let bytes = filter.to_bytes().unwrap();
        assert_eq!(bytes.len(), filter.file_bytes());
        bytes
    }

    /// Its chunks; the end has proved sound.
    fn chunks(file: &[u8]) -> Result<Vec<Vec<u8>>, FileError> {
        let mut reader = FileReader::new(file)?;
        let (mut all, mut buffer) = (Vec::new(), Vec::new());
        while reader.next(&mut buffer)? {
            all.push(buffer.clone());
        }
        assert!(buffer.is_empty());
        Ok(all)
    }

    #[test]
    fn the_chunks_of_a_file_are_those_that_were_written() {
        let file = file();
        let chunks = chunks(&file).unwrap();
        assert!(chunks.len() > 1);
        let mut writer = FileWriter::new(Vec::new()).unwrap();
        for chunk in &chunks {
            writer.write(chunk).unwrap();
        }
        assert!(writer.finish().unwrap() == file);
    }

    #[test]
    fn a_file_that_is_cut_changed_or_longer_is_refused() {
        let file = file();
        for len in [0, 7, 8, 15, 16, 19, 20, 200, file.len() - 12, file.len() - 1] {
            let error = chunks(&file[..len]).unwrap_err();
            assert!(matches!(error, FileError::Magic | FileError::Cut), "{len}: {error}");
        }
        for at in [0, 8, 9, 16, 19, 20, 30, 5_000, file.len() - 10, file.len() - 1] {
            let mut other = file.clone();
            other[at] ^= 1;
            assert!(chunks(&other).is_err(), "{at}");
        }
        let longer = [&file[..], b"\n"].concat();
        assert!(matches!(chunks(&longer), Err(FileError::Excess)));
    }

    #[test]
    fn a_writer_refuses_chunks_out_of_order_and_an_end_before_the_last() {
        let chunks = chunks(&file()).unwrap();
        let mut writer = FileWriter::new(Vec::new()).unwrap();
        let error = writer.write(&chunks[1]).unwrap_err();
        assert!(matches!(error, FileError::Chunk(0, DecodeError::Order)), "{error}");
        writer.write(&chunks[0]).unwrap();
        assert!(matches!(writer.finish(), Err(FileError::Cut)));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            has_header in any::<bool>(),
        ) {
            let header: &[u8] = if has_header { &HEADER } else { &[] };
            prop_assert!(chunks(&[header, &bytes].concat()).is_err());
        }

        #[test]
        fn a_file_with_damage_anywhere_is_refused(
            at in any::<prop::sample::Index>(),
            xor in 1..=255u8,
        ) {
            let mut file = file();
            let at = at.index(file.len());
            file[at] ^= xor;
            prop_assert!(chunks(&file).is_err());
        }
    }
}
