//! One filter over a cluster: filled under a second name, swapped in, and checked by its marks.
//!
//!     cargo run --example recipe-cluster -- redis://127.0.0.1:6379

use redis::cmd;
use splitbloom_client::{Error, Growth, PartitionedFilter, Retry};
use splitbloom_partition::Partitions;

const PARTITIONS: u64 = 16;
const ITEMS: u64 = 20_000;
const MARK: &str = "filled";

/// Adds a mark to each partition and puts it in the place of the old one. Both keys have the same
/// tag, so they are in the same slot.
fn swap(next: &mut PartitionedFilter) -> Result<(), Error> {
    let mark = |key: &[u8]| cmd("BF.ADD").arg(key).arg(MARK).take();
    let marked = next.ask_each(Retry::Yes, mark).into_iter();
    marked.collect::<Result<Vec<_>, Error>>()?;
    let rename = |key: &[u8]| {
        let new = String::from_utf8_lossy(key).replace(":next:", ":");
        cmd("RENAME").arg(key).arg(new).take()
    };
    let renamed = next.ask_each(Retry::No, rename);
    renamed.into_iter().try_for_each(|reply| reply.map(drop))
}

fn marked(ids: &mut PartitionedFilter) -> Result<String, Error> {
    let mut count = 0;
    for reply in ids.ask_each(Retry::Yes, |key| cmd("BF.EXISTS").arg(key).arg(MARK).take()) {
        count += u32::from(matches!(reply?, redis::Value::Int(1) | redis::Value::Boolean(true)));
    }
    Ok(format!("{count} of {PARTITIONS}"))
}

fn main() -> Result<(), Error> {
    let nodes: Vec<String> = std::env::args().skip(1).collect();
    let partitions = Partitions::new(PARTITIONS).expect("a power of two");
    let mut next = PartitionedFilter::connect(&nodes, "example:ids:next", partitions)?;
    let mut ids = PartitionedFilter::connect(&nodes, "example:ids", partitions)?;
    let items: Vec<String> = (0..ITEMS).map(|n| format!("user:{n}")).collect();
    next.delete()?;
    next.reserve(0.01, ITEMS, Growth::Times(2))?;
    let added = next.madd(&items).into_iter();
    added.collect::<Result<Vec<_>, Error>>()?;
    swap(&mut next)?;
    let found = ids.mexists(&items);
    let found = found.iter().filter(|answer| matches!(answer, Ok(true)));
    println!("found: {} of {ITEMS}", found.count());
    println!("partitions with their mark: {}", marked(&mut ids)?);
    let lost = ids.keys()[7].clone();
    ids.ask_each(Retry::Yes, |key| match key == lost {
        true => cmd("UNLINK").arg(key).take(),
        false => cmd("EXISTS").arg(key).take(),
    });
    println!("after the loss of one: {}", marked(&mut ids)?);
    Ok(())
}
