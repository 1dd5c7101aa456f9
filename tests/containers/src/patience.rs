//! Waiting for what others do in their own time.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// What takes longer than this does not happen: a container on a busy machine needs seconds, a failover some ten.
pub const PATIENCE: Duration = Duration::from_secs(180);

const BETWEEN_TWO_LOOKS: Duration = Duration::from_millis(200);

/// The value, as soon as there is one.
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "in vain: {what}");
        sleep(BETWEEN_TWO_LOOKS);
    }
}
