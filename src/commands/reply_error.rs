//! Every error that a client can see, in one place. The texts are part of the interface: clients
//! compare them.

use crate::shrinking::Failed;
use crate::stats;
use splitbloom_filter::error::{AddError, DecodeError, UnionError};
use splitbloom_filter::filter::Difference;
use splitbloom_grammar::WordsError;
use splitbloom_server::command::ErrorReply;
use splitbloom_server::context::Context;
use splitbloom_server::key::{OpenError, WrongType};
use splitbloom_server::texts;

/// An error reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyError {
    text: &'static str,
    on_replay: OnReplay,
}

/// What the error means if the command has run before, on the primary or before the server stopped.
///
/// It takes a whole word, like everything that a command returns for each item: a copy of a smaller
/// field also reads the bytes after it, and waits until they are written (15 ns in BF.ADD).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
enum OnReplay {
    /// The command has no effect here, whether it succeeded there or not. (RedisBloom before 2.2
    /// replicates commands that failed.)
    LosesNothing,
    /// The command may have succeeded there.
    MayLose,
}

impl ReplyError {
    /// The reply is the server's own.
    pub const WRONG_ARITY: Self = error("ERR wrong number of arguments");
    pub const WRONG_TYPE: Self = error(texts::WRONG_TYPE);
    /// The filter to be created exists.
    pub const ITEM_EXISTS: Self = harmless("ERR item exists");
    /// As `ITEM_EXISTS`, for a load.
    pub const NO_PLACE_TO_LOAD: Self = error("ERR item exists");
    pub const NOT_FOUND: Self = error("ERR not found");
    /// A lookup in a missing key, where the client or the setting makes that an error. No other
    /// error has this code, so a client can match it.
    pub const NO_FILTER: Self = error("NOFILTER no such filter");
    /// As `NOT_FOUND`, for a deletion: RedisBloom has another text there.
    pub const NOTHING_TO_DELETE: Self = harmless("ERR Not found");
    /// As `NOT_FOUND`, for a command that frees memory.
    pub const NOTHING_TO_FREE: Self = harmless("ERR not found");
    pub const FULL: Self = error("ERR non scaling filter is full");
    pub const LOADING: Self = error("ERR filter is being loaded");
    /// As `FULL`, for a filter that counts: RedisBloom has another text there.
    pub const COUNTING_FULL: Self = error("ERR Filter is full");
    pub const OVER_LIMIT: Self = error("ERR filter would exceed bf.max-filter-bytes");
    pub const UNCOUNTABLE: Self =
        error("ERR the filter has as many copies of the item as it can count");
    pub const NO_MEMORY_TO_CREATE: Self = error("ERR Insufficient memory to create filter");
    pub const NO_MEMORY_TO_ADD: Self = error("ERR Insufficient memory to add item");
    pub const NO_MEMORY_TO_DELETE: Self = error("ERR Insufficient memory to delete item");
    pub const NO_SUCH_CHUNK: Self =
        error("ERR no such chunk: the filter was replaced, cleared or shrunk since the first one");
    pub const NO_MEMORY_TO_DUMP: Self = error("ERR Insufficient memory to dump filter");
    pub const NO_MEMORY_TO_REPLY: Self = error("ERR Insufficient memory to reply");
    pub const OVER_MAXMEMORY: Self = error(texts::OVER_MAXMEMORY);
    pub const PACKING_TOO_LONG: Self = error("ERR packing would exceed bf.max-pack-bytes");
    pub const TOO_MANY_PACKED: Self =
        error("ERR packing would exceed 1048576 items and bf.max-pack-bytes / 16");
    pub const BAD_NUMBER_OF_KEYS: Self = error("ERR bad number of keys");
    pub const WRONG_NUMBER_OF_KEYS: Self =
        error("ERR number of keys does not match the keys given");
    pub const SEVERAL_SLOTS: Self = error(texts::SEVERAL_SLOTS);
    pub const SLOT_MOVES: Self = error(texts::SLOT_MOVES);
    /// Filters that forget, and those that RedisBloom made, cannot be merged.
    pub const NO_UNION: Self = error("ERR filters of this kind cannot be merged");
    pub const TOO_MUCH_TO_MERGE: Self =
        error("ERR filters to merge would exceed bf.max-merge-bytes");
    pub const NO_MEMORY_TO_MERGE: Self = error("ERR Insufficient memory to merge filters");
    pub const NO_SHRINKING: Self = error("ERR filters of this kind cannot be shrunk");
    pub const HOLDS_MORE: Self = error("ERR the filter has more items than that capacity");
    pub const TOO_MUCH_TO_SHRINK: Self =
        error("ERR filter to shrink would exceed bf.max-merge-bytes");
    pub const NO_MEMORY_TO_SHRINK: Self = error("ERR Insufficient memory to shrink filter");
    pub const BEING_SHRUNK: Self = error("ERR filter is being shrunk by another client");
    pub const CHANGED_MEANWHILE: Self =
        error("ERR filter was not shrunk, as it was replaced, cleared or merged meanwhile");
    pub const BAD_INFO_FIELD: Self = error("ERR Invalid information value");
    pub const NOT_NUMERIC: Self = error("ERR Second argument must be numeric");
    pub const BAD_DATA: Self = error("ERR received bad data");
    pub const BAD_PARTITIONS: Self = error("ERR bad number of partitions");
    pub const PARTITIONS_RANGE: Self =
        error("ERR partitions must be a power of two in the range [1, 16384]");
    pub const BRACE_IN_NAME: Self =
        error("ERR the name of a partitioned filter must not contain {");
    pub const REPLY_TOO_LONG: Self = error("ERR the keys would take more than 64 MiB");
    /// A follower of a filter that forgets would have to forget, too.
    pub const WINDOW_FOLLOWED: Self = error("ERR a filter with a window cannot be followed");
    pub const TOO_MANY_JOURNALS: Self =
        error("ERR the journals of followed filters would exceed bf.max-journal-bytes");
    pub const NO_MEMORY_TO_FOLLOW: Self = error("ERR Insufficient memory to follow filter");
    /// A time, or a command about time, for a filter that does not forget.
    pub const WINDOW_MISSING: Self = error("ERR a window is missing");
    pub const FAR_FUTURE: Self =
        error("ERR the time is more than one window ahead of the server's clock");
    /// The time is so early that it must be in seconds.
    pub const SECONDS: Self =
        error("ERR the time is before 1973: it must be in milliseconds since 1970");
    /// The reply is the server's own, with the command's name.
    pub const EXPIRE_TIME: Self = error("ERR invalid expire time");
    pub const KEY_IN_USE: Self = error(texts::KEY_IN_USE);
}

const fn error(text: &'static str) -> ReplyError {
    ReplyError { text, on_replay: OnReplay::MayLose }
}

const fn harmless(text: &'static str) -> ReplyError {
    ReplyError { text, on_replay: OnReplay::LosesNothing }
}

impl From<OpenError> for ReplyError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::InUse => Self::KEY_IN_USE,
            OpenError::WrongType => Self::WRONG_TYPE,
        }
    }
}

impl From<WrongType> for ReplyError {
    fn from(WrongType: WrongType) -> Self {
        Self::WRONG_TYPE
    }
}

impl From<WordsError> for ReplyError {
    fn from(words: WordsError) -> Self {
        error(match words {
            WordsError::WrongArity => return Self::WRONG_ARITY,
            WordsError::BadErrorRate => "ERR bad error rate",
            WordsError::ErrorRateRange => {
                "ERR error rate must be in the range (0.000000, 1.000000)"
            }
            WordsError::BadCapacity => "ERR bad capacity",
            WordsError::CapacityRange => "ERR capacity must be in the range [1, 1099511627776]",
            WordsError::NoExpansion => "ERR no expansion",
            WordsError::BadExpansion => "ERR bad expansion",
            WordsError::ExpansionRange => "ERR expansion must be in the range [0, 32768]",
            WordsError::NonScalingExpansion => "ERR Nonscaling filters cannot expand",
            WordsError::BadSeed => "ERR bad seed",
            WordsError::BadTightening => "ERR bad tightening ratio",
            WordsError::TighteningRange => {
                "ERR tightening ratio must be in the range (0.000000, 1.000000)"
            }
            WordsError::ScaleTo => {
                "ERR VALIDATESCALETO is not supported: set bf.max-filter-bytes, or reserve the \
                 capacity"
            }
            WordsError::BadBucketSize => "ERR bad bucket size",
            WordsError::BucketSizeRange => "ERR bucket size must be in the range [1, 255]",
            WordsError::BadMaxIterations => "ERR bad max iterations",
            WordsError::MaxIterationsRange => "ERR max iterations must be in the range [1, 65535]",
            WordsError::BadWidth => "ERR bad width",
            WordsError::BadPacking => "ERR bad packing",
            WordsError::CountingWindow => "ERR counting filters have no window",
            WordsError::BadWindow => "ERR bad window",
            WordsError::WindowRange => "ERR window must be in the range [1, 315360000]",
            WordsError::BadSlices => "ERR bad slices",
            WordsError::SlicesRange => "ERR slices must be in the range [2, 14]",
            WordsError::WindowMissing => "ERR a window is missing",
            WordsError::BadExpiry => "ERR value is not an integer or out of range", // the server's
            WordsError::ExpiryRange => return Self::EXPIRE_TIME,
            WordsError::BadTime => "ERR bad time",
            WordsError::BadPosition => {
                "ERR bad position: it must be 0, or one that BF.CHANGES returned"
            }
            WordsError::BadCount => "ERR bad count",
            WordsError::CountRange => "ERR count must be in the range [1, 65536]",
            WordsError::BadBlock => "ERR bad block",
            WordsError::BlockRange => "ERR block must be in the range [0, 315360000000]",
            WordsError::TooManyPositions => "ERR ALSO takes at most 16384 positions",
            WordsError::Syntax => "ERR syntax error",
        })
    }
}

impl ReplyError {
    /// The error for a filter that was not created.
    pub fn of_creation(error: AddError) -> Self {
        match error {
            AddError::OutOfMemory => Self::NO_MEMORY_TO_CREATE,
            other => Self::of_add(other),
        }
    }

    /// The error for an item that was not added.
    pub fn of_add(error: AddError) -> Self {
        match error {
            AddError::Full => Self::FULL,
            AddError::Loading => Self::LOADING,
            AddError::OverLimit => Self::OVER_LIMIT,
            AddError::Uncountable => Self::UNCOUNTABLE,
            AddError::OutOfMemory => Self::NO_MEMORY_TO_ADD,
        }
    }

    /// The error for filters that were created with different parameters.
    pub fn of_difference(difference: Difference) -> Self {
        error(match difference {
            Difference::ErrorRate => "ERR filters differ in error rate",
            Difference::Capacity => "ERR filters differ in capacity",
            Difference::Expansion => "ERR filters differ in expansion",
            Difference::Seed => "ERR filters differ in seed",
        })
    }

    /// Replies with the error for filters that were not merged.
    pub fn reply_to_merge(context: &Context, error: UnionError) {
        match error {
            UnionError::TooCostly => Self::TOO_MUCH_TO_MERGE.reply(context),
            UnionError::Overfull { rate, requested, items } => context.refuse(
                "ERR the union would have too high a false-positive rate",
                format_args!(
                    "ERR the union would have a false-positive rate of up to {rate:.3e}, above \
                     {requested}: reserve filters for {items} items, or add FORCE"
                ),
            ),
            UnionError::Add(error) => Self::of_add(error).reply(context),
        }
    }

    /// The error for a filter that was not folded between commands.
    pub fn of_folding(failed: Failed) -> Self {
        match failed {
            Failed::HasChanged => Self::CHANGED_MEANWHILE,
            Failed::NotFollowed => Self::TOO_MANY_JOURNALS,
            Failed::OutOfMemory => Self::NO_MEMORY_TO_SHRINK,
        }
    }

    /// The error for a filter that was not shrunk.
    pub fn of_shrinking(error: UnionError) -> Self {
        match error {
            UnionError::TooCostly => Self::TOO_MUCH_TO_SHRINK,
            UnionError::Add(AddError::Loading) => Self::LOADING,
            _ => Self::NO_MEMORY_TO_SHRINK,
        }
    }

    /// The error for an item that was not added to a filter that counts.
    pub fn of_counting(error: AddError) -> Self {
        match error {
            AddError::Full => Self::COUNTING_FULL,
            other => Self::of_add(other),
        }
    }

    /// The error for an item that was not removed.
    pub fn of_deletion(error: AddError) -> Self {
        match error {
            AddError::Loading => Self::LOADING,
            _ => Self::NO_MEMORY_TO_DELETE,
        }
    }

    /// The error for a chunk that was not loaded. It does not reveal what is wrong with hostile
    /// bytes.
    pub fn of_load(error: DecodeError) -> Self {
        match error {
            DecodeError::OverLimit => Self::OVER_LIMIT,
            DecodeError::OutOfMemory => Self::NO_MEMORY_TO_CREATE,
            _ => Self::BAD_DATA,
        }
    }
}

impl ErrorReply for ReplyError {
    /// Replies with the error. The primary and the append-only file read no reply, so they get the
    /// error only if something is lost: the server reports each error reply to its primary as
    /// broken replication.
    fn reply(self, context: &Context) {
        if self.on_replay == OnReplay::LosesNothing && context.is_replay() {
            stats::REPLAYS_IGNORED.add(1);
            return context.reply_null();
        }
        match self {
            Self::WRONG_ARITY => context.refuse_arity(),
            Self::EXPIRE_TIME => context.refuse_expire_time(),
            Self { text, .. } => context.refuse(text, text),
        }
    }
}
