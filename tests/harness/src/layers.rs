//! A Bloom filter of many layers, which only other modules write.

/// What BF.SCANDUMP of RedisBloom returns for a filter of `len` layers of 64 bits, the first three
/// of which hold some: the header, and a piece for each of these, with its iterator.
pub fn layers(len: u32) -> Vec<(i64, Vec<u8>)> {
    const ITEMS: u64 = 6;
    const BITS: u64 = 64;
    const ERROR_RATE: f64 = 0.01;
    const BITS_PER_ITEM: f64 = 9.585_058_377_367_44;
    const HASHES: u32 = 7;
    // 64-bit hashes (4), sizes that are no powers of two (1).
    const OPTIONS: u32 = 5;
    const GROWTH: u32 = 1;
    let mut header = (ITEMS * u64::from(len)).to_le_bytes().to_vec();
    header.extend([len, OPTIONS, GROWTH].map(u32::to_le_bytes).as_flattened());
    for _ in 0..len {
        let sizes = [BITS / 8, BITS, ITEMS].map(u64::to_le_bytes);
        header.extend(sizes.as_flattened());
        let rates = [ERROR_RATE, BITS_PER_ITEM].map(f64::to_le_bytes);
        header.extend(rates.as_flattened());
        header.extend(HASHES.to_le_bytes());
        header.extend(ITEMS.to_le_bytes());
        header.push(0);
    }
    let piece = |layer: i64| (1 + 8 * layer, 0x8124_0042_1800_2481_u64.to_le_bytes().to_vec());
    let mut chunks = vec![(1, header)];
    chunks.extend((1..=3.min(len.into())).map(piece));
    chunks
}
