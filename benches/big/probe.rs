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
//! permitted (`chrt`, as root), so that they measure the server's delay and not their own.
//!
//! # The machine's share
//! Time that the machine itself takes away. A virtual CPU stops now and then for milliseconds, a
//! busy one more often than an idle one. That latency is not the server's doing.
//!
//! A metronome thread on each CPU, at real-time priority, ticks twice a millisecond. When a tick is
//! late, nothing else ran on that CPU either.

use splitbloom_rig::load::connect;
use splitbloom_rig::{percentile, Outcome};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Barrier, OnceLock};
use std::time::{Duration, Instant};
use std::{fs, thread};

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

/// A client of the server on `port`, whose process is `server`.
pub struct Probe {
    port: u16,
    server: u32,
}

/// What the probe measured, in milliseconds; NaN if it did not.
#[derive(Clone, Copy)]
pub struct Latencies {
    /// The maximum: the longest time from when a request was due to its reply.
    pub max: f64,
    /// The median of the maxima of each second. A virtual CPU stops for some ten milliseconds now
    /// and then, and what happens once in twelve seconds says more about the machine than about the
    /// server.
    pub typical: f64,
    /// The maximum, excluding time in which the server or the probe had no CPU.
    pub max_own: f64,
}

impl Latencies {
    pub const NONE: Self = Self { max: f64::NAN, typical: f64::NAN, max_own: f64::NAN };
}

/// The sender's message to the receiver that it is done.
#[derive(Default)]
struct End {
    is_due: AtomicBool,
    requests: AtomicUsize,
}

impl Probe {
    /// A probe of the server on `port`, process `server`.
    pub fn new(port: u16, server: u32, client: &mut redis::Connection) -> Outcome<Self> {
        redis::cmd("SET").arg(KEY).arg(VALUE).query::<()>(client)?;
        Ok(Self { port, server })
    }

    /// Runs `work` under the probe.
    pub fn during<T>(&self, work: impl FnOnce() -> Outcome<T>) -> Outcome<(T, Latencies)> {
        let mut to = connect(self.port)?;
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
fn send(to: &mut TcpStream, start: Instant, server: u32, end: &End) -> io::Result<Vec<Duration>> {
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
fn receive(from: &mut TcpStream, end: &End) -> io::Result<Vec<Instant>> {
    let (mut bytes, mut replied) = ([0; 4096], Vec::new());
    while end.requests.load(Ordering::Acquire) == 0
        || replied.len() < end.requests.load(Ordering::Acquire)
    {
        let len = from.read(&mut bytes)?;
        let now = Instant::now();
        let new = &bytes[..len];
        // `+PONG`, `$2` and the line `ok`, or `$-1` after FLUSHALL has deleted the key.
        if len == 0 || !new.iter().all(|byte| b"+PONG$2ok-1\r\n".contains(byte)) {
            let text = String::from_utf8_lossy(new);
            return Err(io::Error::other(format!("unexpected reply to a probe: {text}")));
        }
        let complete = new.iter().filter(|byte| matches!(byte, b'+' | b'$')).count();
        replied.resize(replied.len() + complete, now);
    }
    Ok(replied)
}

/// Computes each latency and the machine's share of it: the server waited for a CPU, or a CPU stood
/// still that the server, the sender or the receiver was on. These may coincide, so the share is
/// the longest of them, not the sum.
fn latencies(start: Instant, recorded: &Recorded) -> Latencies {
    let (mut after, mut all, mut max_own) = (0, Vec::new(), Duration::ZERO);
    for (index, replied) in recorded.replied.iter().enumerate() {
        let (from, to) = (due(start, index), *replied);
        while after + 1 < recorded.run_delays.len() && due(start, after) < to {
            after += 1;
        }
        let waited = recorded.run_delays[after].saturating_sub(recorded.run_delays[index]);
        let stalls = recorded.gaps.iter().map(|gaps| overlap(gaps, from, to));
        let whole = to.saturating_duration_since(from);
        max_own = max_own.max(whole.saturating_sub(stalls.fold(waited, Duration::max)));
        all.push(whole);
    }
    let seconds = all.chunks(PER_SECOND).filter_map(|second| second.iter().max());
    let mut seconds: Vec<f64> = seconds.map(|max| max.as_secs_f64() * 1e3).collect();
    seconds.sort_by(f64::total_cmp);
    let (max, typical) = (percentile(&seconds, 1.0), seconds[seconds.len() / 2]);
    Latencies { max, typical, max_own: max_own.as_secs_f64() * 1e3 }
}

const TICK: Duration = Duration::from_micros(500);
/// An undisturbed tick is up to 0.1 ms late.
const LATE: Duration = Duration::from_micros(200);

/// An interval in which a CPU stood still.
#[derive(Clone, Copy)]
struct Gap {
    from: Instant,
    to: Instant,
}

/// Ticks on CPU `number` from when all threads are `ready` until `is_over`; returns the gaps.
fn record_gaps(number: usize, ready: &Barrier, is_over: &AtomicBool) -> Vec<Gap> {
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
fn overlap(gaps: &[Gap], from: Instant, to: Instant) -> Duration {
    let first = gaps.partition_point(|gap| gap.to <= from);
    let inside = gaps[first..].iter().take_while(|gap| gap.from < to);
    inside.map(|gap| gap.to.min(to).saturating_duration_since(gap.from.max(from))).sum()
}

/// Gives this thread real-time priority if permitted: the lowest one, which still precedes every
/// thread without it.
fn use_real_time_priority() {
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
fn run_delay(process: u32) -> Option<Duration> {
    let path = format!("/proc/{process}/task/{process}/schedstat");
    let text = fs::read_to_string(path).ok()?;
    let nanoseconds = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}
