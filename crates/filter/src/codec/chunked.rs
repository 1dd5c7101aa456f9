//! What can be written as a chain of chunks.

use super::reader::Reader;
use super::sink::Sink;
use crate::error::DecodeError;
use crate::parts::{Parts, SubFilter};
use crate::table::Payloads;

/// A filter of any kind: a head that says what it is, and parts.
pub trait Chunked: Sized {
    /// What its series, if it may have one, is made of.
    type SubFilter: SubFilter;

    /// The kind of its head record.
    const HEAD: u8;
    /// What a state record says: what changes and is not in parts.
    type State: Default;

    /// Writes the head record after its kind: the parameters, which never change.
    fn write_head(&self, to: &mut impl Sink);

    /// A filter of this head without parts.
    ///
    /// # Errors
    /// `Length`, or a `Field` out of range.
    fn read_head(reader: &mut Reader<'_>) -> Result<Self, DecodeError>;

    /// Its parts.
    fn parts(&self) -> &Parts<Self::SubFilter>;

    /// Its parts, to load into.
    fn parts_mut(&mut self) -> &mut Parts<Self::SubFilter>;

    /// The error rate of a table that follows `blooms` Bloom filters; `None` if there can be no
    /// table. It is stored and checked, so a version that divides the rate differently can tell.
    fn table_rate(&self, blooms: usize) -> Option<f64>;

    /// Whether a table that follows `blooms` Bloom filters may have the error rate `rate`.
    fn may_have_table(&self, blooms: usize, rate: f64) -> bool {
        let only = self.table_rate(blooms);
        only.is_some_and(|only| only.to_bits() == rate.to_bits())
    }

    /// Notes the error rate of a table that has begun, where it does not follow from the rest.
    fn set_table_rate(&mut self, _: f64) {}

    /// The most Bloom filters that it may have.
    fn most_blooms(&self) -> usize {
        usize::MAX
    }

    /// Whether it may be whole without a table.
    fn may_lack_table(&self) -> bool {
        true
    }

    /// Number of items that were removed.
    fn removed(&self) -> u64;

    /// Whether that number can be this one.
    fn may_have_removed(&self, removed: u64) -> bool;

    /// Notes it.
    fn set_removed(&mut self, removed: u64);

    /// Bits of payload that an entry of its table has.
    fn payload_bits(&self) -> u8 {
        0
    }

    /// The payload of its newest entries.
    fn newest_payload(&self) -> u8 {
        0
    }

    /// Bytes of its state record with its kind; 0 if it has none.
    fn state_bytes(&self) -> usize {
        0
    }

    /// Writes its state record after its kind.
    fn write_state(&self, _: &mut impl Sink) {}

    /// A state record, after its kind.
    ///
    /// # Errors
    /// `Length`, or a `Field` out of range.
    fn read_state(&self, _: &mut Reader<'_>) -> Result<Self::State, DecodeError> {
        Err(DecodeError::Format)
    }

    /// The state after a chunk with this state record and pages with these payloads.
    ///
    /// # Errors
    /// `Field` for what contradicts the pages.
    fn next_state(
        &self,
        state: Self::State,
        _: &Payloads,
        _: Place,
    ) -> Result<Self::State, DecodeError> {
        Ok(state)
    }

    /// Sets the state, once its pages have been loaded.
    fn set_state(&mut self, _: Self::State) {}
}

/// The place of a chunk in its chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Whether it is the first one.
    pub is_first: bool,
    /// The items of its table, if it is the last one.
    pub items: Option<u64>,
}
