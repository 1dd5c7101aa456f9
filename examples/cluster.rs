//! One filter over many nodes: fills it, looks items up, prints its information and deletes it.
//!
//!     cargo run --release --example cluster -- redis://127.0.0.1:7000 [redis://…]
//!
//! Takes any Redis or Valkey cluster with the module; `make docker-cluster` starts one.

use splitbloom_client::{Acknowledged, Growth, PartitionedFilter};
use splitbloom_partition::Partitions;
use std::error::Error;
use std::time::Duration;

const NAME: &str = "example:users";
const PARTITIONS: u64 = 64;
const ITEMS: u64 = 1_000_000;
const ERROR_RATE: f64 = 0.01;
const BATCH: u64 = 10_000;

fn main() -> Result<(), Box<dyn Error>> {
    let nodes: Vec<String> = std::env::args().skip(1).collect();
    if nodes.is_empty() {
        return Err("usage: cluster redis://127.0.0.1:7000 [redis://…]".into());
    }
    let partitions = Partitions::new(PARTITIONS).ok_or("PARTITIONS is not a power of two")?;
    let mut users = PartitionedFilter::connect(&nodes, NAME, partitions)?;
    users.reserve(ERROR_RATE, ITEMS, Growth::Times(2))?;

    let user = |number| format!("user:{number}");
    let mut unconfirmed = 0;
    for first in (0..ITEMS).step_by(BATCH as usize) {
        let batch: Vec<String> = (first..first + BATCH).map(user).collect();
        for result in users.madd(&batch) {
            result?;
        }
        if users.wait(1, Duration::from_secs(1)) == Acknowledged::No {
            unconfirmed += 1; // not on a replica yet, or the cluster has none
        }
    }
    println!("added {ITEMS} users in batches of {BATCH}");
    println!("{unconfirmed} batches were not acknowledged by a replica");

    let results = users.mexists(&["user:0", "user:999999", "nobody"]);
    println!("user:0, user:999999, nobody: {results:?}");

    let absent: Vec<String> = (ITEMS..2 * ITEMS).map(user).collect();
    let mut false_positives = 0;
    for batch in absent.chunks(BATCH as usize) {
        false_positives +=
            users.mexists(batch).into_iter().filter(|result| matches!(result, Ok(true))).count();
    }
    println!("false positives: {:.3} %", 100.0 * false_positives as f64 / ITEMS as f64);
    println!("{:?}", users.info()?);
    println!("{} partitions deleted", users.delete()?);
    Ok(())
}
