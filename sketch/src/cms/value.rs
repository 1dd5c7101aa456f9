//! A count-min sketch as a value of the server, with a window or without.

use crate::free::free;
use crate::stored::{native, Encoding, Sketch, Stored};
use splitbloom_foundation::alloc::Mover;
use splitbloom_foundation::fields::{FieldSink, Fields};
use splitbloom_foundation::OutOfMemory;
use splitbloom_server::data_type::NativeType;
use splitbloom_server::queue::{Queue, Ticket};
use splitbloom_sketch::cms::windowed::{self, WindowedSketch};
use splitbloom_sketch::cms::{self, CountMinSketch};
use splitbloom_sketch::DecodeError;
use std::alloc::Layout;
use std::num::NonZeroU64;

/// RedisBloom's type, and ours for sketches with a window.
static TYPES: [NativeType<StoredCounts>; 2] =
    [native::<PlainEncoding>(), native::<WindowedEncoding>()];

/// Sketches with a window, until the end of a slice.
static LAPSES: Queue = Queue::new();

/// What a key holds.
pub type StoredCounts = Stored<Counts>;

/// A sketch of counts.
pub enum Counts {
    /// Of all time.
    Plain(CountMinSketch),
    /// Of the last seconds.
    Windowed(WindowedSketch),
}

impl Counts {
    /// The rows of all its slices.
    pub fn rows(&self) -> u64 {
        match self {
            Self::Plain(sketch) => sketch.shape().depth(),
            Self::Windowed(sketch) => {
                sketch.shape().depth() * (u64::from(sketch.span().slices()) + 1)
            }
        }
    }
}

/// Frees a sketch that has been replaced.
pub fn free_counts(counts: Counts) {
    let allocations = counts.allocations();
    free(counts, allocations);
}

/// Frees a slice that is over.
pub fn free_slice(slice: CountMinSketch) {
    free_counts(Counts::Plain(slice));
}

impl Sketch for Counts {
    fn natives() -> &'static [NativeType<StoredCounts>] {
        &TYPES
    }

    fn has_own_type(&self) -> bool {
        matches!(self, Self::Windowed(_))
    }

    fn queue() -> &'static Queue {
        &LAPSES
    }

    fn next_change(&self, now: u64) -> Option<u64> {
        match self {
            Self::Plain(_) => None,
            Self::Windowed(sketch) => sketch.next_change(now),
        }
    }

    fn ticket(&mut self) -> Option<&mut Option<Ticket>> {
        match self {
            Self::Plain(_) => None,
            Self::Windowed(sketch) => sketch.attachment(),
        }
    }

    fn save(&self, to: &mut impl FieldSink) -> Result<(), OutOfMemory> {
        match self {
            Self::Plain(sketch) => sketch.save(to),
            Self::Windowed(sketch) => sketch.save(to),
        }
    }

    fn visit_allocations(&self, visit: &mut dyn FnMut(Layout, u64)) {
        match self {
            Self::Plain(sketch) => sketch.visit_allocations(visit),
            Self::Windowed(sketch) => sketch.visit_allocations(visit),
        }
    }

    fn allocations(&self) -> usize {
        match self {
            Self::Plain(sketch) => sketch.allocations(),
            Self::Windowed(sketch) => sketch.allocations(),
        }
    }

    fn try_clone(&mut self) -> Result<Self, OutOfMemory> {
        match self {
            Self::Plain(sketch) => sketch.try_clone().map(Self::Plain),
            Self::Windowed(sketch) => sketch.try_clone().map(Self::Windowed),
        }
    }

    fn digest(&self) -> u128 {
        match self {
            Self::Plain(sketch) => sketch.digest(),
            Self::Windowed(sketch) => sketch.digest(),
        }
    }

    fn relocate(&mut self, from: u64, mover: &mut impl Mover) -> Option<NonZeroU64> {
        match self {
            Self::Plain(sketch) => sketch.relocate(from, mover),
            Self::Windowed(sketch) => sketch.relocate(from, mover),
        }
    }
}

/// RedisBloom's encoding.
struct PlainEncoding;
/// Ours, of sketches with a window.
struct WindowedEncoding;

impl Encoding for PlainEncoding {
    type Sketch = Counts;
    const NAME: &'static str = cms::TYPE_NAME;

    fn read(fields: &mut impl Fields) -> Result<Counts, DecodeError> {
        CountMinSketch::decode(fields).map(Counts::Plain)
    }
}

impl Encoding for WindowedEncoding {
    type Sketch = Counts;
    const NAME: &'static str = windowed::TYPE_NAME;

    fn read(fields: &mut impl Fields) -> Result<Counts, DecodeError> {
        WindowedSketch::decode(fields).map(Counts::Windowed)
    }
}
