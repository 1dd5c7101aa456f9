//! Waiting for something to happen, with a timeout.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// The timeout: a container on a busy machine needs seconds, a failover about ten.
pub const PATIENCE: Duration = Duration::from_secs(180);

const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Waits for a value.
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "timed out waiting for {what}");
        sleep(POLL_INTERVAL);
    }
}
