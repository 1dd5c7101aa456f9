//! Arbitrary bytes as a file of the tool. The first byte tells how many come with a read.

use super::decode::decode;
use splitbloom_filter::codec::{FileError, FileReader, FileWriter, MAX_CHUNK_BYTES};
use splitbloom_oracles::plain_reader::{chunks_of_file, sealed};
use splitbloom_test_allocator::meter::measured;
use std::io::{self, Read};
use xxhash_rust::xxh3::xxh3_64;

/// The most that [`read`] keeps for a byte of the file: a copy in the buffer and one in a chunk;
/// and for each chunk, which has at least 36 bytes, three times its `Vec` of 24 bytes while the
/// list of chunks grows.
const MEMORY_PER_BYTE: isize = 1 + 1 + 3 * 24 / 36;
/// What the first growth of the list takes.
const MEMORY_BEFORE: isize = 4096;
/// Bytes before the first chunk.
const HEADER_BYTES: usize = 16;

/// Any bytes are refused, or are a chain that the writer turns into the same bytes, and of which no
/// byte can be changed, missing or too many. The plain reader agrees.
pub fn file(bytes: &[u8]) {
    let Some((step, bytes)) = bytes.split_first() else {
        return;
    };
    let step = usize::from(*step) + 1;
    assert_read(bytes, step); // as they are
    let bytes = corrected(bytes);
    let Some(chunks) = assert_read(&bytes, step) else {
        return;
    };
    assert!(written(&chunks).expect("a sound chain") == bytes);
    assert!(matches!(written(&chunks[1..]), Err(FileError::Chunk(0, _)) | Err(FileError::Cut)));
    let last = chunks.len() - 1;
    assert!(matches!(written(&chunks[..last]), Err(FileError::Cut)));

    let cut = &bytes[..bytes.len() - step.min(bytes.len())];
    assert!(matches!(read(cut, step), Err(FileError::Magic | FileError::Cut)));
    let longer = [bytes.as_slice(), &[0]].concat();
    assert!(matches!(read(&longer, step), Err(FileError::Excess)));
    let mut changed = bytes.clone();
    changed[step % bytes.len()] ^= 1;
    assert!(read(&changed, step).is_err());
    decode(&chunks.concat());
}

/// Both readers agree on what the chunks are, and memory is bounded whatever the lengths say.
fn assert_read(bytes: &[u8], step: usize) -> Option<Vec<Vec<u8>>> {
    let (chunks, taken) = measured(|| read(bytes, step).ok());
    let most = MAX_CHUNK_BYTES as isize + MEMORY_PER_BYTE * bytes.len() as isize + MEMORY_BEFORE;
    assert!(taken.peak <= most, "{taken:?} for {} bytes", bytes.len());
    assert!(chunks.iter().flatten().eq(chunks_of_file(bytes).iter().flatten()));
    chunks
}

fn read(bytes: &[u8], step: usize) -> Result<Vec<Vec<u8>>, FileError> {
    let mut reader = FileReader::new(Steps { bytes, step })?;
    let (mut chunks, mut buffer) = (Vec::new(), Vec::new());
    while reader.next(&mut buffer)? {
        chunks.push(buffer.clone());
    }
    Ok(chunks)
}

fn written(chunks: &[Vec<u8>]) -> Result<Vec<u8>, FileError> {
    let mut writer = FileWriter::new(Vec::new())?;
    for chunk in chunks {
        writer.write(chunk)?;
    }
    writer.finish()
}

/// Bytes that come a few at a time.
struct Steps<'a> {
    bytes: &'a [u8],
    step: usize,
}

impl Read for Steps<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let len = to.len().min(self.step);
        self.bytes.read(&mut to[..len])
    }
}

/// The file with correct checksums: those of its chunks, as far as their lengths lead, and its own.
fn corrected(file: &[u8]) -> Vec<u8> {
    let mut file = file.to_vec();
    let mut at = HEADER_BYTES;
    while let Some(len) = file.get(at..).and_then(|rest| rest.first_chunk()) {
        let len = u32::from_le_bytes(*len) as usize;
        at += 4;
        let (before, rest) = file.split_at_mut(at);
        if len == 0 {
            if let Some(checksum) = rest.first_chunk_mut() {
                *checksum = xxh3_64(before).to_le_bytes();
            }
            break;
        }
        let Some(chunk) = rest.get_mut(..len) else {
            break;
        };
        let correct = sealed(chunk);
        chunk.copy_from_slice(&correct);
        at += len;
    }
    file
}
