//! What a batch of adds returns: the items that have left the list.

use splitbloom_foundation::alloc::OutOfMemory;

/// For each item that was added, the one that has left the list for it, if one has.
pub struct Answers {
    len: usize,
    /// The items that have left, each after the number of the item that it left for, and its
    /// length: the first ones without an allocation, which would cost one item a fifth of its time.
    few: [u8; FEW],
    /// The bytes of `few` in use.
    used: usize,
    /// Those that do not fit there, in one block.
    many: Vec<u8>,
}

/// Bytes for an item of 48 bytes.
const FEW: usize = 64;
/// The bytes of a number.
const NUMBER: usize = size_of::<usize>();

impl Default for Answers {
    fn default() -> Self {
        Self { len: 0, few: [0; FEW], used: 0, many: Vec::new() }
    }
}

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
        let (mut left, mut many) = (&self.few[..self.used], &*self.many);
        (0..self.len).map(move |number| {
            if left.is_empty() {
                left = std::mem::take(&mut many);
            }
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
        match self.is_among_few(len) {
            true => Ok(()),
            false => Ok(self.many.try_reserve(2 * NUMBER + len)?),
        }
    }

    /// An item was added, and `left` has left for it: memory was requested.
    #[inline]
    pub(super) fn push(&mut self, left: Option<&[u8]>) {
        if let Some(item) = left {
            let numbers = [self.len.to_ne_bytes(), item.len().to_ne_bytes()];
            let is_among_few = self.is_among_few(item.len());
            for bytes in [&numbers[0][..], &numbers[1], item] {
                if is_among_few {
                    self.few[self.used..][..bytes.len()].copy_from_slice(bytes);
                    self.used += bytes.len();
                } else {
                    self.many.extend_from_slice(bytes);
                }
            }
        }
        self.len += 1;
    }

    /// Whether the next answer, an item of `len` bytes, is kept in `few`.
    fn is_among_few(&self, len: usize) -> bool {
        let rest = (FEW - self.used).checked_sub(2 * NUMBER);
        self.many.is_empty() && rest.is_some_and(|rest| len <= rest)
    }
}
