//! How long items are remembered, and whether adding one again starts its time again.

pub use splitbloom_foundation::span::{
    Span, DEFAULT_SLICES, MAX_SLICES, MAX_TIME, MAX_WINDOW_SECONDS, MIN_SLICES,
};

use std::ops::Deref;

/// How long items are remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    span: Span,
    renew: bool,
}

impl Window {
    /// A window of `seconds` seconds in `slices` slices; with `renew`, adding an item that is
    /// present starts its time again. `None` if `seconds` or `slices` is out of range.
    pub fn new(seconds: u32, slices: u8, renew: bool) -> Option<Self> {
        Some(Self { span: Span::new(seconds, slices)?, renew })
    }

    /// Whether an add of an item that is present starts its time again.
    pub fn renews(&self) -> bool {
        self.renew
    }

    /// Bits of a payload: enough for the remembered slices, one more than the window has, and for
    /// one slice whose entries are being swept.
    pub(in crate::filter) fn payload_bits(&self) -> u8 {
        (u8::BITS - (self.slices() + 1).leading_zeros()) as u8
    }
}

impl Deref for Window {
    type Target = Span;

    fn deref(&self) -> &Span {
        &self.span
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
