//! Ends idle journals. They are visited in turn, a few at a time: when a client uses another, and
//! by a timer.

use super::waiting::{does_any_wait, wake_those_whose_journal_has_ended};
use super::{is_any, journals, Journals};
use crate::config;
use splitbloom_server::clock::time_now;
use splitbloom_server::context::Context;
use splitbloom_server::timer::Timer;
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::Weak;

/// Journals visited when a client uses one: more than the one that the client may begin, so that
/// turns of ended journals do not pile up.
pub const VISITS_OF_A_COMMAND: usize = 2;
/// Journals visited by the timer in some 50 µs, and its interval: all journals that the default
/// limits allow are visited in half a minute.
const VISITS_OF_THE_TIMER: usize = 512;
const INTERVAL_MS: u64 = 1_000;

static TIMER: Timer = Timer::new();

impl Journals {
    /// Visits the next `visits` journals, and ends those that are idle. Frees memory that many more
    /// journals needed before.
    pub fn visit(&mut self, visits: usize, now: u64) {
        self.end_idle(visits, now);
        if self.by_address.is_empty() {
            self.turns.clear();
            self.pulses.clear();
        }
        shrink(&mut self.by_address);
        shrink(&mut self.pulses);
        if is_sparse(self.turns.len(), self.turns.capacity()) {
            let mut turns = VecDeque::new();
            if turns.try_reserve(self.turns.len()).is_ok() {
                turns.append(&mut self.turns);
                self.turns = turns;
            }
        }
    }

    fn end_idle(&mut self, visits: usize, now: u64) {
        let time = idle_ms();
        for _ in 0..visits.min(self.turns.len()) {
            let Some(turn @ (address, id)) = self.turns.pop_front() else {
                return;
            };
            let journal = self.by_address.get(&address).filter(|journal| journal.id == id);
            if journal.is_some_and(|journal| journal.pulse.is_idle(now, time)) {
                self.by_address.remove(&address);
            } else if journal.is_some() {
                self.turns.push_back(turn); // into the room that it left
                continue;
            }
            let pulse = self.pulses.get(&id).and_then(Weak::upgrade);
            if pulse.is_none_or(|pulse| pulse.has_ended()) {
                self.pulses.remove(&id); // the journal has ended, not moved
            }
        }
    }
}

/// Whether a collection has room for many more than it holds, and for more than a few.
fn is_sparse(len: usize, capacity: usize) -> bool {
    capacity > 128 && len < capacity / 8
}

/// Moves a sparse map into one that fits. Without memory for that, it stays.
fn shrink<K: Eq + Hash, V>(map: &mut HashMap<K, V>) {
    if is_sparse(map.len(), map.capacity()) {
        let mut smaller = HashMap::new();
        if smaller.try_reserve(map.len()).is_ok() {
            smaller.extend(map.drain());
            *map = smaller;
        }
    }
}

/// How long an idle journal is kept, in milliseconds.
pub fn idle_ms() -> u64 {
    config::JOURNAL_IDLE_TIME.get().unsigned_abs() * 1000
}

/// Registers the timer.
pub fn register() {
    TIMER.register(tick);
}

/// Sets the timer, because there is a journal now, and clients may wait for it.
pub fn visit_later(context: &Context, now: u64) {
    TIMER.set(now + INTERVAL_MS, context.thread());
}

fn tick(context: &Context) -> Option<u64> {
    let now = time_now();
    journals().visit(VISITS_OF_THE_TIMER, now);
    wake_those_whose_journal_has_ended(context);
    (is_any() || does_any_wait()).then(|| now + INTERVAL_MS)
}
