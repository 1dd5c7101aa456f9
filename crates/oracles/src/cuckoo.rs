//! RedisBloom's cuckoo filters.

use super::murmur::{long_murmur, short_murmur};
use super::must;
use super::stream::Stream;
use splitbloom_foundation::fields::Fields;

/// The numbers of a filter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slots {
    pub buckets: u64,
    pub bucket_size: u64,
    pub expansion: u64,
    pub layers: u64,
    /// Whether its hashes have 32 bits, as before RedisBloom 2.2.
    pub is_narrow: bool,
}

/// Why `sizes` returns some: the caller has checked it.
const GOOD: &str = "`is_good` holds";

/// The layout kinds.
const WIDE: u8 = 3;
const NARROW: u8 = 4;

impl Slots {
    /// The numbers in a sub-filter record, if its layout is one of slots.
    pub fn of_record(record: &[u8]) -> Option<Self> {
        let (layout, rest) = record.split_first()?;
        must([WIDE, NARROW].contains(layout))?;
        let [buckets, bucket_size, expansion, layers] = Stream(rest).numbers([8, 2, 2, 2]);
        Some(Self { buckets, bucket_size, expansion, layers, is_narrow: *layout == NARROW })
    }

    /// Whether RedisBloom can have such a filter, and a server so much memory.
    pub fn is_good(self) -> bool {
        self.buckets.is_power_of_two()
            && (1..256).contains(&self.bucket_size)
            && u128::from(self.buckets) * u128::from(self.bucket_size) <= 1 << 40
            && (self.expansion == 0 || self.expansion.is_power_of_two())
            && self.expansion <= 32_768
            && (1..65_536).contains(&self.layers)
            && (self.layers == 1 || self.expansion > 0)
            && self.sizes().is_some()
    }

    /// The numbers of buckets of the layers, oldest first; `None` if they have too many slots.
    pub fn sizes(self) -> Option<Vec<u64>> {
        let (mut sizes, mut buckets, mut slots) = (Vec::new(), u128::from(self.buckets), 0);
        for _ in 0..self.layers {
            slots += buckets * u128::from(self.bucket_size);
            must(slots <= 1 << 44)?;
            sizes.push(buckets as u64);
            buckets *= u128::from(self.expansion);
        }
        Some(sizes)
    }

    /// Slots of all layers.
    pub fn number(self) -> u64 {
        let sizes = self.sizes().expect(GOOD);
        sizes.iter().sum::<u64>() * self.bucket_size
    }

    /// Whether a lookup takes no longer than a fuzzer should spend on it.
    pub fn is_quick(self) -> bool {
        self.layers * self.bucket_size < 10_000
    }

    /// The slots in which an item can be, newest layer first, and its fingerprint.
    pub fn places(self, item: &[u8]) -> (Vec<u64>, u8) {
        let (fingerprint, hashes) = self.hashes(item);
        let (mut end, mut places) = (self.number(), Vec::new());
        for buckets in self.sizes().expect(GOOD).into_iter().rev() {
            let start = end - buckets * self.bucket_size;
            let [one, other] = hashes.map(|hash| hash % buckets);
            for bucket in [one, other] {
                let slot = bucket * self.bucket_size;
                let first = start + if self.is_narrow { slot } else { slot % (1 << 32) };
                places.extend(first..first + self.bucket_size);
            }
            if self.is_narrow && one == other {
                places.truncate(places.len() - self.bucket_size as usize);
            }
            end = start;
        }
        (places, fingerprint)
    }

    /// An item's fingerprint, and what its buckets are computed from.
    fn hashes(self, item: &[u8]) -> (u8, [u64; 2]) {
        if self.is_narrow {
            let hash = short_murmur(item, 0);
            let fingerprint = if hash < 1 << 24 { 7 } else { hash >> 24 };
            let other = hash ^ (fingerprint * 0x5bd1_e995 % (1 << 32));
            return (fingerprint as u8, [hash, other]);
        }
        let hash = long_murmur(item, 0);
        let fingerprint = hash % 255 + 1;
        (fingerprint as u8, [hash, hash ^ (fingerprint * 0x5bd1_e995)])
    }
}

/// A filter.
#[derive(Clone, Debug)]
pub struct Filter {
    pub slots: Slots,
    /// All slots, oldest layer first.
    pub bytes: Vec<u8>,
    pub deletes: u64,
}

impl Filter {
    /// From the fields of an encoding version.
    pub fn of_fields(version: u32, from: &mut impl Fields) -> Option<Self> {
        must((1..=4).contains(&version))?;
        let (layers, buckets, _items) = (from.unsigned()?, from.unsigned()?, from.unsigned()?);
        let [deletes, bucket_size, iterations, expansion] = match version {
            4 => [from.unsigned()?, from.unsigned()?, from.unsigned()?, from.unsigned()?],
            _ => [0, 2, 20, 1],
        };
        must(bucket_size < 65_536 && iterations < 65_536)?;
        // A bucket has as many slots as the low byte says.
        let bucket_size = bucket_size % 256;
        let slots = Slots { buckets, bucket_size, expansion, layers, is_narrow: version < 4 };
        must(slots.is_good())?;
        let mut bytes = Vec::new();
        for buckets in slots.sizes()? {
            must(version != 4 || from.unsigned()? == buckets)?;
            let of_layer = from.string()?;
            must(of_layer.as_ref().len() as u64 == buckets * bucket_size)?;
            bytes.extend(of_layer.as_ref());
        }
        Some(Self { slots, bytes, deletes })
    }

    /// Takes a piece, if there is a place for it. Returns whether there was.
    pub fn take_piece(&mut self, iterator: u64, piece: &[u8]) -> bool {
        let end = usize::try_from(iterator).ok().and_then(|end| end.checked_sub(1));
        let place = end.and_then(|end| Some(end.checked_sub(piece.len())?..end));
        let place = place.and_then(|place| self.bytes.get_mut(place));
        place.map(|place| place.copy_from_slice(piece)).is_some()
    }

    /// The slots that have a copy of an item.
    fn found(&self, item: &[u8]) -> Vec<usize> {
        let (places, fingerprint) = self.slots.places(item);
        let places = places.into_iter().map(|slot| slot as usize);
        places.filter(|slot| self.bytes[*slot] == fingerprint).collect()
    }

    pub fn count(&self, item: &[u8]) -> u64 {
        self.found(item).len() as u64
    }

    pub fn remove(&mut self, item: &[u8]) -> bool {
        let found = self.found(item).first().copied();
        found.map(|slot| self.bytes[slot] = 0).is_some()
    }

    pub fn items(&self) -> u64 {
        self.bytes.iter().filter(|slot| **slot != 0).count() as u64
    }
}
