//! How long items are remembered, and in which steps they are forgotten.

/// The longest window: ten years of 365 days, in seconds.
pub const MAX_WINDOW_SECONDS: u32 = 315_360_000;
/// The fewest slices: with one, an item would be remembered for up to two windows.
pub const MIN_SLICES: u8 = 2;
/// The most slices: with the current one and one that is being swept, 4 bits identify each.
pub const MAX_SLICES: u8 = 14;
/// Default number of slices: an item is kept at most an eighth longer than the window.
pub const DEFAULT_SLICES: u8 = 8;
/// The latest time, in milliseconds since 1970: clients whose numbers are doubles keep it.
pub const MAX_TIME: u64 = (1 << 53) - 1;

/// How long items are remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    seconds: u32,
    slices: u8,
    renew: bool,
}

impl Window {
    /// A window of `seconds` seconds in `slices` slices; with `renew`, adding an item that is
    /// present starts its time again. `None` if `seconds` or `slices` is out of range.
    pub fn new(seconds: u32, slices: u8, renew: bool) -> Option<Self> {
        let is_sound = (1..=MAX_WINDOW_SECONDS).contains(&seconds)
            && (MIN_SLICES..=MAX_SLICES).contains(&slices);
        is_sound.then_some(Self { seconds, slices, renew })
    }

    /// Its length in seconds: an item is remembered that long at least.
    pub fn seconds(&self) -> u32 {
        self.seconds
    }

    /// Its slices: an item is remembered for one slice longer than the window at most.
    pub fn slices(&self) -> u8 {
        self.slices
    }

    /// The length of a slice in milliseconds.
    pub fn slice(&self) -> u64 {
        self.milliseconds() / u64::from(self.slices)
    }

    /// Whether an add of an item that is there starts its time again.
    pub fn renews(&self) -> bool {
        self.renew
    }

    /// Bits that tell the slices apart that are remembered, which are one more than the window has,
    /// and one besides whose entries are being swept.
    pub(super) fn payload_bits(&self) -> u8 {
        (u8::BITS - (self.slices + 1).leading_zeros()) as u8
    }

    /// The number of the slice that a time lies in. Slices need not be whole milliseconds: a third
    /// of a second has no end in binary, so the number is a quotient and nothing is rounded twice.
    pub(super) fn slice_of(&self, time: u64) -> u64 {
        // Both factors are small: 2^53 * 14.
        time.min(MAX_TIME) * u64::from(self.slices) / self.milliseconds()
    }

    /// The first millisecond of a slice.
    pub(super) fn start_of(&self, slice: u64) -> u64 {
        let start = slice.saturating_mul(self.milliseconds());
        start.div_ceil(u64::from(self.slices))
    }

    /// The first slice that is remembered while this one is under way.
    pub(super) fn oldest(&self, slice: u64) -> u64 {
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
            let window = Window::new(seconds, slices, false).unwrap();
            let last = window.slice_of(MAX_TIME) - 16;
            for slice in (0..100).chain([last / 2, last]) {
                let start = window.start_of(slice);
                assert_eq!(window.slice_of(start), slice);
                assert!(start == 0 || window.slice_of(start - 1) + 1 == slice);
                // A window after, it is one of those remembered, and a slice later no more.
                let next = window.start_of(slice + 1);
                let end = start + u64::from(seconds) * 1_000;
                assert!(window.oldest(window.slice_of(end)) <= slice);
                assert!(
                    window.oldest(window.slice_of(next - 1 + u64::from(seconds) * 1_000)) <= slice
                );
                let over = window.start_of(slice + u64::from(slices) + 1);
                assert!(window.oldest(window.slice_of(over)) > slice);
                assert!(window.oldest(window.slice_of(over - 1)) <= slice);
            }
        }
    }

    #[test]
    fn windows_out_of_range_are_none() {
        assert!(Window::new(0, 8, false).is_none());
        assert!(Window::new(MAX_WINDOW_SECONDS + 1, 8, false).is_none());
        assert!(Window::new(1, 1, false).is_none());
        assert!(Window::new(1, 15, false).is_none());
    }

    #[test]
    fn there_is_a_payload_for_each_slice_and_one_to_spare() {
        let bits = |slices| Window::new(1, slices, false).unwrap().payload_bits();
        for slices in MIN_SLICES..=MAX_SLICES {
            let payloads = 1 << bits(slices);
            assert!(payloads >= slices + 2 && payloads / 2 < slices + 2);
        }
        assert_eq!([2, 3, 6, 7, 14].map(bits), [2, 3, 3, 4, 4]);
    }
}
