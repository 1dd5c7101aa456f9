//! The same commands on both modules: nanoseconds an item in the command.

use redis::{Cmd, Connection};
use splitbloom_rig::info::microseconds_in;
use splitbloom_rig::{order, pipelined, prefer, Outcome, Rounds, Server, Settings, Setup};
use std::ops::Range;
use std::rc::Rc;

/// An odd number, so that the median is one of the rounds.
const ROUNDS: usize = 7;
/// Above the numbers that fill a sketch, so that a stream of distinct items repeats none.
const BEYOND_FILLING: u64 = 1 << 24;
/// Commands in flight.
const PIPELINE: usize = 100;
/// The key of the sketch.
pub const KEY: &str = "sketch";

type Write = dyn Fn(&mut Cmd, Range<u64>);

/// A command, and how its items are written.
#[derive(Clone)]
pub struct Form {
    /// The command, as the server's statistics name it.
    pub command: &'static str,
    /// Appends items, by their numbers, to the command. Numbers go on from round to round.
    write: Rc<Write>,
}

impl Form {
    /// A command whose items are one argument or more each.
    pub fn plain(command: &'static str, write: impl Fn(&mut Cmd, u64) + 'static) -> Self {
        Self::whole(command, move |words, items| items.for_each(|item| write(words, item)))
    }

    /// A command whose items are written together.
    pub fn whole(command: &'static str, write: impl Fn(&mut Cmd, Range<u64>) + 'static) -> Self {
        Self { command, write: Rc::new(write) }
    }

    fn with(&self, items: Range<u64>) -> Cmd {
        let mut words = redis::cmd(self.command);
        words.arg(KEY);
        (self.write)(&mut words, items);
        words
    }

    /// Creates a sketch, and fills it with `items` items.
    pub fn filled(&self, create: Cmd, items: u64) -> Vec<Cmd> {
        const BATCH: u64 = 1_000;
        let firsts = (0..items).step_by(BATCH as usize);
        let fill = firsts.map(|first| self.with(first..first + BATCH));
        std::iter::once(create).chain(fill).collect()
    }
}

/// What is measured.
pub struct Case {
    /// What the table calls it.
    pub name: String,
    /// Sent once, before all rounds.
    pub prepare: Vec<Cmd>,
    /// Commands in a round, and items in each.
    pub shape: (u64, u64),
    /// Ours, and the peer's.
    pub forms: [Form; 2],
}

impl Case {
    /// Cases with batches and with one item per command; tables call the latter `one`.
    pub fn all(sketch: &str, prepare: &[Cmd], forms: &[Form], one: &str) -> Vec<Case> {
        let shapes = [((3_000, 100), "batches of 100"), ((30_000, 1), one)];
        let cases = shapes.iter().flat_map(|(shape, how)| {
            forms.iter().map(move |form| Case {
                name: format!("{}, {sketch}{how}", form.command),
                prepare: prepare.to_vec(),
                shape: *shape,
                forms: [form.clone(), form.clone()],
            })
        });
        cases.collect()
    }

    /// The commands of a round.
    fn commands<'a>(&self, form: &'a Form, round: usize) -> impl Iterator<Item = Cmd> + 'a {
        let (commands, batch) = self.shape;
        let first = BEYOND_FILLING / batch + round as u64 * commands;
        (first..first + commands).map(move |number| form.with(number * batch..(number + 1) * batch))
    }
}

/// A server with one of the modules.
pub struct Side {
    pub connection: Connection,
    _server: Server,
}

impl Side {
    /// This module, and the peer if there is one.
    pub fn all() -> Outcome<Vec<Self>> {
        let start = |setup| {
            let server = Server::start(setup);
            prefer(server.process_id());
            Ok(Self { connection: server.connect()?, _server: server })
        };
        Setup::all()?.into_iter().map(start).collect()
    }

    /// Nanoseconds an item in the command, for one round.
    fn round(&mut self, case: &Case, form: &Form, round: usize) -> Outcome<f64> {
        let before = microseconds_in(&mut self.connection, form.command)?;
        pipelined(&mut self.connection, PIPELINE, case.commands(form, round))?;
        let spent = microseconds_in(&mut self.connection, form.command)? - before;
        Ok(spent as f64 * 1_000.0 / (case.shape.0 * case.shape.1) as f64)
    }
}

/// Measures all cases, for the table `name-PEER`.
pub fn run(settings: &mut Settings, name: &str, cases: &[Case]) -> Outcome<()> {
    let mut sides = Side::all()?;
    for case in cases {
        eprintln!("{}", case.name);
        let mut times = [Rounds::default(), Rounds::default()];
        for side in &mut sides {
            redis::cmd("FLUSHALL").exec(&mut side.connection)?;
            case.prepare.iter().try_for_each(|command| command.exec(&mut side.connection))?;
        }
        for round in 0..=settings.rounds(ROUNDS)? {
            for turn in order(round, sides.len()) {
                let time = sides[turn].round(case, &case.forms[turn], round)?;
                // The first round touches memory for the first time.
                if round > 0 {
                    times[turn].push(time);
                }
            }
        }
        let [ours, peer] = &times;
        settings.table_beside_peer(name)?.row(&[
            ("case", &case.name),
            ("ns an item", &ours.median(1)),
            ("peer, ns", &peer.median(2)),
            ("peer / ours", &peer.relative_to(ours)),
        ]);
    }
    Ok(())
}
