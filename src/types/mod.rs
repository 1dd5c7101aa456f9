//! The module's data types.

pub mod bloom;
mod chunks;
pub mod counting;
mod fields;
mod memory;
mod refusals;
pub mod valkey;

use crate::server::arguments::Argument;
use crate::server::clock::time_of_command;
use crate::server::context::Context;
use crate::server::data_type::Value;
use splitbloom_filter::hash::Seed;
use splitbloom_filter::{DecodeError, Filter, Kind, SizeLimit};

/// A value that is a filter.
pub trait Stored: Value {
    fn new(filter: Filter) -> Self;
    /// The filter without the server.
    fn filter(&self) -> &Filter;
    fn filter_mut(&mut self) -> &mut Filter;
    /// Whether values of this type are filters of this kind.
    fn takes(kind: Kind) -> bool;
    /// What the header of a SCANDUMP of RedisBloom begins.
    ///
    /// # Errors
    /// What is wrong with it, or `OverLimit`, or `OutOfMemory`.
    fn begin(header: &[u8], seed: Seed, limit: SizeLimit) -> Result<Filter, DecodeError>;
    /// Bytes of memory that it takes, as `memory_usage`, but from running totals, without a step
    /// for each page of a table.
    fn size(&self) -> u64;
    /// Called when a command has created or changed it, or it has moved to this key.
    fn attend(&mut self, _: &Context, _: Argument<'_>) {}
}

/// The time by which a filter that forgets answers; 0 for others, which need none.
pub fn now_for(filter: &Filter) -> u64 {
    filter.window().map_or(0, |_| time_of_command())
}
