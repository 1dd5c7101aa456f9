//! Windowed filters, each beside the times at which its items came.

use super::chains::{self, TWICE};
use super::runner::{again, refused, run, Before, Model, Subject, ROOM};
use arbitrary::Arbitrary;
use splitbloom_filter::error::AddError;
use splitbloom_filter::filter::{Filter, Growth, Outcome, Window};
use std::collections::BTreeMap;

/// The error rate, and whether the filter grows. At the first rate there are no false positives.
const KINDS: [(f64, Growth); 4] =
    [(1e-12, TWICE), (0.01, TWICE), (0.5, TWICE), (0.01, Growth::Fixed)];
/// The most items of a filter that does not grow.
const CAPACITY: u64 = 500;
/// Windows in seconds.
const SECONDS: [u32; 3] = [1, 86_400, 315_360_000];

/// Runs the operations that the bytes encode.
pub fn windowed(bytes: &[u8]) {
    run::<Times>(bytes);
}

#[derive(Arbitrary, Debug)]
struct Start {
    kind: u8,
    seconds: u8,
    slices: u8,
    renews: bool,
    time: u32,
}

/// `Wait`: thousandths of the window pass.
#[derive(Arbitrary, Debug)]
enum Operation {
    Wait { thousandths: u16 },
    Sweep,
    SweepWithShortMemory { refused_from: u16 },
}

/// When the items came that a filter may contain.
#[derive(Clone)]
struct Times {
    came: BTreeMap<u16, u64>,
    now: u64,
    window: Window,
    is_exact: bool,
}

impl Model for Times {
    type Start = Start;
    type Own = Operation;

    fn start(start: &Start) -> (Filter, Self) {
        let (error_rate, growth) = KINDS[usize::from(start.kind) % KINDS.len()];
        let seconds = SECONDS[usize::from(start.seconds) % SECONDS.len()];
        let window = Window::new(seconds, 2 + start.slices % 13, start.renews);
        let window = window.expect("a sound window");
        let filter = chains::windowed(error_rate, CAPACITY, growth, window);
        let (came, is_exact) = (BTreeMap::new(), error_rate == KINDS[0].0);
        (filter, Self { came, now: start.time.into(), window, is_exact })
    }

    fn now(&self) -> u64 {
        self.now
    }

    fn note(&mut self, _filter: &Filter, item: u16, before: &Before, outcome: Outcome) {
        assert_eq!(outcome.is_new(), !before.known);
        assert!(outcome != Outcome::Renewed || self.window.renews());
        if outcome.has_changed() {
            self.came.insert(item, self.now);
        }
    }

    fn may_refuse(&self, filter: &Filter, error: AddError, _known: bool) -> bool {
        let is_fixed = filter.parameters().growth == Growth::Fixed;
        match error {
            AddError::Full => is_fixed && filter.items_at(self.now) >= CAPACITY,
            error => error != AddError::Loading,
        }
    }

    /// An item is not forgotten early; nor late, at the rate without false positives.
    fn assert_knows(&self, filter: &Filter, item: u16) {
        let known = filter.contains_at(&item.to_le_bytes(), self.now);
        let age = self.came.get(&item).map(|came| self.now - came);
        assert!(known || age.is_none_or(|age| age > self.length()));
        let slice = self.length().div_ceil(self.window.slices().into());
        let is_late = age.is_none_or(|age| age > self.length() + slice);
        assert!(!(known && is_late && self.is_exact));
    }

    fn assert_knows_all(&self, filter: &Filter) {
        self.came.keys().for_each(|item| self.assert_knows(filter, *item));
    }

    fn assert_waits(&self, loading: &mut Filter) {
        assert_eq!(loading.sweep_step(self.now), Err(AddError::Loading));
        assert_eq!(loading.next_due(), None);
        if !loading.contains_at(b"", self.now) {
            assert_eq!(loading.add_at(b"", self.now, ROOM), Err(AddError::Loading));
        }
    }

    fn run(subject: &mut Subject<Self>, operation: Operation) {
        let Subject { filter, twin, model } = subject;
        match operation {
            Operation::Wait { thousandths } => {
                // Sweeps to the end, as the server's timer does. Otherwise slices may pass faster
                // than they are swept, and the newest ones are remembered longer.
                for filter in [filter, twin] {
                    while !filter.sweep_step(model.now).expect("memory").is_done {}
                }
                model.now += model.length() * u64::from(thousandths) / 1_000;
            }
            Operation::Sweep => {
                let swept = filter.sweep_step(model.now);
                assert_eq!(twin.sweep_step(model.now), swept);
                let digest = filter.digest();
                let again = filter.sweep_step(model.now).unwrap();
                assert_eq!((again.forgotten, filter.digest()), (0, digest));
                assert_eq!(twin.sweep_step(model.now), Ok(again));
            }
            Operation::SweepWithShortMemory { refused_from } => {
                refused(Some(refused_from), || filter.sweep_step(model.now)).unwrap();
                twin.sweep_step(model.now).unwrap();
                assert_eq!(filter.digest(), twin.digest());
                *twin = again(filter);
            }
        }
    }

    /// When nothing is added any more, all items are over at some time, and swept.
    fn assert_ends(mut self, mut filter: Filter) {
        let end = self.now + 2 * self.length();
        let mut steps = 0;
        while let Some(due) = filter.next_due() {
            self.now = self.now.max(due);
            filter.sweep_step(self.now).unwrap();
            steps += 1;
            assert!(self.now <= end && steps < 1_000);
        }
        assert_eq!(filter.items_at(self.now), 0);
        assert!(filter.reserved_bytes() < 1_024);
    }
}

impl Times {
    fn length(&self) -> u64 {
        u64::from(self.window.seconds()) * 1_000
    }
}
