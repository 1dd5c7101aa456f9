//! What clients see when a `CMS.*` command fails. The texts are RedisBloom's where it has one.

use crate::errors::ReplyError;
use splitbloom_sketch::cms::{MergeError, ShapeError};

pub const EXISTS: ReplyError = ReplyError("CMS: key already exists");
pub const MISSING: ReplyError = ReplyError("CMS: key does not exist");
pub const BAD_WIDTH: ReplyError = ReplyError("CMS: invalid width");
pub const BAD_DEPTH: ReplyError = ReplyError("CMS: invalid depth");
pub const BAD_ERROR: ReplyError = ReplyError("CMS: invalid overestimation value");
pub const BAD_PROBABILITY: ReplyError = ReplyError("CMS: invalid prob value");
pub const NOT_A_NUMBER: ReplyError = ReplyError("CMS: Cannot parse number");
pub const NEGATIVE: ReplyError = ReplyError("CMS: Number cannot be negative");
pub const BAD_NUMBER_OF_KEYS: ReplyError = ReplyError("CMS: invalid numkeys");
pub const TOO_FEW_KEYS: ReplyError = ReplyError("CMS: Number of keys must be positive");
pub const WRONG_KEYS: ReplyError = ReplyError("CMS: wrong number of keys");
pub const WRONG_KEYS_OR_WEIGHTS: ReplyError = ReplyError("CMS: wrong number of keys/weights");
pub const BAD_WEIGHT: ReplyError = ReplyError("CMS: invalid weight value");
pub const NO_MEMORY_TO_CREATE: ReplyError =
    ReplyError("CMS: Insufficient memory to create the key");
pub const DIMENSIONS: ReplyError = ReplyError("CMS: width/depth is not equal");
pub const MERGE_OVERFLOW: ReplyError = ReplyError("CMS: MERGE overflow");

// What RedisBloom has no text for.

/// The reply for an item whose count is at the end of what a counter counts. RedisBloom's text; the
/// command goes on.
pub const INCREMENT_OVERFLOW: &str = "CMS: INCRBY overflow";
pub const NO_MEMORY_TO_COUNT: ReplyError = ReplyError("CMS: Insufficient memory to count the item");
pub const NO_MEMORY_TO_REPLY: ReplyError = ReplyError("CMS: Insufficient memory to reply");
pub const NO_MEMORY_TO_MERGE: ReplyError = ReplyError("CMS: Insufficient memory to merge");
pub const NO_WINDOW: ReplyError = ReplyError("CMS: the sketch has no window");
pub const WINDOW_MERGED: ReplyError = ReplyError("CMS: sketches with a window cannot be merged");
pub const MERGE_TOO_LARGE: ReplyError =
    ReplyError("CMS: sketches to merge would exceed sketch.max-merge-bytes");
pub const TOO_MANY_TOUCHED: ReplyError = ReplyError(
    "CMS: items times depth must be at most 4194304, times one more than the slices in a window",
);
// The texts of filters with packed items.
pub const SYNTAX: ReplyError = ReplyError("ERR syntax error");
pub const BAD_WIDTH_OF_ITEMS: ReplyError = ReplyError("ERR bad width");
pub const BAD_PACKING: ReplyError = ReplyError("ERR bad packing");
/// RedisBloom's text where its counters do not fit an allocation.
const TOO_LARGE: ReplyError = ReplyError(
    "CMS: invalid init arguments: width times depth must be in the range [1, 134201344]",
);
const WINDOW_TOO_LARGE: ReplyError = ReplyError(
    "CMS: invalid init arguments: width times depth times one more than the slices must be in the \
     range [1, 134168576]",
);
const TOO_DEEP: ReplyError = ReplyError("CMS: invalid depth: it must be in the range [1, 1024]");
/// The server's own texts.
pub const SEVERAL_SLOTS: ReplyError =
    ReplyError("CROSSSLOT Keys in request don't hash to the same slot");
pub const SLOT_MOVES: ReplyError =
    ReplyError("TRYAGAIN Multiple keys request during rehashing of slot");

impl From<ShapeError> for ReplyError {
    fn from(error: ShapeError) -> Self {
        match error {
            ShapeError::NoWidth => BAD_WIDTH,
            ShapeError::NoDepth => BAD_DEPTH,
            ShapeError::TooDeep => TOO_DEEP,
            ShapeError::TooLarge => TOO_LARGE,
            ShapeError::WindowTooLarge => WINDOW_TOO_LARGE,
        }
    }
}

impl From<MergeError> for ReplyError {
    fn from(error: MergeError) -> Self {
        match error {
            MergeError::Dimensions => DIMENSIONS,
            MergeError::Overflow => MERGE_OVERFLOW,
            MergeError::OutOfMemory => NO_MEMORY_TO_MERGE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::count::MAX_TOUCHED;
    use super::*;
    use splitbloom_sketch::cms::{MAX_NEW_BYTES, MAX_NEW_DEPTH, MAX_WINDOW_BYTES};

    #[test]
    fn the_texts_say_what_is_allowed() {
        assert!(TOO_LARGE.0.ends_with(&format!("[1, {}]", MAX_NEW_BYTES / 4)));
        assert!(WINDOW_TOO_LARGE.0.ends_with(&format!("[1, {}]", MAX_WINDOW_BYTES / 4)));
        assert!(TOO_MANY_TOUCHED.0.contains(&format!(" at most {MAX_TOUCHED},")));
        assert!(TOO_DEEP.0.ends_with(&format!("[1, {MAX_NEW_DEPTH}]")));
    }
}
