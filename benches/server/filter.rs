//! A module with a filter in one state and of one size, ready to be measured.

use super::command::*;
use redis::{cmd, Connection};
use splitbloom_rig::info::microseconds_in;
use splitbloom_rig::load::{Items, Load, Renewal, Sent};
use splitbloom_rig::{cpu_seconds, percent, Outcome, Rounds, Server, Setup};
use std::collections::HashMap;
use std::ops::Range;
use std::time::Duration;

/// Duration of one round of a command: some hundred thousand commands, several thousand times the
/// server's microsecond, with an error of 2 % in the kernel's count of CPU time.
const ROUND: Duration = Duration::from_millis(500);
/// From this size on a filter is half filled before measuring, so that all of its memory has been
/// touched, and has room for all adds of a run; a smaller one is recreated.
pub const LARGE: u64 = 50_000_000;
/// The error rate of reserved filters; also the default of both modules.
const ERROR_RATE: &str = "0.01";
/// Numbers from here on are never added.
const ABSENT: u64 = 1 << 40;
/// Lookups of absent items: at 1 %, 10^4 false positives, or a confidence interval of ±2 % of the
/// rate.
const LOOKUPS: u64 = 1_000_000;
/// A run makes some thousand checks; chance fails one of them in 10^13, e^-30.
const IMPROBABLE: f64 = 30.0;

/// To which filters a round adds, and how much.
#[derive(Clone, Copy)]
pub enum Adds {
    /// Into an empty filter until it has its size, again and again.
    Fill,
    /// Into filters that are recreated long before they are full, without a pause.
    Stream,
    /// This number of items beyond those present.
    Further(u64),
}

/// The filter to create.
#[derive(Clone)]
pub struct Kind {
    /// The items that it will have.
    pub size: u64,
    /// The command that creates it; without one, its first add does, with the default settings.
    pub creation: Option<Vec<String>>,
}

impl Kind {
    pub fn grown(size: u64) -> Self {
        Self { size, creation: None }
    }

    /// A filter of the family `BF` or `CF`, reserved for exactly the items that it will have.
    pub fn reserved(family: &str, size: u64) -> Self {
        let line = match family {
            "BF" => format!("BF.RESERVE {FILTER} {ERROR_RATE} {size} NONSCALING"),
            _ => format!("CF.RESERVE {FILTER} {size}"),
        };
        Self { size, creation: Some(line.split(' ').map(str::to_string).collect()) }
    }
}

pub struct Filter {
    // Dropped in this order: connections before the server.
    /// Each load by its command, its items, and whether it renews the filter.
    loads: HashMap<(&'static str, usize, bool), Load>,
    pub connection: Connection,
    pub server: Server,
    kind: Kind,
    adds: Adds,
    /// Numbers of the items present. Those above were never added.
    present: Range<u64>,
}

impl Filter {
    /// Starts a server, with the keys of the baseline commands but without the filter.
    pub fn start(setup: Setup, kind: Kind, adds: Adds) -> Outcome<Self> {
        let server = Server::start(setup);
        let mut connection = server.connect()?;
        cmd("SETBIT").arg(BITS).arg(65_535).arg(1).exec(&mut connection)?;
        cmd("SADD").arg(SET).arg("a member").exec(&mut connection)?;
        Ok(Self { loads: HashMap::new(), connection, server, kind, adds, present: 0..0 })
    }

    /// Deletes the filter, and creates it anew unless its first add does that.
    pub fn renew(&mut self) -> Outcome<()> {
        cmd("UNLINK").arg(FILTER).exec(&mut self.connection)?;
        if let Some(words) = &self.kind.creation {
            cmd(&words[0]).arg(&words[1..]).exec(&mut self.connection)?;
        }
        self.present.start = self.present.end;
        Ok(())
    }

    /// Adds more items.
    pub fn add(&mut self, command: Command, len: u64) -> Outcome<Sent> {
        let first = self.present.end;
        let sent = self.load(command, false)?.send(first, len)?;
        self.present.end += sent.items;
        Ok(sent)
    }

    /// The load of a command, created on first use. One that `renews` recreates the filter now and
    /// then.
    fn load(&mut self, command: Command, renews: bool) -> Outcome<&mut Load> {
        let key = (command.name, command.items, renews);
        if !self.loads.contains_key(&key) {
            let (connections, pipeline) = (command.connections(), command.pipeline());
            let mut load =
                Load::new(self.server.port(), connections, pipeline, &command.pattern())?;
            if let Some(create) = self.kind.creation.clone().filter(|_| renews) {
                // Commands in flight on other connections, some thousand items, may be executed
                // before the renewal or after it.
                load = load.renewing(Renewal {
                    every: self.kind.size / 3,
                    commands: vec![vec!["UNLINK".into(), FILTER.into()], create],
                    replies: b":1\r\n+OK\r\n",
                });
            }
            self.loads.insert(key, load);
        }
        Ok(self.loads.get_mut(&key).expect("just inserted"))
    }

    /// One round of a command.
    pub fn round(&mut self, command: Command) -> Outcome<Measured> {
        let mut measured = Measured::default();
        match self.adds {
            // Deletes all items; if that took less than a round, adds as many and repeats.
            _ if command.name == CF_DEL.name => loop {
                let Range { start, end } = self.present;
                self.measure(&mut measured, command, |load| load.send(start, end - start))?;
                self.present.start = end;
                if measured.sent.seconds >= ROUND.as_secs_f64() {
                    break;
                }
                self.add(CF_ADD, end - start)?;
            },
            // Half of these are present.
            _ if !command.adds => {
                let Range { start: first, end } = self.present;
                let items = Items::Among { first, count: (end - first) * 2 };
                self.measure(&mut measured, command, |load| load.run(items, ROUND, u64::MAX))?;
            }
            Adds::Fill => {
                while measured.sent.seconds < ROUND.as_secs_f64() {
                    self.renew()?;
                    self.measure_adds(&mut measured, command, self.kind.size)?;
                }
            }
            Adds::Further(len) => self.measure_adds(&mut measured, command, len)?,
            Adds::Stream => {
                self.renew()?;
                let items = Items::From(self.present.end);
                self.measure(&mut measured, command, |load| load.run(items, ROUND, u64::MAX))?;
                self.present.end += measured.sent.items;
                self.renew()?;
                self.fill_partly()?;
            }
        }
        Ok(measured)
    }

    /// Fills a filter that is recreated to two thirds, the most that a stream of adds may fill.
    pub fn fill_partly(&mut self) -> Outcome<()> {
        self.add(MADD, self.kind.size * 2 / 3).map(drop)
    }

    fn measure_adds(&mut self, sum: &mut Measured, command: Command, len: u64) -> Outcome<()> {
        let first = self.present.end;
        self.measure(sum, command, |load| load.send(first, len))?;
        self.present.end += len;
        Ok(())
    }

    /// Adds up what one run takes, and checks that the replies are those of a filter.
    fn measure(
        &mut self,
        sum: &mut Measured,
        command: Command,
        run: impl FnOnce(&mut Load) -> Outcome<Sent>,
    ) -> Outcome<()> {
        let process = self.server.process_id();
        let before = microseconds_in(&mut self.connection, command.name)?;
        let busy_before = cpu_seconds(process)?;
        let renews = command.adds && matches!(self.adds, Adds::Stream);
        let sent = run(self.load(command, renews)?)?;
        sum.busy += cpu_seconds(process)? - busy_before;
        sum.microseconds += microseconds_in(&mut self.connection, command.name)? - before;
        sum.sent.add(sent);
        match is_probable(sent.ones, sent.items, command.ones) {
            true => Ok(()),
            false => {
                let (name, Sent { ones, items, .. }) = (command.name, sent);
                Err(format!("{name}: {ones} of {items} replies were 1").into())
            }
        }
    }

    pub fn bits_per_item(&mut self) -> Outcome<f64> {
        let mut usage = cmd("MEMORY");
        let bytes: u64 =
            usage.arg(&["USAGE", FILTER, "SAMPLES", "0"]).query(&mut self.connection)?;
        Ok(bytes as f64 * 8.0 / (self.present.end - self.present.start) as f64)
    }

    /// The rate of false positives in percent, with its confidence interval. An item that was added
    /// and is not found is an error.
    pub fn false_positives(&mut self, lookup: Command) -> Outcome<String> {
        let len = LOOKUPS.min(self.present.end - self.present.start);
        let first = self.present.start;
        let present = self.load(lookup, false)?.send(first, len)?;
        if present.ones != len {
            return Err(format!("{} of {len} items were lost", len - present.ones).into());
        }
        let absent = self.load(lookup, false)?.send(ABSENT, LOOKUPS)?;
        let [rate, interval] = percent(absent.ones, absent.items);
        Ok(format!("{rate:.3} ± {interval:.3}"))
    }
}

/// Whether `ones` of `len` independent replies may be 1 if each is with a probability in this
/// range.
///
/// Chernoff's bound: with probability `p`, a fraction `f` or one farther from `p` occurs with a
/// probability of at most `e^(-len D(f, p))`, where `D` is the relative entropy. It holds for any
/// number of replies: for the 512 of one turn, 37 false positives pass at a rate of 0.015
/// (mean 8), and for five million a rate of 0.0154 does.
fn is_probable(ones: u64, len: u64, (min, max): (f64, f64)) -> bool {
    let f = ones as f64 / len.max(1) as f64;
    let p = f.clamp(min, max);
    let side = |f: f64, p: f64| if f == 0.0 { 0.0 } else { f * (f / p).ln() };
    len as f64 * (side(f, p) + side(1.0 - f, 1.0 - p)) <= IMPROBABLE
}

/// The sum of several runs.
#[derive(Default)]
pub struct Measured {
    sent: Sent,
    busy: f64,
    microseconds: u64,
}

/// The rounds of one command on one filter.
#[derive(Default)]
pub struct Series {
    pub throughput: Rounds,
    pub in_command: Rounds,
    /// In percent, the fraction of the time that the server's thread was busy.
    busy: Rounds,
}

impl Series {
    pub fn push(&mut self, measured: &Measured) {
        let items = measured.sent.items as f64;
        self.throughput.push(items / measured.sent.seconds / 1e6);
        self.in_command.push(measured.microseconds as f64 * 1000.0 / items);
        self.busy.push(100.0 * measured.busy / measured.sent.seconds);
    }

    pub fn busy(&self) -> String {
        let busy = Some(self.busy.median(0)).filter(|busy| !busy.is_empty());
        busy.map_or_else(String::new, |busy| busy + " %")
    }
}
