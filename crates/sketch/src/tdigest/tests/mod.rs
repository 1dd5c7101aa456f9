//! Digests against a naive twin, against what RedisBloom wrote, and against exact ranks.

mod accuracy;
mod golden;
mod hostile;
mod plain;
mod twin;

use super::*;
use splitbloom_foundation::fields::Field;

pub(super) fn compression(number: u64) -> Compression {
    Compression::new(number).unwrap()
}

/// A digest of `numbers`.
pub(super) fn digest_of(number: u64, numbers: &[f64]) -> TDigest {
    let mut digest = TDigest::new(compression(number));
    digest.add(&mut numbers.to_vec()).unwrap();
    digest
}

/// The fields of a digest as a server saves them.
pub(super) fn fields(digest: &TDigest) -> Vec<Field> {
    let mut fields = Vec::new();
    digest.encode(&mut fields);
    fields
}

/// Random fractions (Marsaglia's xorshift).
pub(super) fn fractions(mut state: u64) -> impl Iterator<Item = f64> {
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64
    })
}
