//! The module's data types.

pub mod bloom;
mod chunks;
pub mod counting;
mod memory;
mod refusals;
pub mod timetable;

use splitbloom_filter::hash::Seed;
use splitbloom_filter::{DecodeError, Filter, Kind, SizeLimit};
use splitbloom_server::arguments::Argument;
use splitbloom_server::clock::time_of_command;
use splitbloom_server::context::Context;
use splitbloom_server::data_type::Value;
use std::ffi::CStr;

/// A value that is a filter.
pub trait Stored: Value {
    /// The command that loads a chunk of it.
    const LOAD_CHUNK: &'static CStr;
    /// The event of that command.
    const LOAD_CHUNK_EVENT: &'static CStr;

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
    /// Queues what forgets for its visits. Called when a command has created or changed it, or when
    /// it has moved to this key.
    fn schedule(&mut self, _: &Context, _: Argument<'_>) {}
}

/// The time for lookups in a filter that forgets; 0 for others, which need none.
pub fn now_for(filter: &Filter) -> u64 {
    filter.window().map_or(0, |_| time_of_command())
}
