//! A number that is equal for two filters exactly when they will answer everything alike, now and later.

use super::codec::encode_piece;
use super::scalable::Filter;
use xxhash_rust::xxh3::Xxh3;

impl Filter {
    /// XXH3-128 over the encoded filter, piece by piece. Cost: reads every bit that is there once.
    pub fn digest(&self) -> u128 {
        let mut hash = Xxh3::new();
        let mut iterator = 0;
        while let Some(piece) = encode_piece(self, iterator) {
            hash.update(&piece.bytes);
            iterator = piece.next;
        }
        hash.digest128()
    }
}
