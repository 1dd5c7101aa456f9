//! What a batch of adds returns: the items that have left the list.

use splitbloom_foundation::alloc::OutOfMemory;

/// For each item that was added, the one that has left the list for it, if one has.
#[derive(Default)]
pub struct Answers {
    len: usize,
    /// The items that have left, each after the number of the item that it left for, and its
    /// length: one block for all.
    left: Vec<u8>,
}

/// A number in `left`.
const NUMBER: usize = size_of::<usize>();

impl Answers {
    /// The number of items that were added.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether none was added.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// For each item that was added, in order, the item that has left the list for it.
    pub fn iter(&self) -> impl Iterator<Item = Option<&[u8]>> {
        let mut left = &*self.left;
        (0..self.len).map(move |number| {
            let (by, rest) = left.split_first_chunk::<NUMBER>()?;
            if usize::from_ne_bytes(*by) != number {
                return None;
            }
            let (len, rest) = rest.split_first_chunk::<NUMBER>()?;
            let (item, rest) = rest.split_at_checked(usize::from_ne_bytes(*len))?;
            left = rest;
            Some(item)
        })
    }

    /// Requests the memory for the next answer, an item of `len` bytes.
    ///
    /// # Errors
    /// `OutOfMemory`; nothing has changed.
    #[inline]
    pub(super) fn reserve(&mut self, len: usize) -> Result<(), OutOfMemory> {
        Ok(self.left.try_reserve(2 * NUMBER + len)?)
    }

    /// An item was added, and `left` has left for it: memory was requested.
    #[inline]
    pub(super) fn push(&mut self, left: Option<&[u8]>) {
        if let Some(item) = left {
            self.left.extend(self.len.to_ne_bytes());
            self.left.extend(item.len().to_ne_bytes());
            self.left.extend_from_slice(item);
        }
        self.len += 1;
    }
}
