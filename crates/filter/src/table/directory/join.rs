//! Parts of a directory put together, as pages are loaded.

use super::{bits_of, index, Slot, MOST_BITS};
use crate::error::AddError;
use crate::storage::short::Short;
use crate::table::entries::try_vec;
use crate::table::path::Path;

impl Slot {
    /// One slot of two that part at their depth.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn join(halves: [Self; 2]) -> Result<Self, AddError> {
        let depth = halves[0].depth() - 1;
        let mut slots = try_vec(2)?;
        slots.extend(halves);
        let mut node = Self::Node {
            depth,
            slots: Short::of(slots),
        };
        node.take_in_both()?;
        Ok(node)
    }

    /// Makes one node of a node of two slots and what these are made of, if they are about equally
    /// deep and one node can hold all their slots. Nodes at multiples of [`MOST_BITS`] stay apart:
    /// the first nodes on all ways are then as large as in a directory that grew, and so are the
    /// others when it grows on. Returns by how many slots the directory has grown.
    ///
    /// # Errors
    /// `OutOfMemory`; nothing has changed.
    fn take_in_both(&mut self) -> Result<i32, AddError> {
        let Self::Node { depth, slots } = self else {
            return Ok(0);
        };
        let bits = |half: &Self| half.taken_in().map_or(0, bits_of);
        let [low, high] = &slots[..] else {
            return Ok(0);
        };
        let (low, high) = (bits(low), bits(high));
        let most = low.max(high);
        if most == 0 || most >= MOST_BITS || most - low.min(high) > 1 {
            return Ok(0);
        }
        let taken_in = slots.iter().filter_map(Self::taken_in);
        let before = slots.len() + taken_in.map(<[Self]>::len).sum::<usize>();
        let mut all = try_vec(2 << most)?;
        for (half, bits) in slots.take().into_iter().zip([low, high]) {
            half.spread(most - bits, *depth + 1 + most, &mut all);
        }
        *slots = Short::of(all);
        Ok(slots.len() as i32 - before as i32)
    }

    /// Joins, from the deepest on, the nodes of two slots that begin before `from` and are complete
    /// now that all paths up to `next` have come. Returns by how many slots the directory has
    /// grown.
    pub fn join_complete(&mut self, from: Path, next: Option<u64>) -> i32 {
        let Self::Node { depth, slots } = self else {
            return 0;
        };
        if from.start(*depth) == from {
            return 0;
        }
        let end = from.after(*depth);
        let place = index(from, *depth, slots);
        let grown = slots[place].join_complete(from, next);
        let is_complete = next.is_none_or(|next| end.is_some_and(|end| end <= next));
        // It works as it is, so it may stay so where there is no memory.
        let joined = if is_complete {
            self.take_in_both()
        } else {
            Ok(0)
        };
        grown + joined.unwrap_or(0)
    }

    /// Appends what is taken in, or a slot as if it were a node's only one, so that each fills
    /// `2^more` of the new ones.
    fn spread(self, more: u8, full_depth: u8, to: &mut Vec<Self>) {
        let slots = match self {
            Self::Node { depth, slots } if depth % MOST_BITS != 0 => slots.into_vec(),
            slot => {
                let end = to.len() + (1 << more);
                to.push(slot);
                return to.resize_with(end, || Self::See(more));
            }
        };
        let mut common_bits = 0;
        for slot in slots {
            let end = to.len() + (1 << more);
            if !matches!(slot, Self::See(_)) {
                common_bits = full_depth - slot.depth();
                to.push(slot);
            }
            to.resize_with(end, || Self::See(common_bits));
        }
    }

    /// The slots that a node above may take in.
    fn taken_in(&self) -> Option<&[Self]> {
        match self {
            Self::Node { depth, slots } if depth % MOST_BITS != 0 => Some(slots),
            _ => None,
        }
    }
}
