//! Arguments that commands share, as COMMAND DOCS shows them.

use splitbloom_server::command::{Kind, Parameter, Times};
use std::ffi::CStr;

pub const ITEM: Parameter = Parameter::new(c"item", Kind::Text, Times::Once);
pub const ITEMS: Parameter = Parameter::new(c"item", Kind::Text, Times::OnceOrMore);
pub const CAPACITY: Parameter = Parameter::new(c"capacity", Kind::Integer, Times::Once);
pub const ERROR: Parameter = Parameter::new(c"error", Kind::Double, Times::Once).after(c"ERROR");
pub const EXPANSION: Parameter =
    Parameter::new(c"expansion", Kind::Integer, Times::Once).after(c"EXPANSION");
pub const NONSCALING: Parameter = Parameter::word(c"nonscaling", c"NONSCALING");
pub const NO_CREATE: Parameter = Parameter::word(c"nocreate", c"NOCREATE").optional();
pub const WINDOW: Parameter = option(c"seconds", Kind::Integer, c"WINDOW");
pub const SLICES: Parameter = option(c"slices", Kind::Integer, c"SLICES");
pub const RENEW: Parameter = Parameter::word(c"renew", c"RENEW").optional();
pub const TIME: Parameter = Parameter::new(c"unix-time-milliseconds", Kind::Integer, Times::Once);
pub const TIGHTENING: Parameter = option(c"ratio", Kind::Double, c"TIGHTENING");
pub const EXPIRY: Parameter = option(c"seconds", Kind::Integer, c"EX");
pub const SEED: Parameter = option(c"seed", Kind::Text, c"SEED");

/// An argument called `name` that may be given after the keyword `token`.
pub const fn option(name: &'static CStr, kind: Kind, token: &'static CStr) -> Parameter {
    Parameter::new(name, kind, Times::AtMostOnce).after(token)
}

// The costs. An item is in one sub-filter or page, except in a filter that RedisBloom or
// valkey-bloom grew by sub-filters.

/// One item of a Bloom filter, or a number to which every sub-filter contributes.
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

/// A chunk, which is located from the beginning of the filter and then written.
pub const CHUNK: &CStr = c"O(N) with N bytes of the chunk, at most 1 MiB; O(N+S) with S \
    sub-filters if RedisBloom or valkey-bloom made them";
