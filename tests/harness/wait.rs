//! Waiting for what happens in its own time.

use std::env;
use std::thread::sleep;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(120);
/// How many times longer than usual a test waits before it fails, for servers under tools that slow them down.
const PATIENCE_FACTOR: &str = "SPLITBLOOM_PATIENCE_FACTOR";
const PAUSE: Duration = Duration::from_millis(5);

/// Returns when the condition holds; fails the test when it never does.
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let (start, patience) = (Instant::now(), patient(PATIENCE));
    while !holds() {
        assert!(start.elapsed() < patience, "never came true: {what}");
        sleep(PAUSE);
    }
}

/// So long, or longer where `SPLITBLOOM_PATIENCE_FACTOR` says so.
pub fn patient(duration: Duration) -> Duration {
    let factor = env::var(PATIENCE_FACTOR).map_or(1, |factor| {
        factor.parse().expect("the factor of patience is a number")
    });
    duration * factor
}
