//! The cache lines of a segment that items have touched, while they are few.

use super::LINE_BYTES;
use splitbloom_foundation::alloc::{try_vec, Mover, OutOfMemory};
use std::alloc::Layout;

/// The counters of a cache line.
pub type Line = [u8; LINE_BYTES];

/// Lines in ascending order; all others are 0. The numbers have an array of their own, so that a
/// search reads four cache lines at most.
#[derive(Default)]
pub struct Lines {
    numbers: Vec<u16>,
    lines: Vec<Line>,
}

impl Lines {
    /// Those of `lines` that have a counter above 0, which are `len`.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn of(lines: impl Iterator<Item = (u16, Line)>, len: usize) -> Result<Self, OutOfMemory> {
        let mut some = Self { numbers: try_vec(len)?, lines: try_vec(len)? };
        for (number, line) in lines {
            some.numbers.push(number);
            some.lines.push(line);
        }
        Ok(some)
    }

    /// The number of lines.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Line `number`, if it is there.
    pub fn get(&self, number: u16) -> Option<&Line> {
        let place = self.numbers.binary_search(&number).ok()?;
        self.lines.get(place)
    }

    /// The same for writing.
    pub fn get_mut(&mut self, number: u16) -> Option<&mut Line> {
        let place = self.numbers.binary_search(&number).ok()?;
        self.lines.get_mut(place)
    }

    /// Inserts line `number`, all 0, unless it is there.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing has changed.
    pub fn insert(&mut self, number: u16) -> Result<(), OutOfMemory> {
        let Err(place) = self.numbers.binary_search(&number) else {
            return Ok(());
        };
        // By a quarter, so that at most a fifth is unused.
        let more = 1 + self.len() / 4;
        if self.numbers.len() == self.numbers.capacity() {
            self.numbers.try_reserve_exact(more)?;
        }
        if self.lines.len() == self.lines.capacity() {
            self.lines.try_reserve_exact(more)?;
        }
        self.numbers.insert(place, number);
        self.lines.insert(place, [0; LINE_BYTES]);
        Ok(())
    }

    /// All lines with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &Line)> {
        self.numbers.iter().map(|number| usize::from(*number)).zip(&self.lines)
    }

    /// A copy.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let lines = self.numbers.iter().copied().zip(self.lines.iter().copied());
        Self::of(lines, self.len())
    }

    /// The layouts of its two arrays.
    pub fn layouts(&self) -> impl Iterator<Item = Layout> {
        let numbers = Layout::array::<u16>(self.numbers.capacity());
        [numbers, Layout::array::<Line>(self.lines.capacity())].into_iter().flatten()
    }

    /// Passes its arrays through `mover`.
    pub fn relocate(&mut self, mover: &mut impl Mover) {
        self.numbers = mover.relocate(std::mem::take(&mut self.numbers));
        self.lines = mover.relocate(std::mem::take(&mut self.lines));
    }
}
