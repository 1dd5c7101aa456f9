//! The `TDIGEST.*` commands, on the digests of [`splitbloom_sketch::tdigest`].
//!
//! ```text
//!   create   TDIGEST.CREATE, TDIGEST.RESET      ask      MIN, MAX, QUANTILE, CDF, RANK, REVRANK,
//!   add      TDIGEST.ADD                                 BYRANK, BYREVRANK, TRIMMED_MEAN
//!   merge    TDIGEST.MERGE                      value    what a key holds
//!   info     TDIGEST.INFO
//! ```

mod add;
mod ask;
mod create;
mod info;
mod merge;
mod value;

use crate::errors::ReplyError;
use crate::stored;
use splitbloom_server::context::Context;
use splitbloom_server::entry::Refused;
use splitbloom_server::register_commands;
use splitbloom_sketch::tdigest::TDigest;

/// Registers types and commands.
///
/// # Errors
/// What the server refused.
pub fn register(context: &Context) -> Result<(), Refused> {
    stored::register::<TDigest>(context)?;
    register_commands!(
        context,
        "tdigest",
        ReplyError,
        [
            create::CREATE,
            create::RESET,
            add::ADD,
            merge::MERGE,
            ask::MIN,
            ask::MAX,
            ask::QUANTILE,
            ask::CDF,
            ask::RANK,
            ask::REVERSE_RANK,
            ask::BY_RANK,
            ask::BY_REVERSE_RANK,
            ask::TRIMMED_MEAN,
            info::INFO,
        ]
    )
}
