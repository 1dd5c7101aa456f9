//! The dimensions of a sketch, and the error bounds that they give.

use super::cell::CellSize;
use splitbloom_foundation::segment::SEGMENT_BYTES;
use splitbloom_foundation::span::Span;
use xxhash_rust::xxh3::Xxh3;

/// The most rows of a new sketch. A row halves the probability of an error above the bound, so 64
/// leave one in 2^64. An item may need a segment for each row: 64 MiB at this depth.
pub const MAX_NEW_DEPTH: u64 = 1 << 10;
/// The most bytes of counters of a new sketch. Its value is one string in files and dumps, and this
/// is the longest string that servers take in a command by default, so RESTORE can take it.
pub const MAX_NEW_BYTES: u64 = (512 << 20) - SEGMENT_BYTES as u64;
/// The most bytes of counters in all slices of a window together. Its dump has up to 11 bytes more
/// for each segment, two opcodes, an index and a length: 90 KB.
pub const MAX_WINDOW_BYTES: u64 = MAX_NEW_BYTES - 2 * SEGMENT_BYTES as u64;

/// The number of counters in a row, the number of rows, and the bytes of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    width: u64,
    depth: u64,
    cell_size: CellSize,
}

/// Why a sketch cannot have these dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShapeError {
    /// There must be a counter in each row.
    NoWidth,
    /// There must be a row.
    NoDepth,
    /// There are more than [`MAX_NEW_DEPTH`] rows.
    TooDeep,
    /// The counters take more than [`MAX_NEW_BYTES`].
    TooLarge,
    /// Those of all slices of a window take more than [`MAX_WINDOW_BYTES`].
    WindowTooLarge,
}

impl Shape {
    /// Rows of `width` counters of `cell_size`, `depth` of them, in a sketch that is to be created.
    ///
    /// # Errors
    /// What is out of range.
    pub fn new(width: u64, depth: u64, cell_size: CellSize) -> Result<Self, ShapeError> {
        let shape = Self::saved(width, depth, cell_size)?;
        match shape {
            _ if depth > MAX_NEW_DEPTH => Err(ShapeError::TooDeep),
            _ if shape.bytes() > MAX_NEW_BYTES => Err(ShapeError::TooLarge),
            _ => Ok(shape),
        }
    }

    /// The same shape for each slice of a window of `span`: all slices together are one value. A
    /// slice that is saved need not have the bytes of its rows, so their number has the limit of a
    /// new sketch.
    ///
    /// # Errors
    /// `TooDeep`, `WindowTooLarge`.
    pub fn in_window(self, span: Span) -> Result<Self, ShapeError> {
        if self.depth > MAX_NEW_DEPTH {
            return Err(ShapeError::TooDeep);
        }
        let bytes = self.bytes().saturating_mul(u64::from(span.slices()) + 1);
        (bytes <= MAX_WINDOW_BYTES).then_some(self).ok_or(ShapeError::WindowTooLarge)
    }

    /// The same for a sketch that another server has saved, which may be larger: memory for it is
    /// allocated only for bytes that are there.
    ///
    /// # Errors
    /// What is out of range.
    pub fn saved(width: u64, depth: u64, cell_size: CellSize) -> Result<Self, ShapeError> {
        match (width, depth) {
            (0, _) => Err(ShapeError::NoWidth),
            (_, 0) => Err(ShapeError::NoDepth),
            _ => {
                let cells = width.checked_mul(depth);
                let bytes = cells.and_then(|cells| cells.checked_mul(cell_size.bytes()));
                // An `isize` counts the bytes of any allocation, so also of the string.
                let fits = bytes.is_some_and(|bytes| isize::try_from(bytes).is_ok());
                fits.then_some(Self { width, depth, cell_size }).ok_or(ShapeError::TooLarge)
            }
        }
    }

    /// Width and depth of the smallest sketch whose estimates are too high by more than `error`
    /// times the sum of all increments with a probability of at most `probability`: see [`super`]
    /// for the derivation. Both are between 0 and 1, exclusive. RedisBloom computes the depth in
    /// single precision, and so does this: equal commands create equal sketches. (In that, a
    /// probability may be 1, which takes no row.)
    pub fn dimensions_for(error: f64, probability: f64) -> (u64, u64) {
        let depth = ((probability as f32).log10() / 0.5f32.log10()).ceil().max(1.0);
        // `as` saturates: what is too large stays so.
        ((2.0 / error).ceil() as u64, depth as u64)
    }

    /// Counters in a row.
    pub fn width(&self) -> u64 {
        self.width
    }

    /// Rows.
    pub fn depth(&self) -> u64 {
        self.depth
    }

    /// The bytes of a counter.
    pub fn cell_size(&self) -> CellSize {
        self.cell_size
    }

    /// Hashes it.
    pub(super) fn write_digest(&self, hash: &mut Xxh3) {
        for number in [self.width, self.depth, self.cell_size.bytes()] {
            hash.update(&number.to_le_bytes());
        }
    }

    /// Counters in all.
    pub fn cells(&self) -> u64 {
        self.width * self.depth
    }

    /// Bytes of all counters.
    pub fn bytes(&self) -> u64 {
        self.cells() * self.cell_size.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_give_the_dimensions_that_redisbloom_gives() {
        // From CMS.INFO of a server with RedisBloom. The last four probabilities are where single
        // and double precision differ.
        for (error, probability, width, depth) in [
            (0.001, 0.01, 2000, 7),
            (0.4, 0.25, 5, 2),
            (0.01, 0.3, 200, 2),
            (0.01, 0.001, 200, 10),
            (0.01, 1e-9, 200, 30),
            (0.01, 0.99, 200, 1),
            (0.01, 0.999_999_99, 200, 1), // not of RedisBloom, whose depth is 0
            (0.01, 0.125, 200, 3),
            (0.99, 0.1, 3, 4),
            (0.3, 0.1, 7, 4),
            (7e-5, 0.1, 28572, 4),
            (3e-7, 0.1, 6_666_667, 4),
            (2.634550442946966e-07, 0.5, 7_591_428, 1),
            (2.933406288898962e-07, 0.5, 6_818_013, 1),
            (0.1, 1.455190308530252e-11, 20, 36),
            (0.1, 5.9604587931971764e-08, 20, 24),
        ] {
            let dimensions = Shape::dimensions_for(error, probability);
            assert_eq!(dimensions, (width, depth), "{error} {probability}");
        }
    }

    #[test]
    fn dimensions_out_of_range_are_refused() {
        let size = CellSize::Four;
        let most = MAX_NEW_BYTES / size.bytes();
        for (width, depth, error) in [
            (0, 1, ShapeError::NoWidth),
            (1, 0, ShapeError::NoDepth),
            (1, MAX_NEW_DEPTH + 1, ShapeError::TooDeep),
            (most + 1, 1, ShapeError::TooLarge),
            (most / 2 + 1, 2, ShapeError::TooLarge),
            (u64::MAX, 1, ShapeError::TooLarge),
            (u64::MAX / 2, 4, ShapeError::TooLarge),
        ] {
            assert_eq!(Shape::new(width, depth, size), Err(error), "{width} {depth}");
        }
        assert!(Shape::new(most, 1, size).is_ok() && Shape::saved(most + 1, 1, size).is_ok());
        assert_eq!(Shape::saved(1 << 60, 8, size), Err(ShapeError::TooLarge));
        let deep = Shape::saved(1, MAX_NEW_DEPTH + 1, size).unwrap();
        assert!(Shape::new(1, MAX_NEW_DEPTH, size).is_ok());
        let span = Span::new(60, 14).unwrap();
        assert_eq!(deep.in_window(span), Err(ShapeError::TooDeep));
        let in_window = |width| Shape::new(width, 1, size).unwrap().in_window(span);
        let most = MAX_WINDOW_BYTES / size.bytes();
        assert!(in_window(most / 15).is_ok());
        assert_eq!(in_window(most / 15 + 1), Err(ShapeError::WindowTooLarge));
        let for_bounds = |error, probability| {
            let (width, depth) = Shape::dimensions_for(error, probability);
            Shape::new(width, depth, size)
        };
        assert_eq!(for_bounds(1e-300, 0.1), Err(ShapeError::TooLarge));
        assert_eq!(for_bounds(0.1, 1e-300), Err(ShapeError::TooLarge));
    }
    #[test]
    fn the_limits_are_those_of_bytes_whatever_the_size_of_a_cell() {
        for size in CellSize::ALL {
            let most = MAX_NEW_BYTES / size.bytes();
            assert_eq!(Shape::new(most, 1, size).map(|shape| shape.bytes()), Ok(MAX_NEW_BYTES));
            assert_eq!(Shape::new(most + 1, 1, size), Err(ShapeError::TooLarge));
            let most = isize::MAX as u64 / size.bytes();
            assert!(Shape::saved(most, 1, size).is_ok());
            assert_eq!(Shape::saved(most + 1, 1, size), Err(ShapeError::TooLarge));
        }
    }
}
