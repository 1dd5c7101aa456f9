//! A blacklist, built offline, that four processes check locally while it is replaced:
//! `cargo run --release --example recipe-local -- redis://127.0.0.1:6379 10000000`

use redis::{pipe, Client, Connection, IntoConnectionInfo};
use splitbloom_client::{Follower, Growth, Keys, Topology};
use splitbloom_filter::{codec::encode_chunk, Filter, Parameters, Seed, SizeLimit};
use std::hash::{BuildHasher, RandomState};
use std::{env, error::Error, process::Command, time::Duration};

const KEY: &str = "example:addresses";

/// Builds a list of `capacity` addresses, of which only "always" is on every list.
fn build(list: u64, capacity: u64) -> Result<Filter, Box<dyn Error>> {
    let seed = Seed(RandomState::new().hash_one(list)); // random, and nobody else's to know
    let parameters = Parameters { error_rate: 0.001, capacity, growth: Growth::Times(2), seed };
    let mut filter = Filter::new(parameters, SizeLimit::Unlimited)?;
    let others = ["always".into(), format!("list {list}")];
    let mut addresses = (2..capacity).map(|n| format!("10.{list}.{n}")).chain(others);
    addresses.try_for_each(|it| filter.add(it.as_bytes()).map(drop))?;
    Ok(filter)
}

/// Loads a list under a key of its own, which expires unless it takes the place of the old one.
fn push(db: &mut Connection, filter: &Filter) -> Result<(), Box<dyn Error>> {
    let (new, mut iterator) = (splitbloom_partition::temporary_key(KEY.as_bytes()), 0);
    while let Some(chunk) = encode_chunk(filter, iterator)? {
        iterator = chunk.next;
        let mut load = pipe();
        load.atomic().cmd("BF.LOADCHUNK").arg(&new).arg(iterator).arg(&chunk.bytes);
        load.expire(&new, 3_600).exec(db)?;
    }
    Ok(pipe().atomic().rename(&new, KEY).persist(KEY).exec(db)?)
}

/// Checks addresses until the last list is here. Without a list, everything is blocked.
fn check(url: &str) -> Result<(), Box<dyn Error>> {
    let server = vec![url.into_connection_info()?];
    let list = Follower::start(server, Topology::OneServer, Keys::One(KEY.as_bytes()))?;
    let mut is_good = list.wait_until_ready(Duration::from_secs(60));
    while is_good && list.contains(b"list 3") != Some(true) {
        is_good = list.contains(b"always").unwrap_or(true);
    }
    is_good.then_some(()).ok_or("an address was missed".into())
}

fn main() -> Result<(), Box<dyn Error>> {
    let (url, word) = (env::args().nth(1).ok_or("an address")?, env::args().nth(2));
    if word.as_deref() == Some("check") {
        return check(&url);
    }
    let capacity = word.map_or(Ok(100_000), |word| word.parse())?;
    let mut db = Client::open(url.as_str())?.get_connection()?;
    push(&mut db, &build(1, capacity)?)?;
    let process = || Command::new(env::current_exe()?).args([&url, "check"]).spawn();
    let mut processes = (0..4).map(|_| process()).collect::<Result<Vec<_>, _>>()?;
    for list in [2, 3] {
        push(&mut db, &build(list, capacity)?)?;
    }
    let good = processes.iter_mut().filter_map(|it| it.wait().ok()?.success().then_some(()));
    println!("processes that have the last list and missed nothing: {}", good.count());
    Ok(())
}
