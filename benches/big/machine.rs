//! What the machine takes from everyone: a virtual processor stands still now and then, for milliseconds, and a busy one more often than an idle one.
//! What a bystander sees of that is not the server's doing.
//!
//! And memory that was not used for a while is not there: the host has to find a page for each that is touched, which takes ten times as long as
//! what the guest does for it.
//!
//! A metronome on each processor, at real-time priority, should tick twice a millisecond. Where it ticks late, nothing else ran on that processor either.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Barrier;
use std::time::{Duration, Instant};
use std::{fs, thread};

const TICK: Duration = Duration::from_micros(500);
/// An undisturbed tick is up to 0.1 ms late.
const LATE: Duration = Duration::from_micros(200);

/// As much as the module copies at a time: a segment.
const TOUCHED: usize = 64 * 1024;

/// A time in which a processor stood still.
#[derive(Clone, Copy)]
pub struct Gap {
    from: Instant,
    to: Instant,
}

/// Ticks on processor `number`, once all are `ready`, until `is_over`, and answers the gaps.
pub fn gaps_of(number: usize, ready: &Barrier, is_over: &AtomicBool) -> Vec<Gap> {
    on_this_thread("taskset", &["--cpu-list", "--pid", &number.to_string()]);
    hurry();
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

/// How much of a time the gaps cover.
pub fn overlap(gaps: &[Gap], from: Instant, to: Instant) -> Duration {
    let first = gaps.partition_point(|gap| gap.to <= from);
    let inside = gaps[first..].iter().take_while(|gap| gap.from < to);
    inside
        .map(|gap| gap.to.min(to).saturating_duration_since(gap.from.max(from)))
        .sum()
}

/// Sets this thread to real-time priority, if that is allowed: the lowest, which is above all that is not real-time.
pub fn hurry() {
    on_this_thread("chrt", &["--fifo", "--pid", "1"]);
}

fn on_this_thread(program: &str, arguments: &[&str]) {
    let path = fs::read_link("/proc/thread-self").unwrap_or_default();
    let mut command = Command::new(program);
    command
        .args(arguments)
        .arg(path.file_name().unwrap_or_default());
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .ok();
}

/// How long the main thread of a process, in all its life, was ready to run but had no processor: the second number of its `schedstat`.
pub fn time_in_line(process: u32) -> Option<Duration> {
    let path = format!("/proc/{process}/task/{process}/schedstat");
    let text = fs::read_to_string(path).ok()?;
    let nanoseconds = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}

/// Writes to so many bytes of fresh memory, a page at a time, and gives them back: twice, since the first time may have the host find them. Answers the
/// bytes a second of the second time: so fast comes memory that was not used yet, with one fault a page.
pub fn touch_memory(bytes: usize) -> f64 {
    let from = vec![1_u8; TOUCHED];
    let touch = || {
        let started = Instant::now();
        let mut fresh: Vec<u8> = Vec::with_capacity(bytes);
        while fresh.len() + TOUCHED <= bytes {
            fresh.extend_from_slice(&from);
        }
        std::hint::black_box(&fresh);
        fresh.len() as f64 / started.elapsed().as_secs_f64()
    };
    touch();
    touch()
}
