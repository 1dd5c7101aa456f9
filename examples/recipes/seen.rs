//! What has been seen before: `cargo run --example recipe-seen -- redis://127.0.0.1:6379`

use redis::{cmd, Commands, Connection, RedisResult};
use std::collections::HashSet;

/// The pages that are new: not seen in a week.
fn to_fetch<'a>(db: &mut Connection, urls: &[&'a str]) -> RedisResult<String> {
    let are_new: Vec<bool> = db.bf_madd("example:crawled", urls)?;
    let new = urls.iter().zip(are_new).filter(|(_, is_new)| *is_new);
    let new: Vec<&'a str> = new.map(|(url, _)| *url).collect();
    Ok(new.join(" "))
}

/// Handles messages: check, work, add. `handled` stands for a table in the database with a unique
/// index; it is asked only about messages that the filter knows.
struct Worker(Connection, HashSet<String>, Vec<String>, Vec<String>);

impl Worker {
    fn handle(&mut self, message: &str, crashes: bool) -> RedisResult<&'static str> {
        let Worker(db, handled, worked, asked) = self;
        if db.bf_exists("example:handled", message)? {
            asked.push(message.into()); // seen, or a false positive: the database decides
            if handled.contains(message) {
                return Ok("skipped");
            }
        }
        worked.push(message.into());
        if crashes {
            return Ok("crashed after the work");
        }
        handled.insert(message.into()); // in the transaction of the work, if it can be
        let _: bool = db.bf_add("example:handled", message)?;
        Ok("done")
    }
}

fn main() -> RedisResult<()> {
    let address = std::env::args().nth(1).expect("an address");
    let mut db = redis::Client::open(address)?.get_connection()?;
    for (key, seconds) in [("example:crawled", 604_800), ("example:handled", 86_400)] {
        let () = db.del(key)?;
        let mut reserve = cmd("BF.RESERVE");
        let reserve = reserve.arg(key).arg(0.001).arg(100_000);
        reserve.arg("WINDOW").arg(seconds).exec(&mut db)?;
    }
    println!("to fetch: {}", to_fetch(&mut db, &["/a", "/b", "/a"])?);
    println!("to fetch: {}", to_fetch(&mut db, &["/b", "/c"])?);
    let mut worker = Worker(db, HashSet::new(), Vec::new(), Vec::new());
    for (message, crashes) in [("m1", false), ("m2", true)] {
        let (first, again) = (worker.handle(message, crashes)?, worker.handle(message, false)?);
        println!("{message}: {first} / again: {again}");
    }
    let (worked, asked) = (worker.2.join(" "), worker.3.join(" "));
    println!("worked: {worked} / asked about: {asked}");
    Ok(())
}
