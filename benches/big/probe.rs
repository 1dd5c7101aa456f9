//! A bystander: someone who asks the server for little things while something large goes on, and notes how long each answer took.
//!
//! ```text
//!   sender    ──PING──GET──PING──GET──►  server     one request each millisecond, whether the last was answered or not
//!   receiver  ◄─────────────────────────            notes the time of every answer
//! ```
//!
//! The loop is open: an answer's latency counts from when its request was *due*. A client that waits for one answer before it sends the next
//! would see a stall of a second once; a thousand bystanders would have seen it, and so do the thousand requests due in it here
//! (Tene, "How NOT to measure latency": coordinated omission).
//!
//! The two threads share the processors with the server and its load. They run at real-time priority where they may (`chrt`, as root), so that
//! what they see is the server's delay and not their own. What the machine itself took from the server is told apart (see `machine.rs`).

use crate::machine::{gaps_of, hurry, overlap, time_in_line, Gap};
use crate::rig::Outcome;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Barrier, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

/// One request: a stall of 5 ms, the most that is allowed to most phases, is seen by five of them.
const INTERVAL: Duration = Duration::from_millis(1);
/// Requests of a second.
const SECOND: usize = 1000;
/// How long the bystander asks before the work begins and after it has ended.
const MARGIN: Duration = Duration::from_millis(100);
/// Longer than any stall; a server that does not answer for so long is dead.
const PATIENCE: Duration = Duration::from_secs(120);

/// The key that is asked for, and what it holds.
const KEY: &str = "bystander";
const VALUE: &str = "ok";
const REQUESTS: [&[u8]; 2] = [
    b"*1\r\n$4\r\nPING\r\n",
    b"*2\r\n$3\r\nGET\r\n$9\r\nbystander\r\n",
];

/// Who asks, and whom.
pub struct Bystander {
    socket: PathBuf,
    server: u32,
}

/// What the bystander saw.
#[derive(Clone, Copy)]
pub struct Latencies {
    /// The worst stall: the longest that an answer came after its request was due.
    pub worst: Duration,
    /// The worst of each second, and of these the median: a processor of a virtual machine stands still for some ten milliseconds now and
    /// then, and what happened once in twelve seconds says more of the machine than of the server.
    pub typical: Duration,
    /// The worst stall, less the time in which the server had no processor.
    pub worst_own: Duration,
}

/// How the sender tells the receiver when it is done.
#[derive(Default)]
struct End {
    is_due: AtomicBool,
    requests: AtomicUsize,
}

impl Bystander {
    /// One who asks the server on `socket`, process `server`.
    pub fn new(socket: PathBuf, server: u32, client: &mut redis::Connection) -> Outcome<Self> {
        redis::cmd("SET").arg(KEY).arg(VALUE).query::<()>(client)?;
        Ok(Self { socket, server })
    }

    /// Does the work while the bystander asks.
    pub fn during<T>(&self, work: impl FnOnce() -> Outcome<T>) -> Outcome<(T, Latencies)> {
        let mut to = UnixStream::connect(&self.socket)?;
        let mut from = to.try_clone()?;
        from.set_read_timeout(Some(PATIENCE))?;
        let (end, is_over) = (End::default(), AtomicBool::new(false));
        let processors = thread::available_parallelism()?.get();
        let ready = Barrier::new(processors + 3); // so many threads, and this one
        let start = OnceLock::new();
        let (result, seen) = thread::scope(|scope| {
            let (end, is_over, ready) = (&end, &is_over, &ready);
            let metronome = |number| scope.spawn(move || gaps_of(number, ready, is_over));
            let metronomes: Vec<_> = (0..processors).map(metronome).collect();
            let sender = scope.spawn(|| {
                hurry();
                ready.wait();
                send(&mut to, *start.get_or_init(Instant::now), self.server, end)
            });
            let receiver = scope.spawn(|| {
                hurry();
                ready.wait();
                receive(&mut from, end)
            });
            ready.wait();
            thread::sleep(MARGIN);
            let result = work();
            thread::sleep(MARGIN);
            end.is_due.store(true, Ordering::Release);
            let (in_line, answered) = (sender.join(), receiver.join());
            is_over.store(true, Ordering::Release);
            let gaps = metronomes.into_iter().map(|metronome| metronome.join());
            (result, (in_line, answered, gaps.collect::<Result<_, _>>()))
        });
        let result = result?; // first: where the server has died, this says how
        let (in_line, answered, gaps) = seen;
        let panicked = |_| "a thread of the bystander panicked";
        let seen = Seen {
            in_line: in_line.map_err(panicked)??,
            answered: answered.map_err(panicked)??,
            gaps: gaps.map_err(panicked)?,
        };
        let start = *start.get().ok_or("the sender did not begin")?;
        Ok((result, judge(start, &seen)))
    }
}

/// What the threads have noted.
struct Seen {
    /// How long, in all its life, the server had stood in line when each request was sent.
    in_line: Vec<Duration>,
    answered: Vec<Instant>,
    /// When each processor stood still.
    gaps: Vec<Vec<Gap>>,
}

/// When request number `index` is due.
fn due(start: Instant, index: usize) -> Instant {
    start + INTERVAL * index as u32
}

/// Sends requests when they are due, and notes how long the server had stood in line.
fn send(to: &mut UnixStream, start: Instant, server: u32, end: &End) -> io::Result<Vec<Duration>> {
    let mut in_line = Vec::new();
    loop {
        let index = in_line.len();
        thread::sleep(due(start, index).saturating_duration_since(Instant::now()));
        let is_last = end.is_due.load(Ordering::Acquire);
        if is_last {
            end.requests.store(index + 1, Ordering::Release); // before the last answer can come
        }
        in_line.push(time_in_line(server).unwrap_or_default());
        to.write_all(REQUESTS[index % 2])?;
        if is_last {
            return Ok(in_line);
        }
    }
}

/// Notes when each answer came.
fn receive(from: &mut UnixStream, end: &End) -> io::Result<Vec<Instant>> {
    let (mut bytes, mut answered) = ([0; 4096], Vec::new());
    let mut reader = Reader::default();
    while end.requests.load(Ordering::Acquire) == 0
        || answered.len() < end.requests.load(Ordering::Acquire)
    {
        let len = from.read(&mut bytes)?;
        let now = Instant::now();
        let complete = reader.answers_in(&bytes[..len])?;
        answered.resize(answered.len() + complete, now);
    }
    Ok(answered)
}

/// Counts answers: `+PONG`, `$2` and a line behind it, or `$-1` once FLUSHALL has taken the key.
#[derive(Default)]
struct Reader {
    line: Vec<u8>,
    is_behind_length: bool,
}

impl Reader {
    /// The number of answers that end in these bytes.
    fn answers_in(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut complete = 0;
        for byte in bytes {
            self.line.push(*byte);
            if *byte != b'\n' {
                continue;
            }
            self.is_behind_length = match (self.line.as_slice(), self.is_behind_length) {
                (b"$2\r\n", false) => true,
                (b"+PONG\r\n" | b"$-1\r\n", false) | (b"ok\r\n", true) => {
                    complete += 1;
                    false
                }
                (other, _) => {
                    let text = String::from_utf8_lossy(other);
                    return Err(io::Error::other(format!("a bystander was told {text}")));
                }
            };
            self.line.clear();
        }
        if bytes.is_empty() {
            return Err(io::Error::other("the server has hung up on a bystander"));
        }
        Ok(complete)
    }
}

/// The latencies, and what of each was the machine's doing: that the server stood in line for a processor, or that a processor stood still, which the
/// server, the sender or the receiver was on. The longest of these is taken, not the sum, since they may be the same time.
fn judge(start: Instant, seen: &Seen) -> Latencies {
    let mut after = 0;
    let mut all: Vec<Latency> = Vec::new();
    for (index, answered) in seen.answered.iter().enumerate() {
        let (from, to) = (due(start, index), *answered);
        while after + 1 < seen.in_line.len() && due(start, after) < to {
            after += 1;
        }
        let in_line = seen.in_line[after].saturating_sub(seen.in_line[index]);
        let still = seen.gaps.iter().map(|gaps| overlap(gaps, from, to));
        let whole = to.saturating_duration_since(from);
        let machine = still.fold(in_line, Duration::max);
        all.push(Latency {
            whole,
            own: whole.saturating_sub(machine),
        });
    }
    let worst_of = |latencies: &[Latency]| latencies.iter().map(|latency| latency.whole).max();
    let mut seconds: Vec<Duration> = all.chunks(SECOND).filter_map(worst_of).collect();
    seconds.sort_unstable();
    Latencies {
        worst: seconds.last().copied().unwrap_or_default(),
        typical: seconds.get(seconds.len() / 2).copied().unwrap_or_default(),
        worst_own: all
            .iter()
            .map(|latency| latency.own)
            .max()
            .unwrap_or_default(),
    }
}

#[derive(Clone, Copy)]
struct Latency {
    whole: Duration,
    own: Duration,
}
