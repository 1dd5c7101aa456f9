//! The fields of a value: RedisBloom's encoding without a window, under the type `CMSk-TYPE`, and
//! our own with one, under `CMSwindow`.
//!
//! # Without a window
//! ```text
//!   version 0   unsigned width, depth, count, string of counters of 4 bytes
//!   version 1   unsigned width, depth, count, bytes of a counter, string of counters
//! ```
//!
//! The counters are little-endian numbers, row after row. RedisBloom writes version 1 from Redis
//! 8.12 on; before that it reads version 0 only.
//!
//! A server writes one version for all values of a type, and version 0 has no room for counters of
//! other sizes. There such a value is
//!
//! ```text
//!   version 0   unsigned 0, the fields of version 1
//! ```
//!
//! No sketch has a width of 0. RedisBloom refuses the value: it finds a number where its string of
//! counters would be.
//!
//! # With a window
//! ```text
//!   unsigned width, depth, seconds, slices, latest
//!   n + 1 slices, oldest first:  unsigned 0, if it has no increments; or
//!     unsigned 1, count, number of segments, and these: unsigned index, string of counters
//! ```
//! Segments are those of 64 KiB of the table, in ascending order; those of zeros are left out. So
//! saving takes no more memory than a segment. If a counter has other than 4 bytes, two numbers
//! precede the width: 0, which is no width, and the bytes of a counter.

use super::cell::CellSize;
use super::table::Table;
use super::{CountMinSketch, Shape, ShapeError, MAX_COUNT};
use crate::body::Body;
use crate::counters::{read_counters, Counters};
use crate::error::DecodeError;
use crate::read::{check, span, string, unsigned};
use crate::window::Ring;
use splitbloom_foundation::alloc::{try_vec, OutOfMemory};
use splitbloom_foundation::fields::{FieldSink, Fields};
use splitbloom_foundation::segment::SEGMENT_BYTES;

/// The server's type of a sketch without a window.
pub const TYPE_NAME: &str = "CMSk-TYPE";
/// The server's type of one with a window.
pub const WINDOW_TYPE_NAME: &str = "CMSwindow";

/// An encoding version of a sketch without a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// Every RedisBloom reads it, if the counters have 4 bytes.
    Zero,
    /// RedisBloom reads it from Redis 8.12 on.
    One,
}

impl CountMinSketch {
    /// Writes its fields, those without a window in encoding `version`. That has all counters in
    /// one string, so this allocates memory for them; with a window, for a segment.
    ///
    /// # Errors
    /// `OutOfMemory`, before the first field.
    pub fn save_as(&self, version: Version, to: &mut impl FieldSink) -> Result<(), OutOfMemory> {
        match &self.body {
            Body::Whole(table) => write_table(table, self.shape, version, to),
            Body::Window(ring) => write_ring(ring, self.shape, to),
        }
    }

    /// The sketch without a window that was saved as these fields in encoding `version`. All of
    /// them are checked before memory is allocated, and segments that are all 0 take none.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn decode(version: Version, fields: &mut impl Fields) -> Result<Self, DecodeError> {
        let (width, has_size) = match (version, unsigned(fields)?) {
            (Version::Zero, 0) => (unsigned(fields)?, true),
            (version, width) => (width, version == Version::One),
        };
        let (depth, count) = (unsigned(fields)?, unsigned(fields)?);
        let size = if has_size { read_cell_size(fields)? } else { CellSize::Four };
        check("the count", !has_size || count <= MAX_COUNT)?;
        let shape = Shape::saved(width, depth, size)?;
        let counters = string(fields)?;
        let bytes = counters.as_ref();
        check("the length of the counters", bytes.len() as u64 == shape.bytes())?;
        check_counters(bytes, size)?;
        let table = Table::of(shape, count, Counters::of_bytes(bytes)?);
        Ok(Self { shape, body: Body::Whole(table) })
    }

    /// The sketch with a window that was saved as these fields. Each is checked before the next is
    /// read and before memory is allocated for it.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn decode_windowed(fields: &mut impl Fields) -> Result<Self, DecodeError> {
        let (width, size) = match unsigned(fields)? {
            0 => {
                let size = read_cell_size(fields)?;
                (unsigned(fields)?, size)
            }
            width => (width, CellSize::Four),
        };
        let shape = Shape::saved(width, unsigned(fields)?, size)?;
        let span = span(fields)?;
        let shape = shape.in_window(span)?;
        let latest = unsigned(fields)?;
        let ring = Ring::decode(span, latest, fields, |fields| read_slice(shape, fields))?;
        Ok(Self { shape, body: Body::Window(ring) })
    }
}

fn write_table(
    table: &Table,
    shape: Shape,
    version: Version,
    to: &mut impl FieldSink,
) -> Result<(), OutOfMemory> {
    let mut counters = try_vec(usize::try_from(shape.bytes()).map_err(|_| OutOfMemory)?)?;
    table.counters.write_all(&mut counters);
    let size = shape.cell_size();
    let has_size = version == Version::One || size != CellSize::Four;
    if has_size && version == Version::Zero {
        to.unsigned(0);
    }
    to.unsigned(shape.width());
    to.unsigned(shape.depth());
    to.unsigned(table.count());
    if has_size {
        to.unsigned(size.bytes());
    }
    to.string(&counters);
    Ok(())
}

fn write_ring(
    ring: &Ring<Table>,
    shape: Shape,
    to: &mut impl FieldSink,
) -> Result<(), OutOfMemory> {
    let mut room = try_vec(SEGMENT_BYTES)?;
    if shape.cell_size() != CellSize::Four {
        to.unsigned(0);
        to.unsigned(shape.cell_size().bytes());
    }
    to.unsigned(shape.width());
    to.unsigned(shape.depth());
    to.unsigned(ring.span().seconds().into());
    to.unsigned(ring.span().slices().into());
    to.unsigned(ring.latest());
    ring.encode(to, |slice, to| {
        to.unsigned(slice.count());
        to.unsigned(slice.counters.touched().count() as u64);
        for index in slice.counters.touched() {
            room.clear();
            slice.counters.write_segment(index, &mut room);
            to.unsigned(index as u64);
            to.string(&room);
        }
    });
    Ok(())
}

/// Reads one slice.
fn read_slice(shape: Shape, fields: &mut impl Fields) -> Result<Table, DecodeError> {
    let (count, segments) = (unsigned(fields)?, unsigned(fields)?);
    let mut counters = Counters::new(shape.bytes())?;
    check("the number of segments", segments <= counters.reserved() as u64)?;
    let mut least = 0;
    for _ in 0..segments {
        let index = unsigned(fields)?;
        check("the index of a segment", (least..counters.reserved() as u64).contains(&index))?;
        least = index + 1;
        let (index, cells) = (index as usize, string(fields)?);
        let bytes = cells.as_ref();
        check("the length of the counters", bytes.len() == counters.len_of(index))?;
        check_counters(bytes, shape.cell_size())?;
        read_counters(&mut counters, index, bytes)?;
    }
    Ok(Table::of(shape, count, counters))
}

/// Reads the bytes of a counter.
fn read_cell_size(fields: &mut impl Fields) -> Result<CellSize, DecodeError> {
    CellSize::of(unsigned(fields)?).ok_or(DecodeError::Field("the size of a counter"))
}

/// Checks that no counter is above its maximum, which counters of 8 bytes can be.
fn check_counters(bytes: &[u8], size: CellSize) -> Result<(), DecodeError> {
    let counters = bytes.as_chunks().0.iter().map(|counter| u64::from_le_bytes(*counter));
    check("a counter", size != CellSize::Eight || counters.max() <= Some(size.max()))
}

impl From<ShapeError> for DecodeError {
    fn from(error: ShapeError) -> Self {
        Self::Field(match error {
            ShapeError::NoWidth => "the width",
            ShapeError::NoDepth | ShapeError::TooDeep => "the depth",
            ShapeError::TooLarge | ShapeError::WindowTooLarge => "the number of counters",
        })
    }
}
