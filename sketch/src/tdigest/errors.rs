//! What clients see when a `TDIGEST.*` command fails. The texts are RedisBloom's where it has one.

use crate::errors::ReplyError;
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
pub const BAD_LOW_CUT: ReplyError = ReplyError("ERR T-Digest: error parsing low_cut_percentile");
pub const BAD_HIGH_CUT: ReplyError = ReplyError("ERR T-Digest: error parsing high_cut_percentile");
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
const TOO_HEAVY: ReplyError = ReplyError("ERR T-Digest: overflow detected");

// What RedisBloom has no text for.

pub const COMPRESSION_RANGE: ReplyError =
    ReplyError("ERR T-Digest: compression parameter needs to be at most 100000");
pub const MERGE_TOO_LARGE: ReplyError =
    ReplyError("ERR T-Digest: digests to merge would exceed sketch.max-merge-bytes");
/// The server's own texts.
pub const SEVERAL_SLOTS: ReplyError =
    ReplyError("CROSSSLOT Keys in request don't hash to the same slot");
pub const SLOT_MOVES: ReplyError =
    ReplyError("TRYAGAIN Multiple keys request during rehashing of slot");

impl From<AddError> for ReplyError {
    fn from(error: AddError) -> Self {
        match error {
            AddError::NotFinite => NOT_FINITE,
            AddError::TooHeavy => TOO_HEAVY,
            AddError::OutOfMemory => NO_MEMORY,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use splitbloom_sketch::tdigest::Compression;

    #[test]
    fn the_text_says_what_compression_is_allowed() {
        assert!(COMPRESSION_RANGE.0.ends_with(&format!(" {}", Compression::MAX.get())));
    }
}
