//! The digest of a filter: two filters have the same digest if and only if they return the same
//! results, now and after the same commands.

use super::encode::chunks;
use super::window_digest::digest_of_window;
use crate::bytes::{write_words, Sink};
use crate::filter::Filter;
use xxhash_rust::xxh3::Xxh3;

impl Filter {
    /// XXH3-128 of the filter as chunks; of what one that forgets remembers. Two filters have the
    /// same digest if and only if they return the same results and statistics, now and after the
    /// same commands. Reads every allocated bit once; allocates nothing.
    pub fn digest(&self) -> u128 {
        if let Some(clock) = self.clock() {
            return digest_of_window(self, clock);
        }
        let mut hash = Hash::default();
        for chunk in chunks(self) {
            hash.chunk.reset();
            chunk.write(&mut hash);
        }
        hash.all.digest128()
    }
}

#[derive(Default)]
struct Hash {
    all: Xxh3,
    /// The checksum of the chunk that is being written.
    chunk: Xxh3,
}

impl Sink for Hash {
    fn bytes(&mut self, bytes: &[u8]) {
        self.all.update(bytes);
        self.chunk.update(bytes);
    }

    fn words(&mut self, words: &[u64]) {
        // Through a page on the stack, so that the hash gets more than a word at a time.
        let mut page = [0; 4096];
        for words in words.chunks(page.len() / 8) {
            let (bytes, _) = page.split_at_mut(words.len() * 8);
            write_words(words, bytes);
            self.bytes(bytes);
        }
    }

    fn checksum(&self) -> u64 {
        self.chunk.digest()
    }
}
