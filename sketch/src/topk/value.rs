//! How a top-k is saved and loaded: in RedisBloom's encoding, or with a window in ours.

use crate::stored::{native, Encoding, Family, Stored};
use splitbloom_foundation::fields::Fields;
use splitbloom_server::data_type::NativeType;
use splitbloom_server::queue::Queue;
use splitbloom_sketch::topk::{TopK, TYPE_NAME, WINDOW_TYPE_NAME};
use splitbloom_sketch::DecodeError;

/// What a key holds.
pub type StoredTopK = Stored<TopK>;

static TYPES: [NativeType<StoredTopK>; 2] = [native::<Whole>(0), native::<Windowed>(0)];

/// Lists with a window, until the end of a slice.
static LAPSES: Queue = Queue::new();

/// RedisBloom's encoding.
struct Whole;

impl Encoding for Whole {
    type Sketch = TopK;
    const NAME: &'static str = TYPE_NAME;

    fn read(_version: i32, fields: &mut impl Fields) -> Result<TopK, DecodeError> {
        TopK::decode(fields)
    }
}

/// Ours, for those with a window.
struct Windowed;

impl Encoding for Windowed {
    type Sketch = TopK;
    const NAME: &'static str = WINDOW_TYPE_NAME;

    fn read(_version: i32, fields: &mut impl Fields) -> Result<TopK, DecodeError> {
        TopK::decode_windowed(fields)
    }
}

impl Family for TopK {
    fn natives() -> &'static [NativeType<StoredTopK>] {
        &TYPES
    }

    fn has_own_type(&self) -> bool {
        self.window().is_some()
    }

    fn queue() -> &'static Queue {
        &LAPSES
    }
}
