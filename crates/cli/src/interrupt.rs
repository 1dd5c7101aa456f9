//! Ctrl-C and other requests to end: what is under way is put in order first.
//!
//! A command that has nothing to put in order leaves them to the system, which ends the process.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::{fs, thread};

/// The signals that ask a process to end.
const ENDING: [i32; 3] = [SIGHUP, SIGINT, SIGTERM];

type Act = Box<dyn FnOnce(i32) + Send>;
/// What to do at the next of these signals.
static ACT: Mutex<Option<Act>> = Mutex::new(None);

/// While it lives, its function is called instead of ending the process at the first signal. The
/// second one ends the process at once.
#[must_use]
pub struct OnInterrupt {
    is_in_force: bool,
}

/// While it lives, signals wait, until the thing exists that an interruption must put in order.
pub struct HeldSignals(MutexGuard<'static, Option<Act>>);

/// From now on signals wait.
pub fn hold_signals() -> HeldSignals {
    static WATCH: Once = Once::new();
    WATCH.call_once(watch);
    HeldSignals(current())
}

impl HeldSignals {
    /// Calls `act` with the signal that asks the process to end, instead of ending it. If another
    /// `act` is in force, this one is ignored: the other sees to an orderly end.
    pub fn on_interrupt(mut self, act: impl FnOnce(i32) + Send + 'static) -> OnInterrupt {
        let is_in_force = self.0.is_none();
        self.0.get_or_insert_with(|| Box::new(act));
        OnInterrupt { is_in_force }
    }
}

impl Drop for OnInterrupt {
    fn drop(&mut self) {
        if self.is_in_force {
            *current() = None;
        }
    }
}

/// Ends the process as the signal does by default, so that its parent (a shell with a loop, for
/// example) knows why.
pub fn end_by(signal: i32) {
    let _ = emulate_default_handler(signal); // it knows the three
}

fn watch() {
    let ignored = ignored();
    let is_ignored = |signal: i32| ignored >> (signal - 1) & 1 == 1;
    let signals = ENDING.into_iter().filter(|signal| !is_ignored(*signal));
    // Without these handlers, a signal ends the process at once.
    let Ok(mut signals) = Signals::new(signals) else {
        return;
    };
    thread::spawn(move || {
        for signal in signals.forever() {
            let act = current().take();
            match act {
                Some(act) => act(signal),
                None => end_by(signal),
            }
        }
    });
}

/// The signals that this process was started to ignore, a bit each: by `nohup`, or in the
/// background of a script.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

fn current() -> MutexGuard<'static, Option<Act>> {
    ACT.lock().unwrap_or_else(PoisonError::into_inner)
}
