//! A slot of a leaf: empty, or a segment or list, which a copy may share.

use crate::error::AddError;
use crate::storage::list::{List, Units};
use splitbloom_foundation::alloc::try_boxed;
use splitbloom_foundation::segment::Segment;

/// One allocation of bits: a segment, or a list of units.
pub enum Block {
    Full(Segment),
    List(List),
}

/// One segment of a leaf, or all segments of some leaves.
pub type Slot = splitbloom_foundation::slot::Slot<Block>;

/// The memory bound of [`crate::codec`] for hostile bytes depends on this size.
const _: () = assert!(size_of::<Slot>() == 24);

impl Block {
    #[inline]
    pub fn segment(&self) -> Option<&Segment> {
        match self {
            Self::Full(segment) => Some(segment),
            Self::List(_) => None,
        }
    }

    #[inline]
    pub fn segment_mut(&mut self) -> Option<&mut Segment> {
        match self {
            Self::Full(segment) => Some(segment),
            Self::List(_) => None,
        }
    }

    pub fn list(&self) -> Option<&List> {
        match self {
            Self::List(list) => Some(list),
            Self::Full(_) => None,
        }
    }

    /// A copy.
    pub fn try_clone(&self) -> Result<Self, AddError> {
        match self {
            Self::Full(segment) => Ok(Self::Full(segment.try_clone()?)),
            Self::List(list) => list.try_clone().map(Self::List),
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
