//! What commands cost, for COMMAND DOCS. An item is in one sub-filter or page, except in a filter
//! that RedisBloom or valkey-bloom grew by sub-filters.

use std::ffi::CStr;

/// One item of a Bloom filter, or a number that every sub-filter has a part in.
pub const BLOOM_ITEM: &CStr =
    c"O(1); O(S) with S sub-filters if RedisBloom or valkey-bloom made them";

/// Several items of a Bloom filter.
pub const BLOOM_ITEMS: &CStr = c"O(N) with N items; O(N*S) with S sub-filters if RedisBloom or \
    valkey-bloom made them";

/// One item of a counting filter.
pub const COUNTING_ITEM: &CStr = c"O(1); O(S) with S sub-filters if RedisBloom made them";

/// Several items of a counting filter.
pub const COUNTING_ITEMS: &CStr =
    c"O(N) with N items; O(N*S) with S sub-filters if RedisBloom made them";

/// A chunk, which is found from the beginning of the series and then written.
pub const CHUNK: &CStr = c"O(N+S) with N bytes of the chunk, at most 1 MiB, and S sub-filters";
