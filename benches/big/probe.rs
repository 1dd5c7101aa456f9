//! A probe measures the latency of other clients: it sends small requests while something large
//! goes on, and records the time of each reply.
//!
//! ```text
//!   sender    ──PING──GET──PING──GET──►  server     one request per millisecond, replies or not
//!   receiver  ◄─────────────────────────            records the time of every reply
//! ```
//!
//! The loop is open: latency counts from when a request was *due*. A client that waits for each
//! reply would see a stall of a second once, while the thousand requests due in that second all see
//! it here (Tene, "How NOT to measure latency": coordinated omission).
//!
//! The two threads share the CPUs with the server and its load. They run at real-time priority if
//! permitted (`chrt`, as root), so that they measure the server's delay and not their own. Stalls
//! of the machine itself are accounted for separately (see `machine.rs`).

use crate::machine::{overlap, record_gaps, run_delay, use_real_time_priority, Gap};
use splitbloom_rig::Outcome;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Barrier, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

/// Between requests: a stall of 5 ms, the limit for most phases, delays five of them.
const INTERVAL: Duration = Duration::from_millis(1);
/// Requests per second.
const PER_SECOND: usize = 1000;
/// How long the probe runs before and after the work.
const MARGIN: Duration = Duration::from_millis(100);
/// Longer than any stall; a server that stays silent this long is dead.
const PATIENCE: Duration = Duration::from_secs(120);

/// The key that GET reads, and its value.
const KEY: &str = "probe";
const VALUE: &str = "ok";
const REQUESTS: [&[u8]; 2] = [b"*1\r\n$4\r\nPING\r\n", b"*2\r\n$3\r\nGET\r\n$5\r\nprobe\r\n"];

/// A client of the server at `socket`, whose process is `server`.
pub struct Probe {
    socket: PathBuf,
    server: u32,
}

/// What the probe measured.
#[derive(Clone, Copy)]
pub struct Latencies {
    /// The maximum: the longest time from when a request was due to its reply.
    pub max: Duration,
    /// The median of the maxima of each second. A virtual CPU stops for some ten milliseconds now
    /// and then, and what happens once in twelve seconds says more about the machine than about the
    /// server.
    pub typical: Duration,
    /// The maximum, excluding time in which the server or the probe had no CPU.
    pub max_own: Duration,
}

/// The sender's message to the receiver that it is done.
#[derive(Default)]
struct End {
    is_due: AtomicBool,
    requests: AtomicUsize,
}

impl Probe {
    /// A probe of the server on `socket`, process `server`.
    pub fn new(socket: PathBuf, server: u32, client: &mut redis::Connection) -> Outcome<Self> {
        redis::cmd("SET").arg(KEY).arg(VALUE).query::<()>(client)?;
        Ok(Self { socket, server })
    }

    /// Runs `work` under the probe.
    pub fn during<T>(&self, work: impl FnOnce() -> Outcome<T>) -> Outcome<(T, Latencies)> {
        let mut to = UnixStream::connect(&self.socket)?;
        let mut from = to.try_clone()?;
        from.set_read_timeout(Some(PATIENCE))?;
        let (end, is_over) = (End::default(), AtomicBool::new(false));
        let processors = thread::available_parallelism()?.get();
        // The metronomes, the sender, the receiver and this thread.
        let ready = Barrier::new(processors + 3);
        let start = OnceLock::new();
        let (result, threads) = thread::scope(|scope| {
            let (end, is_over, ready) = (&end, &is_over, &ready);
            let metronome = |number| scope.spawn(move || record_gaps(number, ready, is_over));
            let metronomes: Vec<_> = (0..processors).map(metronome).collect();
            let sender = scope.spawn(|| {
                use_real_time_priority();
                ready.wait();
                send(&mut to, *start.get_or_init(Instant::now), self.server, end)
            });
            let receiver = scope.spawn(|| {
                use_real_time_priority();
                ready.wait();
                receive(&mut from, end)
            });
            ready.wait();
            thread::sleep(MARGIN);
            let result = work();
            thread::sleep(MARGIN);
            end.is_due.store(true, Ordering::Release);
            let (run_delays, replied) = (sender.join(), receiver.join());
            is_over.store(true, Ordering::Release);
            let gaps = metronomes.into_iter().map(|metronome| metronome.join());
            (result, (run_delays, replied, gaps.collect::<Result<_, _>>()))
        });
        let result = result?; // first: if the server died, this error says how
        let (run_delays, replied, gaps) = threads;
        let panicked = |_| "a probe thread panicked";
        let recorded = Recorded {
            run_delays: run_delays.map_err(panicked)??,
            replied: replied.map_err(panicked)??,
            gaps: gaps.map_err(panicked)?,
        };
        let start = *start.get().ok_or("the sender did not start")?;
        Ok((result, latencies(start, &recorded)))
    }
}

/// What the threads have recorded.
struct Recorded {
    /// The run delay of the server, since it started, when each request was sent.
    run_delays: Vec<Duration>,
    replied: Vec<Instant>,
    /// When each CPU stood still.
    gaps: Vec<Vec<Gap>>,
}

/// When request `index` is due.
fn due(start: Instant, index: usize) -> Instant {
    start + INTERVAL * index as u32
}

/// Sends requests when they are due, and records the server's run delay.
fn send(to: &mut UnixStream, start: Instant, server: u32, end: &End) -> io::Result<Vec<Duration>> {
    let mut run_delays = Vec::new();
    loop {
        let index = run_delays.len();
        thread::sleep(due(start, index).saturating_duration_since(Instant::now()));
        let is_last = end.is_due.load(Ordering::Acquire);
        if is_last {
            end.requests.store(index + 1, Ordering::Release); // before the last reply can arrive
        }
        run_delays.push(run_delay(server).unwrap_or_default());
        to.write_all(REQUESTS[index % 2])?;
        if is_last {
            return Ok(run_delays);
        }
    }
}

/// Records when each reply arrived.
fn receive(from: &mut UnixStream, end: &End) -> io::Result<Vec<Instant>> {
    let (mut bytes, mut replied) = ([0; 4096], Vec::new());
    let mut reader = Reader::default();
    while end.requests.load(Ordering::Acquire) == 0
        || replied.len() < end.requests.load(Ordering::Acquire)
    {
        let len = from.read(&mut bytes)?;
        let now = Instant::now();
        let complete = reader.count_replies(&bytes[..len])?;
        replied.resize(replied.len() + complete, now);
    }
    Ok(replied)
}

/// Counts replies: `+PONG`, `$2` and the line that follows, or `$-1` after FLUSHALL has deleted the
/// key.
#[derive(Default)]
struct Reader {
    line: Vec<u8>,
    is_after_length: bool,
}

impl Reader {
    /// The number of replies that end in these bytes.
    fn count_replies(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut complete = 0;
        for byte in bytes {
            self.line.push(*byte);
            if *byte != b'\n' {
                continue;
            }
            self.is_after_length = match (self.line.as_slice(), self.is_after_length) {
                (b"$2\r\n", false) => true,
                (b"+PONG\r\n" | b"$-1\r\n", false) | (b"ok\r\n", true) => {
                    complete += 1;
                    false
                }
                (other, _) => {
                    let text = String::from_utf8_lossy(other);
                    return Err(io::Error::other(format!("unexpected reply to a probe: {text}")));
                }
            };
            self.line.clear();
        }
        if bytes.is_empty() {
            return Err(io::Error::other("the server closed a probe's connection"));
        }
        Ok(complete)
    }
}

/// Computes each latency and the machine's share of it: the server waited for a CPU, or a CPU stood
/// still that the server, the sender or the receiver was on. These may coincide, so the share is
/// the longest of them, not the sum.
fn latencies(start: Instant, recorded: &Recorded) -> Latencies {
    let mut after = 0;
    let mut all: Vec<Latency> = Vec::new();
    for (index, replied) in recorded.replied.iter().enumerate() {
        let (from, to) = (due(start, index), *replied);
        while after + 1 < recorded.run_delays.len() && due(start, after) < to {
            after += 1;
        }
        let waited = recorded.run_delays[after].saturating_sub(recorded.run_delays[index]);
        let stalls = recorded.gaps.iter().map(|gaps| overlap(gaps, from, to));
        let whole = to.saturating_duration_since(from);
        let machine = stalls.fold(waited, Duration::max);
        all.push(Latency { whole, own: whole.saturating_sub(machine) });
    }
    let max_of = |latencies: &[Latency]| latencies.iter().map(|latency| latency.whole).max();
    let mut seconds: Vec<Duration> = all.chunks(PER_SECOND).filter_map(max_of).collect();
    seconds.sort_unstable();
    Latencies {
        max: seconds.last().copied().unwrap_or_default(),
        typical: seconds.get(seconds.len() / 2).copied().unwrap_or_default(),
        max_own: all.iter().map(|latency| latency.own).max().unwrap_or_default(),
    }
}

#[derive(Clone, Copy)]
struct Latency {
    whole: Duration,
    own: Duration,
}
