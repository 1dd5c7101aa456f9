//! The invariants of every filter, wherever it came from.

use splitbloom_filter::bloom::blocked_bloom::BlockedBloom;
use splitbloom_filter::codec::{
    chunks, encode_chunk, load_chunk, Chunk, Encoded, END, MAX_CHUNK_BYTES,
};
use splitbloom_filter::filter::{Filter, Kind, SizeLimit};
use splitbloom_filter::foreign::{Layer, Layers};
use splitbloom_filter::storage::bits;
use splitbloom_filter::storage::segments::Segments;
use splitbloom_filter::table::Table;

/// All chunks of a filter.
pub fn encoded(filter: &Filter) -> Vec<Encoded> {
    let mut encoded: Vec<Encoded> = Vec::new();
    for outline in chunks(filter) {
        let iterator = encoded.last().map_or(0, |chunk| chunk.next);
        let chunk = encode_chunk(filter, iterator).unwrap().expect("the same chunk");
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
    assert!((0.0..=1.0).contains(&filter.false_positive_rate()));
    let parts = match filter.kind() {
        Kind::Bloom => assert_sound_bloom(filter),
        Kind::Counting => assert_sound_counting(filter),
        Kind::Windowed => assert_sound_windowed(filter),
    };
    if filter.kind() != Kind::Counting {
        filter.table().into_iter().for_each(assert_table);
        let table_bytes = filter.table().map_or(0, Table::bytes);
        assert!(filter.reserved_bytes() >= table_bytes + filter.allocated_segments() * 8);
    }
    if let Some(loading) = filter.loading() {
        assert!((1..END).contains(&loading.next()));
        assert!(loading.sub_filters() <= parts);
    }
}

/// Returns the number of its parts before the table. A filter of another module has layers.
fn assert_sound_bloom(filter: &Filter) -> usize {
    let blooms = filter.bloom().map_or(&[][..], std::slice::from_ref);
    let layers = filter.layers().map(Layers::each);
    let parts = blooms.len() + layers.map_or(0, <[Layer]>::len);
    assert!(if layers.is_some() { parts > 0 } else { parts > 0 || filter.table().is_some() });
    assert_eq!(filter.num_parts(), parts + usize::from(filter.table().is_some()));
    assert!(filter.estimated_items() >= 0.0 && filter.estimated_items().is_finite());
    let table_bits = 8 * filter.table().map_or(0, Table::bytes);
    if let Some(layers) = layers {
        for layer in layers {
            let (set_bits, allocated) = counted(layer.segments());
            assert_eq!((layer.set_bits(), layer.segments().allocated()), (set_bits, allocated));
            assert!((0.0..=1.0).contains(&layer.false_positive_rate()));
            assert!((0.0..=1.0).contains(&layer.rate_of_items()));
        }
        assert_eq!(filter.num_bits(), layers.iter().map(Layer::num_bits).sum::<u64>() + table_bits);
        assert!((0.0..1.0).contains(&filter.parameters().error_rate));
        let rate = filter.table_error_rate();
        assert!(rate.is_some_and(|rate| rate > 0.0 && rate < 1.0));
        return parts;
    }
    blooms.iter().for_each(assert_sub_filter);
    let sum = |of: fn(&BlockedBloom) -> u64| blooms.iter().map(of).sum::<u64>();
    assert_eq!(filter.num_bits(), sum(BlockedBloom::num_bits) + table_bits);
    assert_eq!(filter.set_bits(), sum(BlockedBloom::set_bits));
    assert_eq!(filter.reserved_segments(), sum(|s| s.segments().reserved()));
    assert_eq!(filter.allocated_segments(), sum(|s| s.segments().allocated()));
    assert!(filter.items() <= filter.capacity());
    assert!((0.0..=1.0).contains(&filter.fill_ratio()));
    parts
}

fn assert_sound_counting(filter: &Filter) -> usize {
    // Slots may come before the table.
    assert!(filter.pages() > 0 || filter.loading().is_some() && filter.cuckoo().is_some());
    let bits = filter.bits_per_item(0);
    assert_eq!(bits.is_some(), filter.items() > 0);
    assert!(bits.is_none_or(|bits| bits > 0.0 && bits.is_finite()));
    usize::from(filter.cuckoo().is_some())
}

fn assert_sound_windowed(filter: &Filter) -> usize {
    let slices: Vec<_> = filter.items_by_slice(0).collect();
    assert!((1..=usize::from(filter.window().unwrap().slices()) + 1).contains(&slices.len()));
    assert!(slices.iter().all(|(start, _)| *start <= filter.latest()));
    let items: u64 = slices.iter().map(|(_, items)| items).sum();
    assert_eq!(filter.items(), items);
    assert_eq!(filter.table().map(Table::len), Some(items));
    assert!(items <= filter.capacity());
    assert_eq!(filter.bits_per_item(0).is_some(), items > 0);
    0
}

/// The table counts what it allocates, except the counts of the owners of shared pages.
fn assert_table(table: &Table) {
    assert!(table.pages() > 0);
    let mut bytes = 0;
    table.visit_allocations(|layout, times| {
        // Lines are aligned to 64 bytes; arrays of slots have at least two of 16, and a common one
        // takes 24 with its owners.
        if layout.align() == 64 || layout.size() >= 32 {
            bytes += layout.size() as u64 * times;
        }
    });
    assert_eq!(table.bytes(), bytes);
    assert!((0.0..=1.0).contains(&table.false_positive_rate()));
}

fn assert_sub_filter(sub_filter: &BlockedBloom) {
    let (header, segments) = (sub_filter.header(), sub_filter.segments());
    assert!(header.items <= header.capacity);
    let (set_bits, allocated) = counted(segments);
    assert_eq!((sub_filter.set_bits(), segments.allocated()), (set_bits, allocated));
    assert!(set_bits <= sub_filter.num_bits());
}

/// The bits that are set, and the segments that are there.
fn counted(segments: &Segments) -> (u64, u64) {
    let (mut set_bits, mut allocated) = (0, 0);
    let mut next = segments.next_allocated(0);
    while let Some(number) = next {
        let view = segments.view(number).expect("a segment that is there");
        assert_eq!(view.num_words(), segments.len_of(number));
        if let Some(words) = segments.get(number) {
            let beyond = &words[view.num_words()..];
            assert!(bits(beyond).not_any(), "a line longer than the segment");
        }
        for (_, words) in view.runs() {
            set_bits += bits(words).count_ones() as u64;
        }
        allocated += 1;
        next = segments.next_allocated(number + 1);
    }
    (set_bits, allocated)
}
