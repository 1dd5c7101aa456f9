//! The sub-filters of a filter: bits in segments, and headers that say how items map to them. Each
//! other layout of bits is an arm here, and nowhere else in the filter.

use crate::bloom::blocked_bloom::{BlockedBloom, Header};
use crate::bytes::{Reader, Sink};
use crate::error::{AddError, DecodeError};
use crate::filter::parameters::Kind;
use crate::foreign::cuckoo::CuckooSeries;
use crate::foreign::{Layer, Layers};
use crate::storage::segments::Segments;
use splitbloom_foundation::alloc::try_push;

/// The sub-filters of a filter, all of one layout.
pub(crate) enum Series {
    /// None.
    Empty,
    /// One of ours.
    Blocked(BlockedBloom),
    /// Those of a Bloom filter from RedisBloom or valkey-bloom.
    Layers(Layers),
    /// All of a cuckoo filter from RedisBloom.
    Cuckoo(CuckooSeries),
}

/// One sub-filter.
#[derive(Clone, Copy)]
pub(crate) enum SubFilter<'a> {
    Blocked(&'a BlockedBloom),
    Layer(&'a Layer),
    Cuckoo(&'a CuckooSeries),
}

impl Series {
    /// Number of sub-filters.
    pub fn len(&self) -> usize {
        match self {
            Self::Empty => 0,
            Self::Blocked(_) | Self::Cuckoo(_) => 1,
            Self::Layers(layers) => layers.each().len(),
        }
    }

    /// Sub-filter `index`, counted from the oldest.
    pub fn get(&self, index: usize) -> Option<SubFilter<'_>> {
        match self {
            Self::Blocked(one) if index == 0 => Some(SubFilter::Blocked(one)),
            Self::Cuckoo(one) if index == 0 => Some(SubFilter::Cuckoo(one)),
            Self::Layers(layers) => layers.each().get(index).map(SubFilter::Layer),
            _ => None,
        }
    }

    /// All of them, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = SubFilter<'_>> + Clone {
        (0..).map_while(|index| self.get(index))
    }

    /// The storage of sub-filter `index`, to allocate, move and fill.
    pub fn segments_mut(&mut self, index: usize) -> Option<&mut Segments> {
        match self {
            Self::Blocked(one) if index == 0 => Some(one.segments_mut()),
            Self::Cuckoo(one) if index == 0 => Some(one.segments_mut()),
            Self::Layers(layers) => layers.each.get_mut(index).map(Layer::segments_mut),
            _ => None,
        }
    }

    /// Sets the bits that are set in `words` (little-endian bytes), from word `place` of a segment
    /// on, for which there is [room](Segments::make_room), and counts them. If the segment is not
    /// divided into [units](Segments::units), `words` are all of it.
    pub fn merge(&mut self, index: usize, segment: u64, place: usize, words: &[u8]) {
        match self {
            Self::Empty => {}
            Self::Blocked(one) => one.merge(segment, place, words),
            Self::Cuckoo(one) => one.merge(segment, words),
            Self::Layers(layers) => {
                if let Some(layer) = layers.each.get_mut(index) {
                    layer.merge(segment, words);
                }
            }
        }
    }

    /// Reads the header of one more sub-filter of a filter of this kind. It allocates at most a
    /// place in a list.
    ///
    /// # Errors
    /// `Length`; `Layout` if it is of another layout; a `Field` out of range; `OutOfMemory`.
    pub fn read_next(&mut self, kind: Kind, reader: &mut Reader<'_>) -> Result<(), DecodeError> {
        match self {
            Self::Layers(layers) => try_push(&mut layers.each, Layer::read_header(reader)?)?,
            _ if kind == Kind::Counting => {
                *self = Self::Cuckoo(CuckooSeries::read_header(reader)?);
            }
            _ => *self = Self::Blocked(BlockedBloom::from_header(Header::read(reader)?)),
        }
        Ok(())
    }

    /// Makes room for what [`Series::insert`] inserts.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    pub fn reserve(&mut self, more: usize) -> Result<(), AddError> {
        match self {
            Self::Layers(layers) => layers.reserve(more),
            _ => Ok(()),
        }
    }

    /// Inserts sub-filters at `place`, for which there is room.
    pub fn insert(&mut self, place: usize, added: Self) {
        match (&mut *self, added) {
            (_, Self::Empty) => {}
            (Self::Layers(layers), Self::Layers(mut added)) => {
                layers.each.splice(place..place, added.each.drain(..));
            }
            (_, added) => *self = added,
        }
    }

    /// A copy, which shares the segments until one of the two changes them.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    pub fn try_clone(&mut self) -> Result<Self, AddError> {
        Ok(match self {
            Self::Empty => Self::Empty,
            Self::Blocked(one) => Self::Blocked(one.try_clone()?),
            Self::Cuckoo(one) => Self::Cuckoo(one.try_clone()?),
            Self::Layers(layers) => Self::Layers(layers.try_clone()?),
        })
    }
}

impl<'a> SubFilter<'a> {
    /// The storage.
    pub fn segments(self) -> &'a Segments {
        match self {
            Self::Blocked(one) => one.segments(),
            Self::Layer(one) => one.segments(),
            Self::Cuckoo(one) => one.segments(),
        }
    }

    /// Writes the header: the layout kind, and what that needs.
    pub fn write_header(self, to: &mut impl Sink) {
        match self {
            Self::Blocked(one) => one.header().write(to),
            Self::Layer(one) => one.write_header(to),
            Self::Cuckoo(one) => one.write_header(to),
        }
    }

    /// Items that were new when they were added.
    pub fn items(self) -> u64 {
        match self {
            Self::Blocked(one) => one.fill().items(),
            Self::Layer(one) => one.description().items,
            Self::Cuckoo(one) => one.items(),
        }
    }

    /// The estimated number of items, from the set bits.
    pub fn estimated_items(self) -> f64 {
        match self {
            Self::Blocked(one) => one.estimated_items(),
            Self::Layer(one) => one.estimated_items(),
            Self::Cuckoo(one) => one.items() as f64,
        }
    }

    /// The expected false-positive rate now.
    pub fn false_positive_rate(self) -> f64 {
        match self {
            Self::Blocked(one) => one.false_positive_rate(),
            Self::Layer(one) => one.false_positive_rate(),
            Self::Cuckoo(one) => one.false_positive_rate(),
        }
    }

    /// Number of bits, set or not, allocated or not.
    pub fn num_bits(self) -> u64 {
        match self {
            Self::Blocked(one) => one.num_bits(),
            Self::Layer(one) => one.num_bits(),
            Self::Cuckoo(one) => 8 * one.slots(),
        }
    }
}
