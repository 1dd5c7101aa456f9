//! Little-endian numbers, read from and written to chunks, headers and foreign formats. Every field
//! that is read is checked against its range ([`within`]).

use crate::error::{ensure, DecodeError};
use xxhash_rust::xxh3::xxh3_64;

/// The bytes not yet read.
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    pub fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }

    pub fn take(&mut self, len: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(DecodeError::Length)?;
        self.0 = rest;
        Ok(taken)
    }

    /// The kind of a layout, which must be `known`.
    pub fn layout(&mut self, known: u8) -> Result<(), DecodeError> {
        match self.u8()? {
            kind if kind == known => Ok(()),
            unknown => Err(DecodeError::Layout(unknown)),
        }
    }

    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(DecodeError::Length)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub fn u8(&mut self) -> Result<u8, DecodeError> {
        self.array().map(u8::from_le_bytes)
    }

    pub fn u16(&mut self) -> Result<u16, DecodeError> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u32(&mut self) -> Result<u32, DecodeError> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Result<u64, DecodeError> {
        self.array().map(u64::from_le_bytes)
    }

    pub fn f64(&mut self) -> Result<f64, DecodeError> {
        self.u64().map(f64::from_bits)
    }
}

/// Refuses a field for which the condition does not hold.
pub fn within(field: &'static str, holds: bool) -> Result<(), DecodeError> {
    ensure(holds, DecodeError::Field(field))
}

/// Takes the bytes of chunks, in order.
pub trait Sink {
    fn bytes(&mut self, bytes: &[u8]);

    /// Words, little-endian.
    fn words(&mut self, words: &[u64]);

    /// XXH3-64 of the bytes of this chunk so far.
    fn checksum(&self) -> u64;

    fn u8(&mut self, value: u8) {
        self.bytes(&[value]);
    }

    fn u16(&mut self, value: u16) {
        self.bytes(&value.to_le_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.bytes(&value.to_le_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.bytes(&value.to_le_bytes());
    }

    fn f64(&mut self, value: f64) {
        self.u64(value.to_bits());
    }
}

/// The caller must have reserved room for the whole chunk: a refusal could not be reported here.
impl Sink for Vec<u8> {
    fn bytes(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }

    fn words(&mut self, words: &[u64]) {
        // Clears and writes a segment at a time, which stays in the cache in between.
        let start = self.len();
        self.resize(start + words.len() * 8, 0);
        write_words(words, &mut self[start..]);
    }

    fn checksum(&self) -> u64 {
        xxh3_64(self)
    }
}

/// A slice with room for the whole chunk.
pub struct Buffer<'a> {
    bytes: &'a mut [u8],
    /// Bytes written so far.
    pub len: usize,
}

impl<'a> Buffer<'a> {
    pub fn new(bytes: &'a mut [u8]) -> Self {
        Self { bytes, len: 0 }
    }

    fn take(&mut self, len: usize) -> &mut [u8] {
        let start = self.len;
        self.len += len;
        &mut self.bytes[start..self.len]
    }
}

impl Sink for Buffer<'_> {
    fn bytes(&mut self, bytes: &[u8]) {
        self.take(bytes.len()).copy_from_slice(bytes);
    }

    fn words(&mut self, words: &[u64]) {
        write_words(words, self.take(words.len() * 8));
    }

    fn checksum(&self) -> u64 {
        xxh3_64(&self.bytes[..self.len])
    }
}

/// Words as bytes, little-endian.
pub(crate) fn write_words(words: &[u64], to: &mut [u8]) {
    for (bytes, word) in to.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
}
