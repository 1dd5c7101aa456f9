//! A t-digest as a value of the server, in RedisBloom's encoding.

use crate::stored::{native, Encoding, Family, Stored};
use splitbloom_server::data_type::NativeType;
use splitbloom_server::queue::Queue;
use splitbloom_sketch::tdigest::{TDigest, TYPE_NAME};

/// What a key holds.
pub type StoredDigest = Stored<TDigest>;

static TYPES: [NativeType<StoredDigest>; 1] = [native::<TDigest, 0>(0)];

impl Family for TDigest {
    const ENCODINGS: &'static [Encoding<Self>] =
        &[Encoding { name: TYPE_NAME, latest: 0, read: |_, fields| Self::decode(fields) }];

    fn natives() -> &'static [NativeType<StoredDigest>] {
        &TYPES
    }

    /// Stays empty: no digest has a window.
    fn queue() -> &'static Queue {
        static EMPTY: Queue = Queue::new();
        &EMPTY
    }
}
