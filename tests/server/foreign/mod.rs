//! Filters that come from RedisBloom.

mod following;
mod reading;
pub mod samples;
