//! The invariants of every filter, wherever it came from.

use splitbloom_filter::bloom::blocked_bloom::BlockedBloom;
use splitbloom_filter::codec::{
    chunks, encode_chunk, load_chunk, Chunk, Encoded, END, MAX_CHUNK_BYTES,
};
use splitbloom_filter::filter::{Filter, SizeLimit};
use splitbloom_filter::storage::bits;

/// All chunks of a filter.
pub fn encoded(filter: &Filter) -> Vec<Encoded> {
    let mut encoded: Vec<Encoded> = Vec::new();
    for outline in chunks(filter) {
        let iterator = encoded.last().map_or(0, |chunk| chunk.next);
        let chunk = encode_chunk(filter, iterator)
            .unwrap()
            .expect("the same chunk");
        assert_eq!(outline.next(), chunk.next);
        assert_eq!(outline.num_bytes(), chunk.bytes.len());
        assert!(chunk.bytes.len() <= MAX_CHUNK_BYTES);
        assert!(chunk.next > iterator && chunk.next <= END);
        encoded.push(chunk);
    }
    assert_eq!(encoded.last().map(|chunk| chunk.next), Some(END));
    encoded
}

/// The filter that these chunks encode.
pub fn decoded(chunks: &[Encoded]) -> Filter {
    let mut filter: Option<Filter> = None;
    for bytes in chunks.iter().map(|chunk| &chunk.bytes) {
        let chunk = Chunk::parse(bytes).unwrap();
        let begun = load_chunk(filter.as_mut(), &chunk, SizeLimit::Unlimited).unwrap();
        filter = begun.or(filter);
    }
    filter.unwrap()
}

/// The counters agree with the bits, and the estimates are sensible numbers.
pub fn assert_sound(filter: &Filter) {
    assert!(!filter.sub_filters().is_empty());
    filter.sub_filters().iter().for_each(assert_sub_filter);
    let sum = |of: fn(&BlockedBloom) -> u64| filter.sub_filters().iter().map(of).sum::<u64>();
    assert_eq!(filter.num_bits(), sum(BlockedBloom::num_bits));
    assert_eq!(filter.set_bits(), sum(BlockedBloom::set_bits));
    assert_eq!(filter.reserved_segments(), sum(|s| s.segments().reserved()));
    assert_eq!(
        filter.allocated_segments(),
        sum(|s| s.segments().allocated())
    );
    assert!(filter.items() <= filter.capacity());
    assert!((0.0..=1.0).contains(&filter.fill_ratio()));
    assert!((0.0..=1.0).contains(&filter.expected_false_positive_rate()));
    assert!(filter.estimated_items() >= 0.0 && filter.estimated_items().is_finite());
    if let Some(loading) = filter.loading() {
        assert!((1..END).contains(&loading.next));
        assert!((1..=filter.sub_filters().len()).contains(&loading.sub_filters));
    }
}

fn assert_sub_filter(sub_filter: &BlockedBloom) {
    let (header, segments) = (sub_filter.header(), sub_filter.segments());
    assert!(header.items <= header.capacity);
    let (mut set_bits, mut allocated) = (0, 0);
    let mut next = segments.next_allocated(0);
    while let Some(number) = next {
        let words = segments.get(number).expect("a segment that is there");
        let (own, beyond) = words.split_at(segments.len_of(number));
        assert!(
            bits(beyond).not_any(),
            "the line is longer than the segment"
        );
        set_bits += bits(own).count_ones() as u64;
        allocated += 1;
        next = segments.next_allocated(number + 1);
    }
    assert_eq!(
        (sub_filter.set_bits(), segments.allocated()),
        (set_bits, allocated)
    );
    assert!(set_bits <= sub_filter.num_bits());
}

/// The filter survives saving and loading, saving again, and copying.
pub fn assert_survives(filter: &mut Filter) {
    let chunks = encoded(filter);
    let loaded = decoded(&chunks);
    assert_sound(&loaded);
    assert_eq!(loaded.digest(), filter.digest());
    assert_eq!(loaded.loading(), filter.loading());
    assert_eq!(loaded.items(), filter.items());
    let again = encoded(&loaded);
    let bytes = |chunks: &[Encoded]| -> Vec<Vec<u8>> {
        chunks.iter().map(|chunk| chunk.bytes.clone()).collect()
    };
    assert!(bytes(&chunks) == bytes(&again), "the bytes are the same");
    let copy = filter.try_clone().unwrap();
    assert_sound(&copy);
    assert_eq!(copy.digest(), filter.digest());
}
