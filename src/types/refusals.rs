//! What the log says of a value that cannot be loaded: its type, who wrote it, and what to do.

use splitbloom_filter::error::DecodeError;
use splitbloom_server::log::warn;
use std::fmt::Display;
use std::ops::RangeInclusive;

/// The first encoding version that is not another module's.
const FIRST_OF_OURS: i32 = 512;

/// Where values of a type come from.
pub struct Origin {
    /// The type's.
    pub name: &'static str,
    /// The module that has a type of this name as well.
    pub writer: &'static str,
    /// Its encoding versions that are read.
    pub versions: RangeInclusive<u32>,
    /// The one that is written.
    pub ours: u32,
    /// What to do with a newer one of its.
    pub way_out: &'static str,
}

impl Origin {
    /// What to do with a value of a newer RedisBloom.
    pub const WAY_OUT_OF_REDISBLOOM: &str =
        "Load the file into a server with that RedisBloom, and move its filters with SCANDUMP and \
         LOADCHUNK, or update splitbloom";

    /// Refuses a value of an encoding version that nobody had written when this module was.
    pub fn refuse_version(&self, version: i32, key: impl Display) {
        let Self {
            name, writer, ours, ..
        } = self;
        let (first, last) = (self.versions.start(), self.versions.end());
        if version < FIRST_OF_OURS {
            let way_out = self.way_out;
            warn(format_args!(
                "refused a value of type {name} in encoding version {version}, which a {writer} \
                 wrote that this module does not know. It reads {first} to {last} of {writer}'s. \
                 {way_out}. Key {key}"
            ));
        } else {
            warn(format_args!(
                "refused a value of type {name} in encoding version {version}, which a newer \
                 splitbloom wrote. This one reads {ours}, and {first} to {last} of {writer}'s. \
                 Update it. Key {key}"
            ));
        }
    }

    /// Refuses a value of a known version whose bytes are none.
    pub fn refuse(&self, version: i32, error: DecodeError, key: impl Display) {
        let name = self.name;
        let writer = match version < FIRST_OF_OURS {
            true => self.writer,
            false => "splitbloom",
        };
        warn(format_args!(
            "refused a value of type {name} in encoding version {version} of {writer}: {error}. \
             The file or dump is damaged, or did not come from {writer}. Key {key}"
        ));
    }
}
