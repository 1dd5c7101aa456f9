//! The allocated part of a segment: all of it, or some of its units. Readers of whole segments use
//! it, wherever the bits are stored.

use super::list::{List, Units, MAX_UNITS};

/// A view of the words of a segment.
#[derive(Clone, Copy)]
pub struct View<'a> {
    len: usize,
    allocated: Allocated<'a>,
}

#[derive(Clone, Copy)]
enum Allocated<'a> {
    Whole(&'a [u64]),
    Some {
        list: &'a List,
        units: Units,
        /// The number of its first unit in the list.
        first: u32,
    },
}

impl<'a> View<'a> {
    /// All words of a segment.
    pub(super) fn whole(words: &'a [u64]) -> Self {
        Self {
            len: words.len(),
            allocated: Allocated::Whole(words),
        }
    }

    /// Those units of a list that belong to a segment of `len` words.
    pub(super) fn some(len: usize, list: &'a List, units: Units, first: u32) -> Self {
        let allocated = Allocated::Some { list, units, first };
        Self { len, allocated }
    }

    /// The number of words, allocated or not.
    pub fn num_words(&self) -> usize {
        self.len
    }

    /// Whether no bit is set.
    pub fn is_clear(&self) -> bool {
        let are_clear = |words: &[u64]| words.iter().all(|word| *word == 0);
        match self.allocated {
            Allocated::Whole(words) => are_clear(words),
            Allocated::Some { list, units, first } => list
                .each(units)
                .filter(|(number, _)| units.is_in_segment(*number, first))
                .all(|(_, words)| are_clear(words)),
        }
    }

    /// The runs of allocated words, each with its index in the segment, in ascending order: all
    /// other words are 0.
    pub fn runs(&self) -> impl Iterator<Item = (usize, &'a [u64])> + Clone + use<'a> {
        let (whole, some) = match self.allocated {
            Allocated::Whole(words) => (Some((0, words)), None),
            Allocated::Some { list, units, first } => (None, Some(in_order(list, units, first))),
        };
        whole.into_iter().chain(some.into_iter().flatten())
    }

    /// All words, allocated or not.
    #[cfg(test)]
    pub fn to_words(&self) -> Vec<u64> {
        let mut all = vec![0; self.len];
        for (place, words) in self.runs() {
            all[place..place + words.len()].copy_from_slice(words);
        }
        all
    }
}

/// The units of a segment in ascending order, each with its index there.
fn in_order(
    list: &List,
    units: Units,
    first: u32,
) -> impl Iterator<Item = (usize, &[u64])> + Clone {
    // The number in the segment, at most 1024, and in the list.
    let mut order = [0u32; MAX_UNITS];
    let mut len = 0;
    for (number, index) in list.numbers().zip(0..) {
        if units.is_in_segment(number, first) && len < MAX_UNITS {
            order[len] = number.wrapping_sub(first) << 16 | index;
            len += 1;
        }
    }
    order[..len].sort_unstable();
    order.into_iter().take(len).filter_map(move |entry| {
        let (number, index) = (entry >> 16, entry & 0xffff);
        let words = list.words(index as usize, units)?;
        Some((number as usize * units.words(), words))
    })
}
