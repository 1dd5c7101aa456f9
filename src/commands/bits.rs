//! Replies to many items as a string of bits: item i is bit i mod 8 of byte i / 8, lowest bit
//! first.

use crate::commands::reply_error::ReplyError;
use splitbloom_server::allocator::try_vec;

/// The number of bits that are collected before they are stored.
const WORD: usize = u64::BITS as usize;

/// A string of bits that grows to a length known in advance.
pub struct Bits {
    bytes: Vec<u8>,
    /// The bits after those in `bytes`.
    word: u64,
    len: usize,
}

impl Bits {
    /// Allocates room for `bits` bits.
    ///
    /// # Errors
    /// There is no memory for them.
    pub fn with_room_for(bits: usize) -> Result<Self, ReplyError> {
        let bytes = try_vec(bits.div_ceil(WORD) * size_of::<u64>());
        Ok(Self { bytes: bytes.ok_or(ReplyError::NO_MEMORY_TO_REPLY)?, word: 0, len: 0 })
    }

    /// Appends a bit. There must be room for it.
    #[inline]
    pub fn push(&mut self, bit: bool) {
        self.word |= u64::from(bit) << (self.len % WORD);
        self.len += 1;
        if self.len.is_multiple_of(WORD) {
            self.bytes.extend_from_slice(&self.word.to_le_bytes());
            self.word = 0;
        }
    }

    /// Returns the bytes, the last one padded with zeros.
    pub fn into_bytes(mut self) -> Vec<u8> {
        let rest = (self.len % WORD).div_ceil(8);
        self.bytes.extend(self.word.to_le_bytes().into_iter().take(rest));
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_of(bits: &[bool]) -> Vec<u8> {
        let mut string = Bits::with_room_for(bits.len()).expect("memory");
        bits.iter().for_each(|bit| string.push(*bit));
        string.into_bytes()
    }

    #[test]
    fn the_first_item_is_the_least_bit_of_the_first_byte() {
        assert_eq!(bytes_of(&[]), []);
        assert_eq!(bytes_of(&[true]), [1]);
        assert_eq!(bytes_of(&[false, true, true]), [6]);
        let mut nine = [false; 9];
        nine[7] = true;
        nine[8] = true;
        assert_eq!(bytes_of(&nine), [128, 1]);
    }

    #[test]
    fn a_string_of_any_length_has_its_bits_and_takes_no_more_room_than_it_was_given() {
        for len in 0..300 {
            let bits: Vec<bool> = (0..len).map(|n: usize| n * n % 7 < 3).collect();
            let mut string = Bits::with_room_for(len).expect("memory");
            let room = string.bytes.capacity();
            bits.iter().for_each(|bit| string.push(*bit));
            let bytes = string.into_bytes();
            assert_eq!((bytes.len(), bytes.capacity()), (len.div_ceil(8), room));
            let read = (0..8 * bytes.len()).map(|n| bytes[n / 8] >> (n % 8) & 1 == 1);
            let padded = bits.iter().copied().chain(std::iter::repeat(false));
            assert!(read.eq(padded.take(8 * bytes.len())), "{len}");
        }
    }
}
