//! The lanes as eight words: the AVX-512 operations in plain Rust, lane by lane.

use super::Lanes;
use std::array::from_fn;

/// Runs on any machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model;

impl Lanes for Model {
    type Register = [u64; 8];

    fn load(self, words: &[u64; 8]) -> [u64; 8] {
        *words
    }

    fn store(self, a: [u64; 8], words: &mut [u64; 8]) {
        *words = a;
    }

    fn splat(self, word: u64) -> [u64; 8] {
        [word; 8]
    }

    fn and(self, a: [u64; 8], b: [u64; 8]) -> [u64; 8] {
        from_fn(|i| a[i] & b[i])
    }

    fn xor(self, a: [u64; 8], b: [u64; 8]) -> [u64; 8] {
        from_fn(|i| a[i] ^ b[i])
    }

    fn or_of_three(self, a: [u64; 8], b: [u64; 8], c: [u64; 8]) -> [u64; 8] {
        from_fn(|i| a[i] | b[i] | c[i])
    }

    fn add(self, a: [u64; 8], b: [u64; 8]) -> [u64; 8] {
        from_fn(|i| a[i].wrapping_add(b[i]))
    }

    fn multiply(self, a: [u64; 8], b: [u64; 8]) -> [u64; 8] {
        from_fn(|i| a[i].wrapping_mul(b[i]))
    }

    fn count_ones(self, a: [u64; 8]) -> [u64; 8] {
        a.map(|word| u64::from(word.count_ones()))
    }

    fn sum(self, a: [u64; 8]) -> u64 {
        a.into_iter().fold(0, u64::wrapping_add)
    }

    fn shift_left<const BITS: u32>(self, a: [u64; 8]) -> [u64; 8] {
        a.map(|word| word << BITS)
    }

    fn shift_right<const BITS: u32>(self, a: [u64; 8]) -> [u64; 8] {
        a.map(|word| word >> BITS)
    }

    fn shift_right_some<const BITS: u32>(
        self,
        mask: u8,
        a: [u64; 8],
        otherwise: [u64; 8],
    ) -> [u64; 8] {
        from_fn(|i| match mask >> i & 1 {
            1 => a[i] >> BITS,
            _ => otherwise[i],
        })
    }

    fn shift_left_each(self, a: [u64; 8], distances: [u64; 8]) -> [u64; 8] {
        from_fn(|i| match distances[i] {
            distance @ 0..=63 => a[i] << distance,
            _ => 0,
        })
    }

    fn permute(self, a: [u64; 8], places: [u64; 8]) -> [u64; 8] {
        from_fn(|i| a[places[i] as usize % 8])
    }

    fn have_common_bits(self, a: [u64; 8], b: [u64; 8]) -> u8 {
        (0..8).fold(0, |mask, i| mask | u8::from(a[i] & b[i] != 0) << i)
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::super::avx512::Avx512;
    use super::*;
    use proptest::prelude::*;

    /// Words of all kinds: any, sparse, and the distances and places that a kernel uses.
    fn words() -> impl Strategy<Value = [u64; 8]> {
        let word = prop_oneof![
            any::<u64>(),
            (any::<u64>(), any::<u64>(), any::<u64>()).prop_map(|(a, b, c)| a & b & c),
            0..130u64,
            (0..130u64).prop_map(u64::wrapping_neg),
        ];
        prop::array::uniform8(word)
    }

    /// The result of every operation on the same words.
    fn everything<L: Lanes>(
        lanes: L,
        [a, b, c]: &[[u64; 8]; 3],
        mask: u8,
    ) -> (Vec<[u64; 8]>, u64, u8) {
        let [x, y, z] = [lanes.load(a), lanes.load(b), lanes.load(c)];
        let registers = [
            lanes.splat(a[0]),
            lanes.and(x, y),
            lanes.xor(x, y),
            lanes.or_of_three(x, y, z),
            lanes.add(x, y),
            lanes.multiply(x, y),
            lanes.count_ones(x),
            lanes.shift_left::<24>(x),
            lanes.shift_right::<55>(x),
            lanes.shift_right::<61>(x),
            lanes.shift_right_some::<55>(mask, x, y),
            lanes.shift_left_each(x, y),
            lanes.permute(x, y),
        ];
        let stored = registers.map(|register| {
            let mut words = [0; 8];
            lanes.store(register, &mut words);
            words
        });
        (stored.to_vec(), lanes.sum(x), lanes.have_common_bits(x, y))
    }

    #[test]
    fn the_model_does_what_the_processor_does() {
        let Some(processor) = Avx512::detect() else {
            eprintln!("skipped: this processor lacks AVX-512");
            return;
        };
        proptest!(|(operands in prop::array::uniform3(words()), mask in any::<u8>())| {
            prop_assert_eq!(
                everything(processor, &operands, mask),
                everything(Model, &operands, mask)
            );
        });
    }
}
