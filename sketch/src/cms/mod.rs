//! The `CMS.*` commands, on the sketches of [`splitbloom_sketch::cms`].
//!
//! ```text
//!   create   CMS.INITBYDIM, CMS.INITBYPROB               value    what a key holds
//!   count    CMS.INCRBY, CMS.INCRBYAT, CMS.QUERY
//!   pack     CMS.PACKINCR
//!   merge    CMS.MERGE              info   CMS.INFO
//! ```

pub(crate) mod count;
mod create;
mod info;
mod merge;
mod pack;
mod value;

use crate::errors::ReplyError;
use crate::stored;
use splitbloom_server::context::Context;
use splitbloom_server::entry::Refused;
use splitbloom_server::register_commands;
use splitbloom_sketch::cms::CountMinSketch;

/// Registers types and commands.
///
/// # Errors
/// What the server refused.
pub fn register(context: &Context) -> Result<(), Refused> {
    stored::register::<CountMinSketch>(context)?;
    register_commands!(
        context,
        "cms",
        ReplyError,
        [
            create::BY_DIMENSIONS,
            create::BY_BOUNDS,
            count::INCREMENT,
            count::INCREMENT_AT,
            count::QUERY,
            pack::PACKED_INCREMENT,
            merge::MERGE,
            info::INFO,
        ]
    )
}
