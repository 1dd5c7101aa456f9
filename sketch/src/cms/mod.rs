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
use splitbloom_server::arguments::Argument;
use splitbloom_server::command::add_category;
use splitbloom_server::context::Context;
use splitbloom_server::data_type;
use splitbloom_server::entry::Refused;
use splitbloom_server::lapse;
use splitbloom_server::register_commands;
use value::StoredSketch;

/// The ACL category, on servers that let a module create one.
const CATEGORY: &str = "cms";

/// Registers types and commands.
///
/// # Errors
/// What the server refused.
pub fn register(context: &Context) -> Result<(), Refused> {
    data_type::register::<StoredSketch>(context)?;
    lapse::register::<StoredSketch>();
    add_category(context, CATEGORY);
    register_commands!(
        context,
        CATEGORY,
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

/// A value has moved to `key`: one of these waits there for the end of its slice.
pub fn moved(context: &Context, key: Argument<'_>) {
    lapse::moved::<StoredSketch>(context, key);
}
