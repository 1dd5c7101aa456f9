//! Time that the machine itself takes away. A virtual CPU stops now and then for milliseconds, a
//! busy one more often than an idle one. That latency is not the server's doing.
//!
//! Memory that has not been used for a while is slow too: the host has to find each page that is
//! touched, which takes ten times as long as the guest's part of the page fault.
//!
//! A metronome thread on each CPU, at real-time priority, ticks twice a millisecond. When a tick is
//! late, nothing else ran on that CPU either.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Barrier;
use std::time::{Duration, Instant};
use std::{fs, thread};

const TICK: Duration = Duration::from_micros(500);
/// An undisturbed tick is up to 0.1 ms late.
const LATE: Duration = Duration::from_micros(200);

/// What the module copies at a time: a segment.
const COPIED: usize = 64 * 1024;

/// An interval in which a CPU stood still.
#[derive(Clone, Copy)]
pub struct Gap {
    from: Instant,
    to: Instant,
}

/// Ticks on CPU `number` from when all threads are `ready` until `is_over`; returns the gaps.
pub fn record_gaps(number: usize, ready: &Barrier, is_over: &AtomicBool) -> Vec<Gap> {
    on_this_thread("taskset", &["--cpu-list", "--pid", &number.to_string()]);
    use_real_time_priority();
    ready.wait();
    let mut gaps = Vec::new();
    while !is_over.load(Ordering::Acquire) {
        let from = Instant::now() + TICK;
        thread::sleep(TICK);
        let to = Instant::now();
        if to.saturating_duration_since(from) > LATE {
            gaps.push(Gap { from, to });
        }
    }
    gaps
}

/// How much of an interval the gaps cover.
pub fn overlap(gaps: &[Gap], from: Instant, to: Instant) -> Duration {
    let first = gaps.partition_point(|gap| gap.to <= from);
    let inside = gaps[first..].iter().take_while(|gap| gap.from < to);
    inside.map(|gap| gap.to.min(to).saturating_duration_since(gap.from.max(from))).sum()
}

/// Gives this thread real-time priority if permitted: the lowest one, which still precedes every
/// thread without it.
pub fn use_real_time_priority() {
    on_this_thread("chrt", &["--fifo", "--pid", "1"]);
}

fn on_this_thread(program: &str, arguments: &[&str]) {
    let path = fs::read_link("/proc/thread-self").unwrap_or_default();
    let mut command = Command::new(program);
    command.args(arguments).arg(path.file_name().unwrap_or_default());
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().ok();
}

/// How long the main thread of a process has been runnable without a CPU, since it started: the
/// second field of its `schedstat`.
pub fn run_delay(process: u32) -> Option<Duration> {
    let path = format!("/proc/{process}/task/{process}/schedstat");
    let text = fs::read_to_string(path).ok()?;
    let nanoseconds = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}

/// Writes to `bytes` of fresh memory and frees it, twice: the first pass may make the host find the
/// pages. Returns the bytes per second of the second pass, which takes one page fault per page.
pub fn touch_memory(bytes: usize) -> f64 {
    let from = vec![1_u8; COPIED];
    let touch = || {
        let started = Instant::now();
        let mut fresh: Vec<u8> = Vec::with_capacity(bytes);
        while fresh.len() + COPIED <= bytes {
            fresh.extend_from_slice(&from);
        }
        std::hint::black_box(&fresh);
        fresh.len() as f64 / started.elapsed().as_secs_f64()
    };
    touch();
    touch()
}
