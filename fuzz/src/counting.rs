//! Counting filters, each beside the multiset that it must contain.

use super::chains::{self, aimed};
use super::laws::decoded;
use super::runner::{batch, filled, refused, run, Before, Model, Subject, ROOM};
use arbitrary::Arbitrary;
use splitbloom_filter::codec::Encoded;
use splitbloom_filter::error::AddError;
use splitbloom_filter::filter::{Adding, Filter, Outcome, SizeLimit};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The error rate, and whether the filter grows. At the first rate there are no false positives.
const KINDS: [(f64, bool); 4] = [(1e-12, true), (0.01, true), (0.5, true), (0.001, false)];
/// The most copies of a filter that does not grow.
const CAPACITY: u64 = 500;
/// From this kind on, filters that hold items already.
const FIRST_FILLED: u8 = 128;

/// Runs the operations that the bytes encode.
pub fn counting(bytes: &[u8]) {
    run::<Multiset>(bytes);
}

/// `Adding` sets what is added from now on: copies, or only absent items.
#[derive(Arbitrary, Debug)]
enum Operation {
    Adding { are_copies: bool },
    RemoveMany { first: u16, number: u16 },
    RemoveWithShortMemory { item: u16, refused_from: u16 },
}

/// The copies of items that a filter must contain.
#[derive(Clone)]
struct Multiset {
    adding: Adding,
    copies: BTreeMap<u16, u64>,
    /// Copies of items that no operation asks for.
    others: u64,
    /// Whether no page says yes to everything.
    is_counted: bool,
}

/// The outcome of adding a copy, or an item that must be absent.
fn outcome(is_added: bool) -> Outcome {
    if is_added {
        Outcome::New
    } else {
        Outcome::Unchanged
    }
}

impl Model for Multiset {
    type Start = u8;
    type Own = Operation;

    fn start(kind: &u8) -> (Filter, Self) {
        let empty =
            Self { adding: Adding::Copies, copies: BTreeMap::new(), others: 0, is_counted: true };
        if let Some(kind) = kind.checked_sub(FIRST_FILLED) {
            let (chunks, items) = &FILLED[usize::from(kind) % FILLED.len()];
            let filter = decoded(chunks);
            let model = Self {
                copies: (0..*items).map(|item| (item, 1)).collect(),
                others: filter.items() - u64::from(*items),
                is_counted: filter.parameters().error_rate < 0.1,
                ..empty
            };
            return (filter, model);
        }
        let (error_rate, grows) = KINDS[usize::from(*kind) % KINDS.len()];
        (new(error_rate, grows), empty)
    }

    fn add(&self, to: &mut Filter, item: &[u8], limit: SizeLimit) -> Result<Outcome, AddError> {
        to.add_copy(item, self.adding, limit).map(outcome)
    }

    fn add_many(&self, to: &mut Filter, items: &[[u8; 2]]) -> Vec<Result<Outcome, AddError>> {
        let mut answers = Vec::new();
        let slices = items.iter().map(<[u8; 2]>::as_slice);
        let end = to.add_copies(slices, self.adding, ROOM, |answer| {
            answers.push(answer.map(outcome));
            Ok(())
        });
        assert_eq!((end, answers.len()), (Ok(()), items.len()));
        answers
    }

    fn note(&mut self, filter: &Filter, item: u16, before: &Before, outcome: Outcome) {
        let is_added = outcome.is_new();
        assert_eq!(is_added, self.adding == Adding::Copies || !before.known);
        assert!(!self.is_counted || filter.items() == before.items + u64::from(is_added));
        if is_added {
            *self.copies.entry(item).or_default() += 1;
        }
    }

    fn may_refuse(&self, filter: &Filter, error: AddError, _known: bool) -> bool {
        let is_fixed = filter.counting_parameters().expansion == 0;
        match error {
            AddError::Full => is_fixed && filter.items() >= CAPACITY,
            error => error != AddError::Loading,
        }
    }

    /// An item has at least its copies, and exactly as many at the rate without false positives.
    fn assert_knows(&self, filter: &Filter, item: u16) {
        let (known, copies) = (filter.count(&item.to_le_bytes()), self.copies_of(item));
        assert_eq!(known > 0, filter.contains(&item.to_le_bytes()));
        assert!(known >= copies || !self.is_counted && known == 1);
        assert!(known == copies || filter.parameters().error_rate != KINDS[0].0);
    }

    fn assert_knows_all(&self, filter: &Filter) {
        self.copies.keys().for_each(|item| self.assert_knows(filter, *item));
        if !self.is_counted {
            return;
        }
        assert_eq!(filter.items(), self.copies.values().sum::<u64>() + self.others);
        let rate = filter.parameters().error_rate;
        assert!(filter.false_positive_rate() <= rate);
        if filter.items() == 0 {
            assert_eq!(filter.reserved_bytes(), new(rate, false).reserved_bytes());
            assert_eq!(filter.false_positive_rate(), 0.0);
        }
    }

    fn assert_waits(&self, loading: &mut Filter) {
        assert_eq!(loading.add_copy(b"", Adding::Copies, ROOM), Err(AddError::Loading));
        assert_eq!(loading.remove(b""), Err(AddError::Loading));
    }

    fn run(subject: &mut Subject<Self>, operation: Operation) {
        match operation {
            Operation::Adding { are_copies } => {
                subject.model.adding = if are_copies { Adding::Copies } else { Adding::Absent };
            }
            Operation::RemoveMany { first, number } => {
                for item in batch(first, number) {
                    remove(subject, u16::from_le_bytes(item), None);
                }
            }
            Operation::RemoveWithShortMemory { item, refused_from } => {
                remove(subject, item, Some(refused_from));
            }
        }
    }
}

impl Multiset {
    fn copies_of(&self, item: u16) -> u64 {
        self.copies.get(&item).copied().unwrap_or(0)
    }
}

/// Removes an item. An absent one is refused; a false positive must not be removed, so it is
/// skipped.
fn remove(subject: &mut Subject<Multiset>, item: u16, refused_from: Option<u16>) {
    let Subject { filter, twin, model } = subject;
    let (bytes, copies) = (item.to_le_bytes(), model.copies_of(item));
    if copies == 0 && filter.contains(&bytes) {
        return;
    }
    let (items, deleted, digest) = (filter.items(), filter.deleted(), filter.digest());
    match refused(refused_from, || filter.remove(&bytes)) {
        Ok(was_there) => {
            assert_eq!(twin.remove(&bytes), Ok(was_there));
            assert_eq!(was_there, copies > 0);
            let removed = u64::from(was_there);
            assert_eq!(filter.deleted(), deleted + removed);
            assert!(!model.is_counted || filter.items() == items - removed);
            match copies {
                0 => assert_eq!(filter.digest(), digest),
                1 => drop(model.copies.remove(&item)),
                more => drop(model.copies.insert(item, more - 1)),
            }
        }
        Err(error) => {
            assert!(error == AddError::OutOfMemory && refused_from.is_some());
            assert_eq!(filter.digest(), digest);
        }
    }
    model.assert_knows(filter, item);
}

fn new(error_rate: f64, grows: bool) -> Filter {
    chains::counting(error_rate, CAPACITY, grows, 1)
}

/// Tables of several pages, one with many copies, and one with pages that say yes to everything.
static FILLED: LazyLock<[(Vec<Encoded>, u16); 4]> = LazyLock::new(|| {
    let copies: Vec<[u8; 8]> = (0..3_000u64).map(|n| (n % 100).to_le_bytes()).collect();
    [
        filled(new(1e-12, true), 2_500, &[]),
        filled(new(0.01, true), 2_500, &copies),
        filled(new(0.01, true), 1_800, &[]),
        filled(new(0.5, true), 1_000, &aimed(1, 8, 3_000)),
    ]
});
