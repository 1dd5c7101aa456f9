//! A guard with a local copy of the filter of valid ids in front of the server's.
//!
//!     cargo run --example recipe-local-guard -- redis://127.0.0.1:6379

mod fail_open;
mod rebuild;

use redis::{cmd, pipe, Client, Connection, IntoConnectionInfo, RedisResult};
use splitbloom_client::{Follower, Keys, Topology};
use std::{error::Error, thread::sleep, time::Duration};

const KEY: &str = "example:ids";

/// The server's filter, its copy, and how often the server was asked.
struct Guard(fail_open::FailOpen, Follower, u32);

impl Guard {
    /// By the copy alone. Without one, any id may exist.
    fn may_exist_here(&self, id: u64) -> bool {
        self.1.contains(id.to_string().as_bytes()).unwrap_or(true)
    }

    /// The server is asked about ids that the copy lacks. What it cannot deny may exist.
    fn may_exist(&mut self, id: u64) -> bool {
        if self.may_exist_here(id) {
            return true;
        }
        self.2 += 1;
        let (id, mut trip) = (id.to_string(), pipe());
        trip.cmd("BF.PACKEXISTS").arg(KEY).arg("FIXED").arg(id.len()).arg(id).arg("MUSTEXIST");
        self.0.ask(&mut trip) != Some((RedisResult::Ok(vec![0u8]),))
    }

    /// Adds an id, and returns once the copy has it. Until then, do not say that it exists.
    fn create(&self, db: &mut Connection, id: u64) -> Result<(), Box<dyn Error>> {
        cmd("BF.INSERT").arg(KEY).arg("NOCREATE").arg("ITEMS").arg(id).exec(db)?;
        let mut looks = (0..50_000).map(|_| sleep(Duration::from_micros(200)));
        looks.find(|()| self.may_exist_here(id)).ok_or("the copy does not follow".into())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1).ok_or("an address")?;
    let server = fail_open::FailOpen::new(Client::open(url.as_str())?);
    let mut db = server.connect()?;
    rebuild::rebuild(&mut db, KEY, (0.001, 20_000), || (0..10_000).map(|id| id.to_string()))?;
    let addresses = vec![url.as_str().into_connection_info()?];
    let copy = Follower::start(addresses, Topology::OneServer, Keys::One(KEY.as_bytes()))?;
    copy.wait_until_ready(Duration::from_secs(60));
    let mut guard = Guard(server, copy, 0);
    let found = (0..10_000).filter(|id| guard.may_exist(*id)).count();
    println!("found: {found}\nthe server was asked: {}", guard.2);
    let mut denied = 0;
    for id in 10_000..10_100 {
        cmd("BF.INSERT").arg(KEY).arg("NOCREATE").arg("ITEMS").arg(id).exec(&mut db)?;
        denied += u32::from(!guard.may_exist(id)); // the copy may not have it yet
        guard.create(&mut db, id + 1_000)?;
        denied += u32::from(!guard.may_exist_here(id + 1_000));
    }
    println!("new ids that were denied: {denied}");
    Ok(())
}
