use super::*;
#[cfg(target_arch = "x86_64")]
use crate::table::instructions::Detected;
use crate::table::instructions::{Instructions, Portable};
use crate::table::line::{LINE_BITS, UNARY};
use proptest::prelude::*;

fn bits(line: &Bytes) -> Vec<bool> {
    let bit = |n: usize| line[n / 8] >> (n % 8) & 1 == 1;
    (0..LINE_BITS).map(bit).collect()
}

/// The line of these bits, with so much added to the first word.
fn line_of(bits: &[bool], to_head: u64) -> Bytes {
    let mut line = [0; LINE_BYTES];
    for (n, bit) in bits.iter().enumerate() {
        line[n / 8] |= u8::from(*bit) << (n % 8);
    }
    let head = &mut line.as_chunks_mut().0[0];
    *head = u64::from_le_bytes(*head).wrapping_add(to_head).to_le_bytes();
    line
}

/// A line, where it parts, and a slot.
fn cases() -> impl Strategy<Value = (Bytes, Shift, u64)> {
    let places = any::<[prop::sample::Index; 3]>();
    let bytes = prop::collection::vec(any::<u8>(), LINE_BYTES);
    let case = (bytes, 1..=57usize, places, any::<bool>(), any::<u64>());
    case.prop_map(|(bytes, bits, [slots, above, start], has_bucket, value)| {
        let mut line = [0; LINE_BYTES];
        line.copy_from_slice(&bytes);
        let slots = 1 + slots.index((LINE_BITS - UNARY - 1) / bits);
        let bottom = LINE_BITS - slots * bits;
        let shift = Shift {
            start: match has_bucket {
                true => UNARY + start.index(bottom - UNARY),
                false => bottom,
            },
            bottom,
            high: LINE_BITS - above.index(slots) * bits,
            bits,
        };
        (line, shift, value & ((1 << bits) - 1))
    })
}

proptest! {
    #[test]
    fn a_slot_comes_as_if_bits_were_moved_one_by_one((mut line, shift, value) in cases()) {
        let Shift { start, bottom, high, .. } = shift;
        let (low, top) = (shift.low(), shift.top());
        if start < bottom {
            line[(bottom - 1) / 8] &= !(1 << ((bottom - 1) % 8));
        }
        let mut expected = bits(&line);
        expected.copy_within(low..high, bottom);
        for (n, bit) in expected[top..high].iter_mut().enumerate() {
            *bit = value >> n & 1 == 1;
        }
        if start < bottom {
            expected.copy_within(start..bottom - 1, start + 1);
            expected[start] = false;
        }
        let expected = line_of(&expected, 0x101);
        let mut after = line;
        Portable.insert(&mut after, shift, value, 0x101);
        prop_assert_eq!(after, expected);
        #[cfg(target_arch = "x86_64")]
        if let Some(bmi2) = Detected::get().bmi2() {
            let mut after = line;
            bmi2.insert(&mut after, shift, value, 0x101);
            prop_assert_eq!(after, expected);
        }
    }

    #[test]
    fn a_slot_goes_as_if_bits_were_moved_one_by_one((line, shift, _) in cases()) {
        let Shift { start, bottom, high, .. } = shift;
        let (low, top) = (shift.low(), shift.top());
        let mut expected = bits(&line);
        expected.copy_within(bottom..top, low);
        expected[bottom..low.min(high)].fill(false);
        if start < bottom {
            expected.copy_within(start + 1..bottom, start);
            expected[bottom - 1] = false;
        }
        let to_head = 0u64.wrapping_sub(0x101);
        let expected = line_of(&expected, to_head);
        let mut after = line;
        Portable.remove(&mut after, shift, to_head);
        prop_assert_eq!(after, expected);
        #[cfg(target_arch = "x86_64")]
        if let Some(bmi2) = Detected::get().bmi2() {
            let mut after = line;
            bmi2.remove(&mut after, shift, to_head);
            prop_assert_eq!(after, expected);
        }
    }
}
