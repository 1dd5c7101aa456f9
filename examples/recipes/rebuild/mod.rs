//! Replaces a filter. One process at a time fills a new one, which takes the place of the old one
//! when it is complete. Whatever fails, the old one stays, and the new one expires.

use redis::{cmd, pipe, ConnectionLike, RedisResult};
use std::hash::{BuildHasher, RandomState};

const SECONDS: i64 = 60; // how long the new filter and the lock live, counted from the last batch
const BATCH: usize = 1_000; // few enough that no other client waits long

/// Ends a rebuild. KEYS: the filter, the new one, the lock, which holds the name of the new one.
/// ARGV: how many items the new one must have: a server that restarts or fails over may lose some.
const END: &str = "
if redis.call('GET', KEYS[3]) ~= KEYS[2] then return 0 end
redis.call('DEL', KEYS[3])
if redis.call('BF.CARD', KEYS[2]) < tonumber(ARGV[1]) then return 0 end
redis.call('RENAME', KEYS[2], KEYS[1])
return redis.call('PERSIST', KEYS[1])
";

/// Returns whether the filter `key` was replaced. If not, another process does, or took over.
/// Calls `read_items` when the new filter exists: its name is the value of the lock.
pub fn rebuild<I: Iterator<Item: AsRef<[u8]>>>(
    db: &mut impl ConnectionLike,
    key: &str,
    (rate, capacity): (f64, usize),
    read_items: impl FnOnce() -> I,
) -> RedisResult<bool> {
    let tag = if key.contains('{') { key.into() } else { format!("{{{key}}}") }; // of one slot
    let number = RandomState::new().hash_one(std::process::id());
    let (new, lock) = (format!("{tag}:{number:016x}"), format!("{tag}:lock"));
    let token: Option<String> =
        cmd("SET").arg(&lock).arg(&new).arg("NX").arg("EX").arg(SECONDS).query(db)?;
    if token.is_none() {
        return Ok(false);
    }
    let made = cmd("BF.RESERVE").arg(&new).arg(rate).arg(capacity).arg("EX").arg(SECONDS).exec(db);
    let count = made.and_then(|()| fill(db, [&new, &lock], read_items()));
    let needed = count.as_ref().map_or(f64::INFINITY, |count| *count as f64);
    let ended = cmd("EVAL").arg(END).arg(3).arg(&[key, &new, &lock]).arg(needed).query(db);
    count.and(ended)
}

/// Adds the items, each after its length, and returns how many were not yet there.
fn fill(
    db: &mut impl ConnectionLike,
    [new, lock]: [&str; 2],
    items: impl Iterator<Item: AsRef<[u8]>>,
) -> RedisResult<u64> {
    let (mut items, mut count) = (items.peekable(), 0);
    while items.peek().is_some() {
        let mut packed = Vec::new();
        for item in items.by_ref().take(BATCH) {
            packed.extend((item.as_ref().len() as u32).to_le_bytes());
            packed.extend(item.as_ref());
        }
        let mut trip = pipe();
        trip.cmd("BF.PACKADD").arg(new).arg("PREFIXED").arg(packed).arg("NOCREATE");
        trip.expire(new, SECONDS).ignore().expire(lock, SECONDS).ignore();
        count += trip.query::<(u64,)>(db)?.0; // an error if an item was refused
    }
    Ok(count)
}
