//! The errors of the core, as data. The module turns them into the texts that clients see.

use splitbloom_foundation::OutOfMemory;

/// Why a filter could not be created, or could not take another item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddError {
    /// The filter does not grow and is full.
    Full,
    /// The item would make the filter larger than the caller's limit.
    OverLimit,
    /// The filter is being loaded, and the part that takes the item has yet to come.
    Loading,
    /// There are more copies of the item than a filter can count.
    Uncountable,
    /// The allocator refused; nothing has changed.
    OutOfMemory,
}

/// Why filters could not be united, or a filter could not be shrunk. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum UnionError {
    /// The false-positive rate could be above the one requested.
    Overfull {
        /// The highest false-positive rate that the union could have.
        rate: f64,
        /// The error rate requested.
        requested: f64,
        /// The capacity, in items, that would keep the union within `requested`.
        items: u64,
    },
    /// The union would cost more than the caller allows.
    TooCostly,
    /// The filter cannot take the items of the others.
    Add(AddError),
}

/// Refuses with `error` unless the condition holds.
pub(crate) fn ensure<E>(holds: bool, error: E) -> Result<(), E> {
    holds.then_some(()).ok_or(error)
}

#[doc(hidden)]
impl<E: Into<OutOfMemory>> From<E> for AddError {
    fn from(_: E) -> Self {
        Self::OutOfMemory
    }
}

impl<E: Into<AddError>> From<E> for UnionError {
    fn from(error: E) -> Self {
        Self::Add(error.into())
    }
}

/// Why a chunk of an encoded filter was refused. No bit, count or header has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes end before a record does, or continue after the last one.
    Length,
    /// Not a chunk of this format, or a chunk of an unknown version.
    Format,
    /// The checksum does not match the bytes.
    Checksum,
    /// An unknown layout kind.
    Layout(u8),
    /// A field is out of range; its name.
    Field(&'static str),
    /// A valid chunk, but not the one that comes next.
    Order,
    /// The filter would be larger than the caller's limit.
    OverLimit,
    /// The allocator refused.
    OutOfMemory,
}

impl std::fmt::Display for DecodeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Length => f.write_str("the length is wrong"),
            Self::Format => f.write_str("an unknown format or format version"),
            Self::Checksum => f.write_str("the checksum does not match"),
            Self::Layout(kind) => write!(f, "unknown layout kind {kind}"),
            Self::Field(name) => write!(f, "{name} is out of range"),
            Self::Order => f.write_str("a chunk out of order"),
            Self::OverLimit => f.write_str("too large"),
            Self::OutOfMemory => f.write_str("not enough memory"),
        }
    }
}

impl std::error::Error for DecodeError {}

/// An allocation of a load fails only above the limit, or because the allocator refuses.
impl<E: Into<AddError>> From<E> for DecodeError {
    fn from(error: E) -> Self {
        match error.into() {
            AddError::OverLimit => Self::OverLimit,
            _ => Self::OutOfMemory,
        }
    }
}

impl std::fmt::Display for AddError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Full => "the filter is full and does not grow",
            Self::OverLimit => "the filter would exceed its limit",
            Self::Loading => "the filter is being loaded",
            Self::Uncountable => "there are too many copies of the item to count",
            Self::OutOfMemory => "not enough memory",
        })
    }
}

impl std::error::Error for AddError {}

impl std::fmt::Display for UnionError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Overfull { rate, requested, items } => write!(
                f,
                "the false-positive rate of the union could be {rate:.4e}, above {requested}; \
                    filters for {items} items would hold it"
            ),
            Self::TooCostly => f.write_str("the union would cost too much"),
            Self::Add(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for UnionError {}
