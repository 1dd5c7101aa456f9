//! The end of journals that nobody asks for. They are visited in turn, a few at a time: when
//! another is asked for, and by a timer.

use super::waiting::{does_any_wait, wake_those_whose_journal_has_ended};
use super::{is_any, journals, Journals};
use crate::config;
use splitbloom_server::clock::time_now;
use splitbloom_server::context::Context;
use splitbloom_server::timer::Timer;
use std::collections::VecDeque;

/// Journals visited when one is asked for: more than the one that this may begin, so that turns of
/// journals that have ended do not pile up.
pub const VISITS_OF_A_COMMAND: usize = 2;
/// Journals visited by the timer, which takes some 50 µs, and the interval: as many as the default
/// limits allow are visited in half a minute.
const VISITS_OF_THE_TIMER: usize = 512;
const INTERVAL_MS: u64 = 1_000;

static TIMER: Timer = Timer::new();

/// The turns of the journals: address and id. A turn whose journal has ended is passed over.
#[derive(Default)]
pub struct Rounds(VecDeque<(usize, u64)>);

impl Rounds {
    /// Adds a turn; returns whether there was memory for it.
    pub fn try_add(&mut self, address: usize, id: u64) -> bool {
        let has_room = self.0.try_reserve(1).is_ok();
        if has_room {
            self.0.push_back((address, id));
        }
        has_room
    }
}

impl Journals {
    /// Visits the next `visits` journals, and ends those that are idle.
    pub fn visit(&mut self, visits: usize, now: u64) {
        let time = config::journal_idle_ms();
        for _ in 0..visits.min(self.rounds.0.len()) {
            let Some(turn @ (address, id)) = self.rounds.0.pop_front() else {
                return;
            };
            match self.by_address.get(&address) {
                Some(journal) if journal.id != id => {}
                None => {}
                Some(journal) if journal.pulse.is_idle(now, time) => {
                    self.by_address.remove(&address);
                }
                Some(_) => self.rounds.0.push_back(turn), // where the other was
            }
        }
    }
}

/// Registers the timer.
pub fn register(context: &Context) {
    TIMER.register(context, tick);
}

/// Sets the timer, as there is a journal now, which clients may wait for.
pub fn visit_later(context: &Context, now: u64) {
    TIMER.set(now + INTERVAL_MS, context.thread());
}

fn tick(context: &Context) -> Option<u64> {
    let now = time_now();
    journals().visit(VISITS_OF_THE_TIMER, now);
    wake_those_whose_journal_has_ended(context);
    (is_any() || does_any_wait()).then(|| now + INTERVAL_MS)
}
