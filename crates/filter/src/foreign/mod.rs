//! Filters that come from elsewhere: RedisBloom's, read and answered by their own arithmetic.

pub mod murmur;
