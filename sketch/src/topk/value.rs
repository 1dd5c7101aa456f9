//! How a top-k is saved and loaded: in RedisBloom's encoding, or with a window in ours.

use crate::stored::{native, Encoding, Family, Stored};
use splitbloom_server::data_type::NativeType;
use splitbloom_server::queue::Queue;
use splitbloom_sketch::topk::{TopK, TYPE_NAME, WINDOW_TYPE_NAME};

/// What a key holds.
pub type StoredTopK = Stored<TopK>;

static TYPES: [NativeType<StoredTopK>; 2] = [native::<TopK, 0>(0), native::<TopK, 1>(0)];

/// Lists with a window that wait for the end of a slice.
static LAPSES: Queue = Queue::new();

impl Family for TopK {
    const ENCODINGS: &'static [Encoding<Self>] = &[
        Encoding { name: TYPE_NAME, latest: 0, read: |_, fields| Self::decode(fields) },
        Encoding {
            name: WINDOW_TYPE_NAME,
            latest: 0,
            read: |_, fields| Self::decode_windowed(fields),
        },
    ];

    fn natives() -> &'static [NativeType<StoredTopK>] {
        &TYPES
    }

    fn queue() -> &'static Queue {
        &LAPSES
    }
}
