//! What can go wrong inside the core, as data. The words that a client sees are made at the border (`commands::text`).

/// Why a filter could not be created, or could not take another item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddError {
    /// The filter does not grow and its one sub-filter is full.
    Full,
    /// The next sub-filter would make the filter larger than the limit the caller gave.
    OverLimit,
    /// The allocator refused; nothing has changed.
    OutOfMemory,
}

/// Why a piece of an encoded filter was refused. No bit, count or description has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// The bytes end before the record does, or go on after the last one.
    Length,
    /// Not a piece of this format, or of a version of it that this code does not know.
    Format,
    /// The bytes are not those that were written.
    Checksum,
    /// A layout kind that this code does not know.
    Layout(u8),
    /// A field outside its range; the name of the field.
    Field(&'static str),
    /// A good piece, but not the one that comes next.
    Order,
    /// The filter would become larger than the limit the caller gave.
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
            Self::Order => f.write_str("a piece out of order"),
            Self::OverLimit => f.write_str("too large"),
            Self::OutOfMemory => f.write_str("not enough memory"),
        }
    }
}
