//! What has been seen before: `cargo run --example recipe-seen -- redis://127.0.0.1:6379`

mod fail_open;

use fail_open::FailOpen;
use redis::{cmd, pipe, Client, Cmd, Commands, Connection, RedisResult};
use std::collections::HashSet;

/// Adds to a filter that forgets, and creates it if it is missing.
fn add(key: &str, seconds: u32, items: &[&str]) -> Cmd {
    let mut add = cmd("BF.INSERT");
    add.arg(key).arg("CAPACITY").arg(100_000).arg("ERROR").arg(0.001);
    add.arg("WINDOW").arg(seconds).arg("ITEMS").arg(items).take()
}

/// The pages that are new: not seen in a week.
fn to_fetch(db: &mut Connection, urls: &[&str]) -> RedisResult<String> {
    let are_new: Vec<bool> = add("example:crawled", 604_800, urls).query(db)?;
    let new = urls.iter().zip(are_new).filter(|(_, is_new)| *is_new);
    let new: Vec<&str> = new.map(|(url, _)| *url).collect();
    Ok(new.join(" "))
}

/// Handles messages: add, ask, work. `handled` stands for a table in the database with a unique
/// index; it is asked only about messages that the filter knows, and if the filter fails.
struct Worker(FailOpen, HashSet<String>, Vec<String>, Vec<String>);

impl Worker {
    fn handle(&mut self, message: &str, crashes: bool) -> &'static str {
        let Worker(server, handled, worked, asked) = self;
        let mut trip = pipe();
        let add = trip.add_command(add("example:handled", 86_400, &[message]));
        let added = server.ask::<(RedisResult<Vec<bool>>,)>(add);
        if added != Some((Ok(vec![true]),)) {
            asked.push(message.into()); // seen, a false positive, or an error: the database decides
            if handled.contains(message) {
                return "skipped";
            }
        }
        worked.push(message.into());
        if crashes {
            return "crashed after the work";
        }
        handled.insert(message.into()); // in the transaction of the work, if it can be
        "done"
    }
}

fn main() -> RedisResult<()> {
    let client = Client::open(std::env::args().nth(1).expect("an address"))?;
    let mut db = client.get_connection()?;
    let () = db.del(&["example:crawled", "example:handled"])?;
    println!("to fetch: {}", to_fetch(&mut db, &["/a", "/b", "/a"])?);
    println!("to fetch: {}", to_fetch(&mut db, &["/b", "/c"])?);
    let mut worker = Worker(FailOpen::new(client), HashSet::new(), Vec::new(), Vec::new());
    for (message, crashes) in [("m1", false), ("m2", true)] {
        let (first, again) = (worker.handle(message, crashes), worker.handle(message, false));
        println!("{message}: {first} / again: {again}");
    }
    println!("worked: {} / asked about: {}", worker.2.join(" "), worker.3.join(" "));
    Ok(())
}
