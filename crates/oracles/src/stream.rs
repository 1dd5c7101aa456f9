//! Any bytes as the fields of a saved value: a number is its width in one byte, and its bytes; a
//! double eight bytes; a string its length in two bytes, and its bytes.

use splitbloom_foundation::fields::Fields;

/// Bytes that are taken one after the other.
#[derive(Clone, Copy)]
pub struct Stream<'a>(pub &'a [u8]);

impl<'a> Stream<'a> {
    /// The next bytes.
    pub fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    /// The next number of `width` bytes, at most 8, the least significant first.
    pub fn number(&mut self, width: usize) -> Option<u64> {
        self.take(width).map(super::number)
    }

    /// Reads a number of each of these `widths`, in bytes.
    ///
    /// # Panics
    /// If there are fewer bytes: the length of a record was checked when it was cut out.
    pub fn numbers<const N: usize>(&mut self, widths: [usize; N]) -> [u64; N] {
        widths.map(|width| self.number(width).expect("a record of its kind's length"))
    }
}

impl<'a> Fields for Stream<'a> {
    type String = &'a [u8];

    fn unsigned(&mut self) -> Option<u64> {
        let width = self.number(1)? % 9;
        self.number(width as usize)
    }

    fn double(&mut self) -> Option<f64> {
        self.number(8).map(f64::from_bits)
    }

    fn string(&mut self) -> Option<&'a [u8]> {
        let len = self.number(2)?;
        self.take(len as usize)
    }
}
