//! The list of the k items with the highest counts: a heap with the lowest count at its root.
//!
//! ```text
//!   heap    place: {count, entry}       the lowest count first; k places from the start
//!   entry   item, path, place           never moves, so that the index stays right
//!   index   hash of an item ──► entry
//! ```
//!
//! The places, and how a count moves down among equal ones, are those of RedisBloom: it saves them
//! in this order, and lists items of equal counts by it.

use super::index::{hash, Index};
use super::rules::Path;
use splitbloom_foundation::alloc::{
    relocate_box, try_boxed, try_push, try_vec, Mover, OutOfMemory,
};
use std::alloc::Layout;

/// The most bytes that are kept for the next item, unless it needs more.
const KEPT_BYTES: usize = 4096;
/// The most bytes that an item of the list leaves unused. Most items fit the block of the one whose
/// place they take, so nothing is allocated and freed for them.
const SLACK: usize = 32;

/// Items that are moved in one step: some 10 µs.
const ITEMS_OF_STEP: usize = 256;

/// A place of the heap.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub count: u32,
    /// The number of its entry; no item yet if there is no such entry.
    entry: u32,
}

/// No entry.
const NONE: u32 = u32::MAX;

/// An item.
pub(super) struct Entry {
    pub item: Vec<u8>,
    pub path: Path,
    hash: u32,
    place: u32,
}

/// The k items with the highest counts.
pub(super) struct List {
    heap: Box<[Place]>,
    entries: Vec<Entry>,
    index: Index,
    /// Memory for the next item, requested before anything changes; otherwise the item that has
    /// left the list last.
    room: Vec<u8>,
    entered: u32,
}

impl List {
    /// A list of `k` places, at least 1.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(k: u32) -> Result<Self, OutOfMemory> {
        let empty = Place { count: 0, entry: NONE };
        let heap = try_boxed(k as usize, |heap| heap.resize(k as usize, empty))?;
        Ok(Self {
            heap,
            entries: Vec::new(),
            index: Index::default(),
            room: Vec::new(),
            entered: 0,
        })
    }

    /// Sets the next place of a list that is being loaded. Its count need not be in order. An item
    /// that is not `findable` is listed, but not found. Returns false for the second of two equal
    /// findable items: no command creates one, and which of them is found would depend on the load.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn load(
        &mut self,
        place: usize,
        count: u32,
        item: Option<(&[u8], Path)>,
        findable: bool,
    ) -> Result<bool, OutOfMemory> {
        self.heap[place].count = count;
        if let Some((item, path)) = item {
            let (entry, hash) = (self.entries.len() as u32, hash(item));
            if findable {
                if self.find(hash, item).is_some() {
                    return Ok(false);
                }
                self.index.reserve()?;
                self.index.insert(hash, entry);
            }
            let item = copy_of(item)?;
            try_push(&mut self.entries, Entry { item, path, hash, place: place as u32 })?;
            self.heap[place].entry = entry;
        }
        Ok(true)
    }

    /// The places of the heap, in order: the count of each, and its item, if it has one.
    pub fn places(&self) -> impl ExactSizeIterator<Item = (u32, Option<&Entry>)> {
        self.heap.iter().map(|place| (place.count, self.entries.get(place.entry as usize)))
    }

    /// The lowest count.
    #[inline]
    pub fn least(&self) -> u32 {
        self.heap[0].count
    }

    /// The item with the lowest count, if every place has one.
    #[inline]
    pub fn first_to_leave(&self) -> Option<&[u8]> {
        self.entries.get(self.heap[0].entry as usize).map(|entry| &*entry.item)
    }

    /// The entry of an item that is in the list.
    #[inline]
    pub fn find(&self, hash: u32, item: &[u8]) -> Option<u32> {
        let mut entries = self.index.find(hash);
        entries.find(|entry| self.entries[*entry as usize].item == item)
    }

    /// The count of an item that is in the list.
    pub fn count(&self, item: &[u8]) -> Option<u32> {
        let entry = self.find(hash(item), item)?;
        let place = self.entries[entry as usize].place;
        Some(self.heap[place as usize].count)
    }

    /// Where the item of an entry belongs.
    #[inline]
    pub fn path(&self, entry: u32) -> Path {
        self.entries[entry as usize].path
    }

    /// How many items have entered, in 32 bits. While it stays the same, so do all entries.
    #[inline]
    pub fn entered(&self) -> u32 {
        self.entered
    }

    /// Requests the memory that [`List::offer`] may need for an item of `len` bytes that has no
    /// entry.
    ///
    /// # Errors
    /// `OutOfMemory`; nothing has changed.
    #[inline]
    pub fn reserve(&mut self, len: usize) -> Result<(), OutOfMemory> {
        self.room.clear();
        if self.room.capacity() < len {
            self.room.try_reserve_exact(len)?;
        } else if self.room.capacity() > len.max(KEPT_BYTES) {
            self.room = try_vec(len)?;
        }
        if self.entries.len() < self.heap.len() {
            self.entries.try_reserve(1)?;
        }
        // Not every entry is in the index: see `load`.
        self.index.reserve()
    }

    /// Offers an item with its hash, path and count, and its entry if it has one; for others
    /// [`List::reserve`] has been called. Returns the item that has left the list for it, if one
    /// has.
    ///
    /// An item of the list whose bucket has decayed keeps the higher count, as in the paper.
    #[inline]
    pub fn offer(
        &mut self,
        item: &[u8],
        hash: u32,
        entry: Option<u32>,
        path: &Path,
        count: u32,
    ) -> Option<&[u8]> {
        if count < self.least() {
            return None;
        }
        if let Some(entry) = entry {
            let place = self.entries[entry as usize].place as usize;
            let known = &mut self.heap[place].count;
            *known = count.max(*known);
            self.sift(place);
            return None;
        }
        self.take_root(item, hash, path, count)
    }

    /// Puts a new item in place of the one with the lowest count, which is returned.
    fn take_root(&mut self, item: &[u8], hash: u32, path: &Path, count: u32) -> Option<&[u8]> {
        self.entered = self.entered.wrapping_add(1);
        let item = self.in_room(item);
        let new = Entry { item, path: *path, hash, place: 0 };
        let root = self.heap[0].entry;
        let (number, has_left) = match self.entries.get_mut(root as usize) {
            Some(entry) => {
                let old = std::mem::replace(entry, new);
                self.index.remove(old.hash, root);
                self.room = old.item;
                (root, true)
            }
            None => {
                self.entries.push(new);
                (self.entries.len() as u32 - 1, false)
            }
        };
        self.index.insert(hash, number);
        self.heap[0] = Place { count, entry: number };
        self.sift(0);
        has_left.then_some(&*self.room)
    }

    /// A copy of an item: in the room that was requested for it if that fits well, or if there is
    /// no memory for a block of its own.
    fn in_room(&mut self, item: &[u8]) -> Vec<u8> {
        let fits = self.room.capacity() <= item.len() + SLACK;
        let own = if fits { None } else { copy_of(item).ok() };
        own.unwrap_or_else(|| {
            let mut room = std::mem::take(&mut self.room);
            room.extend_from_slice(item);
            room
        })
    }

    /// Moves the count at `place` down to where none below it is lower. The first step passes an
    /// equal count, later ones do not; of two equal children the left one moves up.
    fn sift(&mut self, mut place: usize) {
        let moved = self.heap[place];
        let mut is_first = true;
        loop {
            let left = 2 * place + 1;
            let Some(mut child) = self.heap.get(left).copied() else { break };
            let mut at = left;
            if let Some(right) = self.heap.get(left + 1).filter(|right| right.count < child.count) {
                (child, at) = (*right, left + 1);
            }
            if child.count > moved.count || child.count == moved.count && !is_first {
                break;
            }
            self.set(place, child);
            (place, is_first) = (at, false);
        }
        self.set(place, moved);
    }

    fn set(&mut self, at: usize, place: Place) {
        self.heap[at] = place;
        if let Some(entry) = self.entries.get_mut(place.entry as usize) {
            entry.place = at as u32;
        }
    }

    /// A copy.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let heap = try_boxed(self.heap.len(), |to| to.extend_from_slice(&self.heap))?;
        let mut entries = try_vec(self.entries.len())?;
        for entry in &self.entries {
            entries.push(Entry { item: copy_of(&entry.item)?, ..*entry });
        }
        Ok(Self { heap, entries, index: self.index.try_clone()?, room: Vec::new(), entered: 0 })
    }

    /// The number of items.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Visits every allocation: its layout, and how often it occurs.
    pub fn visit_allocations(&self, visit: &mut dyn FnMut(Layout, u64)) {
        visit(Layout::for_value(&*self.heap), 1);
        if let Ok(layout) = Layout::array::<Entry>(self.entries.capacity()) {
            visit(layout, 1);
        }
        self.index.visit_allocations(visit);
        let items = self.entries.iter().map(|entry| entry.item.capacity());
        let blocks = items.chain([self.room.capacity()]);
        for layout in blocks.filter_map(|len| Layout::array::<u8>(len).ok()) {
            visit(layout, 1);
        }
    }

    /// The number of steps of [`List::relocate`].
    pub fn steps(&self) -> u64 {
        self.heap.len().div_ceil(ITEMS_OF_STEP) as u64
    }

    /// Passes the allocations of step `step` through `mover`: some items, and first everything
    /// else.
    pub fn relocate(&mut self, step: u64, mover: &mut impl Mover) {
        if step == 0 {
            self.heap = relocate_box(std::mem::take(&mut self.heap), mover);
            self.entries = mover.relocate(std::mem::take(&mut self.entries));
            self.index.relocate(mover);
        }
        let first = (step as usize).saturating_mul(ITEMS_OF_STEP);
        for entry in self.entries.iter_mut().skip(first).take(ITEMS_OF_STEP) {
            entry.item = mover.relocate(std::mem::take(&mut entry.item));
        }
    }
}

fn copy_of(item: &[u8]) -> Result<Vec<u8>, OutOfMemory> {
    let mut copy = try_vec(item.len())?;
    copy.extend_from_slice(item);
    Ok(copy)
}
