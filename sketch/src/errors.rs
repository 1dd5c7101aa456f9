//! Every error that a client can see, in one place. The texts are part of the interface: clients
//! compare them. They are RedisBloom's where it has one.

use splitbloom_server::command::ErrorReply;
use splitbloom_server::context::Context;
use splitbloom_server::key::{OpenError, WrongType};
use splitbloom_server::ration::Ration;
use splitbloom_server::texts;

/// An error reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyError(pub &'static str);

impl ReplyError {
    /// The reply is the server's own.
    pub const WRONG_ARITY: Self = Self("ERR wrong number of arguments");
    pub const SEVERAL_SLOTS: Self = Self(texts::SEVERAL_SLOTS);
    pub const SLOT_MOVES: Self = Self(texts::SLOT_MOVES);

    /// This error, or the server's own if memory was refused because `ration` is used up.
    pub fn within(self, ration: &Ration<'_>) -> Self {
        match ration.is_used_up() {
            true => Self(texts::OVER_MAXMEMORY),
            false => self,
        }
    }

    /// Replies with the error of a command of which only the first `tried` items were tried, and
    /// `effective` of these took effect.
    pub fn reply_after(self, context: &Context, tried: usize, effective: usize) {
        let text = self.0.trim_end_matches('.');
        match effective == tried {
            true => {
                context.refuse(self.0, format_args!("{text}: only the first {tried} took effect"))
            }
            false => context.refuse(
                self.0,
                format_args!("{text}: only {effective} of the first {tried} took effect"),
            ),
        }
    }
}

impl ErrorReply for ReplyError {
    fn reply(self, context: &Context) {
        match self {
            Self::WRONG_ARITY => context.refuse_arity(),
            Self(text) => context.refuse(text, text),
        }
    }
}

impl From<WrongType> for ReplyError {
    fn from(WrongType: WrongType) -> Self {
        Self(texts::WRONG_TYPE)
    }
}

impl From<OpenError> for ReplyError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::InUse => Self(texts::KEY_IN_USE),
            OpenError::WrongType => WrongType.into(),
        }
    }
}

/// The errors of `CMS.*`.
pub mod cms {
    use super::ReplyError;
    use splitbloom_sketch::cms::{MergeError, RangeError, ShapeError};

    pub const EXISTS: ReplyError = ReplyError("CMS: key already exists");
    pub const MISSING: ReplyError = ReplyError("CMS: key does not exist");
    pub const BAD_WIDTH: ReplyError = ReplyError("CMS: invalid width");
    pub const BAD_DEPTH: ReplyError = ReplyError("CMS: invalid depth");
    pub const BAD_ERROR: ReplyError = ReplyError("CMS: invalid overestimation value");
    pub const BAD_PROBABILITY: ReplyError = ReplyError("CMS: invalid prob value");
    pub const NOT_A_NUMBER: ReplyError = ReplyError("CMS: Cannot parse number");
    pub const BAD_INCREMENT: ReplyError = ReplyError("CMS: invalid increment");
    pub const UNKNOWN_ARGUMENT: ReplyError = ReplyError("CMS: unknown argument");
    pub const BAD_CELL_SIZE: ReplyError = ReplyError("CMS: CELL_SIZE must be 1, 2, 4 or 8");
    pub const BAD_NUMBER_OF_KEYS: ReplyError = ReplyError("CMS: invalid numkeys");
    pub const TOO_FEW_KEYS: ReplyError = ReplyError("CMS: Number of keys must be positive");
    pub const WRONG_KEYS: ReplyError = ReplyError("CMS: wrong number of keys");
    pub const WRONG_KEYS_OR_WEIGHTS: ReplyError = ReplyError("CMS: wrong number of keys/weights");
    pub const BAD_WEIGHT: ReplyError = ReplyError("CMS: invalid weight value");
    pub const NO_MEMORY_TO_CREATE: ReplyError =
        ReplyError("CMS: Insufficient memory to create the key");

    /// The reply for an item that was not counted; the command goes on.
    pub fn remark(error: RangeError) -> &'static str {
        match error {
            RangeError::Overflow => "CMS: INCRBY overflow",
            RangeError::Underflow => "CMS: INCRBY underflow",
        }
    }

    // What RedisBloom has no text for.

    pub const NO_MEMORY_TO_COUNT: ReplyError =
        ReplyError("CMS: Insufficient memory to count the item");
    pub const NO_MEMORY_TO_REPLY: ReplyError = ReplyError("CMS: Insufficient memory to reply");
    pub const NO_MEMORY_TO_MERGE: ReplyError = ReplyError("CMS: Insufficient memory to merge");
    pub const NO_WINDOW: ReplyError = ReplyError("CMS: the sketch has no window");
    pub const MERGE_TOO_LARGE: ReplyError =
        ReplyError("CMS: sketches to merge would exceed sketch.max-merge-bytes");
    pub const TOO_MANY_TOUCHED: ReplyError = ReplyError(
        "CMS: items times depth must be at most 4194304, times one more than the slices in a \
         window",
    );
    // The texts that filters use for packed items.
    pub const SYNTAX: ReplyError = ReplyError("ERR syntax error");
    pub const BAD_WIDTH_OF_ITEMS: ReplyError = ReplyError("ERR bad width");
    pub const BAD_PACKING: ReplyError = ReplyError("ERR bad packing");

    impl From<ShapeError> for ReplyError {
        fn from(error: ShapeError) -> Self {
            match error {
                ShapeError::NoWidth => BAD_WIDTH,
                ShapeError::NoDepth => BAD_DEPTH,
                ShapeError::TooDeep => {
                    Self("CMS: invalid depth: it must be in the range [1, 1024]")
                }
                // RedisBloom's text where its counters do not fit an allocation.
                ShapeError::TooLarge => Self(
                    "CMS: invalid init arguments: width times depth times the cell size must be in \
                     the range [1, 536805376]",
                ),
                ShapeError::WindowTooLarge => Self(
                    "CMS: invalid init arguments: width times depth times the cell size times one \
                     more than the slices must be in the range [1, 536674304]",
                ),
            }
        }
    }

    impl From<MergeError> for ReplyError {
        fn from(error: MergeError) -> Self {
            match error {
                MergeError::Dimensions => Self("CMS: width/depth is not equal"),
                MergeError::CellSize => Self("CMS: cell size is not equal"),
                MergeError::Window => Self("CMS: sketches with a window cannot be merged"),
                MergeError::Overflow => Self("CMS: MERGE overflow"),
                MergeError::OutOfMemory => NO_MEMORY_TO_MERGE,
            }
        }
    }
}

/// The errors of `TOPK.*`.
pub mod topk {
    use super::ReplyError;
    use splitbloom_sketch::topk::ShapeError;

    pub const MISSING: ReplyError = ReplyError("TopK: key does not exist");
    pub const EXISTS: ReplyError = ReplyError("TopK: key already exists");
    pub const BAD_K: ReplyError = ReplyError("TopK: invalid k");
    pub const BAD_WIDTH: ReplyError = ReplyError("TopK: invalid width");
    pub const BAD_DEPTH: ReplyError = ReplyError("TopK: invalid depth");
    pub const BAD_DECAY: ReplyError =
        ReplyError("TopK: invalid decay value. must be '<= 1' & '> 0'");
    /// The spaces are RedisBloom's.
    pub const BAD_INCREMENT: ReplyError = ReplyError(
        "TopK: increment must be an integer greater or equal to 0                            \
         and smaller or equal to 100,000",
    );
    pub const WITHCOUNT: ReplyError = ReplyError("WITHCOUNT keyword expected");
    pub const NO_MEMORY_TO_CREATE: ReplyError =
        ReplyError("ERR Insufficient memory to create topk data structure");

    // What RedisBloom has no text for.

    pub const NO_MEMORY_TO_ADD: ReplyError =
        ReplyError("TopK: Insufficient memory to add the item");
    pub const NO_MEMORY_TO_REPLY: ReplyError = ReplyError("TopK: Insufficient memory to reply");
    pub const NO_WINDOW: ReplyError = ReplyError("TopK: the sketch has no window");
    pub const TOO_MANY_READS: ReplyError = ReplyError(
        "TopK: items times depth must be at most 4194304, times one more than the slices in a \
         window",
    );
    pub const TOO_LONG_TO_LIST: ReplyError = ReplyError(
        "TopK: the bytes of the items listed in all slices, times depth (8 or more), must be at \
         most 1073741824 to be read",
    );
    pub const TOO_MANY_STEPS: ReplyError = ReplyError(
        "TopK: items times depth must be at most 4194304, and fewer with large increments",
    );

    impl From<ShapeError> for ReplyError {
        fn from(error: ShapeError) -> Self {
            match error {
                ShapeError::K => Self("TopK: invalid k: it must be in the range [1, 1048576]"),
                ShapeError::Width => BAD_WIDTH,
                ShapeError::Depth => Self("TopK: invalid depth: it must be in the range [1, 256]"),
                ShapeError::Buckets => Self(
                    "TopK: invalid width: width times depth must be in the range [1, 33554432]",
                ),
                ShapeError::Window => Self(
                    "TopK: invalid window: width times depth times one more than the slices must \
                     be at most 33554432",
                ),
                ShapeError::Reads => Self(
                    "TopK: invalid window: k times two more than depth times the square of one \
                     more than the slices must be at most 4194304",
                ),
                ShapeError::Decay => BAD_DECAY,
            }
        }
    }
}

/// The errors of `TDIGEST.*`.
pub mod tdigest {
    use super::ReplyError;
    use splitbloom_sketch::tdigest::AddError;

    pub const EXISTS: ReplyError = ReplyError("ERR T-Digest: key already exists");
    pub const MISSING: ReplyError = ReplyError("ERR T-Digest: key does not exist");
    pub const WRONG_KEYWORD: ReplyError = ReplyError("ERR T-Digest: wrong keyword");
    pub const BAD_COMPRESSION: ReplyError =
        ReplyError("ERR T-Digest: error parsing compression parameter");
    pub const NO_COMPRESSION: ReplyError =
        ReplyError("ERR T-Digest: compression parameter needs to be a positive integer");
    pub const BAD_NUMBER: ReplyError = ReplyError("ERR T-Digest: error parsing val parameter");
    pub const NOT_FINITE: ReplyError =
        ReplyError("ERR T-Digest: val parameter needs to be a finite number");
    pub const BAD_QUANTILE: ReplyError = ReplyError("ERR T-Digest: error parsing quantile");
    pub const QUANTILE_RANGE: ReplyError = ReplyError("ERR T-Digest: quantile should be in [0,1]");
    pub const BAD_CDF: ReplyError = ReplyError("ERR T-Digest: error parsing cdf");
    pub const BAD_VALUE: ReplyError = ReplyError("ERR T-Digest: error parsing value");
    pub const BAD_RANK: ReplyError = ReplyError("ERR T-Digest: error parsing rank");
    pub const NEGATIVE_RANK: ReplyError = ReplyError("ERR T-Digest: rank needs to be non negative");
    pub const BAD_LOW_CUT: ReplyError =
        ReplyError("ERR T-Digest: error parsing low_cut_percentile");
    pub const BAD_HIGH_CUT: ReplyError =
        ReplyError("ERR T-Digest: error parsing high_cut_percentile");
    pub const CUT_RANGE: ReplyError =
        ReplyError("ERR T-Digest: low_cut_percentile and high_cut_percentile should be in [0,1]");
    pub const CUT_ORDER: ReplyError =
        ReplyError("ERR T-Digest: low_cut_percentile should be lower than high_cut_percentile");
    pub const BAD_NUMBER_OF_KEYS: ReplyError = ReplyError("ERR T-Digest: error parsing numkeys");
    pub const TOO_FEW_KEYS: ReplyError =
        ReplyError("ERR T-Digest: numkeys needs to be a positive integer");
    pub const NO_MEMORY: ReplyError = ReplyError("ERR T-Digest: allocation failed");
    pub const NO_MEMORY_TO_MERGE: ReplyError =
        ReplyError("ERR T-Digest: allocation of destination digest failed");

    // What RedisBloom has no text for.

    pub const COMPRESSION_RANGE: ReplyError =
        ReplyError("ERR T-Digest: compression parameter needs to be at most 100000");
    pub const MERGE_TOO_LARGE: ReplyError =
        ReplyError("ERR T-Digest: digests to merge would exceed sketch.max-merge-bytes");

    impl From<AddError> for ReplyError {
        fn from(error: AddError) -> Self {
            match error {
                AddError::NotFinite => NOT_FINITE,
                AddError::TooHeavy => Self("ERR T-Digest: overflow detected"),
                AddError::OutOfMemory => NO_MEMORY,
            }
        }
    }
}

/// The errors of windows, the same as for filters with a window.
pub mod window {
    use super::ReplyError;

    pub const BAD_WINDOW: ReplyError = ReplyError("ERR bad window");
    pub const WINDOW_RANGE: ReplyError =
        ReplyError("ERR window must be in the range [1, 315360000]");
    pub const BAD_SLICES: ReplyError = ReplyError("ERR bad slices");
    pub const SLICES_RANGE: ReplyError = ReplyError("ERR slices must be in the range [2, 14]");
    pub const BAD_TIME: ReplyError = ReplyError("ERR bad time");
    pub const FAR_FUTURE: ReplyError =
        ReplyError("ERR the time is more than one window ahead of the server's clock");
    pub const SECONDS: ReplyError =
        ReplyError("ERR the time is before 1973: it must be in milliseconds since 1970");
}

#[cfg(test)]
mod tests {
    use super::ReplyError;
    use splitbloom_sketch::{cms, tdigest, topk};

    fn ends_with(error: ReplyError, allowed: String) {
        assert!(error.0.replace(',', "").ends_with(&allowed), "{error:?}: {allowed}");
    }

    #[test]
    fn the_texts_say_what_is_allowed() {
        let most = format!(" at most {},", crate::cms::count::MAX_TOUCHED);
        assert!(super::cms::TOO_MANY_TOUCHED.0.contains(&most));
        for (error, most) in [
            (cms::ShapeError::TooLarge, cms::MAX_NEW_BYTES),
            (cms::ShapeError::WindowTooLarge, cms::MAX_WINDOW_BYTES),
            (cms::ShapeError::TooDeep, cms::MAX_NEW_DEPTH),
        ] {
            ends_with(error.into(), format!("[1 {most}]"));
        }
        for error in [super::topk::TOO_MANY_READS, super::topk::TOO_MANY_STEPS] {
            assert!(error.0.contains(&format!(" at most {},", topk::MAX_STEPS)));
        }
        let most = format!(" at most {} ", 256 * topk::MAX_STEPS); // bytes of a step
        assert!(super::topk::TOO_LONG_TO_LIST.0.contains(&most));
        for (error, end) in [
            (topk::ShapeError::K, format!("[1 {}]", topk::K.end())),
            (topk::ShapeError::Depth, format!("[1 {}]", topk::DEPTH.end())),
            (topk::ShapeError::Buckets, format!("[1 {}]", topk::MAX_BUCKETS)),
            (topk::ShapeError::Window, format!("at most {}", topk::MAX_BUCKETS)),
            (topk::ShapeError::Reads, format!("at most {}", topk::MAX_WINDOW_READS)),
        ] {
            ends_with(error.into(), end);
        }
        ends_with(super::topk::BAD_INCREMENT, format!(" {}", topk::MAX_UNITS));
        let most = tdigest::Compression::MAX.get();
        ends_with(super::tdigest::COMPRESSION_RANGE, format!(" {most}"));
    }
}
