//! Hours of random commands against a model, while the server is saved, killed, restarted, cut off from its replica and evicting:
//! every item that was acknowledged must be there, what was deleted is gone, copies are equal, error rates and memory are what they
//! should be.
//!
//! `make soak MINUTES=30` runs it. `SEED=` repeats the choices of an earlier run; when the commands of the players meet the
//! disturbances is up to the machine.

#[path = "../harness/mod.rs"]
mod harness;

mod durable;
mod evicting;
mod model;
mod player;
mod rates;
mod tally;

use rates::Rates;
use std::env;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tally::Tally;

fn main() {
    let minutes: f64 = setting("MINUTES").unwrap_or(10.0);
    let seed: u64 = setting("SEED").unwrap_or_else(seed_of_now);
    println!("soak: {minutes} minutes, SEED={seed}");
    let tally = Arc::new(Tally::default());
    let rates = Arc::new(Rates::default());
    let time = Time {
        end: Instant::now() + Duration::from_secs_f64(minutes * 60.0),
        has_failed: AtomicBool::new(false),
    };
    thread::scope(|threads| {
        threads.spawn(|| time.unless_failed(|| durable::run(seed, &time, &tally, &rates)));
        threads.spawn(|| time.unless_failed(|| evicting::run(seed, &time, &tally, &rates)));
    });
    println!("\n{tally}\n{rates}");
    rates.assert_as_asked_for();
    println!("soak: all held, SEED={seed}");
}

/// How long it goes on: when one half fails, the other ends as well, and its servers with it.
struct Time {
    end: Instant,
    has_failed: AtomicBool,
}

impl Time {
    fn is_over(&self) -> bool {
        self.has_failed.load(SeqCst) || Instant::now() > self.end
    }

    fn unless_failed(&self, half: impl FnOnce()) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(half)) {
            self.has_failed.store(true, SeqCst);
            resume_unwind(panic);
        }
    }
}

fn setting<T: std::str::FromStr>(name: &str) -> Option<T> {
    let text = env::var(name).ok().filter(|text| !text.is_empty())?;
    let value = text.parse().ok();
    Some(value.unwrap_or_else(|| panic!("{name} is no number: {text}")))
}

fn seed_of_now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.expect("a clock after 1970").as_micros() as u64
}
