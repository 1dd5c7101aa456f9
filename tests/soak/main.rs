//! Hours of random commands against a model, while the server is saving, killed, restarted and
//! disconnected from its replica. Every acknowledged item must be present, deleted keys must be
//! gone, copies must be equal, and error rates and memory as expected.
//!
//! `make soak MINUTES=30` runs it. `SEED=` repeats the choices of an earlier run, but the timing of
//! commands and disturbances depends on the machine.

mod counters;
mod durable;
mod model;
mod player;
mod rates;

use counters::Counters;
use rates::Rates;
use splitbloom_harness::now;
use std::env;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn main() {
    let minutes: f64 = setting("MINUTES").unwrap_or(10.0);
    let seed: u64 = setting("SEED").unwrap_or_else(now);
    println!("soak: {minutes} minutes, SEED={seed}");
    let counters = Arc::new(Counters::default());
    let rates = Arc::new(Rates::default());
    let end = Instant::now() + Duration::from_secs_f64(minutes * 60.0);
    durable::run(seed, end, &counters, &rates);
    println!("\n{counters}");
    rates.assert_within_requested();
    println!("soak: passed, SEED={seed}");
}

fn setting<T: std::str::FromStr>(name: &str) -> Option<T> {
    let text = env::var(name).ok().filter(|text| !text.is_empty())?;
    let value = text.parse().ok();
    Some(value.unwrap_or_else(|| panic!("{name} is not a number: {text}")))
}
