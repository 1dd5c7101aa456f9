//! Every error that a client can see, in one place. The texts are part of the interface: clients
//! compare them.

use crate::stats;
use splitbloom_filter::error::{AddError, DecodeError, UnionError};
use splitbloom_filter::filter::Difference;
use splitbloom_grammar::WordsError;
use splitbloom_server::command::ErrorReply;
use splitbloom_server::context::Context;
use splitbloom_server::key::{InUse, WrongType};

/// An error reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyError {
    /// The reply is the server's own.
    WrongArity,
    /// The key holds another type. The reply is the server's own.
    WrongType,
    /// The arguments are wrong.
    Words(WordsError),
    /// A filter that was to be created exists.
    ItemExists,
    /// As `ItemExists`, where bytes were to be loaded.
    NoPlaceToLoad,
    NotFound,
    /// As `NotFound`, in a deletion: RedisBloom has another text there.
    NothingToDelete,
    /// As `NotFound`, where memory was to be freed.
    NothingToFree,
    Full,
    Loading,
    /// As `Full`, of a filter that counts: RedisBloom has another text there.
    CountingFull,
    OverLimit,
    Uncountable,
    NoMemoryToCreate,
    NoMemoryToAdd,
    NoMemoryToDelete,
    NoMemoryToDump,
    NoMemoryToReply,
    /// With the server's own text, which it sends before a command begins.
    OverMaxmemory,
    PackingTooLong,
    BadNumberOfKeys,
    WrongNumberOfKeys,
    /// With the server's own text.
    SeveralSlots,
    /// A key is missing that may be on another node, while its slot is moving. With the server's
    /// own text.
    SlotMoves,
    /// The filters were created with different parameters.
    Different(Difference),
    /// Filters that forget, and those that RedisBloom made, cannot be merged.
    NoUnion,
    TooMuchToMerge,
    NoMemoryToMerge,
    BadInfoField,
    NotNumeric,
    BadData,
    BadPartitions,
    PartitionsRange,
    BraceInName,
    ReplyTooLong,
    /// A time, or a command about time, for a filter that does not forget.
    WindowMissing,
    FarFuture,
    /// The time is so early that it must be in seconds.
    Seconds,
    /// The server saves the value on another thread: nothing has changed, and the command can be
    /// repeated.
    KeyInUse,
}

impl From<InUse> for ReplyError {
    fn from(InUse: InUse) -> Self {
        Self::KeyInUse
    }
}

impl From<WrongType> for ReplyError {
    fn from(WrongType: WrongType) -> Self {
        Self::WrongType
    }
}

impl From<WordsError> for ReplyError {
    fn from(error: WordsError) -> Self {
        match error {
            WordsError::WrongArity => Self::WrongArity,
            other => Self::Words(other),
        }
    }
}

/// The text for an error in the arguments. The server has its own for [`ReplyError::WrongArity`].
fn text_of(error: WordsError) -> &'static str {
    match error {
        WordsError::WrongArity => "ERR wrong number of arguments",
        WordsError::BadErrorRate => "ERR bad error rate",
        WordsError::ErrorRateRange => "ERR error rate must be in the range (0.000000, 1.000000)",
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
            "ERR VALIDATESCALETO is not supported: set bf.max-filter-bytes, or reserve the capacity"
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
        WordsError::BadTime => "ERR bad time",
        WordsError::Syntax => "ERR syntax error",
    }
}

fn text_of_difference(difference: Difference) -> &'static str {
    match difference {
        Difference::ErrorRate => "ERR filters differ in error rate",
        Difference::Capacity => "ERR filters differ in capacity",
        Difference::Expansion => "ERR filters differ in expansion",
        Difference::Seed => "ERR filters differ in seed",
    }
}

impl ReplyError {
    /// The text. The server has its own for the first two, which serve as elements of an array.
    pub fn text(self) -> &'static str {
        match self {
            Self::WrongArity => "ERR wrong number of arguments",
            Self::WrongType => "WRONGTYPE Operation against a key holding the wrong kind of value",
            Self::Words(error) => text_of(error),
            Self::ItemExists | Self::NoPlaceToLoad => "ERR item exists",
            Self::NotFound | Self::NothingToFree => "ERR not found",
            Self::NothingToDelete => "ERR Not found",
            Self::Full => "ERR non scaling filter is full",
            Self::Loading => "ERR filter is being loaded",
            Self::CountingFull => "ERR Filter is full",
            Self::OverLimit => "ERR filter would exceed bf.max-filter-bytes",
            Self::Uncountable => "ERR the filter has as many copies of the item as it can count",
            Self::NoMemoryToCreate => "ERR Insufficient memory to create filter",
            Self::NoMemoryToAdd => "ERR Insufficient memory to add item",
            Self::NoMemoryToDelete => "ERR Insufficient memory to delete item",
            Self::NoMemoryToDump => "ERR Insufficient memory to dump filter",
            Self::NoMemoryToReply => "ERR Insufficient memory to reply",
            Self::OverMaxmemory => "OOM command not allowed when used memory > 'maxmemory'.",
            Self::PackingTooLong => "ERR packing would exceed bf.max-pack-bytes",
            Self::BadNumberOfKeys => "ERR bad number of keys",
            Self::WrongNumberOfKeys => "ERR number of keys does not match the keys given",
            Self::SeveralSlots => "CROSSSLOT Keys in request don't hash to the same slot",
            Self::SlotMoves => "TRYAGAIN Multiple keys request during rehashing of slot",
            Self::Different(difference) => text_of_difference(difference),
            Self::NoUnion => "ERR filters of this kind cannot be merged",
            Self::TooMuchToMerge => "ERR filters to merge would exceed bf.max-merge-bytes",
            Self::NoMemoryToMerge => "ERR Insufficient memory to merge filters",
            Self::BadInfoField => "ERR Invalid information value",
            Self::NotNumeric => "ERR Second argument must be numeric",
            Self::BadData => "ERR received bad data",
            Self::BadPartitions => "ERR bad number of partitions",
            Self::PartitionsRange => {
                "ERR partitions must be a power of two in the range [1, 16384]"
            }
            Self::BraceInName => "ERR the name of a partitioned filter must not contain {",
            Self::WindowMissing => text_of(WordsError::WindowMissing),
            Self::FarFuture => "ERR the time is more than one window ahead of the server's clock",
            Self::Seconds => "ERR the time is before 1973: it must be in milliseconds since 1970",
            Self::KeyInUse => "TRYAGAIN the server is saving the key",
            Self::ReplyTooLong => "ERR the keys would take more than 64 MiB",
        }
    }

    /// Whether a replay loses nothing by it, since the command would have no effect here, whether
    /// it succeeded on the primary or not. (RedisBloom before 2.2 replicates commands that failed.)
    /// Any other command may have succeeded there.
    fn loses_nothing(self) -> bool {
        match self {
            // The filter exists.
            Self::ItemExists => true,
            // Nothing is there to be removed.
            Self::NothingToDelete | Self::NothingToFree => true,
            _ => false,
        }
    }

    /// The error for a filter that was not created.
    pub fn of_creation(error: AddError) -> Self {
        match error {
            AddError::OutOfMemory => Self::NoMemoryToCreate,
            other => Self::of_add(other),
        }
    }

    /// The error for an item that was not added.
    pub fn of_add(error: AddError) -> Self {
        match error {
            AddError::Full => Self::Full,
            AddError::Loading => Self::Loading,
            AddError::OverLimit => Self::OverLimit,
            AddError::Uncountable => Self::Uncountable,
            AddError::OutOfMemory => Self::NoMemoryToAdd,
        }
    }

    /// The error for filters that were not merged.
    pub fn of_union(error: UnionError) -> Self {
        match error {
            UnionError::TooCostly => Self::TooMuchToMerge,
            UnionError::Add(error) => Self::of_add(error),
        }
    }

    /// The error for an item that was not added to a filter that counts.
    pub fn of_counting(error: AddError) -> Self {
        match error {
            AddError::Full => Self::CountingFull,
            other => Self::of_add(other),
        }
    }

    /// The error for an item that was not removed.
    pub fn of_deletion(error: AddError) -> Self {
        match error {
            AddError::Loading => Self::Loading,
            _ => Self::NoMemoryToDelete,
        }
    }

    /// The error for a chunk that was not loaded. It does not reveal what is wrong with hostile
    /// bytes.
    pub fn of_load(error: DecodeError) -> Self {
        match error {
            DecodeError::OverLimit => Self::OverLimit,
            DecodeError::OutOfMemory => Self::NoMemoryToCreate,
            _ => Self::BadData,
        }
    }
}

impl ErrorReply for ReplyError {
    /// Replies with the error. The primary and the append-only file, which read no reply, get it
    /// only if something is lost: the server reports each error reply to its primary as a broken
    /// replication.
    fn reply(self, context: &Context) {
        if context.is_replay() {
            if self.loses_nothing() {
                stats::replay_ignored();
                return context.reply_null();
            }
            context.note_loss(self.text());
        }
        match self {
            Self::WrongArity => context.reply_wrong_arity(),
            Self::WrongType => context.reply_wrong_type(),
            other => context.reply_error(other.text()),
        }
    }
}
