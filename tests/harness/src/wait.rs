//! Waiting for conditions, with a timeout, and what time it is.

use std::env;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const PATIENCE: Duration = Duration::from_secs(120);
/// A factor for all timeouts, for servers that a tool slows down.
const PATIENCE_FACTOR: &str = "SPLITBLOOM_PATIENCE_FACTOR";
const PAUSE: Duration = Duration::from_millis(5);

/// Waits until the condition holds; fails the test if it never does.
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let (start, patience) = (Instant::now(), patient(PATIENCE));
    while !holds() {
        assert!(start.elapsed() < patience, "timed out waiting until {what}");
        sleep(PAUSE);
    }
}

/// The duration times `SPLITBLOOM_PATIENCE_FACTOR`.
pub fn patient(duration: Duration) -> Duration {
    let factor = env::var(PATIENCE_FACTOR)
        .map_or(1, |factor| factor.parse().expect("SPLITBLOOM_PATIENCE_FACTOR is a number"));
    duration * factor
}

/// Milliseconds since 1970.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.expect("a clock after 1970").as_millis() as u64
}

/// Sets the flag when dropped, even by a panic, so that whoever waits for it stops.
pub struct SetAtEnd<'a>(pub &'a AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
