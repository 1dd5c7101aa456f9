//! Operations on a few counting filters, each compared with the multiset that it must contain.

use super::chains::{aimed, chain_of};
use super::laws::{assert_sound_counting, decoded, encoded};
use super::operations::{batch, refused, Copier};
use super::survival::assert_survives;
use arbitrary::{Arbitrary, Unstructured};
use splitbloom_filter::codec::{load_chunk, Chunk, Encoded};
use splitbloom_filter::error::{AddError, DecodeError};
use splitbloom_filter::filter::{Adding, CountingParameters, Filter, SizeLimit};
use splitbloom_filter::hash::Seed;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// The error rate and whether it grows. At the first one no item is taken for another.
const KINDS: [(f64, bool); 4] = [(1e-12, true), (0.01, true), (0.5, true), (0.001, false)];
/// The most copies of a filter that does not grow.
const CAPACITY: u64 = 500;
/// From this kind on, filters that hold items already.
const FIRST_FILLED: u8 = 128;
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
    Add { to: u8, item: u16, copies: u8 },
    AddMany { to: u8, first: u16, number: u16, are_copies: bool },
    AddWithShortMemory { to: u8, item: u16, refused_from: u16 },
    AddWithinLimit { to: u8, item: u16, bytes: u16 },
    RemoveMany { from: u8, first: u16, number: u16 },
    RemoveWithShortMemory { from: u8, item: u16, refused_from: u16 },
    ContainsMany { of: u8, first: u16, number: u16 },
    Copy { from: u8, to: u8, refused_from: Option<u16> },
    MakeAnew { to: u8, kind: u8 },
    SaveAndLoad { of: u8, refused_from: Option<u16> },
    Move { of: u8, steps: u8 },
}

/// A filter, and the copies of items that it must contain.
struct Subject {
    filter: Filter,
    copies: BTreeMap<u16, u64>,
    /// Copies of items that no operation asks for.
    others: u64,
    /// Whether no page says yes to everything.
    is_counted: bool,
}

/// Runs the operations that the bytes encode.
pub fn counting(bytes: &[u8]) {
    let Ok(script) = Script::arbitrary(&mut Unstructured::new(bytes)) else {
        return;
    };
    let mut subjects = script.kinds.map(Subject::of_kind);
    for operation in script.operations {
        operation.run(&mut subjects);
    }
    for subject in &mut subjects {
        subject.assert_knows_all();
        assert_sound_counting(&subject.filter);
        assert_survives(&mut subject.filter);
    }
}

impl Operation {
    fn run(self, subjects: &mut [Subject; SUBJECTS]) {
        match self {
            Self::Add { to, item, copies } => {
                for _ in 0..=copies {
                    at(subjects, to).add(item, Adding::Copies, ROOM, None);
                }
            }
            Self::AddMany { to, first, number, are_copies } => {
                let adding = if are_copies { Adding::Copies } else { Adding::Absent };
                at(subjects, to).add_many(first, number, adding);
            }
            Self::AddWithShortMemory { to, item, refused_from } => {
                at(subjects, to).add(item, Adding::Copies, ROOM, Some(refused_from))
            }
            Self::AddWithinLimit { to, item, bytes } => {
                let limit = SizeLimit::Bytes(u64::from(bytes));
                at(subjects, to).add(item, Adding::Absent, limit, None);
            }
            Self::RemoveMany { from, first, number } => {
                for item in batch(first, number) {
                    at(subjects, from).remove(u16::from_le_bytes(item), None);
                }
            }
            Self::RemoveWithShortMemory { from, item, refused_from } => {
                at(subjects, from).remove(item, Some(refused_from))
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
            Self::SaveAndLoad { of, refused_from } => at(subjects, of).transfer(refused_from),
            Self::Move { of, steps } => at(subjects, of).relocate(steps),
        }
    }
}

fn at(subjects: &mut [Subject; SUBJECTS], index: u8) -> &mut Subject {
    &mut subjects[usize::from(index) % SUBJECTS]
}

impl Subject {
    fn of_kind(kind: u8) -> Self {
        if let Some(kind) = kind.checked_sub(FIRST_FILLED) {
            let filled = filled();
            let (chunks, items) = &filled[usize::from(kind) % filled.len()];
            let filter: Filter = decoded(chunks);
            return Self {
                others: filter.items() - u64::from(*items),
                is_counted: filter.parameters().error_rate < 0.1,
                filter,
                copies: (0..*items).map(|item| (item, 1)).collect(),
            };
        }
        let (error_rate, grows) = KINDS[usize::from(kind) % KINDS.len()];
        Self {
            filter: new(error_rate, grows),
            copies: BTreeMap::new(),
            others: 0,
            is_counted: true,
        }
    }

    fn copies_of(&self, item: u16) -> u64 {
        self.copies.get(&item).copied().unwrap_or(0)
    }

    /// An item has at least its copies; exactly as many where no item is taken for another.
    fn assert_knows(&self, item: u16) {
        let (known, copies) = (self.filter.count(&item.to_le_bytes()), self.copies_of(item));
        assert_eq!(known > 0, self.filter.contains(&item.to_le_bytes()));
        assert!(known >= copies || !self.is_counted && known == 1);
        if self.filter.parameters().error_rate == KINDS[0].0 {
            assert_eq!(known, copies);
        }
    }

    fn assert_knows_all(&self) {
        self.copies.keys().for_each(|item| self.assert_knows(*item));
        self.assert_counts();
    }

    fn assert_counts(&self) {
        let copies: u64 = self.copies.values().sum();
        assert!(!self.is_counted || self.filter.items() == copies + self.others);
        let rate = self.filter.parameters().error_rate;
        assert!(!self.is_counted || self.filter.false_positive_rate() <= rate);
        if self.is_counted && self.filter.items() == 0 {
            let new = new(rate, false);
            assert_eq!(self.filter.reserved_bytes(), new.reserved_bytes());
            assert_eq!(self.filter.false_positive_rate(), 0.0);
        }
    }

    fn note(&mut self, item: u16) {
        *self.copies.entry(item).or_default() += 1;
    }

    /// A copy more, or nothing has changed.
    fn add(&mut self, item: u16, adding: Adding, limit: SizeLimit, refused_from: Option<u16>) {
        let bytes = item.to_le_bytes();
        let (known, items) = (self.filter.contains(&bytes), self.filter.items());
        let digest = refused_from.map(|_| self.filter.digest());
        let filter = &mut self.filter;
        match refused(refused_from, || filter.add_copy(&bytes, adding, limit)) {
            Ok(is_added) => {
                assert_eq!(is_added, adding == Adding::Copies || !known);
                assert!(self.filter.contains(&bytes));
                if is_added {
                    assert!(!self.is_counted || self.filter.items() == items + 1);
                    self.note(item);
                }
            }
            Err(error) => {
                let is_fixed = self.filter.counting_parameters().expansion == 0;
                assert!(match error {
                    AddError::Full => is_fixed && items >= CAPACITY,
                    AddError::OverLimit => limit != SizeLimit::Unlimited,
                    AddError::OutOfMemory => refused_from.is_some(),
                    AddError::Uncountable | AddError::Loading => false,
                });
                assert_eq!(self.filter.items(), items);
                assert_eq!(refused_from.map(|_| self.filter.digest()), digest);
            }
        }
    }

    /// A batch does what its items do one by one.
    fn add_many(&mut self, first: u16, number: u16, adding: Adding) {
        let items = batch(first, number);
        let mut one_by_one = self.filter.try_clone().unwrap();
        let mut answers = Vec::new();
        let slices = items.iter().map(<[u8; 2]>::as_slice);
        let end = self.filter.add_copies(slices, adding, ROOM, |answer| {
            answers.push(answer);
            Ok(())
        });
        assert_eq!(end, Ok(()));
        let singly = items.iter().map(|item| one_by_one.add_copy(item, adding, ROOM));
        assert!(singly.eq(answers.iter().copied()));
        assert_eq!(self.filter.digest(), one_by_one.digest());
        for (item, answer) in items.iter().zip(answers) {
            if answer == Ok(true) {
                self.note(u16::from_le_bytes(*item));
            }
        }
    }

    /// Removes what was added. What was not is refused, unless it is taken for something else: then
    /// it must not be removed.
    fn remove(&mut self, item: u16, refused_from: Option<u16>) {
        let bytes = item.to_le_bytes();
        let copies = self.copies_of(item);
        if copies == 0 && self.filter.contains(&bytes) {
            return;
        }
        let (items, deleted) = (self.filter.items(), self.filter.deleted());
        let digest = self.filter.digest();
        let filter = &mut self.filter;
        match refused(refused_from, || filter.remove(&bytes)) {
            Ok(was_there) => {
                assert_eq!(was_there, copies > 0);
                let removed = u64::from(was_there);
                assert_eq!(self.filter.deleted(), deleted + removed);
                assert!(!self.is_counted || self.filter.items() == items - removed);
                match copies {
                    0 => assert_eq!(self.filter.digest(), digest),
                    1 => drop(self.copies.remove(&item)),
                    more => drop(self.copies.insert(item, more - 1)),
                }
            }
            Err(error) => {
                assert_eq!(error, AddError::OutOfMemory);
                assert!(refused_from.is_some());
                assert_eq!(self.filter.digest(), digest);
            }
        }
        self.assert_knows(item);
    }

    fn contains_many(&self, first: u16, number: u16) {
        let items = batch(first, number);
        let mut answers = Vec::new();
        let slices = items.iter().map(<[u8; 2]>::as_slice);
        self.filter.contains_many(slices, |answer| answers.push(answer));
        assert_eq!(answers.len(), items.len());
        for (item, answer) in items.iter().zip(answers) {
            assert_eq!(answer, self.filter.contains(item));
            self.assert_knows(u16::from_le_bytes(*item));
        }
    }

    fn copy(&mut self, refused_from: Option<u16>) -> Option<Self> {
        let digest = self.filter.digest();
        let copy = refused(refused_from, || self.filter.try_clone());
        assert_eq!(self.filter.digest(), digest);
        match copy {
            Ok(filter) => {
                assert_eq!(filter.digest(), digest);
                Some(Self { filter, copies: self.copies.clone(), ..*self })
            }
            Err(error) => {
                assert_eq!(error, AddError::OutOfMemory);
                assert!(refused_from.is_some());
                None
            }
        }
    }

    /// Saves it and loads what was saved, in short chunks, in a second attempt where the first had
    /// no memory. While it is not all there, nothing can be added or removed.
    fn transfer(&mut self, refused_from: Option<u16>) {
        let mut to: Option<Filter> = None;
        for bytes in chain_of(&self.filter).in_chunks_of(1) {
            let chunk = Chunk::parse(&bytes).unwrap();
            let limit = SizeLimit::Unlimited;
            let begun = refused(refused_from, || load_chunk(to.as_mut(), &chunk, limit));
            let begun = begun.or_else(|error| {
                assert_eq!(error, DecodeError::OutOfMemory);
                assert!(refused_from.is_some());
                load_chunk(to.as_mut(), &chunk, limit)
            });
            to = begun.unwrap().or(to);
            let to = to.as_mut().expect("the first chunk was loaded");
            if !chunk.is_last() {
                assert_eq!(to.loading().map(|loading| loading.next()), Some(chunk.next));
                let refused = to.add_copy(b"", Adding::Copies, ROOM);
                assert_eq!(refused, Err(AddError::Loading));
                assert_eq!(to.remove(b""), Err(AddError::Loading));
            }
        }
        let received = to.expect("every filter has a first chunk");
        assert_eq!(received.digest(), self.filter.digest());
        self.filter = received;
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

fn new(error_rate: f64, grows: bool) -> Filter {
    let parameters = CountingParameters {
        error_rate,
        capacity: CAPACITY,
        expansion: grows.into(),
        bucket_size: 2,
        max_iterations: 20,
        seed: Seed(1),
    };
    Filter::counting(parameters, SizeLimit::Unlimited).unwrap()
}

/// Filters that hold the first items, and some that no operation asks for: tables of several pages,
/// one with many copies, and one with pages that say yes to everything.
fn filled() -> &'static [(Vec<Encoded>, u16)] {
    static FILLED: OnceLock<Vec<(Vec<Encoded>, u16)>> = OnceLock::new();
    FILLED.get_or_init(|| {
        let with = |error_rate, items: u16, others: &[[u8; 8]]| {
            let mut filter = new(error_rate, true);
            let items_too = (0..items).map(|item| item.to_le_bytes().to_vec());
            for item in items_too.chain(others.iter().map(|item| item.to_vec())) {
                let limit = SizeLimit::Unlimited;
                filter.add_copy(&item, Adding::Copies, limit).unwrap();
            }
            (encoded(&filter), items)
        };
        let copies: Vec<[u8; 8]> = (0..3_000u64).map(|n| (n % 100).to_le_bytes()).collect();
        vec![
            with(1e-12, 2_500, &[]),
            with(0.01, 2_500, &copies),
            with(0.01, 1_800, &[]),
            with(0.5, 1_000, &aimed(1, 8, 3_000)),
        ]
    })
}
