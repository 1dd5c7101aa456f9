//! redis-rs since 1.0. tests/server/clients.rs tests the helpers that it has with its feature
//! `bloom`.

use redis_1 as redis;

include!("../script.rs");
