//! A segment of counters: empty, or a block of its own, which a copy may share.

use super::lines::{Line, Lines};
use super::LINE_BYTES;
use splitbloom_foundation::alloc::{relocate_box, try_boxed, Mover, OutOfMemory};
use splitbloom_foundation::prefetch::prefetch;
use splitbloom_foundation::segment::Segment;

/// The counters of a segment: all of them, or those of the lines that items have touched.
pub enum Block {
    Full(Segment),
    /// An array of one, so that a slot stays small and a [`Mover`] can move it.
    Few(Box<[Lines]>),
}

/// The place of a segment. An empty one is all 0.
pub type Slot = splitbloom_foundation::slot::Slot<Block>;

impl Block {
    /// The lines that are allocated, in ascending order, with their numbers.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &Line)> {
        let (full, few) = match self {
            Self::Full(segment) => (Some(segment.cells().iter().enumerate()), None),
            Self::Few(lines) => (None, Some(lines.iter().flat_map(Lines::iter))),
        };
        full.into_iter().flatten().chain(few.into_iter().flatten())
    }

    /// Counter number `place`, of `N` bytes; 0 if it is not allocated.
    #[inline]
    pub fn get<const N: usize>(&self, place: usize) -> [u8; N] {
        match self {
            Self::Full(segment) => segment.cells()[place],
            Self::Few(lines) => few(lines, place * N)
                .map_or([0; N], |line| line.as_chunks().0[place % (LINE_BYTES / N)]),
        }
    }

    /// The same for writing, if it is allocated.
    #[inline]
    pub fn get_mut<const N: usize>(&mut self, place: usize) -> Option<&mut [u8; N]> {
        match self {
            Self::Full(segment) => segment.cells_mut().get_mut(place),
            Self::Few(lines) => few_mut(lines, place * N)
                .and_then(|line| line.as_chunks_mut().0.get_mut(place % (LINE_BYTES / N))),
        }
    }

    /// Prefetches counter number `place`, of `N` bytes, or the list of the lines.
    #[inline]
    pub fn prefetch<const N: usize>(&self, place: usize) {
        match self {
            Self::Full(segment) => prefetch::<[u8; N]>(&segment.cells()[place]),
            Self::Few(lines) => lines.iter().for_each(prefetch),
        }
    }

    /// A block of `words` words with the lines of some that are no longer few.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn full(lines: &Lines, words: usize) -> Result<Self, OutOfMemory> {
        let mut segment = Segment::clear(words)?;
        let to = segment.cells_mut();
        lines.iter().for_each(|(number, line)| to[number] = *line);
        Ok(Self::Full(segment))
    }

    /// A block of few lines.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn few(lines: Lines) -> Result<Self, OutOfMemory> {
        try_boxed(1, |one| one.push(lines)).map(Self::Few)
    }

    /// A copy.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        match self {
            Self::Full(segment) => segment.try_clone().map(Self::Full),
            Self::Few(lines) => Self::few(lines.first().ok_or(OutOfMemory)?.try_clone()?),
        }
    }

    /// Passes it through `mover`.
    pub fn relocate(&mut self, mover: &mut impl Mover) {
        match self {
            Self::Full(segment) => segment.relocate(mover),
            Self::Few(lines) => {
                *lines = relocate_box(std::mem::take(lines), mover);
                lines.iter_mut().for_each(|lines| lines.relocate(mover));
            }
        }
    }
}

/// Out of line: sketches in use have few such blocks.
#[cold]
fn few(lines: &[Lines], byte: usize) -> Option<&Line> {
    lines.first()?.get((byte / LINE_BYTES) as u16)
}

#[cold]
fn few_mut(lines: &mut [Lines], byte: usize) -> Option<&mut Line> {
    lines.first_mut()?.get_mut((byte / LINE_BYTES) as u16)
}
