//! Where encoded bytes go: into a buffer, or straight into a hash.

use xxhash_rust::xxh3::xxh3_64;

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

/// Room for the whole chunk must be reserved: this is no place for the allocator to refuse.
impl Sink for Vec<u8> {
    fn bytes(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }

    fn words(&mut self, words: &[u64]) {
        // A segment at a time is cleared and written: it stays in the cache between the two.
        let start = self.len();
        self.resize(start + words.len() * 8, 0);
        write_words(words, &mut self[start..]);
    }

    fn checksum(&self) -> u64 {
        xxh3_64(self)
    }
}

/// A slice with room for the whole chunk.
pub(super) struct Buffer<'a> {
    bytes: &'a mut [u8],
    len: usize,
}

impl<'a> Buffer<'a> {
    pub fn new(bytes: &'a mut [u8]) -> Self {
        Self { bytes, len: 0 }
    }

    /// Bytes written so far.
    pub fn len(&self) -> usize {
        self.len
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
