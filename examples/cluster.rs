//! One filter over many nodes: fills it, asks it, describes it, and takes it away again.
//!
//!     cargo run --release --features client --example cluster -- redis://127.0.0.1:7000 [redis://…]
//!
//! docs/cluster.md says how to make a cluster to try it on.

use splitbloom::client::{Acknowledged, Growth, PartitionedFilter};
use splitbloom::partition::Partitions;
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
        return Err("name a node of a cluster, such as redis://127.0.0.1:7000".into());
    }
    let partitions = Partitions::new(PARTITIONS).ok_or("not a power of two")?;
    let mut users = PartitionedFilter::connect(&nodes, NAME, partitions)?;
    users.reserve(ERROR_RATE, ITEMS, Growth::Times(2))?;

    let user = |number| format!("user:{number}");
    let mut unconfirmed = 0;
    for first in (0..ITEMS).step_by(BATCH as usize) {
        let batch: Vec<String> = (first..first + BATCH).map(user).collect();
        for answer in users.madd(&batch) {
            answer?;
        }
        if users.wait(1, Duration::from_secs(1)) == Acknowledged::No {
            unconfirmed += 1; // no replica has it, or the cluster has none
        }
    }
    println!("added {ITEMS} users in batches of {BATCH}; {unconfirmed} batches are on no replica");

    let answers = users.mexists(&["user:0", "user:999999", "nobody"]);
    println!("user:0, user:999999, nobody: {answers:?}");

    let strangers: Vec<String> = (ITEMS..2 * ITEMS).map(user).collect();
    let mut wrong = 0;
    for batch in strangers.chunks(BATCH as usize) {
        wrong += users
            .mexists(batch)
            .into_iter()
            .filter(|answer| matches!(answer, Ok(true)))
            .count();
    }
    println!(
        "false positives: {:.3} %",
        100.0 * wrong as f64 / ITEMS as f64
    );
    println!("{:?}", users.info()?);
    println!("{} partitions deleted", users.delete()?);
    Ok(())
}
