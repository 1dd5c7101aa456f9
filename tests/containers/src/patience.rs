//! Waiting for something to happen, with a timeout; servers that take their time.

use redis::{cmd, Client, Connection};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The timeout: a container on a busy machine needs seconds, a failover about ten.
pub const PATIENCE: Duration = Duration::from_secs(180);

const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// A connection to a server, once it answers there.
pub fn connected(address: &str) -> Option<Connection> {
    let client = Client::open(format!("redis://{address}")).expect("an address");
    let mut db = client.get_connection().ok()?;
    cmd("PING").query::<String>(&mut db).ok()?;
    Some(db)
}

/// Waits until a replica has what its primary has.
pub fn wait_for_primary(db: &mut Connection) {
    eventually("the replica to catch up", || {
        let info: String = cmd("INFO").arg("replication").query(db).unwrap();
        info.contains("master_link_status:up").then_some(())
    });
}

/// Waits for a value.
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "timed out waiting for {what}");
        sleep(POLL_INTERVAL);
    }
}
