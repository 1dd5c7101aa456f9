//! Looking items up, one by one and in batches, compiled for what the processor has.
//!
//! A lookup waits for memory twice: for the slot of the directory and for the line. A batch asks
//! for the slots of 16 items, then for their lines, and reads them while the next 16 are on their
//! way.

#[cfg(target_arch = "x86_64")]
use crate::growing::instructions::{has_fast_select, Bmi2};
use crate::growing::instructions::{Instructions, Portable};
use crate::growing::page::Page;
use crate::growing::path::Path;
use crate::growing::table::{Table, ALL_PAYLOADS};
use crate::hash::ItemHash;
use crate::prefetch::prefetch;

/// Items that are prefetched together. With 32, batches took as long at 10^6 items and 7 % longer
/// at 2 * 10^7.
pub const GROUP: usize = 16;

impl Table {
    /// Whether the item is (probably) present.
    #[inline]
    pub fn contains(&self, hash: ItemHash) -> bool {
        self.contains_path(Path::of(hash))
    }

    #[inline]
    pub(super) fn contains_path(&self, path: Path) -> bool {
        let page = self.root.page(path);
        let below = path.below(page.depth());
        #[cfg(target_arch = "x86_64")]
        if has_fast_select() {
            // SAFETY: the processor has these instructions.
            return unsafe { self.page_contains_with_bmi2(page, below) };
        }
        self.page_contains::<Portable>(page, below)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "bmi1,bmi2,popcnt")]
    fn page_contains_with_bmi2(&self, page: &Page, below: u64) -> bool {
        self.page_contains::<Bmi2>(page, below)
    }

    #[inline(always)]
    fn page_contains<I: Instructions>(&self, page: &Page, below: u64) -> bool {
        if self.alive == ALL_PAYLOADS {
            page.contains::<I>(below)
        } else {
            page.is_saturated() || page.matching(below).any(|mark| self.is_alive(mark))
        }
    }

    /// Looks up many items and calls `answer` for each in order. Two groups are under way at a
    /// time: the lines of one are being fetched while the one before is answered.
    pub fn contains_many(
        &self,
        hashes: impl IntoIterator<Item = ItemHash>,
        answer: impl FnMut(bool),
    ) {
        #[cfg(target_arch = "x86_64")]
        if has_fast_select() {
            // SAFETY: the processor has these instructions.
            return unsafe { self.contains_many_with_bmi2(hashes, answer) };
        }
        self.contains_many_with::<Portable>(hashes, answer);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "bmi1,bmi2,popcnt")]
    fn contains_many_with_bmi2(
        &self,
        hashes: impl IntoIterator<Item = ItemHash>,
        answer: impl FnMut(bool),
    ) {
        self.contains_many_with::<Bmi2>(hashes, answer);
    }

    #[inline(always)]
    fn contains_many_with<I: Instructions>(
        &self,
        hashes: impl IntoIterator<Item = ItemHash>,
        mut answer: impl FnMut(bool),
    ) {
        let mut hashes = hashes.into_iter();
        let (way, page) = (self.root.way(Path(0)), self.root.page(Path(0)));
        let (mut ways, mut pages) = ([[(Path(0), way); GROUP]; 2], [[(page, 0); GROUP]; 2]);
        // Which of the two is in use, and how many items are in it.
        let (mut turn, mut on_way, mut fetched) = (0, 0, 0);
        loop {
            let mut new = 0;
            for (place, hash) in ways[turn].iter_mut().zip(&mut hashes) {
                let path = Path::of(hash);
                let way = self.root.way(path);
                prefetch(way.next());
                *place = (path, way);
                new += 1;
            }
            for ((path, way), place) in ways[1 - turn][..on_way].iter().zip(&mut pages[turn]) {
                let page = way.page(*path);
                let below = path.below(page.depth());
                page.prefetch(below);
                *place = (page, below);
            }
            for (page, below) in &pages[1 - turn][..fetched] {
                answer(self.page_contains::<I>(page, *below));
            }
            (turn, fetched, on_way) = (1 - turn, on_way, new);
            if fetched + on_way == 0 {
                return;
            }
        }
    }
}
