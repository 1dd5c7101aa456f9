//! One filter over a cluster: filled under a second name, swapped in, and checked by its marks.
//!
//!     cargo run --example recipe-cluster -- redis://127.0.0.1:6379

use redis::{cmd, Cmd, Value};
use splitbloom_client::{Error, PartitionedFilter, Retry};
use splitbloom_partition::Partitions;
use std::hash::{BuildHasher, RandomState};

const NAME: &str = "example:ids";
const PARTITIONS: u64 = 16;
const ITEMS: u64 = 20_000;
const CAPACITY: u64 = ITEMS / PARTITIONS * 5 / 4;
const MARK: &str = "filled";
/// Both keys have the same tag, so they are in the same slot.
const SWAP: &str = "
redis.call('BF.INSERT', KEYS[1], 'NOCREATE', 'ITEMS', ARGV[1])
redis.call('RENAME', KEYS[1], KEYS[2])
return redis.call('PERSIST', KEYS[2])";

/// Sends a command for each partition, and counts the replies that are 1.
fn each(filter: &mut PartitionedFilter, command: impl Fn(&[u8]) -> Cmd) -> Result<u64, Error> {
    let replies = filter.ask_each(Retry::No, command).into_iter();
    let count = |reply: Result<Value, Error>| match reply {
        Err(Error::Refused(text)) if text.starts_with("NOFILTER") => Ok(0), // a lost partition
        reply => Ok(u64::from(matches!(reply?, Value::Int(1) | Value::Boolean(true)))),
    };
    replies.map(count).sum()
}

/// Fills a new filter, of a name of its own, and puts each partition in the place of the old one
/// once all have all their items and their mark. If this ends before, they expire.
fn replace(nodes: &[String], partitions: Partitions, items: &[String]) -> Result<(), Error> {
    let new = format!("{NAME}:{:016x}", RandomState::new().hash_one(std::process::id()));
    let mut filter = PartitionedFilter::connect(nodes, &new, partitions)?;
    each(&mut filter, |key| {
        cmd("BF.RESERVE").arg(key).arg(0.01).arg(CAPACITY).arg("EX").arg(60).take()
    })?;
    filter.madd(items).into_iter().collect::<Result<Vec<_>, _>>()?;
    each(&mut filter, |key| {
        let old = String::from_utf8_lossy(key).replace(&new, NAME);
        cmd("EVAL").arg(SWAP).arg(2).arg(key).arg(old).arg(MARK).take()
    })?;
    Ok(())
}

fn main() -> Result<(), Error> {
    let nodes: Vec<String> = std::env::args().skip(1).collect();
    let partitions = Partitions::new(PARTITIONS).expect("a power of two");
    let items: Vec<String> = (0..ITEMS).map(|n| format!("user:{n}")).collect();
    replace(&nodes, partitions, &items)?;
    let mut ids = PartitionedFilter::connect(&nodes, NAME, partitions)?;
    let found = ids.mexists(&items).into_iter().filter(|answer| matches!(answer, Ok(true)));
    println!("found: {} of {ITEMS}", found.count());
    let marked = |key: &[u8]| cmd("BF.EXISTS").arg(key).arg(MARK).take();
    println!("partitions with their mark: {} of {PARTITIONS}", each(&mut ids, marked)?);
    let lost = ids.keys()[7].clone();
    let lose = |key: &[u8]| cmd(if key == lost { "UNLINK" } else { "EXISTS" }).arg(key).take();
    each(&mut ids, lose)?;
    println!("after the loss of one: {} of {PARTITIONS}", each(&mut ids, marked)?);
    Ok(())
}
