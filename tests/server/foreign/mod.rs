//! Filters that come from RedisBloom and valkey-bloom.

mod following;
pub mod reading;
pub mod samples;
mod shake;
mod valkey;
