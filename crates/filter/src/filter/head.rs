//! The head of a filter: its kind and its parameters, in memory and as the head record of a chunk.

use crate::bloom::sizing::MAX_CAPACITY;
use crate::bytes::{within, Reader, Sink};
use crate::error::DecodeError;
use crate::filter::body::{Body, Counts, Organs};
use crate::filter::parameters::{Growth, Kind, Parameters, MAX_BUCKET_SIZE, MAX_EXPANSION};
use crate::filter::series::Series;
use crate::filter::window::clock::Clock;
use crate::filter::window::span::Window;
use crate::filter::Filter;
use crate::foreign::Layers;
use crate::hash::Seed;
use crate::table::{Reservation, Table};
use splitbloom_foundation::alloc::try_boxed_one;

/// The kinds of head records.
const FILTER: u8 = 1;
const COUNTING_FILTER: u8 = 8;
const WINDOWED_FILTER: u8 = 9;
const FOREIGN_FILTER: u8 = 10;

/// The kind and the parameters in 24 bytes.
#[derive(Clone, Copy)]
pub(super) struct Head {
    pub error_rate: f64,
    pub seed: Seed,
    /// The capacity, at most 2^40, times 2^18; the growth factor, at most 2^15, times 4; the kind.
    packed: u64,
}

impl Head {
    pub fn new(kind: Kind, parameters: Parameters) -> Self {
        let Parameters { error_rate, capacity, growth, seed } = parameters;
        let factor = growth.factor().min(MAX_EXPANSION);
        Self {
            error_rate,
            seed,
            packed: capacity.min(MAX_CAPACITY) << 18 | u64::from(factor) << 2 | kind as u64,
        }
    }

    /// The head of a filter from another module, whose layers tell the other parameters.
    pub fn of_layers(seed: Seed) -> Self {
        Self { error_rate: 0.0, seed, packed: Kind::Bloom as u64 }
    }

    /// The same with another capacity.
    pub fn with_capacity(self, capacity: u64) -> Self {
        Self::new(self.kind(), Parameters { capacity, ..self.parameters() })
    }

    /// The table that a filter begins with, if it begins with one. It is reserved for the capacity;
    /// with a window, also for entries of past slices that are not swept yet, about one slice.
    pub fn first_table(self, window: Option<Window>) -> Table {
        let Parameters { error_rate, capacity, growth, .. } = self.parameters();
        let swept = window.map_or(0, |window| capacity / (u64::from(window.slices()) + 1));
        let reservation = Reservation { items: capacity + swept, grows: growth != Growth::Fixed };
        Table::reserved(error_rate, window.map_or(0, |window| window.payload_bits()), reservation)
    }

    #[inline]
    pub fn kind(self) -> Kind {
        match self.packed & 3 {
            0 => Kind::Bloom,
            1 => Kind::Counting,
            _ => Kind::Windowed,
        }
    }

    #[inline]
    pub fn parameters(self) -> Parameters {
        Parameters {
            error_rate: self.error_rate,
            capacity: self.packed >> 18,
            growth: Growth::from_factor((self.packed >> 2) as u32 & 0xffff),
            seed: self.seed,
        }
    }
}

/// The kind of the filter that a head record of this kind begins.
pub(crate) fn kind_of_record(record: u8) -> Option<Kind> {
    match record {
        FILTER | FOREIGN_FILTER => Some(Kind::Bloom),
        COUNTING_FILTER => Some(Kind::Counting),
        WINDOWED_FILTER => Some(Kind::Windowed),
        _ => None,
    }
}

impl Filter {
    /// The table that it begins with, if it begins with one.
    pub(crate) fn first_table(&self) -> Table {
        self.head.first_table(self.window())
    }

    /// Writes the head record: the parameters, which never change.
    pub(crate) fn write_head(&self, to: &mut impl Sink) {
        let Parameters { error_rate, capacity, growth, seed } = self.head.parameters();
        to.u8(match self.kind() {
            Kind::Bloom if self.layers().is_some() => FOREIGN_FILTER,
            Kind::Bloom => FILTER,
            Kind::Counting => COUNTING_FILTER,
            Kind::Windowed => WINDOWED_FILTER,
        });
        to.u64(seed.0);
        if let Some(layers) = self.layers() {
            return layers.write_head(to);
        }
        to.f64(error_rate);
        to.u64(capacity);
        if self.kind() == Kind::Counting {
            let parameters = self.counting_parameters();
            to.u16(parameters.expansion);
            to.u16(parameters.bucket_size);
            to.u16(parameters.max_iterations);
        } else {
            to.u32(growth.factor());
        }
        if let Some(window) = self.window() {
            to.u32(window.seconds());
            to.u8(window.slices());
            to.u8(window.renews().into());
        }
    }

    /// A filter of this head record without parts, which is about to be loaded.
    ///
    /// # Errors
    /// `Length`; `Order` if the record is another one; a `Field` out of range; `OutOfMemory`.
    pub(crate) fn read_head(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let record = reader.u8()?;
        let kind = kind_of_record(record).ok_or(DecodeError::Order)?;
        let seed = Seed(reader.u64()?);
        if record == FOREIGN_FILTER {
            let series = Series::Layers(Layers::read_head(reader)?);
            return Ok(Self { head: Head::of_layers(seed), body: Body::of(Organs::of(series))? });
        }
        let error_rate = reader.f64()?;
        within("error rate", error_rate > 0.0 && error_rate < 1.0)?;
        let capacity = reader.u64()?;
        within("capacity", (1..=MAX_CAPACITY).contains(&capacity))?;
        let expansion = match record {
            COUNTING_FILTER => reader.u16()?.into(),
            _ => reader.u32()?,
        };
        within("expansion", expansion <= MAX_EXPANSION)?;
        let parameters =
            Parameters { error_rate, capacity, growth: Growth::from_factor(expansion), seed };
        let mut organs = Organs::of(Series::Empty);
        match kind {
            Kind::Bloom => {}
            Kind::Counting => {
                let (bucket_size, max_iterations) = (reader.u16()?, reader.u16()?);
                within("bucket size", (1..=MAX_BUCKET_SIZE).contains(&bucket_size))?;
                within("iterations", max_iterations > 0)?;
                organs.counts = Counts { deleted: 0, bucket_size, max_iterations };
            }
            Kind::Windowed => {
                let (seconds, slices, renew) = (reader.u32()?, reader.u8()?, reader.u8()?);
                within("renew", renew <= 1)?;
                let window = Window::new(seconds, slices, renew == 1);
                let window = window.ok_or(DecodeError::Field("window"))?;
                organs.clock = Some(try_boxed_one(Clock::new(window))?);
            }
        }
        Ok(Self { head: Head::new(kind, parameters), body: Body::of(organs)? })
    }
}
