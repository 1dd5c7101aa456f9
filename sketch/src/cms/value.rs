//! How a count-min sketch is saved and loaded: in RedisBloom's encoding, or with a window in ours.

use crate::config::cms_version;
use crate::free::free;
use crate::stored::{native, Encoding, Family, Stored};
use splitbloom_foundation::fields::{FieldSink, Fields};
use splitbloom_foundation::OutOfMemory;
use splitbloom_server::data_type::NativeType;
use splitbloom_server::queue::Queue;
use splitbloom_sketch::cms::table::Table;
use splitbloom_sketch::cms::{windowed, CountMinSketch, Version, TYPE_NAME};
use splitbloom_sketch::DecodeError;

/// What a key holds.
pub type StoredSketch = Stored<CountMinSketch>;

/// The types of a server that writes version 0, and of one that writes version 1.
static TYPES: [[NativeType<StoredSketch>; 2]; 2] =
    [[native::<Whole>(0), native::<Windowed>(0)], [native::<Whole>(1), native::<Windowed>(0)]];

/// Sketches with a window, until the end of a slice.
static LAPSES: Queue = Queue::new();

/// RedisBloom's encoding.
struct Whole;

impl Encoding for Whole {
    type Sketch = CountMinSketch;
    const NAME: &'static str = TYPE_NAME;
    const LATEST: i32 = 1;

    fn read(version: i32, fields: &mut impl Fields) -> Result<CountMinSketch, DecodeError> {
        let version = if version == 0 { Version::Zero } else { Version::One };
        CountMinSketch::decode(version, fields)
    }
}

/// Ours, for those with a window.
struct Windowed;

impl Encoding for Windowed {
    type Sketch = CountMinSketch;
    const NAME: &'static str = windowed::TYPE_NAME;

    fn read(_version: i32, fields: &mut impl Fields) -> Result<CountMinSketch, DecodeError> {
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
        match cms_version() {
            Version::Zero => &TYPES[0],
            Version::One => &TYPES[1],
        }
    }

    fn write(&self, to: &mut impl FieldSink) -> Result<(), OutOfMemory> {
        self.save_as(cms_version(), to)
    }

    fn has_own_type(&self) -> bool {
        self.window().is_some()
    }

    fn queue() -> &'static Queue {
        &LAPSES
    }
}
