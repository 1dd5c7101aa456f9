//! Operations on a windowed filter, compared with the times at which its items came, and with a
//! second filter that does the same.

use super::chains::chain_of;
use super::fuzzed::Fuzzed;
use super::laws::{decoded, encoded};
use super::operations::{batch, refused, Copier};
use super::survival::assert_survives;
use arbitrary::{Arbitrary, Unstructured};
use splitbloom_filter::codec::{load_chunk, Chunk};
use splitbloom_filter::error::{AddError, DecodeError};
use splitbloom_filter::filter::{Filter, Growth, Outcome, Parameters, SizeLimit, Window};
use splitbloom_filter::hash::Seed;
use std::collections::BTreeMap;

/// The error rate and whether it grows. At the first one no item is taken for another.
const KINDS: [(f64, Growth); 4] = [
    (1e-12, Growth::Times(2)),
    (0.01, Growth::Times(2)),
    (0.5, Growth::Times(2)),
    (0.01, Growth::Fixed),
];
/// The most items of a filter that does not grow.
const CAPACITY: u64 = 500;
/// Windows in seconds.
const SECONDS: [u32; 3] = [1, 86_400, 315_360_000];
/// No filter gets larger: a fuzzer should try many inputs, not large ones.
const ROOM: SizeLimit = SizeLimit::Bytes(4 << 20);

#[derive(Arbitrary, Debug)]
struct Script {
    kind: u8,
    seconds: u8,
    slices: u8,
    renews: bool,
    start: u32,
    operations: Vec<Operation>,
}

#[derive(Arbitrary, Debug)]
enum Operation {
    AddMany {
        first: u16,
        number: u16,
    },
    AddWithShortMemory {
        item: u16,
        refused_from: u16,
    },
    AddWithinLimit {
        item: u16,
        bytes: u16,
    },
    ContainsMany {
        first: u16,
        number: u16,
    },
    /// So many thousandths of the window pass.
    Wait {
        thousandths: u16,
    },
    Sweep,
    SweepWithShortMemory {
        refused_from: u16,
    },
    Copy {
        refused_from: Option<u16>,
    },
    SaveAndLoad {
        refused_from: Option<u16>,
    },
    Move {
        steps: u8,
    },
}

/// A filter, and when the items came that it may contain.
struct Subject {
    filter: Filter,
    /// Does what the filter does, and is never saved.
    twin: Filter,
    came: BTreeMap<u16, u64>,
    now: u64,
}

/// Runs the operations that the bytes encode.
pub fn windowed(bytes: &[u8]) {
    let Ok(script) = Script::arbitrary(&mut Unstructured::new(bytes)) else {
        return;
    };
    let mut subject = Subject::of(&script);
    for operation in &script.operations {
        subject.run(operation);
    }
    let items: Vec<u16> = subject.came.keys().copied().collect();
    items.into_iter().for_each(|item| subject.assert_knows(item));
    subject.assert_like_twin();
    subject.filter.assert_sound();
    assert_survives(&mut subject.filter);
    subject.assert_forgets_all();
}

impl Subject {
    fn of(script: &Script) -> Self {
        let (error_rate, growth) = KINDS[usize::from(script.kind) % KINDS.len()];
        let seconds = SECONDS[usize::from(script.seconds) % SECONDS.len()];
        let window = Window::new(seconds, 2 + script.slices % 13, script.renews);
        let parameters = Parameters { error_rate, capacity: CAPACITY, growth, seed: Seed(1) };
        let new = || {
            let window = window.expect("a sound window");
            Filter::windowed(parameters, window, SizeLimit::Unlimited).unwrap()
        };
        Self { filter: new(), twin: new(), came: BTreeMap::new(), now: script.start.into() }
    }

    fn run(&mut self, operation: &Operation) {
        match *operation {
            Operation::AddMany { first, number } => self.add_many(first, number),
            Operation::AddWithShortMemory { item, refused_from } => {
                self.add(item, ROOM, Some(refused_from));
                // A page may have stayed as it was where there was no memory to sweep it.
                self.twin = decoded(&encoded(&self.filter));
            }
            Operation::AddWithinLimit { item, bytes } => {
                self.add(item, SizeLimit::Bytes(bytes.into()), None);
            }
            Operation::ContainsMany { first, number } => self.contains_many(first, number),
            Operation::Wait { thousandths } => {
                self.sweep_all();
                self.now += self.length() * u64::from(thousandths) / 1_000;
            }
            Operation::Sweep => {
                let swept = self.filter.sweep_step(self.now);
                assert_eq!(self.twin.sweep_step(self.now), swept);
                let digest = self.filter.digest();
                let again = self.filter.sweep_step(self.now).unwrap();
                assert_eq!((again.forgotten, self.filter.digest()), (0, digest));
                assert_eq!(self.twin.sweep_step(self.now), Ok(again));
            }
            Operation::SweepWithShortMemory { refused_from } => {
                let (filter, now) = (&mut self.filter, self.now);
                refused(Some(refused_from), || filter.sweep_step(now)).unwrap();
                self.twin.sweep_step(self.now).unwrap();
                assert_eq!(self.filter.digest(), self.twin.digest());
                self.twin = decoded(&encoded(&self.filter));
            }
            Operation::Copy { refused_from } => self.copy(refused_from),
            Operation::SaveAndLoad { refused_from } => self.transfer(refused_from),
            Operation::Move { steps } => self.relocate(steps),
        }
    }

    fn window(&self) -> Window {
        self.filter.window().expect("a window")
    }

    fn length(&self) -> u64 {
        u64::from(self.window().seconds()) * 1_000
    }

    fn is_exact(&self) -> bool {
        self.filter.parameters().error_rate == KINDS[0].0
    }

    fn age(&self, item: u16) -> Option<u64> {
        self.came.get(&item).map(|came| self.now - came)
    }

    /// Sweeps to the end, as the server's timer does. Without, slices may pass faster than they are
    /// swept, and the newest ones are remembered longer.
    fn sweep_all(&mut self) {
        for filter in [&mut self.filter, &mut self.twin] {
            while !filter.sweep_step(self.now).expect("memory").is_done {}
        }
    }

    /// Not forgotten early; and where no item is taken for another, not late.
    fn assert_knows(&self, item: u16) {
        let (known, age) = (self.filter.contains_at(&item.to_le_bytes(), self.now), self.age(item));
        assert!(known || age.is_none_or(|age| age > self.length()));
        let slice = self.length().div_ceil(self.window().slices().into());
        let is_late = age.is_none_or(|age| age > self.length() + slice);
        assert!(!(known && is_late && self.is_exact()));
    }

    fn assert_like_twin(&self) {
        assert_eq!(self.filter.digest(), self.twin.digest());
        let (chunks, others) = (encoded(&self.filter), encoded(&self.twin));
        let bytes = chunks.iter().map(|chunk| &chunk.bytes);
        assert!(bytes.eq(others.iter().map(|chunk| &chunk.bytes)));
    }

    fn note(&mut self, item: u16, known: bool, outcome: Outcome) {
        assert_eq!(outcome.is_new(), !known);
        assert!(outcome != Outcome::Renewed || self.window().renews());
        if outcome.has_changed() {
            self.came.insert(item, self.now);
        }
    }

    fn add(&mut self, item: u16, limit: SizeLimit, refused_from: Option<u16>) {
        let (bytes, now) = (item.to_le_bytes(), self.now);
        let known = self.filter.contains_at(&bytes, now);
        let (digest, latest) = (self.filter.digest(), self.filter.latest());
        let filter = &mut self.filter;
        let outcome = refused(refused_from, || filter.add_at(&bytes, now, limit));
        if refused_from.is_none() {
            assert_eq!(self.twin.add_at(&bytes, now, limit), outcome);
        }
        match outcome {
            Ok(outcome) => {
                assert!(self.filter.contains_at(&bytes, now));
                assert!(outcome.has_changed() || self.filter.digest() == digest);
                self.note(item, known, outcome);
            }
            Err(error) => {
                let is_fixed = self.filter.parameters().growth == Growth::Fixed;
                assert!(match error {
                    AddError::Full => is_fixed && self.filter.items_at(now) >= CAPACITY,
                    AddError::OverLimit => limit != SizeLimit::Unlimited,
                    AddError::OutOfMemory => refused_from.is_some(),
                    AddError::Uncountable | AddError::Loading => false,
                });
                assert_eq!(self.filter.latest(), latest);
                assert_eq!(self.filter.digest(), digest);
            }
        }
    }

    /// A batch does what its items do one by one.
    fn add_many(&mut self, first: u16, number: u16) {
        let (items, now) = (batch(first, number), self.now);
        let mut answers = Vec::new();
        let slices = items.iter().map(<[u8; 2]>::as_slice);
        let result = self.twin.add_many_at(slices, now, ROOM, |_, answer| answers.push(answer));
        let mut one_by_one = Ok(());
        let mut answers = answers.into_iter();
        for item in &items {
            let known = self.filter.contains_at(item, now);
            match self.filter.add_at(item, now, ROOM) {
                Ok(outcome) => {
                    assert_eq!(answers.next(), Some(outcome));
                    self.note(u16::from_le_bytes(*item), known, outcome);
                }
                Err(error) => {
                    one_by_one = Err(error);
                    break;
                }
            }
        }
        assert_eq!((answers.next(), result), (None, one_by_one));
        assert_eq!(self.filter.digest(), self.twin.digest());
    }

    fn contains_many(&self, first: u16, number: u16) {
        let items = batch(first, number);
        let (mut answers, digest) = (Vec::new(), self.filter.digest());
        let slices = items.iter().map(<[u8; 2]>::as_slice);
        self.filter.contains_many_at(slices, self.now, |answer| answers.push(answer));
        assert_eq!(answers.len(), items.len());
        for (item, answer) in items.iter().zip(answers) {
            assert_eq!(answer, self.filter.contains_at(item, self.now));
            self.assert_knows(u16::from_le_bytes(*item));
        }
        assert_eq!(self.filter.digest(), digest);
    }

    /// A copy takes the place of the original, which changes and goes.
    fn copy(&mut self, refused_from: Option<u16>) {
        let digest = self.filter.digest();
        let filter = &mut self.filter;
        match refused(refused_from, || filter.try_clone()) {
            Ok(copy) => {
                let mut original = std::mem::replace(&mut self.filter, copy);
                let over = self.now + 2 * self.length();
                original.sweep_step(over).unwrap();
                let _ = original.add_at(b"original", over, ROOM);
            }
            Err(error) => {
                assert_eq!(error, AddError::OutOfMemory);
                assert!(refused_from.is_some());
            }
        }
        assert_eq!(self.filter.digest(), digest);
    }

    /// Saves it and loads what was saved, in short chunks, in a second attempt where the first had
    /// no memory. While it is not all there, nothing changes it.
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
                assert_eq!(to.sweep_step(self.now), Err(AddError::Loading));
                assert_eq!(to.next_due(), None);
                if !to.contains_at(b"", self.now) {
                    assert_eq!(to.add_at(b"", self.now, ROOM), Err(AddError::Loading));
                }
            }
        }
        let received = to.expect("every filter has a first chunk");
        assert_eq!(received.digest(), self.filter.digest());
        self.filter = received;
        self.assert_like_twin();
    }

    /// Moves all allocations, asking `steps` times in a step whether to stop.
    fn relocate(&mut self, steps: u8) {
        let (digest, mut from) = (self.filter.digest(), 0);
        while let Some(next) = self.filter.relocate(from, &mut Copier { steps }) {
            assert!(next.get() > from, "it gets on");
            from = next.get();
        }
        assert_eq!(self.filter.digest(), digest);
    }

    /// When nothing comes any more, all is over at some time, and swept.
    fn assert_forgets_all(&mut self) {
        let end = self.now + 2 * self.length();
        let mut steps = 0;
        while let Some(due) = self.filter.next_due() {
            self.now = self.now.max(due);
            self.filter.sweep_step(self.now).unwrap();
            steps += 1;
            assert!(self.now <= end && steps < 1_000);
        }
        assert_eq!(self.filter.items_at(self.now), 0);
        assert!(self.filter.reserved_bytes() < 1_024);
    }
}
