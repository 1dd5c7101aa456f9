//! What clients see when a `TOPK.*` command fails. The texts are RedisBloom's where it has one.

use crate::errors::ReplyError;
use splitbloom_sketch::topk::ShapeError;

pub const MISSING: ReplyError = ReplyError("TopK: key does not exist");
pub const EXISTS: ReplyError = ReplyError("TopK: key already exists");
pub const BAD_K: ReplyError = ReplyError("TopK: invalid k");
pub const BAD_WIDTH: ReplyError = ReplyError("TopK: invalid width");
pub const BAD_DEPTH: ReplyError = ReplyError("TopK: invalid depth");
pub const BAD_DECAY: ReplyError = ReplyError("TopK: invalid decay value. must be '<= 1' & '> 0'");
/// The spaces are RedisBloom's.
pub const BAD_INCREMENT: ReplyError = ReplyError(
    "TopK: increment must be an integer greater or equal to 0                            \
     and smaller or equal to 100,000",
);
pub const WITHCOUNT: ReplyError = ReplyError("WITHCOUNT keyword expected");
pub const NO_MEMORY_TO_CREATE: ReplyError =
    ReplyError("ERR Insufficient memory to create topk data structure");

// What RedisBloom has no text for.

pub const NO_MEMORY_TO_ADD: ReplyError = ReplyError("TopK: Insufficient memory to add the item");
pub const NO_MEMORY_TO_REPLY: ReplyError = ReplyError("TopK: Insufficient memory to reply");
pub const NO_WINDOW: ReplyError = ReplyError("TopK: the sketch has no window");
pub const TOO_MANY_STEPS: ReplyError =
    ReplyError("TopK: items times depth must be at most 4194304, and fewer with large increments");
const K_RANGE: ReplyError = ReplyError("TopK: invalid k: it must be in the range [1, 1048576]");
const DEPTH_RANGE: ReplyError = ReplyError("TopK: invalid depth: it must be in the range [1, 256]");
const TOO_LARGE: ReplyError =
    ReplyError("TopK: invalid width: width times depth must be in the range [1, 33554432]");
const WINDOW_TOO_LARGE: ReplyError = ReplyError(
    "TopK: invalid window: width times depth times one more than the slices must be at most \
     33554432",
);
const SLOW_WINDOW: ReplyError = ReplyError(
    "TopK: invalid window: k times two more than depth times the square of one more than the \
     slices must be at most 4194304",
);

impl From<ShapeError> for ReplyError {
    fn from(error: ShapeError) -> Self {
        match error {
            ShapeError::K => K_RANGE,
            ShapeError::Width => BAD_WIDTH,
            ShapeError::Depth => DEPTH_RANGE,
            ShapeError::Buckets => TOO_LARGE,
            ShapeError::Window => WINDOW_TOO_LARGE,
            ShapeError::Reads => SLOW_WINDOW,
            ShapeError::Decay => BAD_DECAY,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use splitbloom_sketch::topk::{DEPTH, K, MAX_BUCKETS, MAX_STEPS, MAX_UNITS, MAX_WINDOW_READS};

    #[test]
    fn the_texts_say_what_is_allowed() {
        assert!(TOO_MANY_STEPS.0.contains(&format!(" at most {MAX_STEPS},")));
        assert!(K_RANGE.0.ends_with(&format!("[1, {}]", K.end())));
        assert!(DEPTH_RANGE.0.ends_with(&format!("[1, {}]", DEPTH.end())));
        assert!(TOO_LARGE.0.ends_with(&format!("[1, {MAX_BUCKETS}]")));
        assert!(WINDOW_TOO_LARGE.0.ends_with(&format!("at most {MAX_BUCKETS}")));
        assert!(SLOW_WINDOW.0.ends_with(&format!("at most {MAX_WINDOW_READS}")));
        assert!(BAD_INCREMENT.0.replace(',', "").ends_with(&format!(" {MAX_UNITS}")));
    }
}
