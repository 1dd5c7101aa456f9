//! How a count-min sketch is saved and loaded: in RedisBloom's encoding, or with a window in ours.

use crate::config::cms_version;
use crate::stored::{native, Encoding, Family, Stored};
use splitbloom_foundation::fields::FieldSink;
use splitbloom_foundation::OutOfMemory;
use splitbloom_server::data_type::NativeType;
use splitbloom_server::queue::Queue;
use splitbloom_sketch::cms::{CountMinSketch, Version, TYPE_NAME, WINDOW_TYPE_NAME};

/// What a key holds.
pub type StoredSketch = Stored<CountMinSketch>;

/// The types of a server that writes version 0, and of one that writes version 1.
static TYPES: [[NativeType<StoredSketch>; 2]; 2] = [
    [native::<CountMinSketch, 0>(0), native::<CountMinSketch, 1>(0)],
    [native::<CountMinSketch, 0>(1), native::<CountMinSketch, 1>(0)],
];

/// Sketches with a window that wait for the end of a slice.
static LAPSES: Queue = Queue::new();

impl Family for CountMinSketch {
    const ENCODINGS: &'static [Encoding<Self>] = &[
        Encoding {
            name: TYPE_NAME,
            latest: 1,
            read: |version, fields| {
                let version = if version == 0 { Version::Zero } else { Version::One };
                Self::decode(version, fields)
            },
        },
        Encoding {
            name: WINDOW_TYPE_NAME,
            latest: 0,
            read: |_, fields| Self::decode_windowed(fields),
        },
    ];

    fn natives() -> &'static [NativeType<StoredSketch>] {
        match cms_version() {
            Version::Zero => &TYPES[0],
            Version::One => &TYPES[1],
        }
    }

    fn queue() -> &'static Queue {
        &LAPSES
    }

    fn write(&self, to: &mut impl FieldSink) -> Result<(), OutOfMemory> {
        self.save_as(cms_version(), to)
    }
}
