//! One guard under load: ordinary requests, an attack, the loss of the filter in the attack, and
//! ordinary requests again.

use crate::cache::{Cache, Kind};
use crate::load::{product, Answer, Caller, Load, Rates};
use crate::postgres::Postgres;
use crate::service::Service;
use crate::table::Table;
use crate::{web, Outcome};
use redis::InfoDict;
use splitbloom_rig::{Progress, Server, Setup};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a request waits for the cache before it asks the database. In service a second would
/// do; here one machine plays all parts, and may be busy for longer.
const PATIENCE: Duration = Duration::from_secs(10);

/// How much of everything.
#[derive(Clone, Copy)]
pub struct Size {
    pub products: u64,
    pub rates: Rates,
    pub phase: Duration,
    /// The time from one sample to the next.
    pub step: Duration,
}

/// What stands before the database besides a cache of rows.
#[derive(Clone, Copy, PartialEq)]
pub enum Guard {
    Nothing,
    /// Absent ids are cached for a while.
    Proofs,
    /// A filter of valid ids; its false positives are cached for a while.
    Filter,
}

impl Guard {
    pub const ALL: [Guard; 3] = [Guard::Nothing, Guard::Proofs, Guard::Filter];

    pub fn name(self) -> &'static str {
        match self {
            Guard::Nothing => "cache alone",
            Guard::Proofs => "absent ids cached too",
            Guard::Filter => "filter",
        }
    }
}

/// The phases, in order.
pub const PHASES: [&str; 4] = ["ordinary", "attack", "attack, filter lost", "afterwards"];

/// What was counted at a moment.
#[derive(Clone, Copy)]
pub struct Sample {
    pub at: Instant,
    pub asked: u64,
    pub asked_in_vain: u64,
    /// Bytes of the cache, beyond those of an empty one.
    pub memory: u64,
}

/// What came of a guard.
pub struct Run {
    pub guard: Guard,
    pub started: Instant,
    pub samples: Vec<Sample>,
    pub answers: Vec<Answer>,
    pub wrong: u64,
    pub phase: Duration,
}

/// A phase of a run.
pub struct Figures {
    pub queries: f64,
    pub queries_in_vain: f64,
    pub memory: u64,
    /// Milliseconds within which 99 of 100 customers were answered.
    pub p99: f64,
}

impl Run {
    /// The figures of a phase; rates a second.
    pub fn figures(&self, phase: usize) -> Figures {
        let start = self.started + self.phase * phase as u32;
        let end = start + self.phase;
        let near = |moment: Instant| {
            let distance = |sample: &&Sample| {
                let (a, b) = (sample.at.max(moment), sample.at.min(moment));
                a - b
            };
            self.samples.iter().min_by_key(distance).expect("samples")
        };
        let (first, last) = (near(start), near(end));
        let seconds = (last.at - first.at).as_secs_f64();
        let rate = |first: u64, last: u64| (last - first) as f64 / seconds;
        Figures {
            queries: rate(first.asked, last.asked),
            queries_in_vain: rate(first.asked_in_vain, last.asked_in_vain),
            memory: last.memory,
            p99: self.p99(start, end),
        }
    }

    /// Milliseconds within which 99 of 100 customers of that time were answered.
    pub fn p99(&self, start: Instant, end: Instant) -> f64 {
        let customers = self.answers.iter().filter(|answer| {
            answer.caller == Caller::Customer && answer.at >= start && answer.at < end
        });
        let mut times: Vec<u32> = customers.map(|answer| answer.microseconds).collect();
        times.sort_unstable();
        let last = times.len().saturating_sub(1);
        let time = times.get(last * 99 / 100).copied().unwrap_or(0);
        f64::from(time) / 1e3
    }
}

/// A service with a database and a cache of its own.
pub struct Stage {
    pub service: Arc<Service>,
    pub cache: redis::Connection,
    pub server: Server,
    // Dropped last: the others are its clients.
    _postgres: Postgres,
}

impl Stage {
    /// Starts everything, with this many products. The filter is empty.
    ///
    /// # Errors
    /// Something does not start.
    pub async fn set(products: u64, kind: Option<Kind>, keeps_proofs: bool) -> Outcome<Stage> {
        let mut postgres = Postgres::start()?;
        let server = Server::start(Setup::ours());
        let cache = server.connect().map_err(|error| error.to_string())?;
        let address = format!("redis://127.0.0.1:{}", server.port());
        let ids: Vec<i64> = (0..products).map(product).collect();
        let table = Table::create(postgres.config().await?, &ids).await?;
        let service = Service::new(Cache::new(&address, kind, keeps_proofs, PATIENCE)?, table);
        Ok(Stage { service: Arc::new(service), cache, server, _postgres: postgres })
    }

    fn sample(&mut self, empty: u64) -> Outcome<Sample> {
        let (asked, asked_in_vain) = self.service.table.asked();
        Ok(Sample {
            at: Instant::now(),
            asked,
            asked_in_vain,
            memory: memory(&mut self.cache)?.saturating_sub(empty),
        })
    }
}

/// Runs all phases with a guard.
///
/// # Errors
/// Something does not start, or fails.
pub async fn run(guard: Guard, size: Size) -> Outcome<Run> {
    println!("\n{}", guard.name());
    let kind = (guard == Guard::Filter).then_some(Kind::Bloom);
    let mut stage = Stage::set(size.products, kind, guard != Guard::Nothing).await?;
    let empty = memory(&mut stage.cache)?;
    if guard == Guard::Filter {
        let mut progress = Progress::start("filling the filter", size.products);
        stage.service.fill(|ids| progress.advance(ids as u64)).await?;
        progress.report();
    }
    let web = web::serve(stage.service.clone()).await?;
    let load = Load::on(web.address, size.products);
    let ordinary = Rates { attackers: 0, ..size.rates };
    // So that the first phase begins with connections open and the popular rows cached.
    load.run(ordinary, size.phase).await;

    let mut samples = vec![stage.sample(empty)?];
    let started = Instant::now();
    for (phase, name) in PHASES.into_iter().enumerate() {
        if phase == 2 && guard == Guard::Filter {
            redis::cmd("UNLINK").arg("ids").exec(&mut stage.cache)?;
        }
        let rates = if name.starts_with("attack") { size.rates } else { ordinary };
        let end = started + size.phase * (phase as u32 + 1);
        let load = load.clone();
        let rest = end.saturating_duration_since(Instant::now());
        let asking = tokio::spawn(async move { load.run(rates, rest).await });
        while Instant::now() < end {
            tokio::time::sleep(size.step).await;
            samples.push(stage.sample(empty)?);
        }
        asking.await?;
        println!("  {name}: done");
    }
    Ok(Run {
        guard,
        started,
        samples,
        answers: load.answers(),
        wrong: load.wrong(),
        phase: size.phase,
    })
}

fn memory(cache: &mut redis::Connection) -> Outcome<u64> {
    let info: InfoDict = redis::cmd("INFO").arg("memory").query(cache)?;
    Ok(info.get("used_memory").ok_or("no used_memory")?)
}
