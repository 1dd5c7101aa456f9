//! A server with one filter that is created, filled and emptied again and again.

use super::contender::check;
use super::load::{Items, Load, Sent};
use super::workload::{Measured, Workload, BATCH, FILTER};
use redis::{Connection, Value};
use splitbloom_rig::info::microseconds_in;
use splitbloom_rig::process::cpu_seconds;
use splitbloom_rig::server::{Server, Setup};
use splitbloom_rig::Outcome;
use std::collections::btree_map::{BTreeMap, Entry};
use std::time::Duration;

/// Small filters are filled again until a round has lasted this long: several thousand times the
/// server's microsecond, and fifty of the kernel's ticks.
const ROUND: Duration = Duration::from_millis(500);
/// The error rate of reserved filters; also the default of both modules.
const ERROR_RATE: &str = "0.01";
/// Numbers from here on are never added.
const ABSENT: u64 = 1 << 40;
/// Lookups of absent items: at 1 %, 10^4 false positives, or a confidence interval of ±2 % of the
/// rate.
const LOOKUPS: u64 = 1_000_000;
/// Standard deviations: 95 % confidence.
const CONFIDENCE: f64 = 1.96;

/// How a filter begins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// Created by its first add.
    Default,
    /// For exactly the items that it will have.
    Reserved,
}

impl Start {
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "grown",
            Self::Reserved => "reserved",
        }
    }
}

/// The commands on a kind of filter.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Family {
    Bloom,
    Cuckoo,
}

impl Family {
    pub fn name(self) -> &'static str {
        match self {
            Self::Bloom => "BF",
            Self::Cuckoo => "CF",
        }
    }

    pub fn adding(self) -> Workload {
        match self {
            Self::Bloom => Workload::MultiAdd,
            Self::Cuckoo => Workload::CuckooAdd,
        }
    }

    pub fn looking_up(self) -> &'static [Workload] {
        match self {
            Self::Bloom => &[Workload::MultiExists],
            Self::Cuckoo => &[Workload::CuckooExists, Workload::CuckooCount],
        }
    }

    pub fn deleting(self) -> Option<Workload> {
        (self == Self::Cuckoo).then_some(Workload::CuckooDelete)
    }

    fn reservation(self, items: u64) -> Vec<String> {
        let items = items.to_string();
        let words: &[&str] = match self {
            Self::Bloom => &["BF.RESERVE", FILTER, ERROR_RATE, &items, "NONSCALING"],
            Self::Cuckoo => &["CF.RESERVE", FILTER, &items],
        };
        words.iter().map(ToString::to_string).collect()
    }
}

pub struct Filter {
    // Dropped in this order: connections before the server.
    loads: BTreeMap<Workload, Load>,
    pub connection: Connection,
    server: Server,
}

impl Filter {
    pub fn start(setup: Setup) -> Outcome<Self> {
        let mut server = Server::start(setup)?;
        Ok(Self { loads: BTreeMap::new(), connection: server.connect()?, server })
    }

    pub fn port(&self) -> u16 {
        self.server.port()
    }

    pub fn process_id(&self) -> u32 {
        self.server.process_id()
    }

    /// Whether the module has the commands of a family.
    pub fn has(&mut self, family: Family) -> Outcome<bool> {
        let mut command = redis::cmd("COMMAND");
        command.arg("INFO").arg(family.adding().name());
        let found: Vec<Value> = command.query(&mut self.connection)?;
        Ok(found.iter().any(|command| *command != Value::Nil))
    }

    /// Deletes the filter and creates it anew, if it is not the first add that does.
    pub fn renew(&mut self, family: Family, start: Start, items: u64) -> Outcome<()> {
        let connection = &mut self.connection;
        redis::cmd("UNLINK").arg(FILTER).query::<()>(connection)?;
        if start == Start::Reserved {
            let words = family.reservation(items);
            let (name, arguments) = words.split_first().ok_or("no command")?;
            redis::cmd(name).arg(arguments).query::<()>(connection)?;
        }
        Ok(())
    }

    /// Sends one load, which must not be cut short.
    pub fn send(&mut self, workload: Workload, items: Items, len: u64) -> Outcome<Sent> {
        self.load(workload)?.run(items, Duration::MAX, len)
    }

    /// The load of a workload, created on first use. Adds are sent in turns of 400 single commands
    /// or 20 batches, which divide the sizes; everything else as in the part `reserved`.
    fn load(&mut self, workload: Workload) -> Outcome<&mut Load> {
        match self.loads.entry(workload) {
            Entry::Occupied(load) => Ok(load.into_mut()),
            Entry::Vacant(place) => {
                let pipeline = match (workload.must_be_whole(), workload.items_per_command()) {
                    (false, _) => workload.pipeline(),
                    (true, 1) => 25,
                    (true, BATCH) => 5,
                    (true, _) => workload.pipeline(),
                };
                let connections = workload.connections();
                let port = self.server.port();
                let load = Load::new(port, connections, pipeline, workload.pattern())?;
                Ok(place.insert(load))
            }
        }
    }

    /// Fills filters of `items` for a round; the last one stays.
    pub fn fill(&mut self, family: Family, start: Start, items: u64) -> Outcome<Measured> {
        self.fill_with(family.adding(), family, start, items)
    }

    /// The same with a certain command.
    pub fn fill_with(
        &mut self,
        workload: Workload,
        family: Family,
        start: Start,
        items: u64,
    ) -> Outcome<Measured> {
        let mut tally = Tally::default();
        while tally.seconds < ROUND.as_secs_f64() {
            self.renew(family, start, items)?;
            self.count(workload, Items::From(0), items, &mut tally)?;
        }
        Ok(tally.measured())
    }

    /// Sends one load.
    pub fn measure(&mut self, workload: Workload, items: Items, len: u64) -> Outcome<Measured> {
        let mut tally = Tally::default();
        self.count(workload, items, len, &mut tally)?;
        Ok(tally.measured())
    }

    /// Looks items up for a round. Half are present.
    pub fn look_up(&mut self, workload: Workload, items: u64) -> Outcome<Measured> {
        let (mut tally, count) = (Tally::default(), items * 2);
        self.count(workload, Items::Among { first: 0, count }, u64::MAX, &mut tally)?;
        Ok(tally.measured())
    }

    /// Deletes all items, and fills the filter again if that was no round yet.
    pub fn delete(&mut self, workload: Workload, family: Family, items: u64) -> Outcome<Measured> {
        let mut tally = Tally::default();
        loop {
            self.count(workload, Items::From(0), items, &mut tally)?;
            if tally.seconds >= ROUND.as_secs_f64() {
                return Ok(tally.measured());
            }
            self.send(family.adding(), Items::From(0), items)?;
        }
    }

    /// Sends one load, for a round if it does not end, and adds up what it took.
    fn count(
        &mut self,
        workload: Workload,
        items: Items,
        len: u64,
        tally: &mut Tally,
    ) -> Outcome<()> {
        let time = if len == u64::MAX { ROUND } else { Duration::MAX };
        let process = self.server.process_id();
        let before = microseconds_in(&mut self.connection, workload.name())?;
        let busy_before = cpu_seconds(process)?;
        let sent = self.load(workload)?.run(items, time, len)?;
        tally.busy += cpu_seconds(process)? - busy_before;
        let after = microseconds_in(&mut self.connection, workload.name())?;
        check(workload, sent)?;
        tally.items += sent.items;
        tally.seconds += sent.seconds;
        tally.microseconds += after - before;
        Ok(())
    }

    pub fn bits_per_item(&mut self, items: u64) -> Outcome<f64> {
        let mut usage = redis::cmd("MEMORY");
        usage.arg(&["USAGE", FILTER, "SAMPLES", "0"]);
        let bytes: u64 = usage.query(&mut self.connection)?;
        Ok(bytes as f64 * 8.0 / items as f64)
    }

    /// The rate of false positives in percent, with its confidence interval. An item that was added
    /// and is not found is an error.
    pub fn false_positives(&mut self, family: Family, items: u64) -> Outcome<String> {
        let looking_up = family.looking_up()[0];
        let present = self.send(looking_up, Items::From(0), items.min(LOOKUPS))?;
        if present.ones != present.items {
            let lost = present.items - present.ones;
            return Err(format!("{lost} of {} items were lost", present.items).into());
        }
        let absent = self.send(looking_up, Items::From(ABSENT), LOOKUPS)?;
        let rate = absent.ones as f64 / absent.items as f64;
        let deviation = (rate * (1.0 - rate) / absent.items as f64).sqrt();
        let interval = CONFIDENCE * deviation * 100.0;
        Ok(format!("{:.3} ± {interval:.3}", rate * 100.0))
    }

    /// Clears the server's statistics of commands.
    pub fn reset_statistics(&mut self) -> Outcome<()> {
        let connection = &mut self.connection;
        Ok(redis::cmd("CONFIG").arg("RESETSTAT").query(connection)?)
    }
}

/// The sum of several loads.
#[derive(Default)]
struct Tally {
    items: u64,
    seconds: f64,
    busy: f64,
    microseconds: u64,
}

impl Tally {
    fn measured(&self) -> Measured {
        Measured {
            items_per_second: self.items as f64 / self.seconds,
            nanoseconds_in_command: self.microseconds as f64 * 1000.0 / self.items as f64,
            server_busy: self.busy / self.seconds,
        }
    }
}
