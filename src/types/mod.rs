//! The module's data types.

pub mod bloom;
mod chunks;
pub mod counting;
mod memory;
mod refusals;
pub mod timetable;

use splitbloom_filter::codec::Transfer;
use splitbloom_filter::foreign::pieces::Pieces;
use splitbloom_server::arguments::Argument;
use splitbloom_server::context::Context;
use splitbloom_server::data_type::Value;

/// A value that is a filter.
pub trait Stored: Value {
    /// The filter without the server.
    type Filter: Transfer + Pieces;

    fn new(filter: Self::Filter) -> Self;
    fn filter(&self) -> &Self::Filter;
    fn filter_mut(&mut self) -> &mut Self::Filter;
    /// Bytes of memory that it takes, as `memory_usage`, but from running totals, without a step
    /// for each page of a table.
    fn size(&self) -> u64;
    /// Queues what forgets for its visits. Called when a command has created or changed it, or when
    /// it has moved to this key.
    fn schedule(&mut self, _: &Context, _: Argument<'_>) {}
}
