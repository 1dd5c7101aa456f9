//! Lookups of one process: through the server, and in its copy. Half of the items are present.

use super::{args, follow, item, reserve, Item, KEY};
use redis::{cmd, Connection};
use splitbloom_client::Follower;
use splitbloom_rig::{rounds, Outcome, Rounds, Server, Settings, Setup};
use std::hint::black_box;
use std::thread;
use std::time::Instant;

const ITEMS: u64 = 10_000_000;
/// An odd number, so that the median is one of the rounds.
const ROUNDS: usize = 5;
const PACKED: usize = 4096;

/// How items are looked up, and how many of them in a round.
#[derive(Clone, Copy)]
enum Way {
    Exists,
    MultiExists,
    Packed,
    Single { threads: usize },
    Batch { threads: usize },
}

impl Way {
    const ALL: [(Self, &'static str, usize); 7] = [
        (Self::Exists, "server, BF.EXISTS", 20_000),
        (Self::MultiExists, "server, BF.MEXISTS of 100", 400_000),
        (Self::Packed, "server, BF.PACKEXISTS of 4096", 4_096_000),
        (Self::Single { threads: 1 }, "follower, one by one", 2_048_000),
        (Self::Single { threads: 2 }, "follower, one by one, 2 threads", 2_048_000),
        (Self::Batch { threads: 1 }, "follower, batches of 4096", 4_096_000),
        (Self::Batch { threads: 2 }, "follower, batches of 4096, 2 threads", 4_096_000),
    ];

    /// Looks up the items; returns the nanoseconds per item.
    fn time(self, db: &mut Connection, follower: &Follower, items: &[Item]) -> Outcome<f64> {
        let start = Instant::now();
        match self {
            Self::Exists => {
                for item in items {
                    let _: i64 = cmd("BF.EXISTS").arg(KEY).arg(item).query(db)?;
                }
            }
            Self::MultiExists => {
                for items in items.chunks(100) {
                    let _: Vec<i64> = cmd("BF.MEXISTS").arg(KEY).arg(args(items)).query(db)?;
                }
            }
            Self::Packed => {
                for items in items.chunks(PACKED) {
                    let mut look_up = cmd("BF.PACKEXISTS");
                    look_up.arg(KEY).arg("FIXED").arg(size_of::<Item>()).arg(items.as_flattened());
                    let _: Vec<u8> = look_up.query(db)?;
                }
            }
            Self::Single { threads } => each_on(threads, items, |items| {
                for item in items {
                    black_box(follower.contains(item));
                }
            }),
            Self::Batch { threads } => each_on(threads, items, |items| {
                for items in items.chunks(PACKED) {
                    black_box(follower.contains_many(items));
                }
            }),
        }
        Ok(start.elapsed().as_nanos() as f64 / items.len() as f64)
    }
}

fn each_on(threads: usize, items: &[Item], look_up: impl Fn(&[Item]) + Sync) {
    thread::scope(|scope| {
        for items in items.chunks(items.len().div_ceil(threads)) {
            scope.spawn(|| look_up(items));
        }
    });
}

pub fn run(settings: &mut Settings) -> Outcome<()> {
    let items = settings.number("ITEMS", ITEMS)?;
    let server = Server::start(Setup::ours());
    let mut db = server.connect()?;
    reserve(&mut db, items)?;
    for first in (0..items).step_by(1 << 16) {
        let packed: Vec<Item> = (first..items.min(first + (1 << 16))).map(item).collect();
        let mut add = cmd("BF.PACKADD");
        add.arg(KEY).arg("FIXED").arg(size_of::<Item>()).arg(packed.as_flattened());
        add.exec(&mut db)?;
    }
    let follower = follow(&server)?;
    let mut figures: [[Rounds; 2]; Way::ALL.len()] = Default::default();
    for round in rounds("lookups", settings.rounds(ROUNDS)?) {
        for ((way, _, number), [rate, time]) in Way::ALL.into_iter().zip(&mut figures) {
            let number = number as u64;
            let asked = (0..number).map(|n| item((n + round as u64 * number) * 7919 % (2 * items)));
            let ns = way.time(&mut db, &follower, &asked.collect::<Vec<_>>())?;
            rate.push(1e3 / ns);
            time.push(ns);
        }
    }
    for ((_, name, _), [rate, time]) in Way::ALL.iter().zip(&figures) {
        settings.table("follow-lookups").row(&[
            ("items", &items),
            ("lookups", name),
            ("million a second", &rate.median(2)),
            ("ns each", &time.median(0)),
        ]);
    }
    Ok(())
}
