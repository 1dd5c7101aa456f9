//! redis-rs before 1.0.

use redis_0_27 as redis;

include!("../script.rs");
