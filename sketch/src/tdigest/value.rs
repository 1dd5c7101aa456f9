//! A t-digest as a value of the server.

use crate::stored::{native, Encoding, Sketch, Stored};
use splitbloom_foundation::alloc::Mover;
use splitbloom_foundation::fields::{FieldSink, Fields};
use splitbloom_foundation::OutOfMemory;
use splitbloom_server::data_type::NativeType;
use splitbloom_sketch::tdigest::{TDigest, TYPE_NAME};
use splitbloom_sketch::DecodeError;
use std::alloc::Layout;
use std::num::NonZeroU64;

static TYPES: [NativeType<StoredDigest>; 1] = [native::<RedisBlooms>()];

/// What a key holds.
pub type StoredDigest = Stored<TDigest>;

impl Sketch for TDigest {
    fn natives() -> &'static [NativeType<StoredDigest>] {
        &TYPES
    }

    fn save(&self, to: &mut impl FieldSink) -> Result<(), OutOfMemory> {
        self.encode(to);
        Ok(())
    }

    fn visit_allocations(&self, visit: &mut dyn FnMut(Layout, u64)) {
        self.visit_allocations(visit);
    }

    fn allocations(&self) -> usize {
        self.allocations()
    }

    fn try_clone(&mut self) -> Result<Self, OutOfMemory> {
        TDigest::try_clone(self)
    }

    fn digest(&self) -> u128 {
        self.digest()
    }

    fn relocate(&mut self, _: u64, mover: &mut impl Mover) -> Option<NonZeroU64> {
        self.relocate(mover);
        None
    }
}

/// RedisBloom's encoding.
struct RedisBlooms;

impl Encoding for RedisBlooms {
    type Sketch = TDigest;
    const NAME: &'static str = TYPE_NAME;

    fn read(fields: &mut impl Fields) -> Result<TDigest, DecodeError> {
        TDigest::decode(fields)
    }
}
