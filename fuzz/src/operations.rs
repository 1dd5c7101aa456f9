//! Operations on a few filters, each compared with the set of items that it must contain.

use super::chains::{aimed, chain_of};
use super::fuzzed::Fuzzed as _;
use super::laws::{decoded, encoded};
use super::loaded::load;
use super::plain_reader::Head;
use super::survival::assert_survives;
use arbitrary::{Arbitrary, Unstructured};
use splitbloom_filter::codec::{encode_chunk, load_chunk, Chunk, Encoded};
use splitbloom_filter::error::{AddError, DecodeError};
use splitbloom_filter::filter::{Filter, Growth, Parameters, SizeLimit};
use splitbloom_filter::hash::Seed;
use splitbloom_filter::storage::Mover;
use splitbloom_test_allocator::refusal;
use std::collections::BTreeSet;
use std::sync::OnceLock;

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
const SUBJECTS: usize = 3;
/// No filter gets larger: a fuzzer should try many inputs, not large ones.
const ROOM: SizeLimit = SizeLimit::Bytes(4 << 20);

#[derive(Arbitrary, Debug)]
struct Script {
    kinds: [u8; SUBJECTS],
    operations: Vec<Operation>,
}

#[derive(Arbitrary, Debug)]
enum Operation {
    Add { to: u8, item: u16 },
    AddMany { to: u8, first: u16, number: u16 },
    AddWithShortMemory { to: u8, item: u16, refused_from: u16 },
    AddWithinLimit { to: u8, item: u16, bytes: u16 },
    ContainsMany { of: u8, first: u16, number: u16 },
    Copy { from: u8, to: u8, refused_from: Option<u16> },
    MakeAnew { to: u8, kind: u8 },
    SaveAndLoad { of: u8 },
    Transfer(Transfer),
    Move { of: u8, steps: u8 },
}

/// A filter is sent elsewhere chunk by chunk. Meanwhile items are added on both sides, and the
/// receiver is saved and loaded.
#[derive(Arbitrary, Debug)]
struct Transfer {
    from: u8,
    to: u8,
    sent_chunks: u8,
    items_between: u8,
    is_saved_between: bool,
    refused_from: Option<u16>,
}

/// A filter, and the items that it must contain.
struct Subject {
    filter: Filter,
    items: BTreeSet<u16>,
}

/// Runs the operations that the bytes encode.
pub fn operations(bytes: &[u8]) {
    let Ok(script) = Script::arbitrary(&mut Unstructured::new(bytes)) else {
        return;
    };
    let mut subjects = script.kinds.map(Subject::of_kind);
    for operation in script.operations {
        operation.run(&mut subjects);
    }
    for subject in &mut subjects {
        subject.assert_knows_all();
        subject.filter.assert_sound();
        assert_survives(&mut subject.filter);
    }
}

impl Operation {
    fn run(self, subjects: &mut [Subject; SUBJECTS]) {
        match self {
            Self::Add { to, item } => at(subjects, to).add(item, ROOM, None),
            Self::AddMany { to, first, number } => at(subjects, to).add_many(first, number),
            Self::AddWithShortMemory { to, item, refused_from } => {
                at(subjects, to).add(item, ROOM, Some(refused_from))
            }
            Self::AddWithinLimit { to, item, bytes } => {
                at(subjects, to).add(item, SizeLimit::Bytes(u64::from(bytes)), None);
            }
            Self::ContainsMany { of, first, number } => {
                at(subjects, of).contains_many(first, number);
            }
            Self::Copy { from, to, refused_from } => {
                if let Some(copy) = at(subjects, from).copy(refused_from) {
                    *at(subjects, to) = copy;
                }
            }
            Self::MakeAnew { to, kind } => *at(subjects, to) = Subject::of_kind(kind),
            Self::SaveAndLoad { of } => {
                let subject = at(subjects, of);
                subject.filter = decoded(&encoded(&subject.filter));
            }
            Self::Transfer(transfer) => {
                let received = transfer.run(at(subjects, transfer.from));
                *at(subjects, transfer.to) = received;
            }
            Self::Move { of, steps } => at(subjects, of).relocate(steps),
        }
    }
}

fn at(subjects: &mut [Subject; SUBJECTS], index: u8) -> &mut Subject {
    &mut subjects[usize::from(index) % SUBJECTS]
}

impl Transfer {
    /// The receiver. It must contain what was added there and, once everything has arrived, what
    /// the sender contained at the start.
    fn run(&self, from: &mut Subject) -> Subject {
        let items_at_start = from.items.clone();
        let mut iterator = 0;
        let mut to: Option<Subject> = None;
        for sent in 0..=self.sent_chunks {
            let attempt = refused(self.refused_from, || encode_chunk(&from.filter, iterator))
                .or_else(|_| encode_chunk(&from.filter, iterator));
            let Some(next) = attempt.unwrap() else {
                break;
            };
            let chunk = Chunk::parse(&next.bytes).unwrap();
            match &mut to {
                None => {
                    let begun = load_chunk(None, &chunk, SizeLimit::Unlimited).unwrap();
                    let filter = begun.expect("a first chunk");
                    let items = BTreeSet::new();
                    to = Some(Subject { filter, items });
                }
                Some(to) => to.load(&chunk, self.refused_from),
            }
            iterator = next.next;
            let to = to.as_mut().expect("the first chunk was loaded");
            if chunk.is_last() {
                to.items.extend(&items_at_start);
                assert_eq!(to.filter.loading(), from.filter.loading());
                break;
            }
            let first = u16::from(sent) << 8;
            from.add_many(first, u16::from(self.items_between));
            to.add_many(!first, u16::from(self.items_between));
            if self.is_saved_between {
                to.filter = decoded(&encoded(&to.filter));
            }
        }
        to.expect("every filter has a first chunk")
    }
}

impl Subject {
    fn of_kind(kind: u8) -> Self {
        if (FIRST_FILLED..u8::MAX).contains(&kind) {
            let filled = filled();
            // The last one takes ten times as long as the others, too.
            let index = match kind {
                254 => filled.len() - 1,
                kind => usize::from(kind - FIRST_FILLED) % (filled.len() - 1),
            };
            let (chunks, items) = &filled[index];
            return Self { filter: decoded(chunks), items: (0..*items).collect() };
        }
        let (error_rate, capacity, growth) = match kind {
            u8::MAX => LARGE,
            kind => KINDS[usize::from(kind) % KINDS.len()],
        };
        let parameters = Parameters { error_rate, capacity, growth, seed: Seed(u64::from(kind)) };
        Self {
            filter: Filter::new(parameters, SizeLimit::Unlimited).unwrap(),
            items: BTreeSet::new(),
        }
    }

    fn assert_knows_all(&self) {
        let knows = |item: &u16| self.filter.contains(&item.to_le_bytes());
        assert!(self.items.iter().all(knows), "an item is denied");
    }

    /// An item is new only if it was absent; then the count rises by one, and the item is present.
    /// If it is refused, nothing has changed.
    fn add(&mut self, item: u16, limit: SizeLimit, refused_from: Option<u16>) {
        let bytes = item.to_le_bytes();
        let (known, items) = (self.filter.contains(&bytes), self.filter.items());
        let fill = self.fill();
        let digest = refused_from.map(|_| self.filter.digest());
        let filter = &mut self.filter;
        match refused(refused_from, || filter.add(&bytes, limit)) {
            Ok(new) => {
                assert_eq!(new, !known);
                assert_eq!(self.filter.items(), items + u64::from(new));
                assert_eq!(self.fill() != fill, new);
                assert!(self.filter.contains(&bytes));
                self.items.insert(item);
            }
            Err(error) => {
                assert!(!known);
                self.assert_may_refuse(error, limit, refused_from);
                assert_eq!((self.filter.items(), self.fill()), (items, fill));
                assert_eq!(refused_from.map(|_| self.filter.digest()), digest);
            }
        }
    }

    /// Bits set, and items in the table.
    fn fill(&self) -> (u64, u64) {
        let table = self.filter.table();
        (self.filter.set_bits(), table.map_or(0, |table| table.len()))
    }

    fn assert_may_refuse(&self, error: AddError, limit: SizeLimit, refused_from: Option<u16>) {
        // Else the newest Bloom filter takes the item.
        let filter = &self.filter;
        let last = filter.bloom();
        let needs_table = filter.table().is_some() || last.is_none_or(|last| last.fill().is_full());
        match error {
            AddError::Full => {
                assert!(needs_table);
                assert_eq!(filter.parameters().growth, Growth::Fixed);
            }
            AddError::OverLimit => {
                assert!(needs_table);
                assert_ne!(limit, SizeLimit::Unlimited);
            }
            AddError::Loading => assert!(needs_table && filter.loading().is_some()),
            AddError::Uncountable => panic!("a filter that adds what is absent counts no copies"),
            AddError::OutOfMemory => assert!(refused_from.is_some()),
        }
    }

    /// A batch does what its items do one by one.
    fn add_many(&mut self, first: u16, number: u16) {
        let items = batch(first, number);
        let mut one_by_one = self.filter.try_clone().unwrap();
        let mut answers = Vec::new();
        let slices = items.iter().map(<[u8; 2]>::as_slice);
        let end = self.filter.add_many(slices, ROOM, |answer| answers.push(answer));
        let mut singly = items.iter().map(|item| one_by_one.add(item, ROOM));
        for answer in &answers {
            assert_eq!(singly.next(), Some(Ok(*answer)));
        }
        assert_eq!(singly.next().and_then(Result::err), end.err());
        assert_eq!(self.filter.digest(), one_by_one.digest());
        let added = items[..answers.len()].iter();
        self.items.extend(added.map(|item| u16::from_le_bytes(*item)));
    }

    fn contains_many(&self, first: u16, number: u16) {
        let items = batch(first, number);
        let mut answers = Vec::new();
        let slices = items.iter().map(<[u8; 2]>::as_slice);
        self.filter.contains_many(slices, |answer| answers.push(answer));
        assert_eq!(answers.len(), items.len());
        for (item, answer) in items.iter().zip(answers) {
            assert_eq!(answer, self.filter.contains(item));
            assert!(answer || !self.items.contains(&u16::from_le_bytes(*item)));
        }
    }

    fn copy(&mut self, refused_from: Option<u16>) -> Option<Self> {
        let digest = self.filter.digest();
        let copy = refused(refused_from, || self.filter.try_clone());
        assert_eq!(self.filter.digest(), digest);
        match copy {
            Ok(filter) => {
                assert_eq!(filter.digest(), digest);
                let items = self.items.clone();
                Some(Self { filter, items })
            }
            Err(error) => {
                assert_eq!(error, AddError::OutOfMemory);
                assert!(refused_from.is_some());
                None
            }
        }
    }

    /// Loads the next chunk, in a second attempt if the first had no memory.
    fn load(&mut self, chunk: &Chunk<'_>, refused_from: Option<u16>) {
        let digest = self.filter.digest();
        let attempt = refused(refused_from, || {
            load_chunk(Some(&mut self.filter), chunk, SizeLimit::Unlimited)
        });
        if let Err(error) = attempt {
            assert_eq!(error, DecodeError::OutOfMemory);
            assert!(refused_from.is_some());
            assert_eq!(self.filter.digest(), digest);
            load_chunk(Some(&mut self.filter), chunk, SizeLimit::Unlimited).unwrap();
        }
    }

    /// Moves all allocations, asking `steps` times in a step whether to stop.
    fn relocate(&mut self, steps: u8) {
        let digest = self.filter.digest();
        let mut from = 0;
        while let Some(next) = self.filter.relocate(from, &mut Copier { steps }) {
            assert!(next.get() > from, "it gets on");
            from = next.get();
        }
        assert_eq!(self.filter.digest(), digest);
    }
}

/// Filters that hold the first items, and some that no operation asks for: tables of several pages,
/// after a Bloom filter, part loaded, with pages that say yes to everything, and
/// one that does not fit one chunk.
fn filled() -> &'static [(Vec<Encoded>, u16)] {
    static FILLED: OnceLock<Vec<(Vec<Encoded>, u16)>> = OnceLock::new();
    FILLED.get_or_init(|| {
        let with = |error_rate, capacity, items: u16, others: &[[u8; 8]]| {
            let parameters =
                Parameters { error_rate, capacity, growth: Growth::Times(2), seed: Seed(1) };
            let filter = Filter::new(parameters, SizeLimit::Unlimited).unwrap();
            with_items(filter, items, others)
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
    })
}

/// What has come of a filter with the chunk that ends after its first page.
fn first_page_of(chunks: &[Encoded]) -> (Vec<Encoded>, u16) {
    let chain = chain_of(&decoded(chunks));
    let mut part = None;
    for bytes in chain.in_chunks_of(1) {
        load(&mut part, Head::Filter, &bytes, ROOM).unwrap();
        if part.as_ref().is_some_and(|part: &Filter| part.table().is_some()) {
            break;
        }
    }
    (encoded(&part.expect("a filter")), 0)
}

fn with_items(mut filter: Filter, items: u16, others: &[[u8; 8]]) -> (Vec<Encoded>, u16) {
    for item in (0..items).map(u16::to_le_bytes) {
        filter.add(&item, SizeLimit::Unlimited).unwrap();
    }
    for item in others {
        filter.add(item, SizeLimit::Unlimited).unwrap();
    }
    (encoded(&filter), items)
}

/// Items that overlap those of other batches, some of them twice.
pub fn batch(first: u16, number: u16) -> Vec<[u8; 2]> {
    let number = number % 256;
    (0..number).map(|i| first.wrapping_add(i % 200).to_le_bytes()).collect()
}

/// Runs `work` while the allocator refuses blocks of `from` bytes or more, if that is given.
pub fn refused<T>(from: Option<u16>, work: impl FnOnce() -> T) -> T {
    match from {
        Some(bytes) => refusal::of_blocks_from(usize::from(bytes).max(1), work),
        None => work(),
    }
}

/// Copies what it is given, and says stop when it has been asked `steps` times.
pub struct Copier {
    pub steps: u8,
}

impl Mover for Copier {
    fn relocate<T>(&mut self, elements: Vec<T>) -> Vec<T> {
        let mut copy = Vec::with_capacity(elements.capacity());
        copy.extend(elements);
        copy
    }

    fn should_stop(&mut self) -> bool {
        let is_over = self.steps == 0;
        self.steps = self.steps.saturating_sub(1);
        is_over
    }
}
