//! Threads that keep adding items and record which ones were acknowledged.

use crate::{item, Connection, Family, Reply};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering::SeqCst};
use std::sync::Arc;
use std::thread::{self, sleep, JoinHandle};
use std::time::Duration;

/// Each writer has its own range of item numbers.
const NUMBERS_OF_A_WRITER: u64 = 1_000_000_000;

/// Between two attempts to reach a server that is down.
const PAUSE: Duration = Duration::from_millis(10);

/// How the writers work.
#[derive(Clone, Copy)]
pub struct Pace {
    pub writers: u64,
    /// Items per command: ADD for 1, BF.MADD or CF.INSERT for more.
    pub items_per_command: u64,
    /// Commands in flight at a time.
    pub in_flight: usize,
    /// A pause after each command, to leave some of the machine to other tests.
    pub pause: Duration,
    /// With more than 0, a WAIT for this many replicas follows each command, and items count only
    /// once it succeeds.
    pub replicas: u64,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace { writers: 8, items_per_command: 1, in_flight: 16, pause: Duration::ZERO, replicas: 0 }
    }
}

/// Threads that write to the server on the current port.
pub struct Writers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    pace: Pace,
    keys: Vec<(Family, String)>,
    port: AtomicU16,
    acknowledged: Vec<AtomicU64>,
    is_over: AtomicBool,
}

impl Writers {
    /// Starts the writers. Writer `n` adds to key `n`, modulo the number of keys.
    pub fn start(port: u16, keys: &[(Family, &str)], pace: Pace) -> Writers {
        let keys = keys.iter().map(|(family, key)| (*family, key.to_string()));
        Writers::start_from(port, keys.collect(), pace, &vec![0; pace.writers as usize])
    }

    fn start_from(port: u16, keys: Vec<(Family, String)>, pace: Pace, counts: &[u64]) -> Writers {
        let shared = Arc::new(Shared {
            pace,
            keys,
            port: AtomicU16::new(port),
            acknowledged: counts.iter().map(|count| AtomicU64::new(*count)).collect(),
            is_over: AtomicBool::new(false),
        });
        let threads = (0..pace.writers)
            .map(|writer| {
                let shared = shared.clone();
                thread::spawn(move || shared.write(writer))
            })
            .collect();
        Writers { shared, threads }
    }

    /// Switches the writers to another port.
    pub fn switch_to(&self, port: u16) {
        self.shared.port.store(port, SeqCst);
    }

    /// The number of acknowledged items, of all writers.
    pub fn acknowledged(&self) -> u64 {
        self.counts().iter().sum()
    }

    /// The number of acknowledged items of each writer. They are always its first ones.
    pub fn counts(&self) -> Vec<u64> {
        let counts = self.shared.acknowledged.iter();
        counts.map(|count| count.load(SeqCst)).collect()
    }

    /// The number of acknowledged items of the slowest writer.
    pub fn slowest(&self) -> u64 {
        self.counts().into_iter().min().unwrap_or(0)
    }

    /// Stops the writers once the commands in flight are answered.
    pub fn stop(&mut self) {
        self.shared.is_over.store(true, SeqCst);
        for thread in self.threads.drain(..) {
            thread.join().expect("no writer panicked");
        }
    }

    /// Restarts stopped writers where they left off.
    pub fn resume(&mut self, port: u16, pace: Pace) {
        let again = Writers::start_from(port, self.shared.keys.clone(), pace, &self.counts());
        *self = again;
    }

    /// The number of a writer's `n`-th item.
    pub fn number(writer: usize, n: u64) -> u64 {
        writer as u64 * NUMBERS_OF_A_WRITER + n
    }

    /// How many of the acknowledged items, by earlier [`Writers::counts`], the server does not
    /// find.
    pub fn missing(&self, db: &mut Connection, counts: &[u64]) -> u64 {
        let missing = counts.iter().enumerate().map(|(writer, count)| {
            let numbers = Writers::number(writer, 0)..Writers::number(writer, *count);
            let (family, key) = self.shared.key_of(writer);
            family.missing_items(db, key, numbers)
        });
        missing.sum()
    }
}

impl Drop for Writers {
    fn drop(&mut self) {
        self.shared.is_over.store(true, SeqCst);
    }
}

impl Shared {
    fn key_of(&self, writer: usize) -> &(Family, String) {
        &self.keys[writer % self.keys.len()]
    }

    fn write(&self, writer: u64) {
        while !self.is_over.load(SeqCst) {
            let port = self.port.load(SeqCst);
            // An error means that the server is down or refuses writes: try the current port again.
            let ended =
                Connection::open(port).and_then(|mut db| self.write_to(&mut db, port, writer));
            if ended.is_err() {
                sleep(PAUSE);
            }
        }
    }

    /// Writes from the first unacknowledged item on, until the server fails, the port changes, or
    /// the writers are stopped.
    fn write_to(&self, db: &mut Connection, port: u16, writer: u64) -> std::io::Result<()> {
        let mut in_flight: VecDeque<u64> = VecDeque::new();
        let count = &self.acknowledged[writer as usize];
        let mut next = count.load(SeqCst);
        loop {
            let goes_on = !self.is_over.load(SeqCst) && self.port.load(SeqCst) == port;
            if goes_on && in_flight.len() < self.pace.in_flight {
                db.try_send(self.command(writer, next))?;
                if self.pace.replicas > 0 {
                    let replicas = self.pace.replicas.to_string();
                    db.try_send(["WAIT", &replicas, "1000"])?;
                }
                next += self.pace.items_per_command;
                in_flight.push_back(next);
                sleep(self.pace.pause);
                continue;
            }
            let Some(reached) = in_flight.pop_front() else {
                return Ok(());
            };
            let reply = db.try_receive()?;
            let is_refused = match &reply {
                Reply::Array(answers) => answers.iter().any(Reply::is_error),
                other => other.is_error(),
            };
            let too_few =
                self.pace.replicas > 0 && db.try_receive()?.integer() < self.pace.replicas as i64;
            if is_refused || too_few {
                return Err(std::io::Error::other(reply.to_string()));
            }
            count.store(reached, SeqCst);
        }
    }

    fn command(&self, writer: u64, first: u64) -> Vec<Vec<u8>> {
        let (family, key) = self.key_of(writer as usize);
        let head = match self.pace.items_per_command {
            1 => vec![family.command("ADD").into_bytes(), key.as_bytes().to_vec()],
            _ => family.adding(key),
        };
        let numbers = first..first + self.pace.items_per_command;
        let items = numbers.map(|n| item(Writers::number(writer as usize, n)));
        head.into_iter().chain(items).collect()
    }
}
