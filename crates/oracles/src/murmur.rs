//! MurmurHash2, as RedisBloom hashes items: one word after the other, in numbers that overflow
//! nothing.

/// Where the two functions called MurmurHash2 differ.
struct Murmur {
    m: u64,
    /// Bytes of a word.
    width: usize,
    shift: u32,
    last_shifts: [u32; 2],
    /// Whether the length is multiplied, and a word after it is mixed in instead of before.
    is_long: bool,
}

const LONG: Murmur =
    Murmur { m: 0xc6a4_a793_5bd1_e995, width: 8, shift: 47, last_shifts: [47, 47], is_long: true };

const SHORT: Murmur =
    Murmur { m: 0x5bd1_e995, width: 4, shift: 24, last_shifts: [13, 15], is_long: false };

/// The seed of the first of two long hashes, by which the function multiplies.
pub const SEED: u64 = LONG.m;

/// MurmurHash2 of 32 bits.
pub fn short_murmur(item: &[u8], seed: u64) -> u64 {
    murmur(item, seed, &SHORT)
}

/// MurmurHash64A.
pub fn long_murmur(item: &[u8], seed: u64) -> u64 {
    murmur(item, seed, &LONG)
}

/// Austin Appleby's public-domain functions, both in one.
fn murmur(item: &[u8], seed: u64, with: &Murmur) -> u64 {
    let all = u64::MAX >> (64 - 8 * with.width);
    let times_m = |x: u64| (u128::from(x) * u128::from(with.m)) as u64 & all;
    let len = item.len() as u64;
    let mut hash = seed ^ if with.is_long { times_m(len) } else { len };
    for word in item.chunks(with.width) {
        let number = super::number(word);
        if word.len() < with.width {
            hash = times_m(hash ^ number);
            continue;
        }
        let mixed = times_m(number);
        let mixed = times_m(mixed ^ mixed >> with.shift);
        hash = if with.is_long { times_m(hash ^ mixed) } else { times_m(hash) ^ mixed };
    }
    let [first, second] = with.last_shifts;
    hash = times_m(hash ^ hash >> first);
    hash ^ hash >> second
}
