//! The settings: the operator's limits, and what is written to files.
//!
//! | setting | default | range |
//! |---|---|---|
//! | `cms.encoding` | 0 | 0 or 1, the encoding version in which count-min sketches are saved |
//! | `sketch.max-merge-bytes` | 1 GiB | 1 …, work of one CMS.MERGE or TDIGEST.MERGE, in bytes |
//! | `sketch.aof-load-damaged` | no | whether to go on loading after a command is refused |

use splitbloom_server::context::Context;
use splitbloom_server::entry::Refused;
use splitbloom_server::replay;
use splitbloom_server::settings::{self, Integer};
use splitbloom_sketch::cms::Version;

/// The limit on the work of one command that merges sketches, in bytes: two of the largest
/// count-min sketches that a client can create.
pub static MAX_MERGE_BYTES: Integer = Integer::bytes(1 << 30, 1);

/// Version 0 is the one that every RedisBloom reads.
static CMS_ENCODING: Integer = Integer::new(0, 0, 1);

/// Registers all settings, and sets them from the server's configuration file.
///
/// # Errors
/// The server refused a name or a value.
pub fn register(context: &Context) -> Result<(), Refused> {
    settings::register(context, "sketch.max-merge-bytes", &MAX_MERGE_BYTES)?;
    settings::register_fixed(context, "sketch.cms.encoding", &CMS_ENCODING)?;
    replay::register(context, "sketch.aof-load-damaged")?;
    settings::load(context, "sketch")
}

/// The encoding version in which count-min sketches are saved. It is fixed once the settings are
/// registered: a server registers each type with the one version that it writes.
pub fn cms_version() -> Version {
    match CMS_ENCODING.get() {
        0 => Version::Zero,
        _ => Version::One,
    }
}
