//! MurmurHash2, as RedisBloom hashes items: Austin Appleby's public-domain functions of 2008.
//!
//! Not keyed by a secret: anyone can compute them.

/// MurmurHash64A: "MurmurHash2, 64-bit versions" for 64-bit machines. About a nanosecond for eight
/// bytes.
#[inline]
pub fn murmur64a(bytes: &[u8], seed: u64) -> u64 {
    const M: u64 = 0xc6a4_a793_5bd1_e995;
    const R: u32 = 47;
    // RedisBloom passes the length as an `int`: beyond 2^31 bytes it is extended by its sign.
    let len = bytes.len() as i32 as u64;
    let mut hash = seed ^ len.wrapping_mul(M);
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        let mut k = u64::from_le_bytes(*word).wrapping_mul(M);
        k ^= k >> R;
        hash = (hash ^ k.wrapping_mul(M)).wrapping_mul(M);
    }
    if !rest.is_empty() {
        hash = (hash ^ little_endian(rest)).wrapping_mul(M);
    }
    hash ^= hash >> R;
    hash = hash.wrapping_mul(M);
    hash ^ hash >> R
}

/// MurmurHash2 of 32 bits.
#[inline]
pub fn murmur32(bytes: &[u8], seed: u32) -> u32 {
    let [hash] = side_by_side(bytes, [seed]);
    hash
}

/// MurmurHash2 of 32 bits under `N` seeds: the `n`th is `seed_of(n)`. On x86-64 processors that
/// have AVX2, eight take half as long as without. (The seeds are computed next to the hashes: a
/// register of 32 bytes cannot be loaded from two that have just been stored.)
#[inline]
pub fn murmur32_of_each<const N: usize>(bytes: &[u8], seed_of: impl Fn(u32) -> u32) -> [u32; N] {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the CPU has AVX2.
        return unsafe { with_avx2(bytes, seed_of) };
    }
    side_by_side(bytes, std::array::from_fn(|n| seed_of(n as u32)))
}

/// The same, for CPUs that have AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2<const N: usize>(bytes: &[u8], seed_of: impl Fn(u32) -> u32) -> [u32; N] {
    side_by_side(bytes, std::array::from_fn(|n| seed_of(n as u32)))
}

/// MurmurHash2 of 32 bits under each of `seeds`. Each word of the bytes is read and mixed once, and
/// the hashes, which do not depend on each other, are computed side by side: seven hashes of ten
/// bytes take as long as two computed one after the other.
#[inline(always)]
fn side_by_side<const N: usize>(bytes: &[u8], seeds: [u32; N]) -> [u32; N] {
    const M: u32 = 0x5bd1_e995;
    const R: u32 = 24;
    let mut hashes = seeds.map(|seed| seed ^ bytes.len() as u32);
    let (words, rest) = bytes.as_chunks::<4>();
    for word in words {
        let mut k = u32::from_le_bytes(*word).wrapping_mul(M);
        k ^= k >> R;
        let k = k.wrapping_mul(M);
        hashes = hashes.map(|hash| hash.wrapping_mul(M) ^ k);
    }
    if !rest.is_empty() {
        let rest = little_endian(rest) as u32;
        hashes = hashes.map(|hash| (hash ^ rest).wrapping_mul(M));
    }
    hashes.map(|hash| {
        let hash = (hash ^ hash >> 13).wrapping_mul(M);
        hash ^ hash >> 15
    })
}

/// Up to seven bytes as a number.
#[inline]
fn little_endian(bytes: &[u8]) -> u64 {
    let bytes = bytes.iter().rev();
    bytes.fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SMHasher's verification value: the low 32 bits of the hash of the hashes of the first 0 to
    /// 255 bytes of `0, 1, 2, …`, each with the seed `256 - len`.
    fn verification<const N: usize>(hash: impl Fn(&[u8], u32) -> [u8; N]) -> u32 {
        let key: Vec<u8> = (0..=255).collect();
        let hashes: Vec<u8> =
            (0..256).flat_map(|len| hash(&key[..len], 256 - len as u32)).collect();
        u32::from_le_bytes(*hash(&hashes, 0).first_chunk().unwrap())
    }

    #[test]
    fn the_hashes_are_those_that_smhasher_verifies() {
        // Its main.cpp: "MurmurHash64A" and "Murmur2".
        let long = |bytes: &[u8], seed: u32| murmur64a(bytes, seed.into()).to_le_bytes();
        assert_eq!(verification(long), 0x1F0D_3804);
        let short = |bytes: &[u8], seed| murmur32(bytes, seed).to_le_bytes();
        assert_eq!(verification(short), 0x2786_4C1E);
    }

    #[test]
    fn hashes_under_many_seeds_are_those_under_each() {
        let bytes: Vec<u8> = (0..40).collect();
        for len in 0..bytes.len() {
            for first in [0, 7, u32::MAX - 2] {
                let seed_of = |n| first.wrapping_add(n);
                let hashes: [u32; 5] = murmur32_of_each(&bytes[..len], seed_of);
                let each = |n| murmur32(&bytes[..len], seed_of(n));
                assert_eq!(hashes, [0, 1, 2, 3, 4].map(each));
            }
        }
    }

    #[test]
    fn the_hash_of_nothing_is_that_of_its_seed() {
        assert_eq!((murmur64a(b"", 0), murmur32(b"", 0)), (0, 0));
        assert_ne!(murmur64a(b"", 1), murmur64a(b"", 2));
    }
}
