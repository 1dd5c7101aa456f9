//! What followers cost BF.MADD: with none, with one and with ten, and with another build of the
//! module. One after the other in each round, with new items and a new filter each time.

use super::{args, follow, item, reserve, KEY};
use redis::cmd;
use splitbloom_client::Follower;
use splitbloom_rig::info::microseconds_in;
use splitbloom_rig::{order, pipelined, rounds, Outcome, Rounds, Server, Settings, Setup};
use std::time::Instant;

/// An odd number, so that the median is one of the rounds.
const ROUNDS: usize = 9;
const ITEMS: u64 = 1_000_000;
const BATCH: usize = 100;
const PIPELINED: usize = 8;

struct Contender {
    name: &'static str,
    server: Server,
    followers: usize,
    /// Million items per second, and nanoseconds per item in the command.
    rates: Rounds,
    times: Rounds,
}

impl Contender {
    fn start(name: &'static str, setup: Setup, followers: usize) -> Outcome<Self> {
        let (rates, times) = (Rounds::default(), Rounds::default());
        Ok(Self { name, server: Server::start(setup), followers, rates, times })
    }

    fn measure(&mut self) -> Outcome<()> {
        let mut db = self.server.connect()?;
        cmd("FLUSHALL").exec(&mut db)?;
        reserve(&mut db, ITEMS)?;
        let followers: Outcome<Vec<Follower>> =
            (0..self.followers).map(|_| follow(&self.server)).collect();
        let followers = followers?;
        cmd("CONFIG").arg("RESETSTAT").exec(&mut db)?;
        let items: Vec<_> = (0..ITEMS).map(item).collect();
        let add = |items| cmd("BF.MADD").arg(KEY).arg(args(items)).take();
        let (start, adds) = (Instant::now(), items.chunks(BATCH).map(add));
        pipelined(&mut db, PIPELINED, adds)?;
        self.rates.push(ITEMS as f64 / start.elapsed().as_secs_f64() / 1e6);
        self.times.push(microseconds_in(&mut db, "bf.madd")? as f64 * 1e3 / ITEMS as f64);
        drop(followers);
        Ok(())
    }
}

pub fn run(settings: &mut Settings) -> Outcome<()> {
    let mut contenders = Vec::new();
    for (name, followers) in [("none", 0), ("one", 1), ("ten", 10)] {
        contenders.push(Contender::start(name, Setup::ours(), followers)?);
    }
    if let Some(setup) = Setup::peer()? {
        contenders.push(Contender::start("none, other build", setup, 0)?);
    }
    for round in rounds("cost", settings.rounds(ROUNDS)?) {
        order(round, contenders.len()).try_for_each(|turn| contenders[turn].measure())?;
    }
    let Contender { rates, times, .. } = &contenders[0];
    for contender in &contenders {
        settings.table("follow-cost").row(&[
            ("followers", &contender.name),
            ("million items/s", &contender.rates.median(2)),
            ("relative to none", &contender.rates.relative_to(rates)),
            ("ns in command", &contender.times.median(1)),
            ("relative to none ", &times.relative_to(&contender.times)),
        ]);
    }
    Ok(())
}
