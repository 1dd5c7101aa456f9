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

mod cost;
mod crowd;
mod load;
mod lookups;

use redis::{cmd, Connection, IntoConnectionInfo};
use splitbloom_client::{Follower, Keys, Topology};
use splitbloom_harness::trial::item;
use splitbloom_rig::{run_parts, Outcome, Part, Server};
use std::time::Duration;

const KEY: &str = "followed";

type Item = [u8; 16];

fn main() -> Outcome<()> {
    let parts: [Part; 4] = [
        ("lookups", lookups::run),
        ("load", load::run),
        ("cost", cost::run),
        ("crowd", crowd::run),
    ];
    run_parts(&parts, parts.len())
}

/// Creates the filter, for `capacity` items at 1 %.
fn reserve(db: &mut Connection, capacity: u64) -> Outcome<()> {
    Ok(cmd("BF.RESERVE").arg(KEY).arg(0.01).arg(capacity).exec(db)?)
}

/// Items as arguments of a command.
fn args(items: &[Item]) -> Vec<&[u8]> {
    items.iter().map(Item::as_slice).collect()
}

/// A follower of the filter that has a copy.
fn follow(server: &Server) -> Outcome<Follower> {
    start(server, Keys::One(KEY.as_bytes()))
}

/// A follower of these keys, once it has a copy.
fn start(server: &Server, keys: Keys) -> Outcome<Follower> {
    let server = server.url().into_connection_info()?;
    let follower = Follower::start(vec![server], Topology::OneServer, keys)?;
    match follower.wait_until_ready(Duration::from_secs(60)) {
        true => Ok(follower),
        false => Err(format!("no copy: {:?}", follower.status()).into()),
    }
}
