//! A Bloom filter of many layers, which only other modules write.

use splitbloom_oracles::redisbloom::Filter;

/// What RedisBloom's BF.SCANDUMP returns for a filter of `len` layers, each of 64 bits for six
/// items, of which the first three hold some: the header and three pieces, each with its iterator.
pub fn layers(len: u32) -> Vec<(i64, Vec<u8>)> {
    let mut filter = Filter::new(0.02, 6, 1);
    let mut layer = filter.layers.remove(0);
    layer.items = layer.entries;
    filter.layers = vec![layer; len as usize];
    for layer in filter.layers.iter_mut().take(3) {
        layer.put(0, &0x8124_0042_1800_2481_u64.to_le_bytes());
    }
    let pieces = filter.pieces(usize::MAX).into_iter().take(3);
    let pieces = pieces.map(|(iterator, bytes)| (iterator as i64, bytes));
    [(1, filter.header())].into_iter().chain(pieces).collect()
}
