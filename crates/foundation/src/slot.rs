//! A place for a part of a value. A copy of the value shares the parts; whichever of the two writes
//! to one first copies it. So a copy of any size is quick, and takes memory only as it is needed.

use crate::alloc::OutOfMemory;
use crate::shared::Shared;

/// The place of a part.
pub enum Slot<T> {
    /// No part.
    Empty,
    /// A part with one owner.
    Own(T),
    /// A part that a copy shares; neither of the two may write to it.
    Shared(Shared<T>),
}

impl<T> Slot<T> {
    /// The part, if there is one.
    #[inline]
    pub fn part(&self) -> Option<&T> {
        match self {
            Self::Empty => None,
            Self::Own(part) => Some(part),
            Self::Shared(shared) => Some(shared),
        }
    }

    /// The part for writing, if there is one and it is not shared.
    #[inline]
    pub fn own_mut(&mut self) -> Option<&mut T> {
        match self {
            Self::Own(part) => Some(part),
            Self::Empty | Self::Shared(_) => None,
        }
    }

    /// Whether the part is shared.
    pub fn is_shared(&self) -> bool {
        matches!(self, Self::Shared(_))
    }

    /// Takes sole ownership of a shared part whose other owner has been dropped. Returns whether it
    /// did.
    pub fn reclaim(&mut self) -> bool {
        let was_shared = self.is_shared();
        *self = match std::mem::replace(self, Self::Empty) {
            Self::Shared(shared) => shared.try_into_inner().map_or_else(Self::Shared, Self::Own),
            other => other,
        };
        was_shared && !self.is_shared()
    }

    /// Makes a shared part the slot's own, or replaces it with what `copy` returns if the other
    /// owner still exists. Returns whether it was shared.
    ///
    /// # Errors
    /// The error of `copy`; then nothing has changed.
    pub fn own<E>(&mut self, copy: impl FnOnce(&T) -> Result<T, E>) -> Result<bool, E> {
        let was_shared = self.is_shared();
        self.reclaim();
        if let Self::Shared(shared) = self {
            *self = Self::Own(copy(shared)?);
        }
        Ok(was_shared)
    }

    /// Shares the part with a copy of the place, which is returned.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing has changed.
    pub fn share(&mut self) -> Result<Self, OutOfMemory> {
        let shared = match std::mem::replace(self, Self::Empty) {
            Self::Empty => return Ok(Self::Empty),
            Self::Shared(shared) => Ok(shared),
            Self::Own(part) => Shared::try_new(part),
        };
        match shared {
            Ok(shared) => {
                *self = Self::Shared(shared.clone());
                Ok(Self::Shared(shared))
            }
            Err(part) => {
                *self = Self::Own(part);
                Err(OutOfMemory)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy(part: &u32) -> Result<u32, OutOfMemory> {
        Ok(*part)
    }

    #[test]
    fn a_part_is_copied_by_the_owner_that_writes_first() {
        let mut slot = Slot::Own(7);
        let mut other = slot.share().unwrap();
        assert!(slot.is_shared() && slot.own_mut().is_none() && !slot.reclaim());
        assert_eq!(other.own(|_| Err(OutOfMemory)), Err(OutOfMemory));
        assert_eq!(other.own(copy), Ok(true));
        *other.own_mut().unwrap() += 1;
        assert_eq!((slot.part(), other.part()), (Some(&7), Some(&8)));
        assert!(slot.reclaim() && !slot.reclaim());
        assert_eq!(slot.own(|_| Err(OutOfMemory)), Ok(false), "nothing to copy");
    }

    #[test]
    fn an_empty_place_shares_nothing() {
        let mut slot: Slot<u32> = Slot::Empty;
        assert!(slot.share().unwrap().part().is_none());
        assert_eq!(slot.own(copy), Ok(false));
        assert!(slot.part().is_none() && !slot.is_shared());
    }
}
