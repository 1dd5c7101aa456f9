//! What followers cost BF.MADD: with none, with one and with ten, and with another build of the
//! module. One after the other in each round, with new items and a new filter each time.

use super::{args, follow, item, reserve, KEY};
use redis::{cmd, pipe, Connection};
use splitbloom_client::Follower;
use splitbloom_rig::info::microseconds_in;
use splitbloom_rig::server::{Server, Setup};
use splitbloom_rig::statistics::{median, median_ratio};
use splitbloom_rig::table::Table;
use splitbloom_rig::Outcome;
use std::time::Instant;

/// An odd number, so that the median is one of the rounds.
const ROUNDS: usize = 9;
const ITEMS: u64 = 1_000_000;
const BATCH: usize = 100;
const PIPELINED: usize = 8;

struct Contender {
    name: String,
    server: Server,
    followers: usize,
    /// Million items a second, and nanoseconds in the command, an item.
    rates: Vec<f64>,
    times: Vec<f64>,
}

impl Contender {
    fn start(name: &str, setup: Setup, followers: usize) -> Outcome<Self> {
        let server = Server::start(setup)?;
        let (rates, times) = (Vec::new(), Vec::new());
        Ok(Self { name: name.to_owned(), server, followers, rates, times })
    }

    fn measure(&mut self) -> Outcome<()> {
        let mut db = self.server.connect()?;
        cmd("FLUSHALL").exec(&mut db)?;
        reserve(&mut db, ITEMS)?;
        let followers: Outcome<Vec<Follower>> =
            (0..self.followers).map(|_| follow(&self.server)).collect();
        let followers = followers?;
        cmd("CONFIG").arg("RESETSTAT").exec(&mut db)?;
        let start = Instant::now();
        add(&mut db)?;
        self.rates.push(ITEMS as f64 / start.elapsed().as_secs_f64() / 1e6);
        self.times.push(microseconds_in(&mut db, "bf.madd")? as f64 * 1e3 / ITEMS as f64);
        drop(followers);
        Ok(())
    }
}

fn add(db: &mut Connection) -> Outcome<()> {
    let items: Vec<_> = (0..ITEMS).map(item).collect();
    for items in items.chunks(BATCH * PIPELINED) {
        let mut pipeline = pipe();
        for items in items.chunks(BATCH) {
            pipeline.cmd("BF.MADD").arg(KEY).arg(args(items)).ignore();
        }
        pipeline.exec(db)?;
    }
    Ok(())
}

pub fn run() -> Outcome<Table> {
    let mut contenders = Vec::new();
    for (name, followers) in [("none", 0), ("one", 1), ("ten", 10)] {
        contenders.push(Contender::start(name, Setup::ours()?, followers)?);
    }
    if let Some(setup) = Setup::peer()? {
        contenders.push(Contender::start("none, other build", setup, 0)?);
    }
    for round in 0..ROUNDS {
        match round % 2 {
            0 => contenders.iter_mut().try_for_each(Contender::measure)?,
            _ => contenders.iter_mut().rev().try_for_each(Contender::measure)?,
        }
    }
    let columns =
        ["followers", "million items/s", "relative to none", "ns in command", "relative to none "];
    let mut table = Table::new(&columns);
    for contender in &contenders {
        let (rates, times) = (&contenders[0].rates, &contenders[0].times);
        table.row(&[
            contender.name.clone(),
            format!("{:.2}", median(&contender.rates)),
            format!("{:.2}", median_ratio(&contender.rates, rates)),
            format!("{:.1}", median(&contender.times)),
            format!("{:.2}", median_ratio(times, &contender.times)),
        ]);
    }
    Ok(table)
}
