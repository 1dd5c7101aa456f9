//! The same commands on both modules: nanoseconds an item in the command.

use redis::{Cmd, Connection, Pipeline};
use splitbloom_rig::info::microseconds_in;
use splitbloom_rig::process::prefer;
use splitbloom_rig::server::{Server, Setup};
use splitbloom_rig::statistics::{median, median_ratio};
use splitbloom_rig::table::Table;
use splitbloom_rig::Outcome;
use std::env;
use std::ops::Range;

/// An odd number, so that the median is one of the rounds.
const ROUNDS: usize = 7;

/// Above the number of any item that fills a sketch, so that a stream of different items is one.
const BEYOND_FILLING: u64 = 1 << 24;

/// Appends items, by their numbers, to a command.
type Write = Box<dyn Fn(&mut Cmd, Range<u64>)>;

/// A command, and how its items are written.
pub struct Form {
    /// The command, as the server's statistics name it.
    pub command: &'static str,
    /// Numbers go on from round to round.
    write: Write,
}

impl Form {
    /// A command whose items are one argument or more each.
    pub fn plain(command: &'static str, write: impl Fn(&mut Cmd, u64) + 'static) -> Self {
        Self::whole(command, move |words, items| items.for_each(|item| write(words, item)))
    }

    /// A command whose items are written together.
    pub fn whole(command: &'static str, write: impl Fn(&mut Cmd, Range<u64>) + 'static) -> Self {
        Self { command, write: Box::new(write) }
    }
}

/// What is measured.
pub struct Case {
    /// What the table calls it.
    name: String,
    /// The key of the sketch.
    key: &'static str,
    /// Sent once, before all rounds.
    prepare: Vec<Cmd>,
    /// Commands in a round, and items in each.
    shape: (u64, u64),
    form: Form,
    /// What the peer has instead, if it lacks the command.
    instead: Option<Form>,
}

impl Case {
    /// A case whose rounds send commands of this shape.
    pub fn new(
        name: &str,
        prepare: Vec<Cmd>,
        shape: (u64, u64),
        key: &'static str,
        form: Form,
    ) -> Self {
        Self { name: name.to_string(), key, prepare, shape, form, instead: None }
    }

    /// The same, with another command for the peer.
    pub fn with_peer(self, form: Form) -> Self {
        Self { instead: Some(form), ..self }
    }

    fn of_peer(&self) -> &Form {
        self.instead.as_ref().unwrap_or(&self.form)
    }

    fn items(&self) -> u64 {
        self.shape.0 * self.shape.1
    }

    /// The commands of a round.
    fn pipelines(&self, form: &Form, round: usize) -> Vec<Pipeline> {
        /// Commands in flight.
        const PIPELINE: u64 = 100;
        let (commands, batch) = self.shape;
        let before = BEYOND_FILLING / batch + round as u64 * commands;
        let pipelines = (0..commands.div_ceil(PIPELINE)).map(|first| {
            let mut pipeline = redis::pipe();
            for number in first * PIPELINE..commands.min((first + 1) * PIPELINE) {
                let mut words = redis::cmd(form.command);
                words.arg(self.key);
                let first = (before + number) * batch;
                (form.write)(&mut words, first..first + batch);
                pipeline.add_command(words).ignore();
            }
            pipeline
        });
        pipelines.collect()
    }
}

/// A server with one of the modules.
pub struct Side {
    pub connection: Connection,
    _server: Server,
}

impl Side {
    pub fn start(setup: Setup) -> Outcome<Self> {
        let mut server = Server::start(setup)?;
        prefer(server.process_id());
        Ok(Self { connection: server.connect()?, _server: server })
    }

    fn prepare(&mut self, case: &Case) -> Outcome<()> {
        redis::cmd("FLUSHALL").query::<()>(&mut self.connection)?;
        for command in &case.prepare {
            command.query::<()>(&mut self.connection)?;
        }
        Ok(())
    }

    /// Nanoseconds an item in the command, for one round.
    fn round(&mut self, case: &Case, form: &Form, round: usize) -> Outcome<f64> {
        let pipelines = case.pipelines(form, round);
        let before = microseconds_in(&mut self.connection, form.command)?;
        for pipeline in pipelines {
            pipeline.query::<()>(&mut self.connection)?;
        }
        let after = microseconds_in(&mut self.connection, form.command)?;
        Ok((after - before) as f64 * 1_000.0 / case.items() as f64)
    }
}

/// Both modules, or ours alone.
pub struct Duel;

impl Duel {
    /// Measures all cases, prints them, and saves them as the table `name-PEER` if there is a peer.
    pub fn of(name: &str, cases: &[Case]) -> Outcome<()> {
        let mut ours = Side::start(Setup::ours()?)?;
        let mut peer = Setup::peer()?.map(Side::start).transpose()?;
        let rounds = env::var("BENCH_ROUNDS").ok().filter(|rounds| !rounds.is_empty());
        let rounds = rounds.map_or(Ok(ROUNDS), |rounds| rounds.parse())?;
        let mut table = Table::new(&["case", "ns an item", "peer, ns", "peer / ours"]);
        for case in cases {
            eprintln!("{}", case.name);
            let mut times = [Vec::new(), Vec::new()];
            ours.prepare(case)?;
            peer.iter_mut().try_for_each(|peer| peer.prepare(case))?;
            for round in 0..=rounds {
                let mut both = [None, None];
                for turn in [round % 2, (round + 1) % 2] {
                    let (side, form) = match turn {
                        0 => (Some(&mut ours), &case.form),
                        _ => (peer.as_mut(), case.of_peer()),
                    };
                    both[turn] = side.map(|side| side.round(case, form, round)).transpose()?;
                }
                // The first one touches memory for the first time.
                if round > 0 {
                    times.iter_mut().zip(both).for_each(|(times, time)| times.extend(time));
                }
            }
            let [ours, peer] = &times;
            let of_peer = |number: f64| match peer.is_empty() {
                true => String::new(),
                false => format!("{number:.2}"),
            };
            table.row(&[
                case.name.clone(),
                format!("{:.1}", median(ours)),
                of_peer(median(peer)),
                of_peer(median_ratio(peer, ours)),
            ]);
        }
        println!("\n{}", table.markdown());
        match Setup::peer()? {
            Some(setup) => {
                let stem = setup.module.file_stem().unwrap_or_default();
                table.save(&format!("{name}-{}", stem.to_string_lossy()))
            }
            None => Ok(()),
        }
    }
}
