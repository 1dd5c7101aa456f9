//! The server's memory, against its own limit.

use super::call::call;

/// Whether the server uses more memory than `maxmemory` lets it, as the server counts when it
/// refuses commands. Cost: up to a microsecond.
pub fn is_over_maxmemory() -> bool {
    // SAFETY: the function takes nothing and returns a number: 0 where there is no limit.
    let ratio = unsafe { call!(RedisModule_GetUsedMemoryRatio()) };
    ratio > 1.0
}
