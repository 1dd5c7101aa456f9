//! Popcount: the set bits of a whole sub-bitmap, counted for every new item.
//!
//! The first x86-64 CPUs lack the instruction, so a build for all of them counts by additions, some
//! 5 ns a line. The instruction is detected at run time. One loop is compiled three times, so
//! machines without the instructions still test its whole source.

/// The number of set bits in `words`.
#[inline]
pub fn count(words: &[u64]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vpopcntdq") {
            // SAFETY: the CPU has these features.
            return unsafe { count_with_avx512(words) };
        }
        if is_x86_feature_detected!("popcnt") {
            // SAFETY: the CPU has this feature.
            return unsafe { count_with_popcnt(words) };
        }
    }
    count_with_any(words)
}

#[inline(always)]
fn count_with_any(words: &[u64]) -> u32 {
    words.iter().map(|word| word.count_ones()).sum()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt")]
fn count_with_popcnt(words: &[u64]) -> u32 {
    count_with_any(words)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
fn count_with_avx512(words: &[u64]) -> u32 {
    count_with_any(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_way_of_counting_counts_the_same(
            words in prop::collection::vec(any::<u64>(), 0..100),
        ) {
            let expected = crate::storage::bits(&words).count_ones() as u32;
            prop_assert_eq!(count_with_any(&words), expected);
            prop_assert_eq!(count(&words), expected);
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("popcnt") {
                // SAFETY: the CPU has this feature.
                prop_assert_eq!(unsafe { count_with_popcnt(&words) }, expected);
            }
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vpopcntdq") {
                // SAFETY: the CPU has these features.
                prop_assert_eq!(unsafe { count_with_avx512(&words) }, expected);
            }
        }
    }
}
