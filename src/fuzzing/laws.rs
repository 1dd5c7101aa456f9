//! What holds of every filter, wherever it came from.

use crate::filter::codec::{encode_piece, Encoded, Piece, END, PIECE_BYTES};
use crate::filter::scalable::{Filter, SizeLimit};
use crate::filter::split_bloom::SplitBloom;

/// All pieces of a filter.
pub fn encoded(filter: &Filter) -> Vec<Encoded> {
    let mut pieces: Vec<Encoded> = Vec::new();
    let mut iterator = 0;
    while let Some(piece) = encode_piece(filter, iterator) {
        assert!(piece.bytes.len() <= PIECE_BYTES);
        assert!(piece.next > iterator && piece.next <= END);
        iterator = piece.next;
        pieces.push(piece);
    }
    assert_eq!(iterator, END);
    pieces
}

/// The filter that such pieces are.
pub fn decoded(pieces: &[Encoded]) -> Filter {
    let mut filter: Option<Filter> = None;
    for bytes in pieces.iter().map(|piece| &piece.bytes) {
        let piece = Piece::parse(bytes).unwrap();
        match &mut filter {
            None => {
                filter = Some(Filter::from_first_piece(&piece, SizeLimit::Unlimited).unwrap());
            }
            Some(filter) => filter.load_piece(&piece, SizeLimit::Unlimited).unwrap(),
        }
    }
    filter.unwrap()
}

/// What is kept beside the bits agrees with them, and what is told of the filter is a sensible number.
pub fn assert_sound(filter: &Filter) {
    assert!(!filter.sub_filters().is_empty());
    filter.sub_filters().iter().for_each(assert_sub_filter);
    let sum = |of: fn(&SplitBloom) -> u64| filter.sub_filters().iter().map(of).sum::<u64>();
    assert_eq!(filter.num_bits(), sum(SplitBloom::num_bits));
    assert_eq!(filter.set_bits(), sum(SplitBloom::set_bits));
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

fn assert_sub_filter(sub_filter: &SplitBloom) {
    let (description, segments) = (sub_filter.description(), sub_filter.segments());
    assert!(description.items <= description.capacity);
    let (mut set_bits, mut allocated) = (0, 0);
    let mut next = segments.next_allocated(0);
    while let Some(number) = next {
        let words = segments.get(number).expect("a segment that is there");
        let (own, beyond) = words.split_at(segments.len_of(number));
        assert!(
            beyond.iter().all(|word| *word == 0),
            "the line is longer than the segment"
        );
        set_bits += own
            .iter()
            .map(|word| u64::from(word.count_ones()))
            .sum::<u64>();
        allocated += 1;
        next = segments.next_allocated(number + 1);
    }
    assert_eq!(
        (sub_filter.set_bits(), segments.allocated()),
        (set_bits, allocated)
    );
    assert!(set_bits <= sub_filter.num_bits());
}

/// It survives being saved and loaded, being saved again, and being copied.
pub fn assert_survives(filter: &mut Filter) {
    let pieces = encoded(filter);
    let loaded = decoded(&pieces);
    assert_sound(&loaded);
    assert_eq!(loaded.digest(), filter.digest());
    assert_eq!(loaded.loading(), filter.loading());
    assert_eq!(loaded.items(), filter.items());
    let again = encoded(&loaded);
    let bytes = |pieces: &[Encoded]| -> Vec<Vec<u8>> {
        pieces.iter().map(|piece| piece.bytes.clone()).collect()
    };
    assert!(bytes(&pieces) == bytes(&again), "the bytes are the same");
    let copy = filter.try_clone().unwrap();
    assert_sound(&copy);
    assert_eq!(copy.digest(), filter.digest());
}
