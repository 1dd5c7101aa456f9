//! Increments that do not fit: a cell or the sum of increments would be negative or too large.

/// Why an increment was not counted. Neither a cell nor the sum of increments has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeError {
    /// A cell, or the sum, would be above its maximum.
    Overflow,
    /// A cell, or the sum, would be below 0.
    Underflow,
}

impl RangeError {
    /// Why an increment `by` that does not fit was not counted.
    pub(super) fn of(by: i64) -> Self {
        if by < 0 {
            Self::Underflow
        } else {
            Self::Overflow
        }
    }
}

/// What becomes of an increment that does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutOfRange {
    /// It is not counted, as in RedisBloom from Redis 8.12 on.
    Skip,
    /// Cells and sum stop at their maximum, as before Redis 8.12, which knew no decrement: one that
    /// does not fit is not counted here either.
    Saturate,
}

/// The estimate of an item's count after an increment, or why the increment was not counted.
pub type Counted = Result<u64, RangeError>;
