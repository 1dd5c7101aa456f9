//! What the log says of a value that cannot be loaded: its type, who wrote it, and what to do.

use crate::server::log::warn;
use splitbloom_filter::error::DecodeError;
use std::ops::RangeInclusive;

/// The first encoding version that is not RedisBloom's.
const FIRST_OF_OURS: i32 = 512;

/// Refuses a value of an encoding version that nobody had written when this module was.
pub fn refuse_version(name: &str, version: i32, theirs: RangeInclusive<u32>, ours: u32) {
    let (first, last) = (theirs.start(), theirs.end());
    if version < FIRST_OF_OURS {
        warn(format_args!(
            "refused a value of type {name} in encoding version {version}, which a RedisBloom wrote \
             that is newer than this module. It reads {first} to {last} of RedisBloom's. Load the file into \
             a server with that RedisBloom, and move its filters with SCANDUMP and LOADCHUNK, or \
             update splitbloom"
        ));
    } else {
        warn(format_args!(
            "refused a value of type {name} in encoding version {version}, which a newer splitbloom \
             wrote. This one reads {ours}, and {first} to {last} of RedisBloom's. Update it"
        ));
    }
}

/// Refuses a value of a known version whose bytes are none.
pub fn refuse(name: &str, version: i32, error: DecodeError) {
    let writer = match version < FIRST_OF_OURS {
        true => "RedisBloom",
        false => "splitbloom",
    };
    warn(format_args!(
        "refused a value of type {name} in encoding version {version} of {writer}: {error}. The file \
         or dump is damaged, or did not come from {writer}"
    ));
}
