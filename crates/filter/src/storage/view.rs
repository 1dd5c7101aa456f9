//! What is allocated of a segment: all of it, or some of its units. Whoever wants whole segments
//! sees them here, wherever their bits are.

use super::list::{Records, Units};

/// The words of a segment.
#[derive(Clone, Copy)]
pub struct View<'a> {
    len: usize,
    allocated: Allocated<'a>,
}

#[derive(Clone, Copy)]
enum Allocated<'a> {
    Whole(&'a [u64]),
    Some { units: Units, records: Records<'a> },
}

impl<'a> View<'a> {
    /// All words of a segment.
    pub(super) fn whole(words: &'a [u64]) -> Self {
        Self {
            len: words.len(),
            allocated: Allocated::Whole(words),
        }
    }

    /// Units of a segment of `len` words.
    pub(super) fn some(len: usize, units: Units, records: Records<'a>) -> Self {
        let allocated = Allocated::Some { units, records };
        Self { len, allocated }
    }

    /// Number of words, allocated or not.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no bit is set.
    pub fn is_clear(&self) -> bool {
        self.runs()
            .all(|(_, words)| words.iter().all(|word| *word == 0))
    }

    /// The runs of words that are allocated, each with its place in the segment: all others are
    /// clear.
    pub fn runs(&self) -> impl Iterator<Item = (usize, &'a [u64])> + Clone + use<'a> {
        let (whole, some) = match self.allocated {
            Allocated::Whole(words) => (Some((0, words)), None),
            Allocated::Some { units, records } => {
                let place = move |(unit, words)| (units.place_of(unit), words);
                (None, Some(records.each().map(place)))
            }
        };
        whole.into_iter().chain(some.into_iter().flatten())
    }

    /// All its words, allocated or not.
    #[cfg(test)]
    pub fn to_words(&self) -> Vec<u64> {
        let mut all = vec![0; self.len];
        for (place, words) in self.runs() {
            all[place..place + words.len()].copy_from_slice(words);
        }
        all
    }
}
