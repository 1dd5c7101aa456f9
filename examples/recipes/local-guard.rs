//! A guard with a local copy of the filter of valid ids in front of the server's.
//!
//!     cargo run --example recipe-local-guard -- redis://127.0.0.1:6379

use redis::{cmd, Client, Commands, Connection, IntoConnectionInfo};
use splitbloom_client::{Follower, Keys, Topology};
use std::{error::Error, thread::sleep, time::Duration};

const KEY: &str = "example:ids";

/// The server's filter, its copy, and how often the server was asked.
struct Guard(Connection, Follower, u32);

impl Guard {
    /// Whether the id may exist, by the copy alone. Without one, any id may.
    fn may_exist_here(&self, id: u64) -> bool {
        self.1.contains(id.to_string().as_bytes()).unwrap_or(true)
    }

    /// Whether the id may exist: the server is asked about ids that the copy lacks.
    fn may_exist(&mut self, id: u64) -> Result<bool, Box<dyn Error>> {
        if self.may_exist_here(id) {
            return Ok(true);
        }
        self.2 += 1;
        Ok(self.0.bf_exists(KEY, id)?)
    }

    /// Creates an id, and returns once the copy has it.
    fn create(&mut self, id: u64) -> Result<(), Box<dyn Error>> {
        cmd("BF.INSERT").arg(KEY).arg("NOCREATE").arg("ITEMS").arg(id).exec(&mut self.0)?;
        while !self.may_exist_here(id) {
            sleep(Duration::from_micros(200));
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1).ok_or("an address")?;
    let mut db = Client::open(url.as_str())?.get_connection()?;
    let () = db.unlink(KEY)?;
    let () = db.bf_reserve(KEY, 0.001, 20_000)?;
    let _: Vec<bool> = db.bf_madd(KEY, (0..10_000).collect::<Vec<u64>>())?;
    let server = vec![url.as_str().into_connection_info()?];
    let copy = Follower::start(server, Topology::OneServer, Keys::One(KEY.as_bytes()))?;
    copy.wait_until_ready(Duration::from_secs(60));
    let mut guard = Guard(db, copy, 0);
    let found = (0..10_000).filter(|id| matches!(guard.may_exist(*id), Ok(true))).count();
    println!("found: {found}\nthe server was asked: {}", guard.2);
    let mut denied = 0;
    for id in 10_000..10_100 {
        let _: bool = guard.0.bf_add(KEY, id)?; // the copy may not have it yet
        denied += u32::from(!guard.may_exist(id)?);
        guard.create(id + 1_000)?;
        denied += u32::from(!guard.may_exist_here(id + 1_000));
    }
    println!("new ids that were denied: {denied}");
    Ok(())
}
