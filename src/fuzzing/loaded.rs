//! A filter that pieces from anywhere are loaded into, beside what the plain reader makes of the same pieces.

use super::laws::{assert_sound, encoded};
use super::plain_reader::Chain;
use crate::filter::codec::Piece;
use crate::filter::error::DecodeError;
use crate::filter::scalable::{Filter, SizeLimit};
use crate::redis::allocator::meter::measured;

/// Bytes that a byte of a piece can make the decoder hold, see `super::super::filter::codec`.
const MEMORY_FACTOR: isize = 16;
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
