//! The number of bytes that an allocator holds for a block.

/// The size class of a block: allocators round sizes up, jemalloc to multiples of 16 and, from 128
/// bytes on, to one of four classes per doubling (its `size_classes.h`).
pub(crate) fn size_class(bytes: u64) -> u64 {
    let spacing = match bytes {
        0..=128 => 16,
        _ => (bytes - 1)
            .ilog2()
            .checked_sub(2)
            .map_or(1, |bits| 1 << bits),
    };
    bytes.next_multiple_of(spacing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_to_the_classes_of_jemalloc() {
        let sizes = [
            0, 1, 16, 17, 112, 128, 129, 160, 161, 256, 257, 320, 4096, 4097, 65_536,
        ];
        let classes = [
            0, 16, 16, 32, 112, 128, 160, 160, 192, 256, 320, 320, 4096, 5120, 65_536,
        ];
        assert_eq!(sizes.map(size_class), classes);
    }
}
