//! How full a sub-filter is: its items, its set bits, and their weight (see [`super::fill_guard`]).
//!
//! What an item has changed is worked out of its sub-bitmap, which is still on its way from memory while the processor has gone on to the
//! next items, as far as it has places for instructions that wait. So an item's change is noted and no more; changes are added up eight at a
//! time, once their sub-bitmaps have long come. One at a time into 256 MiB an insert takes 155 ns so, and 205 where each is added up at once.
//!
//! ```text
//!   sums      of all changes but the latest
//!   latest    two rows of changes; when one has filled up, the other, older one is added to the sums
//!   room      so many items more can come, whatever they are, before any is one too many; when it is used up, all is added up
//! ```
//!
//! Whoever asks gets the sums with the latest changes. Without room there are none, so whether the sub-filter is full is always exact.

use super::fill_guard::FillGuard;
use super::sub_bitmap::Inserted;

/// Changes of a row: more than the inserts that a processor has under way at once, and one vector. (Of 4: 165 ns; of 16: 155.)
const ROW: usize = 8;

/// The changes that all items of a sub-filter have made.
#[derive(Clone, Copy, Debug)]
pub struct Fill {
    guard: FillGuard,
    capacity: u64,
    sums: Sums,
    /// It counts down with every change, and so says where the next one is noted: one place before the last.
    room: u64,
    latest: [[Inserted; ROW]; 2],
}

#[derive(Clone, Copy, Debug)]
struct Sums {
    items: u64,
    set_bits: u64,
    weight: u64,
}

impl Fill {
    /// Of a sub-filter without bits that is full with `capacity` items, and counts `items` of them already.
    pub fn new(guard: FillGuard, capacity: u64, items: u64) -> Self {
        let mut fill = Self {
            guard,
            capacity,
            sums: Sums {
                items,
                set_bits: 0,
                weight: 0,
            },
            room: 0,
            latest: [[Inserted::NOTHING; ROW]; 2],
        };
        fill.look_for_room();
        fill
    }

    /// What says how much is too much.
    pub fn guard(&self) -> &FillGuard {
        &self.guard
    }

    /// Items it is made for.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Items that were new.
    pub fn items(&self) -> u64 {
        let latest = self.latest.as_flattened().iter();
        self.sums.items + latest.filter(|item| item.is_new()).count() as u64
    }

    /// Number of bits that are set.
    pub fn set_bits(&self) -> u64 {
        let latest = self.latest.as_flattened().iter();
        self.sums.set_bits + latest.map(|item| u64::from(item.new_bits())).sum::<u64>()
    }

    /// The sum of the weights of all sub-bitmaps.
    pub fn weight(&self) -> u64 {
        let latest = self.latest.iter().map(|row| self.guard.gained(*row));
        latest.fold(self.sums.weight, u64::saturating_add)
    }

    /// How near the guard is to closing the sub-filter: 0 when empty, from 1 on closed.
    pub fn share_of_limit(&self) -> f64 {
        self.weight() as f64 / self.guard.limit() as f64
    }

    /// Whether the sub-filter takes no more items: the capacity is reached, or the guard has closed it.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.room == 0 && (self.sums.items >= self.capacity || self.is_closed())
    }

    /// Whether the guard has closed it.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.guard.is_closed(self.sums.weight)
    }

    /// Whether it is certain to take one more item, and that the guard stays open then.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.room > 0
    }

    /// Notes what an item has changed.
    #[inline(always)]
    pub fn note(&mut self, inserted: Inserted) {
        if self.room <= 1 {
            return self.note_the_last(inserted);
        }
        self.room -= 1;
        let place = self.room as usize % (2 * ROW);
        self.latest.as_flattened_mut()[place] = inserted;
        if place.is_multiple_of(ROW) {
            self.add_up(1 - place / ROW);
        }
    }

    /// Notes what an item has changed, and adds up all there is, to see how much room there is indeed.
    #[inline(never)]
    fn note_the_last(&mut self, inserted: Inserted) {
        self.leave_no_room();
        self.add([inserted]);
        self.look_for_room();
    }

    /// When there are no latest changes.
    fn look_for_room(&mut self) {
        let items = self.capacity.saturating_sub(self.sums.items);
        self.room = items.min(self.guard.room(self.sums.weight));
    }

    /// Notes that a sub-bitmap has more bits than before, set by items that are counted already.
    pub fn note_bits(&mut self, before: u32, after: u32) {
        self.leave_no_room();
        self.sums.set_bits += u64::from(after - before);
        let gained = self.guard.weigh(after) - self.guard.weigh(before);
        self.sums.weight = self.sums.weight.saturating_add(gained);
    }

    /// Adds the latest changes to the sums. Without room there are none.
    fn leave_no_room(&mut self) {
        if self.room > 0 {
            self.add_up(0);
            self.add_up(1);
            self.room = 0;
        }
    }

    /// Adds a row of changes to the sums.
    #[inline(always)]
    fn add_up(&mut self, row: usize) {
        let changes = std::mem::replace(&mut self.latest[row], [Inserted::NOTHING; ROW]);
        self.add(changes);
    }

    #[inline(always)]
    fn add<const N: usize>(&mut self, changes: [Inserted; N]) {
        let items: u32 = changes.iter().map(|item| u32::from(item.is_new())).sum();
        let set_bits: u32 = changes.iter().map(|item| item.new_bits()).sum();
        self.sums.items += u64::from(items);
        self.sums.set_bits += u64::from(set_bits);
        self.sums.weight = self.sums.weight.saturating_add(self.guard.gained(changes));
    }
}

#[cfg(test)]
mod tests {
    use super::super::fill_guard::UNIT;
    use super::super::sizing::Shape;
    use super::*;
    use proptest::prelude::*;

    const SHAPE: Shape = Shape {
        sub_bitmap_bits: 512,
        num_hashes: 6,
        num_sub_bitmaps: 100,
    };

    fn empty(capacity: u64, limit: u64) -> Fill {
        Fill::new(FillGuard::new(SHAPE, 0.01, limit), capacity, 0)
    }

    /// What a fill says, each change added up when it comes.
    #[derive(Debug, PartialEq)]
    struct Twin {
        items: u64,
        set_bits: u64,
        weight: u64,
        is_closed: bool,
        is_full: bool,
    }

    impl Twin {
        fn of(changes: &[Inserted], capacity: u64, limit: u64) -> Self {
            let guard = FillGuard::new(SHAPE, 0.01, limit);
            let (mut items, mut set_bits, mut weight) = (0, 0, 0);
            for change in changes {
                let before = change.set_bits() - change.new_bits();
                items += u64::from(change.new_bits() > 0);
                set_bits += u64::from(change.new_bits());
                weight += guard.weigh(change.set_bits()) - guard.weigh(before);
            }
            Self {
                items,
                set_bits,
                weight,
                is_closed: weight >= limit,
                is_full: weight >= limit || items >= capacity,
            }
        }

        fn like(fill: &Fill) -> Self {
            Self {
                items: fill.items(),
                set_bits: fill.set_bits(),
                weight: fill.weight(),
                is_closed: fill.is_closed(),
                is_full: fill.is_full(),
            }
        }
    }

    /// New items, now and then one that is there (with the set bits, or without), at some sub-bitmap of any fill.
    fn changes() -> impl Strategy<Value = Vec<Inserted>> {
        let change = (0u32..=6, 6u32..=512, any::<bool>()).prop_map(|(new, set, says)| {
            let set = if new == 0 && !says { 0 } else { set };
            Inserted::new(new, set)
        });
        prop::collection::vec(change, 0..200)
    }

    proptest! {
        #[test]
        fn what_is_added_up_late_is_what_is_added_up_at_once(
            changes in changes(),
            capacity in prop_oneof![1u64..50, 1u64..1_000],
            units in prop_oneof![1u64..50, 1u64..10_000],
            merged_before in 0usize..200,
        ) {
            let limit = units * UNIT;
            let mut fill = empty(capacity, limit);
            for (noted, change) in changes.iter().enumerate() {
                prop_assert_eq!(Twin::like(&fill), Twin::of(&changes[..noted], capacity, limit));
                if noted == merged_before {
                    fill.note_bits(7, 7); // no bits, but all is added up
                }
                fill.note(*change);
            }
            prop_assert_eq!(Twin::like(&fill), Twin::of(&changes, capacity, limit));
        }

        #[test]
        fn whatever_there_is_room_for_leaves_it_open(changes in changes(), units in 1u64..1_000) {
            let mut fill = empty(100, units * UNIT);
            for change in changes {
                let mut heaviest = fill;
                for _ in 1..fill.room {
                    heaviest.note(Inserted::new(6, 512));
                }
                prop_assert!(fill.room == 0 || !heaviest.is_full());
                fill.note(change);
            }
        }
    }

    #[test]
    fn without_room_that_is_sure_it_need_not_be_full() {
        let mut fill = Fill::new(FillGuard::new(SHAPE, 0.01, 100 * UNIT), 10, 5);
        assert_eq!(fill.room, 5);
        fill.note_bits(0, 100);
        assert!(!fill.has_room() && !fill.is_full());
        fill.note(Inserted::new(6, 6));
        assert_eq!(fill.room, 4);
    }

    #[test]
    fn the_heaviest_sub_bitmaps_do_not_overflow_the_weight() {
        let guard = FillGuard::new(SHAPE, 0.0, u64::MAX);
        let mut fill = Fill::new(guard, 100, 0);
        for _ in 0..100 {
            fill.note_bits(0, 512);
        }
        assert_eq!(fill.weight(), u64::MAX);
        assert!(fill.is_closed());
    }

    #[test]
    fn bits_of_items_counted_already_weigh_and_count_no_items() {
        let mut fill = empty(1_000, 100 * UNIT);
        for _ in 0..20 {
            fill.note(Inserted::new(6, 12));
        }
        let before = Twin::like(&fill);
        fill.note_bits(12, 256);
        assert_eq!(fill.items(), before.items);
        assert_eq!(fill.set_bits(), before.set_bits + 244);
        let gained = fill.guard().weigh(256) - fill.guard().weigh(12);
        assert_eq!(fill.weight(), before.weight + gained);
    }
}
