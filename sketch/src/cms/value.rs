//! How a count-min sketch is saved and loaded: in RedisBloom's encoding, or with a window in ours.

use crate::free::free;
use crate::stored::{native, Encoding, Family, Stored};
use splitbloom_foundation::fields::Fields;
use splitbloom_server::data_type::NativeType;
use splitbloom_server::queue::Queue;
use splitbloom_sketch::cms::table::Table;
use splitbloom_sketch::cms::{windowed, CountMinSketch, TYPE_NAME};
use splitbloom_sketch::DecodeError;

/// What a key holds.
pub type StoredSketch = Stored<CountMinSketch>;

static TYPES: [NativeType<StoredSketch>; 2] = [native::<Whole>(), native::<Windowed>()];

/// Sketches with a window, until the end of a slice.
static LAPSES: Queue = Queue::new();

/// RedisBloom's encoding.
struct Whole;

impl Encoding for Whole {
    type Sketch = CountMinSketch;
    const NAME: &'static str = TYPE_NAME;

    fn read(fields: &mut impl Fields) -> Result<CountMinSketch, DecodeError> {
        CountMinSketch::decode(fields)
    }
}

/// Ours, for those with a window.
struct Windowed;

impl Encoding for Windowed {
    type Sketch = CountMinSketch;
    const NAME: &'static str = windowed::TYPE_NAME;

    fn read(fields: &mut impl Fields) -> Result<CountMinSketch, DecodeError> {
        CountMinSketch::decode_windowed(fields)
    }
}

/// Frees a slice that is over.
pub fn free_slice(slice: Table) {
    let allocations = slice.allocations();
    free(slice, allocations);
}

impl Family for CountMinSketch {
    fn natives() -> &'static [NativeType<StoredSketch>] {
        &TYPES
    }

    fn has_own_type(&self) -> bool {
        self.window().is_some()
    }

    fn queue() -> &'static Queue {
        &LAPSES
    }
}
