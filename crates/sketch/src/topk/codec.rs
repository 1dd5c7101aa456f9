//! The bytes of a value: RedisBloom's encoding without a window, our own with one.
//!
//! ```text
//!   TopK-TYPE, version 0   k, width, depth, decay, then buckets and list
//!   TopKwindw, version 0   seconds, slices, latest time, state of the generator,
//!                          k, width, depth, decay, then for each slice, oldest first:
//!                          0, or 1 and its buckets and list
//!
//!   buckets                string of depth × width {fingerprint:4 count:4}, row after row
//!   list                   string of k {fingerprint:4 length:4 pointer:8 count:4 padding:4},
//!                          then k strings: the item and a final NUL, or a NUL alone without one
//! ```
//!
//! Numbers in strings are little-endian. RedisBloom overwrites the pointers when it loads them. So
//! the first one is where a value without a window keeps the state of its generator: RedisBloom
//! reads such a value, and one that RedisBloom has written starts from what its pointer was.
//!
//! The length that counts is that of the string: RedisBloom has written no more than the bytes
//! before the first NUL of an item. An item that it has cut keeps the fingerprint of the whole, so
//! it is listed, and no query finds it. Ours are written whole: RedisBloom finds them, and lists
//! the bytes before the first NUL.

use super::list::List;
use super::random::Random;
use super::rules::Rules;
use super::shape::{Shape, ShapeError, BUCKET_BYTES};
use super::slice::Slice;
use super::TopK;
use crate::body::Body;
use crate::counters::Counters;
use crate::error::DecodeError;
use crate::read::{check, double, narrow, span, string, unsigned};
use crate::window::Ring;
use splitbloom_foundation::alloc::{try_vec, OutOfMemory};
use splitbloom_foundation::fields::{FieldSink, Fields};

/// The server's type of a value without a window.
pub const TYPE_NAME: &str = "TopK-TYPE";
/// The server's type of a value with a window.
pub const WINDOW_TYPE_NAME: &str = "TopKwindw";

/// Bytes of a place of the list.
const PLACE_BYTES: usize = 24;

impl TopK {
    /// Writes all fields. Allocates as much memory as the longest string has, since the format has
    /// all buckets in one.
    ///
    /// # Errors
    /// `OutOfMemory`, before the first field.
    pub(super) fn encode(&self, to: &mut impl FieldSink) -> Result<(), OutOfMemory> {
        let buckets = self.rules.shape.buckets().saturating_mul(BUCKET_BYTES);
        let buckets = usize::try_from(buckets).map_err(|_| OutOfMemory)?;
        let lengths = self.body.slots().flatten().flat_map(|slice| {
            let places = slice.list.places();
            let list = places.len() * PLACE_BYTES;
            let items = places.filter_map(|(_, entry)| Some(entry?.item.len() + 1));
            items.chain([buckets, list])
        });
        let mut string = try_vec(lengths.max().unwrap_or(0))?;
        match &self.body {
            Body::Whole(slice) => {
                self.encode_shape(to);
                encode_slice(slice, self.random.0, to, &mut string);
            }
            Body::Window(ring) => {
                to.unsigned(ring.span().seconds().into());
                to.unsigned(ring.span().slices().into());
                to.unsigned(ring.latest());
                to.unsigned(self.random.0);
                self.encode_shape(to);
                ring.encode(to, |slice, to| encode_slice(slice, 0, to, &mut string));
            }
        }
        Ok(())
    }

    fn encode_shape(&self, to: &mut impl FieldSink) {
        let Shape { k, width, depth, decay } = self.rules.shape;
        [k, width, depth].into_iter().for_each(|number| to.unsigned(number.into()));
        to.double(decay);
    }

    /// Reads a value without a window.
    ///
    /// Each string is checked before memory is requested for it: at most 7 bytes for each of its
    /// bytes, as `tests/topk_memory.rs` measures, and segments of buckets that are all 0 take none.
    ///
    /// # Errors
    /// `Length` if fields are missing, a `Field` out of range, `OutOfMemory`.
    pub fn decode(fields: &mut impl Fields) -> Result<Self, DecodeError> {
        let rules = Rules::new(decode_shape(fields, Shape::saved)?)?;
        let (slice, state) = decode_slice(&rules, fields)?;
        Ok(Self { rules, random: Random(state), body: Body::Whole(slice) })
    }

    /// Reads a value with a window, with the same bounds.
    ///
    /// # Errors
    /// As [`TopK::decode`].
    pub fn decode_windowed(fields: &mut impl Fields) -> Result<Self, DecodeError> {
        let span = span(fields)?;
        let latest = unsigned(fields)?;
        let random = Random(unsigned(fields)?);
        // An empty slice has no bytes that could bound its size.
        let new = |k, width, depth, decay| Shape::new(k, width, depth, decay)?.in_window(span);
        let rules = Rules::new(decode_shape(fields, new)?)?;
        let ring = Ring::decode(span, latest, fields, |fields| {
            let (slice, _) = decode_slice(&rules, fields)?;
            Ok(slice)
        })?;
        Ok(Self { rules, random, body: Body::Window(ring) })
    }
}

/// Writes buckets and list. `string` has room for each string in turn.
fn encode_slice(slice: &Slice, state: u64, to: &mut impl FieldSink, string: &mut Vec<u8>) {
    string.clear();
    slice.buckets.write_all(string);
    to.string(string);
    string.clear();
    for (place, (count, entry)) in slice.list.places().enumerate() {
        let (fingerprint, len) =
            entry.map_or((0, 0), |entry| (entry.path.fingerprint, entry.item.len() as u32));
        let pointer = if place == 0 { state } else { 0 };
        string.extend(fingerprint.to_le_bytes());
        string.extend(len.to_le_bytes());
        string.extend(pointer.to_le_bytes());
        string.extend(u64::from(count).to_le_bytes());
    }
    to.string(string);
    for (_, entry) in slice.list.places() {
        string.clear();
        string.extend_from_slice(entry.map_or(&[], |entry| &entry.item));
        string.push(0);
        to.string(string);
    }
}

/// Reads the parameters, which `shape` checks.
fn decode_shape(
    fields: &mut impl Fields,
    shape: impl Fn(u32, u32, u32, f64) -> Result<Shape, ShapeError>,
) -> Result<Shape, DecodeError> {
    let (k, width) = (narrow(fields, "k")?, narrow(fields, "width")?);
    let depth = narrow(fields, "depth")?;
    let decay = double(fields)?;
    shape(k, width, depth, decay).map_err(|error| {
        DecodeError::Field(match error {
            ShapeError::K | ShapeError::Reads => "k",
            ShapeError::Width | ShapeError::Buckets | ShapeError::Window => "width",
            ShapeError::Depth => "depth",
            ShapeError::Decay => "decay",
        })
    })
}

/// Reads buckets and list, and the first pointer.
fn decode_slice<F: Fields>(rules: &Rules, fields: &mut F) -> Result<(Slice, u64), DecodeError> {
    let shape = rules.shape;
    let buckets = string(fields)?;
    let len = u128::from(shape.buckets()) * u128::from(BUCKET_BYTES);
    check("length of the buckets", buckets.as_ref().len() as u128 == len)?;
    let buckets = Counters::of_bytes(buckets.as_ref())?;
    let places = string(fields)?;
    let (places, rest) = places.as_ref().as_chunks::<PLACE_BYTES>();
    check("length of the list", rest.is_empty() && places.len() as u64 == shape.k.into())?;
    let mut list = List::new(shape.k)?;
    for (number, place) in places.iter().enumerate() {
        let (fingerprint, count) = (u32_at(place, 0), u32_at(place, 16));
        let item = string(fields)?;
        let (last, item) = item.as_ref().split_last().ok_or(DecodeError::Field("item"))?;
        check("end of an item", *last == 0)?;
        // The empty item counts as an item if it was ever added.
        let is_item = !item.is_empty() || fingerprint != 0 || count != 0;
        let mut path = rules.path(item);
        // An item that RedisBloom has cut has the fingerprint of the whole item.
        let findable = path.fingerprint == fingerprint;
        path.fingerprint = fingerprint;
        let item = is_item.then_some((item, path));
        check("item that comes twice", list.load(number, count, item, findable)?)?;
    }
    let state = places
        .first()
        .map_or(0, |place| u64::from(u32_at(place, 12)) << 32 | u64::from(u32_at(place, 8)));
    Ok((Slice { buckets, list }, state))
}

fn u32_at(bytes: &[u8; PLACE_BYTES], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}
