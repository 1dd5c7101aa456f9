//! A directory that grows by the split of a page, and shrinks by the merge of two.

use super::{bits_of, index, Slot, MOST_BITS};
use crate::error::AddError;
use crate::storage::short::Short;
use crate::table::entries::try_vec;
use crate::table::page::Page;
use crate::table::path::Path;

impl Slot {
    /// By how many slots the directory grows where the path's page is split.
    pub fn slots_to_split(&self, path: Path) -> usize {
        let Self::Node { depth, slots } = self else {
            return 2;
        };
        let place = index(path, *depth, slots);
        if matches!(slots[place], Self::Node { .. }) {
            return slots[place].slots_to_split(path);
        }
        match depth + bits_of(slots) - slots[place].depth() {
            0 if is_to_double(slots) => slots.len(),
            0 => 2,
            _ => 0,
        }
    }

    /// Puts the two halves in the place of the path's page.
    ///
    /// # Errors
    /// `OutOfMemory`; nothing has changed.
    pub fn split(&mut self, path: Path, halves: [Self; 2]) -> Result<(), AddError> {
        let Self::Node { depth, slots } = self else {
            return self.become_node(halves);
        };
        let (depth, mut place) = (*depth, index(path, *depth, slots));
        if matches!(slots[place], Self::Node { .. }) {
            return slots[place].split(path, halves);
        }
        let full_depth = depth + bits_of(slots);
        let mut common_bits = full_depth - slots[place].depth();
        if common_bits == 0 {
            if !is_to_double(slots) {
                return slots[place].become_node(halves);
            }
            *slots = doubled(slots, full_depth)?;
            (place, common_bits) = (2 * place, 1);
        }
        let half = 1 << (common_bits - 1);
        for (n, slot) in halves.into_iter().enumerate() {
            let range = &mut slots[place + n * half..][..half];
            range.fill_with(|| Self::See(common_bits - 1));
            range[0] = slot;
        }
        Ok(())
    }

    fn become_node(&mut self, halves: [Self; 2]) -> Result<(), AddError> {
        let depth = self.depth();
        let mut slots = try_vec(2)?;
        slots.extend(halves);
        *self = Self::Node {
            depth,
            slots: Short::of(slots),
        };
        Ok(())
    }

    /// Puts a page in the place of all that begins with the same bits as it, whether that is one
    /// page, two buddies or more. Returns by how many slots the directory has shrunk.
    pub fn merge(&mut self, path: Path, page: Page) -> usize {
        let merged_depth = page.depth();
        let (depth, slots) = match self {
            Self::Node { depth, slots } if *depth < merged_depth => (*depth, slots),
            _ => {
                let shrunk = self.count_slots() as usize;
                *self = Self::Own(page);
                return shrunk;
            }
        };
        let place = index(path, depth, slots);
        if slots[place].depth() <= merged_depth {
            return slots[place].merge(path, page);
        }
        let common_bits = depth + bits_of(slots) - merged_depth;
        let range = &mut slots[place >> common_bits << common_bits..][..1 << common_bits];
        let mut shrunk = range.iter().map(|slot| slot.count_slots() as usize).sum();
        range.fill_with(|| Self::See(common_bits));
        range[0] = Self::Own(page);
        while slots
            .iter()
            .skip(1)
            .step_by(2)
            .all(|slot| matches!(slot, Self::See(_)))
        {
            // Without memory for a smaller one the node stays as it is.
            let Ok(half) = halved(slots) else { break };
            shrunk += half.len();
            *slots = half;
        }
        shrunk
    }
}

/// Whether a page at the full depth of these slots makes them twice as many when it is split: they
/// are well filled, and not too many yet.
fn is_to_double(slots: &[Slot]) -> bool {
    let own = || slots.iter().filter(|slot| !matches!(slot, Slot::See(_)));
    bits_of(slots) < MOST_BITS && own().count() * 4 > slots.len() * 3
}

/// Twice as many slots for the same.
fn doubled(slots: &mut [Slot], full_depth: u8) -> Result<Short<Slot, u16>, AddError> {
    let mut twice = try_vec(2 * slots.len())?;
    let mut common_bits = 0;
    for slot in slots {
        let slot = std::mem::replace(slot, Slot::See(0));
        if !matches!(slot, Slot::See(_)) {
            common_bits = full_depth + 1 - slot.depth();
            twice.push(slot);
        } else {
            twice.push(Slot::See(common_bits));
        }
        twice.push(Slot::See(common_bits));
    }
    Ok(Short::of(twice))
}

/// Half as many slots for the same; every second one is only a reference.
fn halved(slots: &mut [Slot]) -> Result<Short<Slot, u16>, AddError> {
    let mut half = try_vec(slots.len() / 2)?;
    for slot in slots.iter_mut().step_by(2) {
        half.push(match std::mem::replace(slot, Slot::See(0)) {
            Slot::See(bits) => Slot::See(bits - 1),
            slot => slot,
        });
    }
    Ok(Short::of(half))
}
