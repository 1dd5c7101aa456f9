//! What a copy and its original have in common, until one of them writes to it.

use super::{index, Slot, MOST_BITS};
use crate::error::AddError;
use crate::storage::shared::Shared;
use crate::storage::short::Short;
use crate::table::entries::try_vec;
use crate::table::path::Path;

impl Slot {
    /// Makes its own what is common, by a copy if need be.
    #[cold]
    pub(super) fn take_over(&mut self) -> Result<(), AddError> {
        self.reclaim();
        if let Self::Common(common) = self {
            *self = common.copied()?;
        }
        Ok(())
    }

    /// Makes its own what is common, where the copy that had it too has it no more.
    pub(super) fn reclaim(&mut self) {
        if !matches!(self, Self::Common(_)) {
            return;
        }
        if let Self::Common(common) = std::mem::replace(self, Self::See(0)) {
            *self = common.try_into_inner().unwrap_or_else(Self::Common);
        }
    }

    /// Bytes that are copied before a path's page may be written to, because another table has them
    /// too.
    pub fn bytes_to_own(&mut self, path: Path) -> u64 {
        self.reclaim();
        match self {
            Self::Node { depth, slots } => {
                let index = index(path, *depth, slots);
                slots[index].bytes_to_own(path)
            }
            Self::Common(common) => {
                let mut bytes = 0;
                common
                    .visit_allocations(&mut |layout, times| bytes += layout.size() as u64 * times);
                bytes
            }
            _ => 0,
        }
    }

    /// The same in other memory.
    fn copied(&self) -> Result<Self, AddError> {
        Ok(match self {
            Self::Own(page) => Self::Own(page.try_clone()?),
            Self::Common(common) => Self::Common(common.clone()),
            Self::Node { depth, slots } => {
                let mut copy = try_vec(slots.len())?;
                for slot in slots.iter() {
                    copy.push(slot.copied()?);
                }
                Self::Node {
                    depth: *depth,
                    slots: Short::of(copy),
                }
            }
            Self::See(bits) => Self::See(*bits),
        })
    }

    /// A second directory with the same pages, all of them common from now on. An error leaves this
    /// one as good as it was.
    ///
    /// Copied are the nodes that decide the first [`MOST_BITS`] bits; each page or node that these
    /// lead to is shared as a whole, and copied when one of the two first writes below it. So a
    /// copy takes some 2 048 steps, however large the table; that write copies a page up to some
    /// 4 * 10^6 items, 50 pages at 10^8 and 500 at 10^9.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn try_clone(&mut self) -> Result<Self, AddError> {
        match self {
            Self::Node { depth, slots } if *depth < MOST_BITS => {
                let mut copy = try_vec(slots.len())?;
                for slot in slots.iter_mut() {
                    copy.push(slot.try_clone()?);
                }
                Ok(Self::Node {
                    depth: *depth,
                    slots: Short::of(copy),
                })
            }
            Self::See(bits) => Ok(Self::See(*bits)),
            Self::Common(common) => Ok(Self::Common(common.clone())),
            Self::Own(page) if page.lines().is_empty() => Ok(Self::Own(page.try_clone()?)),
            Self::Own(_) | Self::Node { .. } => {
                match Shared::try_new(std::mem::replace(self, Self::See(0))) {
                    Ok(common) => {
                        *self = Self::Common(common.clone());
                        Ok(Self::Common(common))
                    }
                    Err(slot) => {
                        *self = slot;
                        Err(AddError::OutOfMemory)
                    }
                }
            }
        }
    }
}
