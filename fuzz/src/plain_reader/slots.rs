//! A cuckoo filter of RedisBloom's, as plainly as possible.

/// Its numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slots {
    pub buckets: u64,
    pub bucket_size: u64,
    pub expansion: u64,
    pub layers: u64,
    /// Whether its hashes have 32 bits, as before RedisBloom 2.2.
    pub is_narrow: bool,
}

/// The layout kinds.
const WIDE: u8 = 3;
const NARROW: u8 = 4;

impl Slots {
    /// The numbers in a sub-filter record, if its layout is one of slots.
    pub fn of_record(record: &[u8]) -> Option<Self> {
        let (layout, mut rest) = record.split_first()?;
        if ![WIDE, NARROW].contains(layout) {
            return None;
        }
        let [buckets, bucket_size, expansion, layers] =
            [8, 2, 2, 2].map(|width| super::number(&mut rest, width).unwrap());
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

    /// The numbers of buckets of the layers, oldest first; nothing if there are too many.
    pub fn sizes(self) -> Option<Vec<u64>> {
        let (mut sizes, mut buckets, mut slots) = (Vec::new(), u128::from(self.buckets), 0);
        for _ in 0..self.layers {
            slots += buckets * u128::from(self.bucket_size);
            if slots > 1 << 44 {
                return None;
            }
            sizes.push(buckets as u64);
            buckets *= u128::from(self.expansion);
        }
        Some(sizes)
    }

    /// Slots of all layers.
    pub fn number(self) -> u64 {
        let sizes = self.sizes().expect("a good one");
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
        for buckets in self.sizes().expect("a good one").into_iter().rev() {
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
            let hash = short_murmur(item);
            let fingerprint = if hash < 1 << 24 { 7 } else { hash >> 24 };
            let other = hash ^ fingerprint.wrapping_mul(0x5bd1_e995);
            return (fingerprint as u8, [hash, other].map(u64::from));
        }
        let hash = murmur(item);
        let fingerprint = hash % 255 + 1;
        (fingerprint as u8, [hash, hash ^ (fingerprint * 0x5bd1_e995)])
    }
}

/// MurmurHash64A of the bytes, under the seed 0.
fn murmur(bytes: &[u8]) -> u64 {
    const M: u64 = 0xc6a4_a793_5bd1_e995;
    let mut hash = M.wrapping_mul(bytes.len() as u64);
    for part in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..part.len()].copy_from_slice(part);
        let mut k = u64::from_le_bytes(word);
        if part.len() == 8 {
            k = k.wrapping_mul(M);
            k ^= k >> 47;
            k = k.wrapping_mul(M);
        }
        hash = (hash ^ k).wrapping_mul(M);
    }
    hash ^= hash >> 47;
    hash = hash.wrapping_mul(M);
    hash ^ hash >> 47
}

/// MurmurHash2 of the bytes, of 32 bits, under the seed 0.
fn short_murmur(bytes: &[u8]) -> u32 {
    const M: u32 = 0x5bd1_e995;
    let mut hash = bytes.len() as u32;
    for part in bytes.chunks(4) {
        let mut word = [0; 4];
        word[..part.len()].copy_from_slice(part);
        let k = u32::from_le_bytes(word);
        if part.len() < 4 {
            hash = (hash ^ k).wrapping_mul(M);
            continue;
        }
        let k = k.wrapping_mul(M);
        let k = (k ^ k >> 24).wrapping_mul(M);
        hash = hash.wrapping_mul(M) ^ k;
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(M);
    hash ^ hash >> 15
}
