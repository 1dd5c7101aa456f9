//! A filter that pieces from anywhere are loaded into, beside what the plain reader makes of the same pieces.

use super::laws::{assert_sound, encoded};
use super::plain_reader::Chain;
use crate::filter::codec::Piece;
use crate::filter::error::DecodeError;
use crate::filter::scalable::{Filter, SizeLimit};
use crate::redis::allocator::meter::measured;

/// Bytes that a byte of a piece can make the decoder hold, see `super::super::filter::codec`.
const MEMORY_FACTOR: isize = 18;
/// What a filter takes before its first byte: its own structure and the first growth of some vectors.
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

    /// Gives the next piece to both. They must agree whether it is good and on what it holds; a refused one changes nothing; and memory
    /// is bounded by the bytes that were given.
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

    /// Puts another filter in the place of this one: a copy, or one that was changed, saved and loaded.
    pub fn replace(&mut self, filter: Filter) {
        self.twin = Chain::default();
        for piece in encoded(&filter) {
            assert!(self.twin.take(&piece.bytes), "what is written can be read");
        }
        self.filter = Some(filter);
        // What its parts took, when it was made, is not known here: nothing is asserted of it.
        self.bytes_given = isize::MAX / (2 * MEMORY_FACTOR);
    }

    fn assert_like_twin(&self) {
        let pieces = encoded(self.filter.as_ref().expect("a filter"));
        let as_one = self.twin.as_one_piece();
        match pieces.as_slice() {
            [only] => assert!(only.bytes == as_one, "the canonical bytes"),
            more => {
                let mut read = Chain::default();
                assert!(more.iter().all(|piece| read.take(&piece.bytes)));
                assert_eq!(read, self.twin);
            }
        }
    }
}

/// Loads a piece as BF.LOADCHUNK does.
pub fn load(
    filter: &mut Option<Filter>,
    bytes: &[u8],
    limit: SizeLimit,
) -> Result<(), DecodeError> {
    let piece = Piece::parse(bytes)?;
    match filter {
        None => *filter = Some(Filter::from_first_piece(&piece, limit)?),
        Some(filter) => filter.load_piece(&piece, limit)?,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::plain_reader::{sealed, FILTER_RECORD, MAGIC};
    use super::*;
    use crate::filter::codec::END;
    use xxhash_rust::xxh3::xxh3_64;

    /// The only piece of a filter that takes the most memory a byte: sub-filters of 64 segments, the last of which has one line and is there.
    fn heaviest(sub_filters: u32) -> Vec<u8> {
        let mut filter = vec![1];
        filter.extend(
            [7, 0.01f64.to_bits(), 1]
                .map(u64::to_le_bytes)
                .as_flattened(),
        );
        filter.extend(1u32.to_le_bytes());
        let mut bytes = MAGIC.to_vec();
        bytes.extend(
            [0, END, xxh3_64(&filter)]
                .map(u64::to_le_bytes)
                .as_flattened(),
        );
        assert_eq!(bytes.len(), FILTER_RECORD.start);
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
            let piece = heaviest(sub_filters);
            let mut loaded = Loaded::default();
            assert!(loaded.take(&piece), "{sub_filters}");
            let least = 16 * piece.len() as isize;
            assert!(sub_filters < 1000 || loaded.bytes_kept > least / 2);
        }
    }
}
