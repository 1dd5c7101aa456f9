//! Filters, each beside the set of items that it must contain.

use super::chains::{aimed, bloom, chain_of, TWICE};
use super::laws::decoded;
use super::loaded;
use super::runner::{again, batch, filled, load, refused, run, Before, Model, Subject, ROOM};
use arbitrary::Arbitrary;
use splitbloom_filter::codec::{encode_chunk, Chunk, Encoded};
use splitbloom_filter::error::AddError;
use splitbloom_filter::filter::{Filter, Growth, Outcome};
use splitbloom_oracles::plain_reader::Head;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Filters of every kind of structure, empty; the last one has two segments.
const KINDS: [(f64, u64, Growth); 7] = [
    (0.01, 100, Growth::Times(2)),
    (0.01, 1, Growth::Times(1)),
    (0.000_001, 20, Growth::Times(3)),
    (0.01, 500, Growth::Fixed),
    (0.5, 1, Growth::Times(32_768)),
    (1e-15, 7, Growth::Times(2)),
    (0.01, 60_000, Growth::Times(2)),
];
/// A filter that does not fit one chunk. Its operations take ten times as long, so it is rare.
const LARGE: (f64, u64, Growth) = (0.001, 900_000, Growth::Times(1));
/// From this kind on, filters that hold items already.
const FIRST_FILLED: u8 = 192;

/// Runs the operations that the bytes encode.
pub fn operations(bytes: &[u8]) {
    run::<Set>(bytes);
}

/// The items that a filter must contain.
#[derive(Clone, Default)]
struct Set(BTreeSet<u16>);

/// The filter is sent elsewhere chunk by chunk. Meanwhile items are added on both sides, and the
/// receiver is saved and loaded.
#[derive(Arbitrary, Debug)]
struct Transfer {
    sent_chunks: u8,
    items_between: u8,
    is_saved_between: bool,
    refused_from: Option<u16>,
}

impl Model for Set {
    type Start = u8;
    type Own = Transfer;

    fn start(kind: &u8) -> (Filter, Self) {
        if (FIRST_FILLED..u8::MAX).contains(kind) {
            // The last one takes ten times as long as the others, too.
            let index = match kind {
                254 => FILLED.len() - 1,
                kind => usize::from(kind - FIRST_FILLED) % (FILLED.len() - 1),
            };
            let (chunks, items) = &FILLED[index];
            return (decoded(chunks), Self((0..*items).collect()));
        }
        let (error_rate, capacity, growth) = match *kind {
            u8::MAX => LARGE,
            kind => KINDS[usize::from(kind) % KINDS.len()],
        };
        (bloom(error_rate, capacity, growth, (*kind).into()), Self::default())
    }

    /// An item is new only if it was absent; then the count rises by one.
    fn note(&mut self, filter: &Filter, item: u16, before: &Before, outcome: Outcome) {
        let new = outcome.is_new();
        assert_eq!((new, outcome.has_changed()), (!before.known, new));
        assert_eq!(filter.items(), before.items + u64::from(new));
        let table = filter.table().map_or(0, |table| table.len());
        assert_eq!((filter.set_bits(), table) != before.fill, new);
        self.0.insert(item);
    }

    fn may_refuse(&self, filter: &Filter, error: AddError, known: bool) -> bool {
        // If it is not full, the newest Bloom filter takes the item.
        let is_full = filter.bloom().is_none_or(|last| last.fill().is_full());
        let needs_table = filter.table().is_some() || is_full;
        !known
            && match error {
                AddError::Full => needs_table && filter.parameters().growth == Growth::Fixed,
                AddError::Loading => needs_table && filter.loading().is_some(),
                AddError::OverLimit => needs_table,
                _ => true,
            }
    }

    fn assert_knows(&self, filter: &Filter, item: u16) {
        assert!(!self.0.contains(&item) || filter.contains(&item.to_le_bytes()), "it is denied");
    }

    fn assert_knows_all(&self, filter: &Filter) {
        self.0.iter().for_each(|item| self.assert_knows(filter, *item));
    }

    fn run(subject: &mut Subject<Self>, transfer: Transfer) {
        let received = transfer.run(subject);
        std::mem::replace(subject, received).end();
    }
}

impl Transfer {
    /// The receiver. It must contain what was added there and, once everything has arrived, what
    /// the sender contained at the start.
    fn run(&self, from: &mut Subject<Set>) -> Subject<Set> {
        let items_at_start = from.model.0.clone();
        let mut iterator = 0;
        let mut to: Option<Subject<Set>> = None;
        for sent in 0..=self.sent_chunks {
            let attempt = refused(self.refused_from, || encode_chunk(&from.filter, iterator))
                .or_else(|_| encode_chunk(&from.filter, iterator));
            let Some(next) = attempt.unwrap() else {
                break;
            };
            let chunk = Chunk::parse(&next.bytes).unwrap();
            let mut receiver = match to {
                None => {
                    let begun = load(None, &chunk, self.refused_from).expect("a first chunk");
                    Subject::of(begun, Set::default())
                }
                Some(Subject { filter, twin, model }) => Subject {
                    filter: load(Some(filter), &chunk, self.refused_from).expect("it was there"),
                    twin: load(Some(twin), &chunk, None).expect("it was there"),
                    model,
                },
            };
            iterator = next.next;
            if chunk.is_last() {
                receiver.model.0.extend(&items_at_start);
                assert_eq!(receiver.filter.loading(), from.filter.loading());
                return receiver;
            }
            let first = u16::from(sent) << 8;
            from.add_all(&batch(first, self.items_between.into()));
            receiver.add_all(&batch(!first, self.items_between.into()));
            if self.is_saved_between {
                receiver.filter = again(&receiver.filter);
            }
            to = Some(receiver);
        }
        to.expect("every filter has a first chunk")
    }
}

/// Tables of several pages, after a Bloom filter, part loaded, with pages that say yes to
/// everything, and a filter that does not fit one chunk.
static FILLED: LazyLock<Vec<(Vec<Encoded>, u16)>> = LazyLock::new(|| {
    let with = |error_rate, capacity, items, others: &[[u8; 8]]| {
        filled(bloom(error_rate, capacity, TWICE, 1), items, others)
    };
    let others: Vec<[u8; 8]> = (0..180_000u64).map(u64::to_le_bytes).collect();
    vec![
        with(0.01, 100, 2_500, &[]),
        with(0.01, 500, 3_000, &[]),
        with(0.5, 100, 1_000, &aimed(1, 8, 3_000)),
        with(0.000_001, 64, 1_700, &[]),
        first_page_of(&with(0.01, 100, 2_500, &[]).0),
        first_page_of(&with(0.01, 500, 2_500, &[]).0),
        with(1e-12, 100, 100, &others),
    ]
});

/// The filter as loaded up to the chunk that ends after its first page, saved.
fn first_page_of(chunks: &[Encoded]) -> (Vec<Encoded>, u16) {
    let chain = chain_of(&decoded(chunks));
    let mut part = None;
    for bytes in chain.in_chunks_of(1) {
        loaded::load(&mut part, Head::Filter, &bytes, ROOM).unwrap();
        if part.as_ref().is_some_and(|part: &Filter| part.table().is_some()) {
            break;
        }
    }
    filled(part.expect("a filter"), 0, &[])
}
