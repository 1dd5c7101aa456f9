//! Someone who asks one node little things while something else goes on.

use crate::trial::Node;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// From one request to the next.
const INTERVAL: Duration = Duration::from_millis(1);

/// A key that the node serves.
pub fn key_of(node: &Node) -> String {
    let mut db = node.connect();
    let keys = (0..).map(|number| format!("bystander:{number}"));
    let mut served = keys.filter(|key| !db.line(&format!("SET {key} ok")).is_error());
    served.next().expect("one of all keys")
}

/// Asks PING and GET in turn until it is over; the longest that an answer came after its request was due. Requests that are due during a
/// stall are sent behind it and count from when they were due, so none is left out (G. Tene: coordinated omission).
pub fn worst_wait(node: &Node, key: &str, is_over: &AtomicBool) -> io::Result<Duration> {
    let mut db = node.try_connect()?;
    let requests = [vec!["PING"], vec!["GET", key]];
    let mut worst = Duration::ZERO;
    let mut due = Instant::now();
    for request in requests.iter().cycle() {
        sleep(due.saturating_duration_since(Instant::now()));
        let reply = db.try_call(request)?;
        if reply.is_error() {
            return Err(io::Error::other(reply.to_string()));
        }
        worst = worst.max(due.elapsed());
        due += INTERVAL;
        // What is still due is asked first: it waited too.
        if is_over.load(Ordering::Acquire) && due > Instant::now() {
            break;
        }
    }
    Ok(worst)
}
