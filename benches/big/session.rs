//! A server with a filter, its client, and the table of probe results.
//!
//! Items are URLs of 34 bytes, of which only the digits are overwritten (16 bytes by table lookup,
//! some 5 ns per item), so that one thread outpaces the server.

use crate::probe::{Latencies, Probe};
use redis::{Cmd, Connection, RedisError};
use splitbloom_rig::load::{Format, Load, Pattern};
use splitbloom_rig::{in_words, info, Outcome, Progress, Server, Settings, Setup};
use std::ops::Range;
use std::thread;
use std::time::{Duration, Instant};

/// The error rate of all filters but the blacklist.
pub const ERROR_RATE: f64 = 0.01;
/// The filter under test.
pub const FILTER: &str = "filter";
const CONNECTIONS: usize = 4;
/// Items between two looks at the progress: whole turns of all connections.
const BETWEEN: u64 = 1_600_000;
/// How often a condition is polled, and for how long.
const PAUSE: Duration = Duration::from_millis(10);
const PATIENCE: Duration = Duration::from_secs(600);

/// A command, its items, and the commands in flight on each connection.
#[derive(Clone, Copy)]
pub struct Traffic(&'static str, usize, usize);

/// Four connections with four commands each have 1600 items in flight, some 0.3 ms of server time:
/// enough to keep the server busy while the next batch is encoded, and the most that other clients
/// queue behind.
pub const ADDS: Traffic = Traffic("BF.MADD", 100, 4);
pub const LOOKUPS: Traffic = Traffic("BF.MEXISTS", 100, 4);
/// One command at a time on each connection, for when most items are the first to touch their page:
/// 400 items are as many page faults, a millisecond on this machine.
pub const LIGHT_ADDS: Traffic = Traffic("BF.MADD", 100, 1);
/// During a snapshot each add may copy a page, which takes some 8 µs: 64 of them take half a
/// millisecond.
pub const SINGLE_ADDS: Traffic = Traffic("BF.ADD", 1, 16);

/// The life of one filter, in a server of its own.
pub struct Session<'a> {
    pub settings: &'a mut Settings,
    /// The name of the table of its phases.
    table: &'static str,
    pub module: String,
    /// Capacity of the filter.
    pub items: u64,
    pub server: Server,
    pub client: Connection,
    /// The next item to send.
    pub unsent: u64,
}

impl<'a> Session<'a> {
    pub fn start(
        settings: &'a mut Settings,
        table: &'static str,
        setup: Setup,
        items: u64,
    ) -> Outcome<Self> {
        let module = setup.name.clone();
        let server = Server::start(setup);
        let client = server.connect()?;
        Ok(Self { settings, table, module, items, server, client, unsent: 0 })
    }

    pub fn is_ours(&self) -> bool {
        self.module == "splitbloom"
    }

    /// Runs `work`, which returns notes, under a probe and adds a row to the table. Returns whether
    /// the server accepted it: a peer may refuse what it does not support.
    pub fn phase(
        &mut self,
        name: &str,
        work: impl FnOnce(&mut Self) -> Outcome<String>,
    ) -> Outcome<bool> {
        let (port, process) = (self.server.port(), self.server.process_id());
        let probe = Probe::new(port, process, &mut self.client)?;
        let probed = probe.during(|| {
            let started = Instant::now();
            let notes = work(self)?;
            Ok((notes, started.elapsed().as_secs_f64()))
        });
        match probed {
            Ok(((notes, seconds), latencies)) => self.row(name, seconds, latencies, &notes),
            Err(error) if !self.is_ours() && error.is::<RedisError>() => {
                self.row(name, f64::NAN, Latencies::NONE, &format!("not supported: {error}"));
                return Ok(false);
            }
            Err(error) => return Err(error),
        }
        Ok(true)
    }

    pub fn row(&mut self, name: &str, seconds: f64, latencies: Latencies, notes: &str) {
        let (seconds, two) = (in_words(seconds, 3), |figure| in_words(figure, 2));
        eprintln!("{}  {}  {name}  {seconds}  {notes}", self.module, self.items);
        self.settings.table(self.table).row(&[
            ("module", &self.module),
            ("items", &self.items),
            ("phase", &name),
            ("seconds", &seconds),
            ("max latency, ms", &two(latencies.max)),
            ("median per-second max, ms", &two(latencies.typical)),
            ("max excluding the machine, ms", &two(latencies.max_own)),
            ("notes", &notes),
        ]);
    }

    /// Creates the filter, which does not grow.
    pub fn reserve(&mut self) -> Outcome<String> {
        let mut reserve = command("BF.RESERVE", &[FILTER]);
        reserve.arg(ERROR_RATE).arg(self.items).arg("NONSCALING");
        let seconds =
            self.time_in("bf.reserve", |session| Ok(reserve.exec(&mut session.client)?))?;
        Ok(format!("command {:.3} ms", seconds * 1e3))
    }

    /// Sends new items; returns how many were new to the filter.
    pub fn send(&mut self, label: &str, items: u64, traffic: Traffic) -> Outcome<u64> {
        let numbers = self.unsent..self.unsent + items;
        self.unsent = numbers.end;
        send(&self.server, traffic, label, numbers)
    }

    pub fn run(&mut self, name: &str, arguments: &[&str]) -> Outcome<()> {
        Ok(command(name, arguments).exec(&mut self.client)?)
    }

    pub fn set(&mut self, setting: &str, value: &str) -> Outcome<()> {
        self.run("CONFIG", &["SET", setting, value])
    }

    pub fn info(&mut self, section: &str, name: &str) -> Outcome<u64> {
        info::number(&mut self.client, section, name)
    }

    /// Seconds that the server spends in a command while `work` lasts.
    pub fn time_in(
        &mut self,
        command: &str,
        work: impl FnOnce(&mut Self) -> Outcome<()>,
    ) -> Outcome<f64> {
        self.run("CONFIG", &["RESETSTAT"])?;
        work(self)?;
        Ok(info::microseconds_in(&mut self.client, command)? as f64 / 1e6)
    }

    /// Waits until a field of INFO is 0.
    pub fn wait_for_zero(&mut self, section: &str, field: &str) -> Outcome<()> {
        let started = Instant::now();
        while self.info(section, field)? != 0 {
            if started.elapsed() > PATIENCE {
                return Err(format!("{field} did not reach 0").into());
            }
            thread::sleep(PAUSE);
        }
        Ok(())
    }
}

/// Sends the items with the given numbers and returns how many replies were 1.
///
/// # Errors
/// Any reply other than 0 or 1 per item, quoted.
pub fn send(server: &Server, traffic: Traffic, label: &str, numbers: Range<u64>) -> Outcome<u64> {
    let Traffic(command, items, in_flight) = traffic;
    let pattern = Pattern::new(&[command, FILTER], items, Format::Url);
    let mut load = Load::new(server.port(), CONNECTIONS, in_flight, &pattern)?;
    let mut progress = Progress::start(label, numbers.end - numbers.start);
    let mut ones = 0;
    for first in numbers.clone().step_by(BETWEEN as usize) {
        let sent = load.send(first, BETWEEN.min(numbers.end - first))?;
        ones += sent.ones;
        progress.advance(sent.items);
    }
    Ok(ones)
}

/// Bytes of the filter, including every part of it.
pub fn bytes(client: &mut Connection) -> Outcome<u64> {
    Ok(command("MEMORY", &["USAGE", FILTER, "SAMPLES", "0"]).query(client)?)
}

pub fn command(name: &str, arguments: &[&str]) -> Cmd {
    redis::cmd(name).arg(arguments).take()
}
