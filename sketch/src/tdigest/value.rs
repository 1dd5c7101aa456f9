//! A t-digest as a value of the server.

use crate::stored::{native, Encoding, Family, Stored};
use splitbloom_foundation::fields::Fields;
use splitbloom_server::data_type::NativeType;
use splitbloom_sketch::tdigest::{TDigest, TYPE_NAME};
use splitbloom_sketch::DecodeError;

static TYPES: [NativeType<StoredDigest>; 1] = [native::<RedisBlooms>(0)];

/// What a key holds.
pub type StoredDigest = Stored<TDigest>;

impl Family for TDigest {
    fn natives() -> &'static [NativeType<StoredDigest>] {
        &TYPES
    }
}

/// RedisBloom's encoding.
struct RedisBlooms;

impl Encoding for RedisBlooms {
    type Sketch = TDigest;
    const NAME: &'static str = TYPE_NAME;

    fn read(_version: i32, fields: &mut impl Fields) -> Result<TDigest, DecodeError> {
        TDigest::decode(fields)
    }
}
