//! Lengths of time in slices: how long something is remembered, and in which steps it is forgotten.
//!
//! Time is divided into slices, counted from 1970, of which a span has `n`. The current slice and
//! the `n` before it are remembered, so an item is remembered for at least the span, and for one
//! slice longer at most.

/// The longest span: ten years of 365 days, in seconds.
pub const MAX_WINDOW_SECONDS: u32 = 315_360_000;
/// The fewest slices: with one, an item would be remembered for up to two spans.
pub const MIN_SLICES: u8 = 2;
/// The most slices: with the current one and one that is being swept, 4 bits identify each.
pub const MAX_SLICES: u8 = 14;
/// Default number of slices: an item is kept at most an eighth longer than the span.
pub const DEFAULT_SLICES: u8 = 8;
/// The latest time, in milliseconds since 1970: clients that use doubles represent it exactly.
pub const MAX_TIME: u64 = (1 << 53) - 1;

/// A length of time in slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    seconds: u32,
    slices: u8,
}

impl Span {
    /// A span of `seconds` seconds in `slices` slices. `None` if one of them is out of range.
    pub fn new(seconds: u32, slices: u8) -> Option<Self> {
        let is_sound = (1..=MAX_WINDOW_SECONDS).contains(&seconds)
            && (MIN_SLICES..=MAX_SLICES).contains(&slices);
        is_sound.then_some(Self { seconds, slices })
    }

    /// Its length in seconds: an item is remembered that long at least.
    pub fn seconds(&self) -> u32 {
        self.seconds
    }

    /// Its slices: an item is remembered for one slice longer than the span at most.
    pub fn slices(&self) -> u8 {
        self.slices
    }

    /// The length of a slice in milliseconds.
    pub fn slice(&self) -> u64 {
        self.milliseconds() / u64::from(self.slices)
    }

    /// The number of the slice that a time lies in. Slices need not be whole milliseconds: a third
    /// of a second has no end in binary, so the number is a quotient and nothing is rounded twice.
    pub fn slice_of(&self, time: u64) -> u64 {
        // Both factors are small: 2^53 * 14.
        time.min(MAX_TIME) * u64::from(self.slices) / self.milliseconds()
    }

    /// The first millisecond of a slice.
    pub fn start_of(&self, slice: u64) -> u64 {
        let start = slice.saturating_mul(self.milliseconds());
        start.div_ceil(u64::from(self.slices))
    }

    /// The first slice that is remembered while `slice` is under way.
    pub fn oldest(&self, slice: u64) -> u64 {
        slice.saturating_sub(u64::from(self.slices))
    }

    fn milliseconds(&self) -> u64 {
        u64::from(self.seconds) * 1_000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_begins_where_the_one_before_ends() {
        for (seconds, slices) in [(1, 2), (1, 3), (1, 14), (7, 8), (MAX_WINDOW_SECONDS, 14)] {
            let span = Span::new(seconds, slices).unwrap();
            let last = span.slice_of(MAX_TIME) - 16;
            for slice in (0..100).chain([last / 2, last]) {
                let start = span.start_of(slice);
                assert_eq!(span.slice_of(start), slice);
                assert!(start == 0 || span.slice_of(start - 1) + 1 == slice);
                // A span later, the slice is still remembered; one more slice later it is not.
                let next = span.start_of(slice + 1);
                let end = start + u64::from(seconds) * 1_000;
                assert!(span.oldest(span.slice_of(end)) <= slice);
                assert!(span.oldest(span.slice_of(next - 1 + u64::from(seconds) * 1_000)) <= slice);
                let over = span.start_of(slice + u64::from(slices) + 1);
                assert!(span.oldest(span.slice_of(over)) > slice);
                assert!(span.oldest(span.slice_of(over - 1)) <= slice);
            }
        }
    }

    #[test]
    fn spans_out_of_range_are_none() {
        assert!(Span::new(0, 8).is_none());
        assert!(Span::new(MAX_WINDOW_SECONDS + 1, 8).is_none());
        assert!(Span::new(1, 1).is_none());
        assert!(Span::new(1, 15).is_none());
    }
}
