//! A probe sends small requests to one node while something else goes on.

use splitbloom_harness::trial::Node;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Between requests.
const INTERVAL: Duration = Duration::from_millis(1);

/// A key that the node serves.
pub fn key_of(node: &Node) -> String {
    let mut db = node.connect();
    let keys = (0..).map(|number| format!("probe:{number}"));
    let mut served = keys.filter(|key| !db.line(&format!("SET {key} ok")).is_error());
    served.next().expect("a node with a slot serves some key")
}

/// Sends PING and GET in turn until `is_over`; returns the longest time from when a request was due
/// to its reply. Requests due during a stall are sent after it and still count from when they were
/// due (G. Tene: coordinated omission).
pub fn max_latency(node: &Node, key: &str, is_over: &AtomicBool) -> io::Result<Duration> {
    let mut db = node.try_connect()?;
    let requests = [vec!["PING"], vec!["GET", key]];
    let mut max = Duration::ZERO;
    let mut due = Instant::now();
    for request in requests.iter().cycle() {
        sleep(due.saturating_duration_since(Instant::now()));
        let reply = db.try_call(request)?;
        if reply.is_error() {
            return Err(io::Error::other(reply.to_string()));
        }
        max = max.max(due.elapsed());
        due += INTERVAL;
        // Requests already due are sent first: they waited too.
        if is_over.load(Ordering::Acquire) && due > Instant::now() {
            break;
        }
    }
    Ok(max)
}
