//! Looks up many items in a filter. On a server with this module, one argument holds many of them:
//! 1 000 filters with 100 000 strangers each, after each way of moving, are 10⁹ answers.

use splitbloom_harness::{Connection, Family, Reply};
use std::ops::Range;

/// Items of a command.
const BATCH: u64 = 1000;
/// Items of an argument.
const PACKED: u64 = 100_000;

/// A bit for each item of these numbers, the first in the lowest bit of the first byte.
pub fn found(
    family: Family,
    db: &mut Connection,
    key: &str,
    numbers: Range<u64>,
    name: fn(u64) -> Vec<u8>,
) -> Vec<u8> {
    let packed = family.command("PACKEXISTS");
    match db.call(["COMMAND", "INFO", &packed]).elements() {
        [Reply::Null] | [] => found_one_by_one(family, db, key, numbers, name),
        _ => found_packed(&packed, db, key, numbers, name),
    }
}

/// How many bits are set.
pub fn count(bits: &[u8]) -> u64 {
    bits.iter().map(|byte| u64::from(byte.count_ones())).sum()
}

fn found_packed(
    command: &str,
    db: &mut Connection,
    key: &str,
    numbers: Range<u64>,
    name: fn(u64) -> Vec<u8>,
) -> Vec<u8> {
    let mut bits = Vec::new();
    for batch in batches(numbers, PACKED) {
        let lines: Vec<u8> =
            batch.flat_map(|number| [name(number), b"\n".to_vec()].concat()).collect();
        let reply = db.call([command.as_bytes(), key.as_bytes(), b"LINES", &lines]);
        bits.extend(reply.bytes());
    }
    bits
}

fn found_one_by_one(
    family: Family,
    db: &mut Connection,
    key: &str,
    numbers: Range<u64>,
    name: fn(u64) -> Vec<u8>,
) -> Vec<u8> {
    let commands = batches(numbers, BATCH).map(|batch| {
        let mut command = family.looking_up(key);
        command.extend(batch.map(name));
        command
    });
    let replies = db.pipeline(commands);
    let answers: Vec<bool> = replies
        .iter()
        .flat_map(|reply| reply.elements())
        .map(|answer| answer.integer() == 1)
        .collect();
    let bytes = answers.chunks(8).map(|bits| {
        let bits = bits.iter().zip(0..);
        bits.fold(0, |byte, (bit, place)| byte | u8::from(*bit) << place)
    });
    bytes.collect()
}

/// Ranges of `size` numbers, a multiple of eight, since each begins a byte.
fn batches(numbers: Range<u64>, size: u64) -> impl Iterator<Item = Range<u64>> {
    let Range { start, end } = numbers;
    (start..end).step_by(size as usize).map(move |first| first..end.min(first + size))
}
