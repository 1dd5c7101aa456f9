//! A server with a filter in it, its client, and the table of what a bystander saw.

use crate::probe::{Bystander, Latencies};
use crate::progress::Progress;
use crate::rig::info;
use crate::rig::server::{Server, Setup};
use crate::rig::table::Table;
use crate::rig::Outcome;
use crate::traffic::Traffic;
use redis::{Cmd, Connection};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

/// The error rate of all filters but the blacklist.
pub const ERROR_RATE: f64 = 0.01;
/// The filter under test.
pub const FILTER: &str = "filter";

/// The server's setting `unixsocket`: a file in its own folder.
pub const SOCKET: &str = "socket";
/// How often it is looked whether something has ended, and for how long.
const PAUSE: Duration = Duration::from_millis(10);
const PATIENCE: Duration = Duration::from_secs(600);

pub fn stalls_table() -> Table {
    Table::new(&[
        "module",
        "items",
        "phase",
        "seconds",
        "worst stall, ms",
        "worst of a second, median, ms",
        "worst, less the machine's, ms",
        "remark",
    ])
}

/// One filter's life: the server it lives in and what a bystander saw of it.
pub struct Session<'a> {
    pub module: String,
    /// Items that the filter is made for.
    pub items: u64,
    pub server: Server,
    pub client: Connection,
    /// The next item that has not been sent yet.
    pub unsent: u64,
    stalls: &'a mut Table,
}

/// What came of a phase.
pub enum Done {
    Yes(String),
    /// The server refused, in these words.
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
        Ok(Session {
            module: module.to_string(),
            items,
            server,
            client,
            unsent: 0,
            stalls,
        })
    }

    /// Does the work while a bystander asks, and makes a row of what that one saw. Answers whether the server did not refuse.
    pub fn phase(
        &mut self,
        name: &str,
        work: impl FnOnce(&mut Self) -> Outcome<Done>,
    ) -> Outcome<bool> {
        let (socket, process) = (socket_of(&self.server), self.server.process_id());
        let bystander = Bystander::new(socket, process, &mut self.client)?;
        let ((done, time), seen) = bystander.during(|| {
            let started = Instant::now();
            let done = work(self)?;
            Ok((done, started.elapsed()))
        })?;
        match done {
            Done::Yes(remark) => self.row(name, Some(time), Some(seen), &remark),
            Done::Refused(words) => {
                self.row(name, None, None, &words);
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub fn row(
        &mut self,
        name: &str,
        time: Option<Duration>,
        seen: Option<Latencies>,
        remark: &str,
    ) {
        let milliseconds = |of: fn(&Latencies) -> Duration| {
            seen.as_ref().map_or(String::new(), |seen| {
                format!("{:.2}", of(seen).as_secs_f64() * 1e3)
            })
        };
        let cells = [
            self.module.clone(),
            self.items.to_string(),
            name.to_string(),
            time.map_or(String::new(), |time| format!("{:.3}", time.as_secs_f64())),
            milliseconds(|seen| seen.worst),
            milliseconds(|seen| seen.typical),
            milliseconds(|seen| seen.worst_own),
            remark.to_string(),
        ];
        eprintln!("{}", cells.join("  "));
        self.stalls.row(&cells);
    }

    /// Makes the filter.
    pub fn reserve(&mut self, capacity: u64, growth: &[&str]) -> Outcome<Done> {
        self.ask("CONFIG", &["RESETSTAT"])?;
        let mut reserve = command("BF.RESERVE", &[FILTER]);
        reserve.arg(ERROR_RATE).arg(capacity).arg(growth);
        if let Err(error) = reserve.query::<()>(&mut self.client) {
            return Ok(Done::Refused(format!("refused: {error}")));
        }
        let time = self.time_in("bf.reserve")?;
        Ok(Done::Yes(format!("command {:.3} ms", time * 1e3)))
    }

    /// Adds so many new items by BF.MADD; answers how many were new to the filter.
    pub fn add(&mut self, label: &str, items: u64) -> Outcome<u64> {
        self.send(label, items, &Traffic::of_many("BF.MADD", FILTER))
    }

    /// The same with few of them under way.
    pub fn add_lightly(&mut self, label: &str, items: u64) -> Outcome<u64> {
        self.send(label, items, &Traffic::of_many_lightly("BF.MADD", FILTER))
    }

    pub fn send(&mut self, label: &str, items: u64, traffic: &Traffic) -> Outcome<u64> {
        let mut progress = Progress::start(label, items);
        let numbers = self.unsent..self.unsent + items;
        self.unsent = numbers.end;
        let new = traffic.send(&socket_of(&self.server), numbers, &mut progress)?;
        progress.finish();
        Ok(new)
    }

    pub fn ask(&mut self, name: &str, arguments: &[&str]) -> Outcome<()> {
        Ok(command(name, arguments).query(&mut self.client)?)
    }

    pub fn set(&mut self, setting: &str, value: &str) -> Outcome<()> {
        self.ask("CONFIG", &["SET", setting, value])
    }

    pub fn info(&mut self, section: &str, name: &str) -> Outcome<u64> {
        info::number(&mut self.client, section, name)
    }

    /// Seconds that the server has spent in a command since CONFIG RESETSTAT.
    pub fn time_in(&mut self, command: &str) -> Outcome<f64> {
        Ok(info::microseconds_in(&mut self.client, command)? as f64 / 1e6)
    }

    /// Waits until a number of INFO is 0.
    pub fn wait_for_zero(&mut self, section: &str, field: &str) -> Outcome<()> {
        let started = Instant::now();
        while self.info(section, field)? != 0 {
            if started.elapsed() > PATIENCE {
                return Err(format!("{field} does not become 0").into());
            }
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Bytes of a key, every part of it counted.
    pub fn bytes_of(&mut self, key: &str) -> Outcome<u64> {
        let usage = command("MEMORY", &["USAGE", key, "SAMPLES", "0"]);
        Ok(usage.query(&mut self.client)?)
    }
}

/// The Unix socket of a server that was set up with [`SOCKET`].
pub fn socket_of(server: &Server) -> PathBuf {
    server.folder().join(SOCKET)
}

pub fn command(name: &str, arguments: &[&str]) -> Cmd {
    let mut command = redis::cmd(name);
    command.arg(arguments);
    command
}
