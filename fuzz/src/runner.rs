//! Operations on a few filters of one kind. Each has a model that knows what it must contain, and a
//! twin: a filter that does the same, and is never saved, copied or moved.

use super::chains::chain_of;
use super::laws::{assert_sound, decoded, encoded};
use super::survival::assert_survives;
use arbitrary::{Arbitrary, Unstructured};
use splitbloom_filter::codec::{load_chunk, Chunk, Encoded};
use splitbloom_filter::error::{AddError, DecodeError};
use splitbloom_filter::filter::{Filter, Outcome, SizeLimit};
use splitbloom_filter::storage::Mover;
use splitbloom_test_allocator::refusal;
use std::fmt::Debug;

const SUBJECTS: usize = 3;
/// No filter gets larger: a fuzzer should try many inputs, not large ones.
pub const ROOM: SizeLimit = SizeLimit::Bytes(4 << 20);

/// What a kind of filter must contain, as plainly as possible.
pub trait Model: Clone {
    /// What a filter begins as.
    type Start: for<'a> Arbitrary<'a> + Debug;
    /// Operations that only this kind has.
    type Own: for<'a> Arbitrary<'a> + Debug;

    fn start(start: &Self::Start) -> (Filter, Self);

    fn now(&self) -> u64 {
        0
    }

    fn add(&self, to: &mut Filter, item: &[u8], limit: SizeLimit) -> Result<Outcome, AddError> {
        to.add_at(item, self.now(), limit)
    }

    /// Adds a batch, up to the item at which it ends.
    fn add_many(&self, to: &mut Filter, items: &[[u8; 2]]) -> Vec<Result<Outcome, AddError>> {
        let mut answers = Vec::new();
        let slices = items.iter().map(<[u8; 2]>::as_slice);
        let answer = |_, outcome| answers.push(Ok(outcome));
        let end = to.add_many_at(slices, self.now(), ROOM, answer);
        answers.extend(end.err().map(Err));
        answers
    }

    /// Notes an item that the filter has accepted, and asserts that it did so correctly.
    fn note(&mut self, filter: &Filter, item: u16, before: &Before, outcome: Outcome);

    /// Whether the filter, unchanged, may refuse an item that is `known` or not.
    fn may_refuse(&self, filter: &Filter, error: AddError, known: bool) -> bool;

    fn assert_knows(&self, filter: &Filter, item: u16);

    fn assert_knows_all(&self, filter: &Filter);

    /// What a filter refuses while it is not all there.
    fn assert_waits(&self, _loading: &mut Filter) {}

    fn run(subject: &mut Subject<Self>, operation: Self::Own);

    /// What becomes of the filter when no operation is left.
    fn assert_ends(self, _filter: Filter) {}
}

#[derive(Arbitrary, Debug)]
struct Script<S, O> {
    starts: [S; SUBJECTS],
    operations: Vec<Operation<S, O>>,
}

#[derive(Arbitrary, Debug)]
enum Operation<S, O> {
    Add { to: u8, item: u16, more: u8 },
    AddMany { to: u8, first: u16, number: u16 },
    AddWithShortMemory { to: u8, item: u16, refused_from: u16 },
    AddWithinLimit { to: u8, item: u16, bytes: u16 },
    ContainsMany { of: u8, first: u16, number: u16 },
    Copy { from: u8, to: u8, refused_from: Option<u16> },
    MakeAnew { to: u8, start: S },
    SaveAndLoad { of: u8, refused_from: Option<u16> },
    Move { of: u8, steps: u8 },
    Own { of: u8, operation: O },
}

/// A filter, its twin and its model.
pub struct Subject<M> {
    pub filter: Filter,
    pub twin: Filter,
    pub model: M,
}

/// What can be seen of a filter before an item is added.
#[derive(Debug, PartialEq)]
pub struct Before {
    pub known: bool,
    pub items: u64,
    /// Bits set, and items in the table.
    pub fill: (u64, u64),
    latest: u64,
}

/// Runs the operations that the bytes encode.
pub fn run<M: Model>(bytes: &[u8]) {
    let Ok(script) = Script::<M::Start, M::Own>::arbitrary(&mut Unstructured::new(bytes)) else {
        return;
    };
    let mut subjects = script.starts.map(|start| Subject::<M>::start(&start));
    for operation in script.operations {
        operation.run(&mut subjects);
    }
    subjects.into_iter().for_each(Subject::end);
}

impl<S, O> Operation<S, O> {
    fn run<M: Model<Start = S, Own = O>>(self, subjects: &mut [Subject<M>; SUBJECTS]) {
        let at = |number: u8| usize::from(number) % SUBJECTS;
        match self {
            Self::Add { to, item, more } => {
                subjects[at(to)].add_all(&vec![item.to_le_bytes(); 1 + usize::from(more)]);
            }
            Self::AddMany { to, first, number } => subjects[at(to)].add_all(&batch(first, number)),
            Self::AddWithShortMemory { to, item, refused_from } => {
                subjects[at(to)].add(item, ROOM, Some(refused_from));
            }
            Self::AddWithinLimit { to, item, bytes } => {
                subjects[at(to)].add(item, SizeLimit::Bytes(bytes.into()), None);
            }
            Self::ContainsMany { of, first, number } => {
                subjects[at(of)].contains_many(first, number)
            }
            Self::Copy { from, to, refused_from } => {
                if let Some(original) = subjects[at(from)].copy(refused_from) {
                    if at(from) != at(to) {
                        subjects[at(to)] = original;
                    }
                }
            }
            Self::MakeAnew { to, start } => subjects[at(to)] = Subject::start(&start),
            Self::SaveAndLoad { of, refused_from } => subjects[at(of)].save_and_load(refused_from),
            Self::Move { of, steps } => subjects[at(of)].relocate(steps),
            Self::Own { of, operation } => M::run(&mut subjects[at(of)], operation),
        }
    }
}

impl Before {
    fn of(filter: &Filter, item: &[u8], now: u64) -> Self {
        Self {
            known: filter.contains_at(item, now),
            items: filter.items(),
            fill: (filter.set_bits(), filter.table().map_or(0, |table| table.len())),
            latest: filter.latest(),
        }
    }
}

impl<M: Model> Subject<M> {
    fn start(start: &M::Start) -> Self {
        let (filter, model) = M::start(start);
        Self::of(filter, model)
    }

    pub fn of(filter: Filter, model: M) -> Self {
        Self { twin: again(&filter), filter, model }
    }

    fn before(&self, item: u16) -> Before {
        Before::of(&self.filter, &item.to_le_bytes(), self.model.now())
    }

    /// Adds an item. If it is refused, nothing has changed.
    fn add(&mut self, item: u16, limit: SizeLimit, refused_from: Option<u16>) {
        let (bytes, before) = (item.to_le_bytes(), self.before(item));
        let (digest, filter, model) = (self.filter.digest(), &mut self.filter, &self.model);
        let added = refused(refused_from, || model.add(filter, &bytes, limit));
        assert!(added.is_ok_and(Outcome::has_changed) || self.filter.digest() == digest);
        match refused_from {
            None => assert_eq!(self.model.add(&mut self.twin, &bytes, limit), added),
            // Without the memory to sweep it, a page may have stayed as it was.
            Some(_) => self.twin = again(&self.filter),
        }
        self.note(item, &before, limit, refused_from, added);
    }

    /// A batch does what its items do one by one.
    pub fn add_all(&mut self, items: &[[u8; 2]]) {
        let answers = self.model.add_many(&mut self.twin, items);
        assert!(answers.len() == items.len() || answers.last().is_some_and(Result::is_err));
        for (item, answer) in items.iter().zip(answers) {
            let number = u16::from_le_bytes(*item);
            let before = self.before(number);
            assert_eq!(self.model.add(&mut self.filter, item, ROOM), answer);
            self.note(number, &before, ROOM, None, answer);
        }
        assert_eq!(self.filter.digest(), self.twin.digest());
    }

    fn note(
        &mut self,
        item: u16,
        before: &Before,
        limit: SizeLimit,
        refused_from: Option<u16>,
        added: Result<Outcome, AddError>,
    ) {
        match added {
            Ok(outcome) => {
                assert!(self.before(item).known);
                self.model.note(&self.filter, item, before, outcome);
            }
            Err(error) => {
                assert_eq!(self.before(item), *before);
                assert!(match error {
                    AddError::OverLimit => limit != SizeLimit::Unlimited,
                    AddError::OutOfMemory => refused_from.is_some(),
                    AddError::Uncountable => false,
                    AddError::Full | AddError::Loading => true,
                });
                assert!(self.model.may_refuse(&self.filter, error, before.known), "{error:?}");
            }
        }
    }

    fn contains_many(&self, first: u16, number: u16) {
        let (items, now) = (batch(first, number), self.model.now());
        let (mut answers, digest) = (Vec::new(), self.filter.digest());
        let slices = items.iter().map(<[u8; 2]>::as_slice);
        self.filter.contains_many_at(slices, now, |answer| answers.push(answer));
        assert_eq!(answers.len(), items.len());
        for (item, answer) in items.iter().zip(answers) {
            assert_eq!(answer, self.filter.contains_at(item, now));
            self.model.assert_knows(&self.filter, u16::from_le_bytes(*item));
        }
        assert_eq!(self.filter.digest(), digest);
    }

    /// Puts a copy in the place of the original, which is then changed and returned.
    fn copy(&mut self, refused_from: Option<u16>) -> Option<Self> {
        let (digest, filter) = (self.filter.digest(), &mut self.filter);
        let copy = refused(refused_from, || filter.try_clone());
        assert_eq!(self.filter.digest(), digest);
        let copy = copy
            .inspect_err(|error| assert!(*error == AddError::OutOfMemory && refused_from.is_some()))
            .ok()?;
        let original = std::mem::replace(&mut self.filter, copy);
        let mut original = Self::of(original, self.model.clone());
        original.add_all(&[[255; 2]]);
        assert_eq!(self.filter.digest(), digest);
        Some(original)
    }

    /// Saves the filter in short chunks and loads them; tries again if `refused_from` made the
    /// first attempt fail for lack of memory.
    fn save_and_load(&mut self, refused_from: Option<u16>) {
        let mut to: Option<Filter> = None;
        for bytes in chain_of(&self.filter).in_chunks_of(1) {
            let chunk = Chunk::parse(&bytes).unwrap();
            to = load(to, &chunk, refused_from);
            let to = to.as_mut().expect("the first chunk was loaded");
            if !chunk.is_last() {
                assert_eq!(to.loading().map(|loading| loading.next()), Some(chunk.next));
                self.model.assert_waits(to);
            }
        }
        self.filter = to.expect("every filter has a first chunk");
        self.assert_like_twin();
    }

    fn assert_like_twin(&self) {
        assert_eq!(self.filter.digest(), self.twin.digest());
        assert_eq!(self.filter.loading(), self.twin.loading());
        let bytes = |chunks: Vec<Encoded>| chunks.into_iter().map(|chunk| chunk.bytes);
        assert!(bytes(encoded(&self.filter)).eq(bytes(encoded(&self.twin))));
    }

    /// Moves all allocations; each step says stop when it has been asked `steps` times.
    fn relocate(&mut self, steps: u8) {
        let (digest, mut from) = (self.filter.digest(), 0);
        while let Some(next) = self.filter.relocate(from, &mut Copier { steps }) {
            assert!(next.get() > from, "it gets on");
            from = next.get();
        }
        assert_eq!(self.filter.digest(), digest);
    }

    pub fn end(mut self) {
        self.model.assert_knows_all(&self.filter);
        self.assert_like_twin();
        assert_sound(&self.filter);
        assert_survives(&mut self.filter);
        self.model.assert_ends(self.filter);
    }
}

/// The filter, saved and loaded.
pub fn again(filter: &Filter) -> Filter {
    decoded(&encoded(filter))
}

/// Loads the next chunk, again if the first attempt had no memory, which changes nothing.
pub fn load(
    mut filter: Option<Filter>,
    chunk: &Chunk<'_>,
    refused_from: Option<u16>,
) -> Option<Filter> {
    let digest = filter.as_ref().map(Filter::digest);
    let attempt =
        refused(refused_from, || load_chunk(filter.as_mut(), chunk, SizeLimit::Unlimited));
    let begun = attempt.or_else(|error| {
        assert!(error == DecodeError::OutOfMemory && refused_from.is_some());
        assert_eq!(filter.as_ref().map(Filter::digest), digest);
        load_chunk(filter.as_mut(), chunk, SizeLimit::Unlimited)
    });
    begun.unwrap().or(filter)
}

/// A saved filter of the items 0 to `items`, and of `others`, which no operation uses.
pub fn filled(mut filter: Filter, items: u16, others: &[[u8; 8]]) -> (Vec<Encoded>, u16) {
    let asked: Vec<[u8; 2]> = (0..items).map(u16::to_le_bytes).collect();
    let asked = asked.iter().map(<[u8; 2]>::as_slice);
    for item in asked.chain(others.iter().map(<[u8; 8]>::as_slice)) {
        filter.add(item).unwrap();
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
struct Copier {
    steps: u8,
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
