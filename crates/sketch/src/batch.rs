//! Several items whose counters are on their way from memory at once.

use crate::rows::Rows;
use splitbloom_foundation::alloc::{try_vec, OutOfMemory};

/// The counters of a group of items, unless one item has more: with 7 rows, nine items. A core
/// waits for ten to twenty cache lines at once, and while it does so it hashes the next group.
pub(crate) const GROUP_CELLS: usize = 64;
/// The most items of a group, in sketches of few rows.
const GROUP_ITEMS: usize = 16;

/// Some items: the numbers of their counters, and what came with each.
pub(crate) struct Group<T> {
    cells: Vec<u64>,
    with: [T; GROUP_ITEMS],
    len: usize,
    /// Counters of an item.
    depth: usize,
}

impl<T: Copy + Default> Group<T> {
    fn new(items: usize, depth: usize) -> Result<Self, OutOfMemory> {
        let cells = try_vec(items * depth)?;
        Ok(Self { cells, with: [T::default(); GROUP_ITEMS], len: 0, depth })
    }

    /// What came with each item, and the numbers of its counters.
    #[inline(always)]
    pub fn items(&self) -> impl Iterator<Item = (T, &[u64])> {
        let cells = self.cells.chunks_exact(self.depth);
        self.with[..self.len].iter().copied().zip(cells)
    }
}

/// Items in groups. While a group is worked on, the counters of the next are on their way.
pub(crate) struct Groups<I, T> {
    items: I,
    rows: Rows,
    /// Items of a full group.
    full: usize,
    groups: [Group<T>; 2],
    /// Which of the two is next; `None` before the first is read.
    next: Option<bool>,
}

impl<'a, T: Copy + Default, I: Iterator<Item = (&'a [u8], T)>> Groups<I, T> {
    /// All of `items`, whose counters `rows` finds.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn of(items: I, rows: Rows) -> Result<Self, OutOfMemory> {
        let full = (GROUP_CELLS / rows.depth()).clamp(1, GROUP_ITEMS);
        let groups = [Group::new(full, rows.depth())?, Group::new(full, rows.depth())?];
        Ok(Self { items, rows, full, groups, next: None })
    }

    /// The next group, once `prefetch` has been called with the counters of the one after it;
    /// `None` at the end.
    #[inline(always)]
    pub fn next(&mut self, prefetch: impl Fn(u64)) -> Option<&Group<T>> {
        let is_odd = self.next.unwrap_or_else(|| {
            self.read(false, &prefetch);
            false
        });
        self.read(!is_odd, &prefetch);
        self.next = Some(!is_odd);
        let group = &self.groups[usize::from(is_odd)];
        (group.len > 0).then_some(group)
    }

    /// Takes the next items into one of the two groups, as many as fit.
    #[inline]
    fn read(&mut self, odd: bool, prefetch: &impl Fn(u64)) {
        let group = &mut self.groups[usize::from(odd)];
        group.len = 0;
        group.cells.clear();
        while group.len < self.full {
            let Some((item, with)) = self.items.next() else { break };
            self.rows.visit(item, |cell| {
                prefetch(cell);
                group.cells.push(cell); // there is room: see `new`
            });
            group.with[group.len] = with;
            group.len += 1;
        }
    }
}
