//! A server with a filter, its client, and the table of probe results.

use crate::probe::{Latencies, Probe};
use crate::traffic::Traffic;
use redis::{Cmd, Connection};
use splitbloom_rig::info;
use splitbloom_rig::progress::Progress;
use splitbloom_rig::server::{Server, Setup};
use splitbloom_rig::table::Table;
use splitbloom_rig::Outcome;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

/// The error rate of all filters but the blacklist.
pub const ERROR_RATE: f64 = 0.01;
/// The filter under test.
pub const FILTER: &str = "filter";

/// The server's setting `unixsocket`: a file in its data folder.
pub const SOCKET: &str = "socket";
/// How often a condition is polled, and for how long.
const PAUSE: Duration = Duration::from_millis(10);
const PATIENCE: Duration = Duration::from_secs(600);

pub fn stalls_table() -> Table {
    Table::new(&[
        "module",
        "items",
        "phase",
        "seconds",
        "max latency, ms",
        "median per-second max, ms",
        "max excluding the machine, ms",
        "notes",
    ])
}

/// The life of one filter, in a server of its own.
pub struct Session<'a> {
    pub module: String,
    /// Capacity of the filter.
    pub items: u64,
    pub server: Server,
    pub client: Connection,
    /// The next item to send.
    pub unsent: u64,
    stalls: &'a mut Table,
}

/// The result of a phase.
pub enum Phase {
    /// With notes for the table.
    Done(String),
    /// The server refused, with this message.
    Refused(String),
}

impl<'a> Session<'a> {
    pub fn start(
        module: &str,
        setup: Setup,
        items: u64,
        stalls: &'a mut Table,
    ) -> Outcome<Session<'a>> {
        let mut server = Server::start(setup.with("unixsocket", SOCKET))?;
        let client = server.connect()?;
        Ok(Session { module: module.to_string(), items, server, client, unsent: 0, stalls })
    }

    /// Runs `work` under a probe and adds a row to the table. Returns whether the server accepted
    /// it.
    pub fn phase(
        &mut self,
        name: &str,
        work: impl FnOnce(&mut Self) -> Outcome<Phase>,
    ) -> Outcome<bool> {
        let (socket, process) = (socket_of(&self.server), self.server.process_id());
        let probe = Probe::new(socket, process, &mut self.client)?;
        let ((result, time), latencies) = probe.during(|| {
            let started = Instant::now();
            let result = work(self)?;
            Ok((result, started.elapsed()))
        })?;
        match result {
            Phase::Done(notes) => self.row(name, Some(time), Some(latencies), &notes),
            Phase::Refused(message) => {
                self.row(name, None, None, &message);
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub fn row(
        &mut self,
        name: &str,
        time: Option<Duration>,
        latencies: Option<Latencies>,
        notes: &str,
    ) {
        let milliseconds = |of: fn(&Latencies) -> Duration| {
            latencies.as_ref().map_or(String::new(), |latencies| {
                format!("{:.2}", of(latencies).as_secs_f64() * 1e3)
            })
        };
        let cells = [
            self.module.clone(),
            self.items.to_string(),
            name.to_string(),
            time.map_or(String::new(), |time| format!("{:.3}", time.as_secs_f64())),
            milliseconds(|latencies| latencies.max),
            milliseconds(|latencies| latencies.typical),
            milliseconds(|latencies| latencies.max_own),
            notes.to_string(),
        ];
        eprintln!("{}", cells.join("  "));
        self.stalls.row(&cells);
    }

    /// Creates the filter.
    pub fn reserve(&mut self, capacity: u64, growth: &[&str]) -> Outcome<Phase> {
        self.run("CONFIG", &["RESETSTAT"])?;
        let mut reserve = command("BF.RESERVE", &[FILTER]);
        reserve.arg(ERROR_RATE).arg(capacity).arg(growth);
        if let Err(error) = reserve.query::<()>(&mut self.client) {
            return Ok(Phase::Refused(format!("refused: {error}")));
        }
        let time = self.time_in("bf.reserve")?;
        Ok(Phase::Done(format!("command {:.3} ms", time * 1e3)))
    }

    /// Adds `items` new items with BF.MADD; returns how many were new to the filter.
    pub fn add(&mut self, label: &str, items: u64) -> Outcome<u64> {
        self.send(label, items, &Traffic::batches("BF.MADD", FILTER))
    }

    /// The same with few commands in flight.
    pub fn add_lightly(&mut self, label: &str, items: u64) -> Outcome<u64> {
        self.send(label, items, &Traffic::light_batches("BF.MADD", FILTER))
    }

    pub fn send(&mut self, label: &str, items: u64, traffic: &Traffic) -> Outcome<u64> {
        let mut progress = Progress::start(label, items);
        let numbers = self.unsent..self.unsent + items;
        self.unsent = numbers.end;
        let new = traffic.send(&socket_of(&self.server), numbers, &mut progress)?;
        progress.finish();
        Ok(new)
    }

    pub fn run(&mut self, name: &str, arguments: &[&str]) -> Outcome<()> {
        Ok(command(name, arguments).query(&mut self.client)?)
    }

    pub fn set(&mut self, setting: &str, value: &str) -> Outcome<()> {
        self.run("CONFIG", &["SET", setting, value])
    }

    pub fn info(&mut self, section: &str, name: &str) -> Outcome<u64> {
        info::number(&mut self.client, section, name)
    }

    /// Seconds the server has spent in a command since CONFIG RESETSTAT.
    pub fn time_in(&mut self, command: &str) -> Outcome<f64> {
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

    /// Bytes of a key, including every part of it.
    pub fn bytes_of(&mut self, key: &str) -> Outcome<u64> {
        let usage = command("MEMORY", &["USAGE", key, "SAMPLES", "0"]);
        Ok(usage.query(&mut self.client)?)
    }
}

/// The Unix socket of a server started with [`SOCKET`].
pub fn socket_of(server: &Server) -> PathBuf {
    server.folder().join(SOCKET)
}

pub fn command(name: &str, arguments: &[&str]) -> Cmd {
    let mut command = redis::cmd(name);
    command.arg(arguments);
    command
}
