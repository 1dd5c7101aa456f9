//! A filter that chunks from anywhere are loaded into, and the plain reader's view of it.

use super::laws::{assert_sound, encoded};
use super::plain_reader::Chain;
use splitbloom_filter::codec::{load_chunk, Chunk, MEMORY_PER_BYTE};
use splitbloom_filter::error::DecodeError;
use splitbloom_filter::filter::{Filter, SizeLimit};
use splitbloom_test_allocator::meter::measured;

/// The most bytes that the decoder may hold for a byte of a chunk.
const MEMORY_FACTOR: isize = MEMORY_PER_BYTE as isize;
/// What a filter takes besides: its own structure and the first growth of some vectors.
const MEMORY_BEFORE: isize = 4096;

#[derive(Default)]
pub struct Loaded {
    filter: Option<Filter>,
    twin: Chain,
    bytes_given: isize,
    bytes_kept: isize,
}

impl Loaded {
    pub fn filter(&mut self) -> Option<&mut Filter> {
        self.filter.as_mut()
    }

    /// Gives the next chunk to both. They must agree on whether it is valid and on what it holds; a
    /// refused chunk changes nothing; and memory is bounded by the bytes given.
    pub fn take(&mut self, bytes: &[u8]) -> bool {
        self.bytes_given += bytes.len() as isize;
        let before = self.filter.as_ref().map(Filter::digest);
        let (result, taken) = measured(|| load(&mut self.filter, bytes, SizeLimit::Unlimited));
        let most = MEMORY_FACTOR * self.bytes_given + MEMORY_BEFORE;
        assert!(
            self.bytes_kept + taken.peak <= most,
            "{taken:?} after {} for {} bytes",
            self.bytes_kept,
            self.bytes_given
        );
        self.bytes_kept += taken.kept;

        let is_good = self.twin.take(bytes);
        assert_eq!(result.is_ok(), is_good, "{result:?}");
        if is_good {
            let filter = self.filter.as_ref().expect("a filter was loaded");
            assert_sound(filter);
            self.assert_like_twin();
        } else {
            assert_eq!(self.filter.as_ref().map(Filter::digest), before);
        }
        is_good
    }

    /// Replaces the filter by another: a copy, or one that was changed, saved and loaded.
    pub fn replace(&mut self, filter: Filter) {
        self.twin = Chain::default();
        for chunk in encoded(&filter) {
            assert!(self.twin.take(&chunk.bytes), "what is written can be read");
        }
        self.filter = Some(filter);
        // What its parts took when they were created is unknown here, so nothing is asserted of it.
        self.bytes_given = isize::MAX / (2 * MEMORY_FACTOR);
    }

    fn assert_like_twin(&self) {
        let chunks = encoded(self.filter.as_ref().expect("a filter"));
        let as_one = self.twin.as_one_chunk();
        match chunks.as_slice() {
            [only] => assert!(only.bytes == as_one, "the canonical bytes"),
            more => {
                let mut read = Chain::default();
                assert!(more.iter().all(|chunk| read.take(&chunk.bytes)));
                assert_eq!(read, self.twin);
            }
        }
    }
}

/// Loads a chunk as BF.LOADCHUNK does.
pub fn load(
    filter: &mut Option<Filter>,
    bytes: &[u8],
    limit: SizeLimit,
) -> Result<(), DecodeError> {
    let chunk = Chunk::parse(bytes)?;
    if let Some(begun) = load_chunk(filter.as_mut(), &chunk, limit)? {
        *filter = Some(begun);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::plain_reader::sealed;
    use super::*;
    use splitbloom_filter::codec::END;
    use xxhash_rust::xxh3::xxh3_64;

    /// The only chunk of a filter that takes the most memory a byte: sub-filters of 64 segments, of
    /// which only the last one, a line long, has bits. It is in version 1, which is shorter.
    fn heaviest(sub_filters: u32) -> Vec<u8> {
        let mut filter = vec![1];
        filter.extend(
            [7, 0.01f64.to_bits(), 1]
                .map(u64::to_le_bytes)
                .as_flattened(),
        );
        filter.extend(1u32.to_le_bytes());
        let mut bytes = b"SBF\x01".to_vec();
        bytes.extend(
            [0, END, xxh3_64(&filter)]
                .map(u64::to_le_bytes)
                .as_flattened(),
        );
        bytes.extend(filter);
        for index in 0..sub_filters {
            bytes.push(2);
            bytes.extend(index.to_le_bytes());
            bytes.push(1);
            bytes.extend([512u32, 6].map(u32::to_le_bytes).as_flattened());
            let fields = [63 * 1024 + 1, 1, 0.001f64.to_bits(), 1, 0];
            bytes.extend(fields.map(u64::to_le_bytes).as_flattened());
            bytes.push(3);
            bytes.extend(index.to_le_bytes());
            bytes.extend(63u64.to_le_bytes());
            bytes.extend(64u32.to_le_bytes());
            bytes.extend([1; 64]);
        }
        bytes.push(4);
        bytes.extend([0; 12]);
        bytes.extend([0; 8]);
        sealed(&bytes)
    }

    #[test]
    fn a_byte_takes_no_more_memory_than_is_said() {
        // One more than a power of two, so that vectors that double have just doubled.
        for sub_filters in [1, 33, 1025, 4097] {
            let chunk = heaviest(sub_filters);
            let mut loaded = Loaded::default();
            assert!(loaded.take(&chunk), "{sub_filters}");
            let least = 16 * chunk.len() as isize;
            assert!(sub_filters < 1000 || loaded.bytes_kept > least / 2);
        }
    }
}
