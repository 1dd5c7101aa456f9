//! Surplus counters: copies of a fingerprint beyond those in slots. They are in separate lines at
//! the end of the page.

use super::Page;
use crate::table::entries::{Surplus, SURPLUS_BYTES};
use crate::table::fingerprint::Fingerprint;
use crate::table::line::{Line, LINE_BYTES};

/// Surplus counters per line: 8 bytes of fingerprint, 4 of count, 4 unused.
pub const COUNTERS: usize = LINE_BYTES / COUNTER_BYTES;
const COUNTER_BYTES: usize = 16;

/// Appends lines of counters; `lines` has the capacity.
pub fn push_counters(counters: &[Surplus], lines: &mut Vec<Line>) {
    for counters in counters.chunks(COUNTERS) {
        let mut line = Line([0; LINE_BYTES]);
        let places = line.0.chunks_exact_mut(COUNTER_BYTES);
        for (bytes, surplus) in places.zip(counters) {
            bytes[..SURPLUS_BYTES].copy_from_slice(&surplus.bytes());
        }
        lines.push(line);
    }
}

impl Page {
    /// The number of copies of a fingerprint beyond those in slots.
    pub fn surplus_of(&self, fingerprint: Fingerprint) -> u32 {
        self.surplus().find(|s| s.fingerprint == fingerprint).map_or(0, |s| s.copies)
    }

    /// The counters.
    pub fn surplus(&self) -> impl Iterator<Item = Surplus> + '_ {
        let lines = &self.lines[self.grid().lines..];
        let counters = lines.iter().flat_map(|line| line.0.chunks_exact(COUNTER_BYTES));
        counters.filter_map(Surplus::of_bytes)
    }

    /// The counter of a fingerprint, for writing.
    pub(in crate::table) fn counter_mut(
        &mut self,
        fingerprint: Fingerprint,
    ) -> Option<&mut [u8; 4]> {
        let first = self.grid().lines;
        let lines = self.lines[first..].iter_mut();
        let mut counters = lines.flat_map(|line| line.0.chunks_exact_mut(COUNTER_BYTES));
        let bytes = counters.find(|bytes| bytes[..8] == fingerprint.bits().to_le_bytes())?;
        bytes[8..12].as_mut().try_into().ok()
    }
}
