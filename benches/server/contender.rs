//! A server with a module and a filter of one size, ready to be measured.

use super::chance::explains;
use super::load::{Items, Load, Renewal, Sent};
use super::workload::{Measured, Workload, BITS, FILTER, SET};
use redis::Connection;
use splitbloom_rig::info::microseconds_in;
use splitbloom_rig::process::cpu_seconds;
use splitbloom_rig::server::{Server, Setup};
use splitbloom_rig::Outcome;
use std::collections::btree_map::{BTreeMap, Entry};
use std::time::Duration;

/// Duration of one round of a workload: some hundred thousand commands, with an error of 2 % in the
/// kernel's count of CPU time.
const ROUND: Duration = Duration::from_millis(500);
/// The fraction of a large filter that is filled before measuring. Rounds of adds fill it further.
const FILLED: f64 = 0.5;
/// The workloads of a round that add items.
const ADDING: usize = 2;
/// From this size on a filter has room for all adds of a run; a smaller one is recreated before it
/// is full.
const LARGE: u64 = 50_000_000;

pub struct Contender {
    // Dropped in this order: connections before the server.
    loads: BTreeMap<Workload, Load>,
    connection: Connection,
    server: Server,
    size: u64,
    /// Items that one round may add to a large filter: after the last round it is not yet full.
    share: u64,
    added: u64,
    /// Numbers below this were never added to the current filter.
    first: u64,
}

impl Contender {
    pub fn start(name: &str, setup: Setup, size: u64, rounds: usize) -> Outcome<Self> {
        let mut server = Server::start(setup)?;
        let mut connection = server.connect()?;
        redis::cmd("SETBIT").arg(BITS).arg(65_535).arg(1).query::<()>(&mut connection)?;
        redis::cmd("SADD").arg(SET).arg("a member").query::<()>(&mut connection)?;
        let mut contender = Self {
            loads: BTreeMap::new(),
            connection,
            server,
            size,
            share: ((size as f64 * (1.0 - FILLED)) as u64) / (ADDING * rounds.max(1)) as u64,
            added: 0,
            first: 0,
        };
        contender.reserve()?;
        eprintln!("{name}: filling a filter of {size} items ...");
        contender.fill()?;
        Ok(contender)
    }

    fn reserve(&mut self) -> Outcome<()> {
        let connection = &mut self.connection;
        redis::cmd("UNLINK").arg(FILTER).query::<()>(connection)?;
        redis::cmd("BF.RESERVE")
            .arg(&[FILTER, "0.01", &self.size.to_string(), "NONSCALING"])
            .query::<()>(connection)?;
        self.first += self.added;
        self.added = 0;
        Ok(())
    }

    fn fill(&mut self) -> Outcome<()> {
        let items = match self.size {
            LARGE.. => (self.size as f64 * FILLED) as u64,
            size => size * 2 / 3,
        };
        let fill = Workload::MultiAdd;
        let port = self.server.port();
        let mut load = Load::new(port, fill.connections(), fill.pipeline(), fill.pattern())?;
        self.added = load.run(Items::From(self.first), Duration::MAX, items)?.items;
        Ok(())
    }

    /// The load of a workload, created on first use.
    fn load(&mut self, workload: Workload) -> Outcome<&mut Load> {
        match self.loads.entry(workload) {
            Entry::Occupied(load) => Ok(load.into_mut()),
            Entry::Vacant(place) => {
                let (connections, pipeline) = (workload.connections(), workload.pipeline());
                let port = self.server.port();
                let mut load = Load::new(port, connections, pipeline, workload.pattern())?;
                if workload.adds() && self.size < LARGE {
                    load = load.renewing(renewal(self.size));
                }
                Ok(place.insert(load))
            }
        }
    }

    fn send(&mut self, workload: Workload, time: Duration, at_most: u64) -> Outcome<Sent> {
        let items = match workload.adds() {
            true => Items::From(self.first + self.added),
            // Half of these are present.
            false => Items::Among { first: self.first, count: self.added * 2 },
        };
        let sent = self.load(workload)?.run(items, time, at_most)?;
        if workload.adds() {
            self.added += sent.items;
        }
        Ok(sent)
    }

    /// One round of a workload.
    pub fn run(&mut self, workload: Workload) -> Outcome<Measured> {
        if workload.adds() && self.size < LARGE {
            self.reserve()?;
        }
        let process = self.server.process_id();
        let busy_before = cpu_seconds(process)?;
        let before = microseconds_in(&mut self.connection, workload.name())?;
        let at_most = match (workload.adds(), self.size) {
            (true, LARGE..) => self.share,
            _ => u64::MAX,
        };
        let sent = self.send(workload, ROUND, at_most)?;
        let after = microseconds_in(&mut self.connection, workload.name())?;
        let busy = cpu_seconds(process)? - busy_before;
        check(workload, sent)?;
        if workload.adds() && self.size < LARGE {
            self.reserve()?;
            self.fill()?;
        }
        let items = sent.items.max(sent.commands) as f64;
        Ok(Measured {
            items_per_second: items / sent.seconds,
            nanoseconds_in_command: (after - before) as f64 * 1000.0 / items,
            server_busy: busy / sent.seconds,
        })
    }
}

/// Checks that the replies are those of a filter.
pub fn check(workload: Workload, sent: Sent) -> Outcome<()> {
    let replies = sent.items.max(sent.commands);
    if explains(sent.ones, replies, workload.ones()) {
        return Ok(());
    }
    let (ones, name) = (sent.ones, workload.name());
    Err(format!("{name}: {ones} of {replies} replies were 1").into())
}

/// Recreates the filter long before it is full: the commands in flight on other connections, some
/// thousand items, may be executed before the renewal or after it.
fn renewal(size: u64) -> Renewal {
    let words = |words: &[&str]| words.iter().map(ToString::to_string).collect();
    Renewal {
        every: size / 3,
        commands: vec![
            words(&["UNLINK", FILTER]),
            words(&["BF.RESERVE", FILTER, "0.01", &size.to_string(), "NONSCALING"]),
        ],
        replies: b":1\r\n+OK\r\n".to_vec(),
    }
}
