//! A window, cut into slices: each has a sketch of its own.

use splitbloom_foundation::fields::Fields;
use std::collections::BTreeMap;

/// The latest time.
const LAST: u64 = (1 << 53) - 1;

#[derive(Clone, Debug)]
pub struct Slices<T> {
    pub seconds: u64,
    pub slices: u64,
    pub latest: u64,
    /// By the number of the slice, counted from 1970.
    sketches: BTreeMap<u64, T>,
}

impl<T> Slices<T> {
    pub fn new(seconds: u64, slices: u64, latest: u64) -> Option<Self> {
        let is_good = (1..=315_360_000).contains(&seconds) && (2..=14).contains(&slices);
        is_good.then_some(Self { seconds, slices, latest, sketches: BTreeMap::new() })
    }

    /// Reads the slices, oldest first; `read` reads those that are present.
    pub fn read<F: Fields>(
        mut self,
        from: &mut F,
        mut read: impl FnMut(&mut F) -> Option<T>,
    ) -> Option<Self> {
        for age in (0..=self.slices).rev() {
            match from.unsigned()? {
                0 => {}
                1 => {
                    let sketch = read(from)?;
                    self.sketches.insert(self.slice(self.latest).checked_sub(age)?, sketch);
                }
                _ => return None,
            }
        }
        (self.latest <= LAST).then_some(self)
    }

    /// The slice that a time lies in.
    fn slice(&self, time: u64) -> u64 {
        (u128::from(time) * u128::from(self.slices) / (u128::from(self.seconds) * 1000)) as u64
    }

    /// What the window remembers.
    pub fn live(&self, now: u64) -> impl Iterator<Item = &T> {
        let now = now.min(LAST).max(self.latest);
        let oldest = self.slice(now).saturating_sub(self.slices);
        self.sketches.range(oldest..).map(|(_, sketch)| sketch)
    }

    /// The sketch to which items are added at `now`.
    pub fn current(&mut self, now: u64, empty: impl FnOnce() -> T) -> &mut T {
        self.latest = now.min(LAST).max(self.latest);
        let slice = self.slice(self.latest);
        self.sketches.entry(slice).or_insert_with(empty)
    }
}
