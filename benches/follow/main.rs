//! Followers: lookups in the process beside those through the server, how far a copy is behind
//! while items come, and what followers cost the server.
//!
//! `make bench PARTS=follow` runs it, `PARTS="follow/lookups follow/cost"` these parts; the others
//! are `load` and `crowd`. Environment variables:
//!
//! | variable | default | meaning |
//! |---|---|---|
//! | `ITEMS` | 10000000 | items of the filter that is looked up |
//! | `BENCH_SECONDS` | 60 | how long items come (`make bench SECONDS=`) |
//! | `PEER` | none | another build of the module, for the last two tables |
//!
//! Tables are saved to docs/performance only with the default number of items.

mod cost;
mod crowd;
mod load;
mod lookups;

use redis::{cmd, Connection, ConnectionInfo, IntoConnectionInfo};
use splitbloom_client::{Follower, Keys, Topology};
use splitbloom_harness::splitmix64;
use splitbloom_rig::parts::Parts;
use splitbloom_rig::server::Server;
use splitbloom_rig::table::Table;
use splitbloom_rig::Outcome;
use std::env;
use std::time::Duration;

const ITEMS: u64 = 10_000_000;
const SECONDS: u64 = 60;
const PARTS: [&str; 4] = ["lookups", "load", "cost", "crowd"];
const KEY: &str = "followed";

type Item = [u8; 16];

fn main() -> Outcome<()> {
    let named = |name| env::var(name).ok().filter(|value| !value.is_empty());
    let number = |name, default| named(name).map_or(Ok(default), |text| text.parse());
    let (items, seconds) = (number("ITEMS", ITEMS)?, number("BENCH_SECONDS", SECONDS)?);
    let parts = Parts::named(&PARTS, &PARTS)?;
    let show = |name: &str, table: &Table| -> Outcome<()> {
        println!("\n{}", table.markdown());
        match items == ITEMS {
            true => table.save(name),
            false => Ok(()),
        }
    };
    if parts.contain("lookups") {
        show("follow-lookups", &lookups::run(items)?)?;
    }
    if parts.contain("load") {
        show("follow-load", &load::run(Duration::from_secs(seconds))?)?;
    }
    if parts.contain("cost") {
        show("follow-cost", &cost::run()?)?;
    }
    if parts.contain("crowd") {
        show("follow-crowd", &crowd::run()?)?;
    }
    Ok(())
}

/// Item `number`: 16 bytes, all different.
fn item(number: u64) -> Item {
    let mut item = [0; 16];
    item[..8].copy_from_slice(&splitmix64(number).to_le_bytes());
    item[8..].copy_from_slice(&number.to_le_bytes());
    item
}

/// Creates the filter, for `capacity` items at 1 %.
fn reserve(db: &mut Connection, capacity: u64) -> Outcome<()> {
    Ok(cmd("BF.RESERVE").arg(KEY).arg(0.01).arg(capacity).exec(db)?)
}

/// Items as arguments of a command.
fn args(items: &[Item]) -> Vec<&[u8]> {
    items.iter().map(Item::as_slice).collect()
}

/// Where a server is.
fn at(server: &Server) -> Outcome<Vec<ConnectionInfo>> {
    Ok(vec![format!("redis://127.0.0.1:{}", server.port()).into_connection_info()?])
}

/// A follower of the filter that has a copy.
fn follow(server: &Server) -> Outcome<Follower> {
    ready(Follower::start(at(server)?, Topology::OneServer, Keys::One(KEY.as_bytes()))?)
}

/// The follower, once it has a copy.
fn ready(follower: Follower) -> Outcome<Follower> {
    match follower.wait_until_ready(Duration::from_secs(60)) {
        true => Ok(follower),
        false => Err(format!("no copy: {:?}", follower.status()).into()),
    }
}
