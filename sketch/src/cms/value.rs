//! How a count-min sketch is saved and loaded: in RedisBloom's encoding, or with a window in ours.

use crate::free::free;
use crate::stored::{native, Encoding, Sketch, Stored};
use splitbloom_foundation::alloc::Mover;
use splitbloom_foundation::fields::{FieldSink, Fields};
use splitbloom_foundation::OutOfMemory;
use splitbloom_server::data_type::NativeType;
use splitbloom_server::queue::{Queue, Ticket};
use splitbloom_sketch::cms::table::Table;
use splitbloom_sketch::cms::{windowed, CountMinSketch, TYPE_NAME};
use splitbloom_sketch::DecodeError;
use std::alloc::Layout;
use std::num::NonZeroU64;

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

impl Sketch for CountMinSketch {
    fn natives() -> &'static [NativeType<StoredSketch>] {
        &TYPES
    }

    fn save(&self, to: &mut impl FieldSink) -> Result<(), OutOfMemory> {
        self.save(to)
    }

    fn visit_allocations(&self, visit: &mut dyn FnMut(Layout, u64)) {
        self.visit_allocations(visit);
    }

    fn allocations(&self) -> usize {
        self.allocations()
    }

    fn try_clone(&mut self) -> Result<Self, OutOfMemory> {
        self.try_clone()
    }

    fn digest(&self) -> u128 {
        self.digest()
    }

    fn relocate(&mut self, from: u64, mover: &mut impl Mover) -> Option<NonZeroU64> {
        self.relocate(from, mover)
    }

    fn has_own_type(&self) -> bool {
        self.window().is_some()
    }

    fn queue() -> &'static Queue {
        &LAPSES
    }

    fn next_change(&self, now: u64) -> Option<u64> {
        self.next_change(now)
    }

    fn ticket(&mut self) -> Option<&mut Option<Ticket>> {
        self.attachment()
    }
}
