//! A filter that chunks from anywhere are loaded into, and the plain reader's view of it.

use super::fuzzed::copies;
use super::laws::{assert_sound, encoded};
use splitbloom_filter::codec::{load_chunk, Chunk, MEMORY_PER_BYTE};
use splitbloom_filter::error::DecodeError;
use splitbloom_filter::filter::{Filter, SizeLimit};
use splitbloom_oracles::plain_reader::{head_places, Chain, Head};
use splitbloom_test_allocator::meter::measured;

/// The most bytes that the decoder may hold for a byte of a chunk.
const MEMORY_FACTOR: isize = MEMORY_PER_BYTE as isize;
/// What a filter takes besides: its own structure and the first growth of some vectors.
const MEMORY_BEFORE: isize = 4096;

pub struct Loaded {
    head: Head,
    filter: Option<Filter>,
    twin: Chain,
    bytes_given: isize,
    bytes_kept: isize,
}

impl Loaded {
    /// Nothing loaded yet, of a filter whose chain begins with `head`.
    pub fn of(head: Head) -> Self {
        Self { head, filter: None, twin: Chain::of(head), bytes_given: 0, bytes_kept: 0 }
    }

    pub fn filter(&mut self) -> Option<&mut Filter> {
        self.filter.as_mut()
    }

    /// Gives the next chunk to both. They must agree on whether it is valid and on what it holds; a
    /// refused chunk changes nothing; and memory is bounded by the bytes given.
    pub fn take(&mut self, bytes: &[u8]) -> bool {
        self.bytes_given += bytes.len() as isize;
        let before = self.filter.as_ref().map(Filter::digest);
        let (result, taken) =
            measured(|| load(&mut self.filter, self.head, bytes, SizeLimit::Unlimited));
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
        self.twin = Chain::of(self.head);
        for chunk in encoded(&filter) {
            assert!(self.twin.take(&chunk.bytes), "what is written can be read");
        }
        self.filter = Some(filter);
        // The memory that its parts took when created is unknown here, so it is not asserted.
        self.bytes_given = isize::MAX / (2 * MEMORY_FACTOR);
    }

    fn assert_like_twin(&self) {
        let filter = self.filter.as_ref().expect("a filter");
        for number in 0..16u64 {
            let item = number.to_le_bytes();
            if let Some(count) = self.twin.count(&item) {
                assert_eq!(copies(filter, &item), count);
            }
        }
        let chunks = encoded(filter);
        let as_one = self.twin.as_one_chunk();
        match chunks.as_slice() {
            [only] => assert!(only.bytes == as_one, "the canonical bytes"),
            more => {
                let mut read = Chain::of(self.head);
                assert!(more.iter().all(|chunk| read.take(&chunk.bytes)));
                assert_eq!(read, self.twin);
            }
        }
    }
}

/// Loads a chunk as BF.LOADCHUNK does.
pub fn load(
    filter: &mut Option<Filter>,
    head: Head,
    bytes: &[u8],
    limit: SizeLimit,
) -> Result<(), DecodeError> {
    let chunk = Chunk::parse(bytes)?;
    let (_, record) = head_places(bytes);
    if filter.is_none() && Head::of_kind(bytes[record.start]) != Some(head) {
        return Err(DecodeError::Order);
    }
    if let Some(begun) = load_chunk(filter.as_mut(), &chunk, limit)? {
        *filter = Some(begun);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use splitbloom_filter::codec::END;
    use splitbloom_oracles::plain_reader::{sealed, start_of_chunk};
    use splitbloom_oracles::written;
    use xxhash_rust::xxh3::xxh3_64;

    /// The only chunk of a filter, of its head record and others.
    fn chunk_of(filter: &[u8], records: &[u8]) -> Vec<u8> {
        let (start, end) = (start_of_chunk(0, END), written([1, 8, 4, 8], [4, 0, 0, 0]));
        let hash = xxh3_64(filter).to_le_bytes();
        sealed(&[start.as_slice(), &hash, filter, records, &end].concat())
    }

    /// The layers from RedisBloom that take the most memory a byte: of 64 segments, of which only
    /// the last one, a line long, has bits.
    fn heaviest_layers(number: u64) -> Vec<u8> {
        let [rate, bits_per_item] = [0.5, 1.0].map(f64::to_bits);
        let bits = 63 * 524_288 + 64;
        let layers = (0..number).flat_map(|index| {
            let layer = [2, index, 2, 1, rate, 1, bits_per_item, bits, 0, 0];
            let layer = written([1, 4, 1, 8, 8, 4, 8, 8, 1, 8], layer);
            [layer, written([1, 4, 8, 4], [3, index, 63, 64]), vec![1; 64]].concat()
        });
        layers.collect()
    }

    /// What is kept for a byte of a chunk.
    fn kept(head: Head, chunk: &[u8]) -> f64 {
        let mut loaded = Loaded::of(head);
        assert!(loaded.take(chunk));
        loaded.bytes_kept as f64 / chunk.len() as f64
    }

    #[test]
    fn a_byte_of_a_layer_takes_no_more_memory_than_is_said() {
        // One more than a power of two, so that vectors that double have just doubled.
        for layers in [1, 33, 1025, 4097] {
            let chunk = chunk_of(&written([1, 8, 8], [10, 0, 0]), &heaviest_layers(layers));
            let kept = kept(Head::Foreign, &chunk);
            assert!(layers < 1000 || kept > 8.0);
        }
    }

    /// Sparse segments of `lines` lines each, one in every `distance` segments.
    fn sparse_segments(number: u64, distance: u64, lines: u64) -> Vec<u8> {
        let num_sub_bitmaps = number * distance * 1024 + 2;
        let fields = [num_sub_bitmaps, 1 << 40, 0.01f64.to_bits(), num_sub_bitmaps << 20, 0];
        let mut bytes =
            [written([1, 4, 1, 4, 4], [2, 0, 1, 512, 6]), written([8; 5], fields)].concat();
        for segment in (1..=number).map(|segment| segment * distance) {
            // The last one has two lines.
            let lines = if segment == number * distance { 1 } else { lines };
            bytes.extend(written([1, 4, 8, 4], [12, 0, segment, lines * 66]));
            bytes.extend((0..lines).flat_map(|line| [written([2], [line]), vec![1; 64]].concat()));
        }
        bytes
    }

    #[test]
    fn a_byte_of_a_sparse_segment_takes_no_more_memory_than_is_said() {
        let head = written([1, 8, 8, 8, 4], [1, 7, 0.01f64.to_bits(), 1, 1]);
        let kept = |records: &[u8]| kept(Head::Filter, &chunk_of(&head, records));
        for distance in [1, 2, 64, 65, 1 << 16, 1 << 19] {
            for (number, lines) in [(400, 1), (400, 2), (200, 30), (100, 60), (100, 120)] {
                assert!(kept(&sparse_segments(number, distance, lines)) < 6.0);
            }
            // One line more than a list may have: the whole segment is allocated.
            assert!(kept(&sparse_segments(100, distance, 121)) > 8.0);
        }
    }
}
