//! Filters that come from RedisBloom and valkey-bloom.

mod following;
pub mod reading;
mod shake;
mod valkey;
