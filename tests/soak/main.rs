//! Hours of random commands against a model, while the server is saving, killed, restarted,
//! disconnected from its replica, and evicting. Every acknowledged item must be present, deleted
//! keys must be gone, copies must be equal, and error rates and memory as expected.
//!
//! `make soak MINUTES=30` runs it. `SEED=` repeats the choices of an earlier run, but the timing of
//! commands and disturbances depends on the machine.

mod counters;
mod durable;
mod evicting;
mod model;
mod player;
mod rates;

use counters::Counters;
use rates::Rates;
use std::env;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

fn main() {
    let minutes: f64 = setting("MINUTES").unwrap_or(10.0);
    let seed: u64 = setting("SEED").unwrap_or_else(seed_from_clock);
    println!("soak: {minutes} minutes, SEED={seed}");
    let counters = Arc::new(Counters::default());
    let rates = Arc::new(Rates::default());
    let time = Time {
        end: Instant::now() + Duration::from_secs_f64(minutes * 60.0),
        has_failed: AtomicBool::new(false),
    };
    thread::scope(|threads| {
        threads.spawn(|| time.stop_all_on_panic(|| durable::run(seed, &time, &counters, &rates)));
        threads.spawn(|| time.stop_all_on_panic(|| evicting::run(seed, &time, &counters, &rates)));
    });
    println!("\n{counters}\n{rates}");
    rates.assert_within_requested();
    println!("soak: passed, SEED={seed}");
}

/// When to stop: at the end, or when either half fails, so that the other half stops its servers
/// too.
struct Time {
    end: Instant,
    has_failed: AtomicBool,
}

impl Time {
    fn is_over(&self) -> bool {
        self.has_failed.load(SeqCst) || Instant::now() > self.end
    }

    fn stop_all_on_panic(&self, half: impl FnOnce()) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(half)) {
            self.has_failed.store(true, SeqCst);
            resume_unwind(panic);
        }
    }
}

fn setting<T: std::str::FromStr>(name: &str) -> Option<T> {
    let text = env::var(name).ok().filter(|text| !text.is_empty())?;
    let value = text.parse().ok();
    Some(value.unwrap_or_else(|| panic!("{name} is not a number: {text}")))
}

fn seed_from_clock() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.expect("a clock after 1970").as_micros() as u64
}
