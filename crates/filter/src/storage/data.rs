//! The bits of a segment in a chunk: the words of all its units, or of those with a set bit, each
//! after its number.
//!
//! ```text
//!   whole    unit 0 │ unit 1 │ unit 2 │ unit 3 │ …
//!   sparse   1 │ unit 1 │ 3 │ unit 3
//! ```
//!
//! The form with fewer bytes is written, but a segment whose first 64 units all have a set bit is
//! written whole. So the form depends on the set bits alone, not on what is allocated. Either is
//! read.

use super::list::{Units, View};
use crate::bytes::{within, Sink};
use crate::error::DecodeError;

/// The bytes of the number of a unit in its segment: there are at most 1 024.
const NUMBER_BYTES: usize = 2;

/// A segment whose first `DENSE` units all have a set bit is written whole. Reading all units would
/// make saving a full filter take 1.5 times as long. A random segment with a tenth of its units
/// clear begins so in one of 850 cases (0.9^64); one with 32 of 1 024 clear, where both forms take
/// as many bytes, in one of 7.
const DENSE: usize = 64;

/// The bytes of a unit and its number.
fn entry_bytes(units: Units) -> usize {
    NUMBER_BYTES + 8 * units.words()
}

/// The bits of a segment to be written.
pub struct Outgoing<'a> {
    view: View<'a>,
    /// The number of units that have a set bit, if only these are written.
    sparse: Option<(usize, Units)>,
}

impl<'a> Outgoing<'a> {
    /// The bits of a segment with these [units](super::segments::Segments::units); `None` if none
    /// is set.
    pub fn of(view: View<'a>, units: Option<Units>) -> Option<Self> {
        let Some(units) = units else {
            return (!view.is_clear()).then_some(Self { view, sparse: None });
        };
        let last = view.touched(units).nth(DENSE - 1);
        if last.is_some_and(|(number, _)| number == DENSE - 1) {
            return Some(Self { view, sparse: None });
        }
        let max_sparse = (8 * view.num_words()).saturating_sub(1) / entry_bytes(units);
        let touched = view.touched(units).take(max_sparse + 1).count();
        let sparse = (touched <= max_sparse).then_some((touched, units));
        (touched > 0).then_some(Self { view, sparse })
    }

    pub fn is_sparse(&self) -> bool {
        self.sparse.is_some()
    }

    pub fn num_bytes(&self) -> usize {
        match self.sparse {
            Some((touched, units)) => touched * entry_bytes(units),
            None => 8 * self.view.num_words(),
        }
    }

    pub fn write(&self, to: &mut impl Sink) {
        match self.sparse {
            Some((_, units)) => self.view.touched(units).for_each(|(number, words)| {
                to.u16(number as u16);
                to.words(words);
            }),
            None => self.write_whole(to),
        }
    }

    /// Writes all words, including those that are not allocated.
    fn write_whole(&self, to: &mut impl Sink) {
        let mut end = 0;
        for (place, words) in self.view.runs() {
            write_clear(place - end, to);
            to.words(words);
            end = place + words.len();
        }
        write_clear(self.view.num_words() - end, to);
    }
}

/// Writes `number` clear words.
fn write_clear(number: usize, to: &mut impl Sink) {
    const CLEAR: [u64; 512] = [0; 512];
    for written in (0..number).step_by(CLEAR.len()) {
        to.words(&CLEAR[..CLEAR.len().min(number - written)]);
    }
}

/// The bits of a segment that were written.
#[derive(Clone, Copy)]
pub struct Incoming<'a> {
    /// Words, little-endian.
    pub bytes: &'a [u8],
    /// Whether the bytes are those of some units only, each after its number.
    pub is_sparse: bool,
}

impl<'a> Incoming<'a> {
    /// Checks that they fit a segment of `len` words with these
    /// [units](super::segments::Segments::units).
    ///
    /// # Errors
    /// `Field`.
    pub fn check(&self, len: usize, units: Option<Units>) -> Result<(), DecodeError> {
        if !self.is_sparse {
            return within("segment", self.bytes.len() == 8 * len);
        }
        let units = units.filter(|units| self.bytes.len().is_multiple_of(entry_bytes(*units)));
        within("sparse segment", units.is_some())?;
        let places = self.runs(units).map(|(place, _)| place);
        let are_sorted = places.clone().is_sorted_by(|one, next| one < next);
        within("sparse segment", are_sorted && places.last().is_none_or(|last| last < len))
    }

    /// The runs of words, in ascending order, each with the index of its first word.
    pub fn runs(&self, units: Option<Units>) -> impl Iterator<Item = (usize, &'a [u8])> + Clone {
        let units = units.filter(|_| self.is_sparse);
        let whole = units.is_none().then_some((0, self.bytes));
        let sparse = units.into_iter().flat_map(|units| {
            let entries = self.bytes.chunks_exact(entry_bytes(units));
            entries.filter_map(move |entry| {
                let (number, words) = entry.split_first_chunk()?;
                Some((usize::from(u16::from_le_bytes(*number)) * units.words(), words))
            })
        });
        whole.into_iter().chain(sparse)
    }

    /// Whether a bit is set.
    pub fn has_bits(&self, units: Option<Units>) -> bool {
        self.runs(units).any(|(_, words)| words.iter().any(|byte| *byte != 0))
    }
}
