//! How large a filter may get.

/// The most bytes that a filter may take with every bit in use: its bits and all that is stored
/// besides, in blocks as the allocator rounds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeLimit {
    /// No limit.
    Unlimited,
    /// At most this many bytes.
    Bytes(u64),
    /// No limit, not even the capacity of a filter that does not grow: what is done here has been
    /// acknowledged elsewhere.
    Replay,
}

impl SizeLimit {
    /// The number of bytes.
    pub(crate) fn most_bytes(self) -> u64 {
        match self {
            Self::Unlimited | Self::Replay => u64::MAX,
            Self::Bytes(most) => most,
        }
    }
}
