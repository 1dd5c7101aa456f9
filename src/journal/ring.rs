//! The newest hashes of a filter, numbered from 0 in the order in which they came. The oldest go
//! when there is no more room, in whole pieces, and the others keep their numbers. The last of them
//! may be in the table of the filter, and those before in its sub-filter.
//!
//! ```text
//!   first             next
//!   │                 │
//!   [ piece ][ piece ][ pie…     one piece more when the last is full
//! ```

use splitbloom_filter::hash::ItemHash;
use splitbloom_server::allocator::try_vec;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Hashes of a piece: 4 KiB, a size class of every allocator, so that the journal of a filter that
/// hardly changes takes no more.
pub const PIECE: usize = 256;
const PIECE_BYTES: u64 = (PIECE * size_of::<ItemHash>()) as u64;

/// Bytes of the pieces of all rings.
static BYTES: AtomicU64 = AtomicU64::new(0);

/// The limits on rings.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Hashes of one ring; at least one piece.
    pub hashes: u64,
    /// Bytes of all rings.
    pub bytes: u64,
}

/// At most `PIECE` hashes, with room for that many.
struct Piece(Vec<ItemHash>);

impl Piece {
    fn try_new() -> Option<Self> {
        let hashes = try_vec(PIECE)?;
        BYTES.fetch_add(PIECE_BYTES, Relaxed);
        Some(Self(hashes))
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        BYTES.fetch_sub(PIECE_BYTES, Relaxed);
    }
}

/// Bytes of all rings.
pub fn bytes_of_all() -> u64 {
    BYTES.load(Relaxed)
}

/// Whether a ring of one piece more stays within `limits`.
pub fn has_room(limits: Limits) -> bool {
    bytes_of_all() + PIECE_BYTES <= limits.bytes
}

/// The newest hashes of a filter.
pub struct Ring {
    /// All but the last are full.
    pieces: VecDeque<Piece>,
    next: u64,
    /// How many of the last hashes are in the table.
    in_table: u64,
}

impl Ring {
    /// An empty ring, of one piece; `None` if there is no memory for it.
    pub fn try_new() -> Option<Self> {
        let mut pieces = VecDeque::new();
        pieces.try_reserve(1).ok()?;
        pieces.push_back(Piece::try_new()?);
        Some(Self { pieces, next: 0, in_table: 0 })
    }

    /// The number of the next hash, which is the number of hashes so far.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// How many of the last hashes before `number` are in the table; 0 if `number` is beyond the
    /// next.
    pub fn in_table(&self, number: u64) -> u64 {
        match number <= self.next {
            true => number.saturating_sub(self.next - self.in_table),
            false => 0,
        }
    }

    /// Notes where the items of the last `new` hashes are, which came since the last call: the
    /// first `in_sub_filter` in the sub-filter, the others in the table.
    pub fn divide(&mut self, new: u64, in_sub_filter: u64) {
        if in_sub_filter > 0 && self.in_table > 0 {
            self.begin_anew(); // no filter does that, and no position could express it
        }
        self.in_table += new.saturating_sub(in_sub_filter);
    }

    /// Drops all hashes so far: followers that have not received them must fetch the filter.
    pub fn begin_anew(&mut self) {
        self.pieces.clear();
        self.next += 1; // so that no earlier position equals the present one
        self.in_table = 0;
    }

    /// The number of the oldest hash.
    pub fn first(&self) -> u64 {
        let last = self.pieces.back().map_or(0, |piece| piece.0.len());
        let full = self.pieces.len().saturating_sub(1);
        self.next - (full * PIECE + last) as u64
    }

    /// Bytes of its pieces.
    pub fn bytes(&self) -> u64 {
        self.pieces.len() as u64 * PIECE_BYTES
    }

    /// Appends a hash, or begins anew if there is no memory for it. Cost: some 2 ns, and an
    /// allocation for each piece until `limits` are reached.
    pub fn push(&mut self, hash: ItemHash, limits: Limits) {
        if self.pieces.back().is_none_or(|piece| piece.0.len() == PIECE) {
            let Some(piece) = self.new_piece(limits) else {
                return self.begin_anew();
            };
            self.pieces.push_back(piece); // into reserved room
        }
        if let Some(piece) = self.pieces.back_mut() {
            piece.0.push(hash); // likewise
            self.next += 1;
        }
    }

    /// An empty piece, with room for it in `pieces`: a new one or, at the limits, the oldest one.
    /// If the limits have been lowered, drops more of the oldest.
    fn new_piece(&mut self, limits: Limits) -> Option<Piece> {
        let most = limits.hashes / PIECE as u64;
        let mut oldest: Option<Piece> = None;
        let is_within = |held: usize, oldest: &Option<Piece>| match oldest {
            None => (held as u64) < most && has_room(limits),
            Some(_) => (held as u64) < most && bytes_of_all() <= limits.bytes,
        };
        while !self.pieces.is_empty() && !is_within(self.pieces.len(), &oldest) {
            oldest = self.pieces.pop_front();
        }
        let Some(mut piece) = oldest else {
            self.pieces.try_reserve(1).ok()?;
            return Piece::try_new();
        };
        piece.0.clear();
        Some(piece)
    }

    /// The hashes from `number` on; `None` if hash `number` is gone, or beyond the next.
    pub fn since(&self, number: u64) -> Option<impl Iterator<Item = &ItemHash>> {
        let gone = number.checked_sub(self.first())?;
        if number > self.next {
            return None;
        }
        let gone = gone as usize; // at most what is in memory
        let pieces = self.pieces.range(gone / PIECE..);
        Some(pieces.flat_map(|piece| &piece.0).skip(gone % PIECE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NO_LIMIT: Limits = Limits { hashes: u64::MAX, bytes: u64::MAX };

    fn hash(number: u64) -> ItemHash {
        ItemHash { place: number, probes: !number }
    }

    fn read(ring: &Ring, number: u64) -> Option<Vec<ItemHash>> {
        ring.since(number).map(|hashes| hashes.copied().collect())
    }

    proptest! {
        #[test]
        fn a_ring_is_the_end_of_the_list_of_all_hashes(
            steps in prop::collection::vec((0..700u64, 1..9u64, any::<bool>()), 1..12),
            look in any::<prop::sample::Index>(),
        ) {
            let (mut ring, mut all) = (Ring::try_new().unwrap(), Vec::new());
            for (pushes, pieces, has_bytes) in steps {
                let limits = Limits {
                    hashes: pieces * PIECE as u64,
                    bytes: if has_bytes { u64::MAX } else { 0 },
                };
                for _ in 0..pushes {
                    let before = all.len() as u64 - ring.first();
                    let was_full = before.is_multiple_of(PIECE as u64);
                    let next = hash(all.len() as u64);
                    ring.push(next, limits);
                    all.push(next);
                    let (now, most) = (all.len() as u64 - ring.first(), limits.hashes);
                    if !was_full || before == 0 {
                        prop_assert_eq!(now, before + 1, "nothing goes before a piece is full");
                    } else if !has_bytes {
                        prop_assert_eq!(now, 1, "one piece is left");
                    } else {
                        let kept = before.min(most - PIECE as u64);
                        prop_assert_eq!(now, kept + 1, "no more goes than must");
                    }
                }
                prop_assert_eq!(ring.next(), all.len() as u64);
                prop_assert!(ring.bytes() as usize >= (all.len() - ring.first() as usize) * 16);
                let first = ring.first() as usize;
                for number in [first, first + look.index(all.len() - first + 1), all.len()] {
                    prop_assert_eq!(read(&ring, number as u64), Some(all[number..].to_vec()));
                }
                prop_assert_eq!(read(&ring, all.len() as u64 + 1), None);
                prop_assert_eq!(read(&ring, u64::MAX), None);
                prop_assert_eq!(first.checked_sub(1).and_then(|n| read(&ring, n as u64)), None);
            }
        }
    }

    #[test]
    fn a_position_says_how_many_of_the_hashes_before_it_are_in_the_table() {
        let mut ring = Ring::try_new().unwrap();
        let mut add = |new: u64, in_sub_filter| {
            (0..new).for_each(|n| ring.push(hash(n), NO_LIMIT));
            ring.divide(new, in_sub_filter);
            let positions = [0, 4, 5, 7, ring.next()];
            (ring.next(), positions.map(|number| ring.in_table(number)), read(&ring, 5))
        };
        assert_eq!(add(4, 4), (4, [0; 5], None));
        assert_eq!(add(3, 1), (7, [0, 0, 0, 2, 2], Some(vec![hash(1), hash(2)])));
        assert_eq!(add(2, 0).1, [0, 0, 0, 2, 4]);
        // A hash in the sub-filter cannot follow one in the table.
        assert_eq!(add(2, 1), (12, [0, 0, 0, 0, 1], None));
        assert_eq!(add(1, 0).1, [0, 0, 0, 0, 2]);
    }

    #[test]
    fn a_ring_that_begins_anew_knows_no_position_from_before() {
        let mut ring = Ring::try_new().unwrap();
        (0..10).for_each(|n| ring.push(hash(n), NO_LIMIT));
        ring.begin_anew();
        assert_eq!((ring.bytes(), ring.next()), (0, 11));
        assert!((0..=10).all(|number| read(&ring, number).is_none()));
        assert_eq!(read(&ring, 11), Some(vec![]));
        ring.push(hash(1), NO_LIMIT);
        assert_eq!(read(&ring, 11), Some(vec![hash(1)]));
    }

    #[test]
    fn a_ring_without_limits_keeps_everything() {
        let mut ring = Ring::try_new().unwrap();
        (0..10_000).for_each(|n| ring.push(hash(n), NO_LIMIT));
        assert_eq!(read(&ring, 0).unwrap().len(), 10_000);
        assert_eq!(ring.bytes(), 40 * PIECE_BYTES);
    }
}
