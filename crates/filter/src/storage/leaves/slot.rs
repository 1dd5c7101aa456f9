//! A slot of a leaf: empty, or a segment or list, which a copy may share.

use crate::error::AddError;
use crate::storage::list::{List, Units};
use splitbloom_foundation::alloc::try_boxed;
use splitbloom_foundation::segment::Segment;
use splitbloom_foundation::shared::Shared;

/// One allocation of bits: a segment, or a list of units.
pub enum Block {
    Full(Segment),
    List(List),
}

/// One segment of a leaf, or all segments of some leaves.
pub enum Slot {
    Empty,
    Own(Block),
    /// Shared with a copy; neither filter may write to it.
    Shared(Shared<Block>),
}

/// The memory bound of [`crate::codec`] for hostile bytes depends on this size.
const _: () = assert!(size_of::<Slot>() == 24);

impl Block {
    fn try_clone(&self) -> Result<Self, AddError> {
        match self {
            Self::Full(segment) => Ok(Self::Full(segment.try_clone()?)),
            Self::List(list) => list.try_clone().map(Self::List),
        }
    }
}

impl Slot {
    #[inline]
    pub fn segment(&self) -> Option<&Segment> {
        match self.block()? {
            Block::Full(segment) => Some(segment),
            Block::List(_) => None,
        }
    }

    #[inline]
    pub fn own_segment_mut(&mut self) -> Option<&mut Segment> {
        match self {
            Self::Own(Block::Full(segment)) => Some(segment),
            Self::Empty | Self::Own(Block::List(_)) | Self::Shared(_) => None,
        }
    }

    #[inline]
    pub fn block(&self) -> Option<&Block> {
        match self {
            Self::Empty => None,
            Self::Own(block) => Some(block),
            Self::Shared(shared) => Some(shared),
        }
    }

    pub fn list(&self) -> Option<&List> {
        match self.block()? {
            Block::List(list) => Some(list),
            Block::Full(_) => None,
        }
    }

    /// Takes sole ownership of a shared block whose other owner has been dropped. Returns whether
    /// it did.
    pub fn reclaim(&mut self) -> bool {
        let was_shared = matches!(self, Self::Shared(_));
        *self = match std::mem::replace(self, Self::Empty) {
            Self::Shared(shared) => shared.try_into_inner().map_or_else(Self::Shared, Self::Own),
            other => other,
        };
        was_shared && matches!(self, Self::Own(_))
    }

    /// Takes sole ownership of a shared block, by copying it if the other owner still exists.
    /// Returns whether it was shared.
    pub fn own(&mut self) -> Result<bool, AddError> {
        let was_shared = matches!(self, Self::Shared(_));
        self.reclaim();
        if let Self::Shared(shared) = self {
            *self = Self::Own(shared.try_clone()?);
        }
        Ok(was_shared)
    }

    /// Shares the block with a copy; `None` if the slot is empty.
    pub fn share(&mut self) -> Result<Option<Shared<Block>>, AddError> {
        let shared = match std::mem::replace(self, Self::Empty) {
            Self::Empty => return Ok(None),
            Self::Shared(shared) => Ok(shared),
            Self::Own(block) => Shared::try_new(block),
        };
        match shared {
            Ok(shared) => {
                *self = Self::Shared(shared.clone());
                Ok(Some(shared))
            }
            Err(block) => {
                *self = Self::Own(block);
                Err(AddError::OutOfMemory)
            }
        }
    }
}

/// `len` empty slots.
pub fn empty_slots(len: usize) -> Result<Box<[Slot]>, AddError> {
    Ok(try_boxed(len, |to| to.resize_with(len, || Slot::Empty))?)
}

/// A slot with a list; empty if the list is.
pub fn slot_of(list: List) -> Slot {
    match list.len() {
        0 => Slot::Empty,
        _ => Slot::Own(Block::List(list)),
    }
}

/// A slot with those units of a list that belong to one segment of `len` words: a list, or the
/// segment if they are too many for one.
pub fn slot_of_segment(
    list: &List,
    units: Units,
    len: usize,
    is_its: impl Fn(u32) -> bool + Copy,
) -> Result<Slot, AddError> {
    let own = list.numbers().filter(|number| is_its(*number));
    if own.count() > units.max_in(len) {
        let whole = segment_of(list, units, len, is_its)?;
        return Ok(Slot::Own(Block::Full(whole)));
    }
    Ok(slot_of(list.part(units, is_its)?))
}

/// A segment of `len` words with those units of a list that belong to it.
pub fn segment_of(
    list: &List,
    units: Units,
    len: usize,
    is_its: impl Fn(u32) -> bool,
) -> Result<Segment, AddError> {
    let mut segment = Segment::clear(len)?;
    for (number, words) in list.each(units).filter(|(number, _)| is_its(*number)) {
        let to = segment.words_mut().get_mut(units.place_of(number.into())..);
        to.into_iter().flatten().zip(words).for_each(|(to, from)| *to = *from);
    }
    Ok(segment)
}
