//! A blacklist of URLs, built beside the old one and swapped in while it is asked.
//!
//!     cargo run --example recipe-blacklist -- redis://127.0.0.1:6379

use redis::{cmd, Client, Commands, Connection, RedisResult};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

const KEY: &str = "example:blocked";
const NEXT: &str = "example:blocked:next";
const LINES: usize = 100_000;

/// Fills a new filter and puts it in the place of the old one.
fn build(db: &mut Connection, urls: &[String]) -> RedisResult<()> {
    let () = db.unlink(NEXT)?;
    let () = db.bf_reserve(NEXT, 0.000001, urls.len())?;
    for urls in urls.chunks(LINES) {
        let mut add = cmd("BF.PACKADD");
        add.arg(NEXT).arg("LINES").arg(urls.join("\n")).exec(db)?;
    }
    db.rename(NEXT, KEY)
}

fn urls(host: &str) -> impl Iterator<Item = String> + '_ {
    (0..LINES).map(move |n| format!("https://{host}/{n}"))
}

fn main() -> RedisResult<()> {
    let client = Client::open(std::env::args().nth(1).expect("an address"))?;
    let mut db = client.get_connection()?;
    let mut asking = client.get_connection()?;
    let list: Vec<String> = urls("bad.example").collect();
    build(&mut db, &list)?;
    let (old, new) = (&list[7], "https://worse.example/7");
    let blocked: Vec<bool> = db.bf_mexists(KEY, &[old, new])?;
    println!("{old}: {} / {new}: {}", blocked[0], blocked[1]);

    // Somebody asks all the time while the next list is built and swapped in.
    let stop = AtomicBool::new(false);
    let (asked, missed) = thread::scope(|scope| {
        let ask = || {
            let (mut asked, mut missed) = (0, 0);
            while asked == 0 || !stop.load(Relaxed) {
                asked += 1;
                missed += u32::from(asking.bf_exists(KEY, old) != Ok(true));
            }
            (asked, missed)
        };
        let asking = scope.spawn(ask);
        let both: Vec<String> = list.iter().cloned().chain(urls("worse.example")).collect();
        let built = build(&mut db, &both);
        stop.store(true, Relaxed);
        built.map(|()| asking.join().expect("no panic"))
    })?;
    println!("asked meanwhile: {} / missed: {missed}", asked > 0);
    let blocked: Vec<bool> = db.bf_mexists(KEY, &[old, new])?;
    println!("{old}: {} / {new}: {}", blocked[0], blocked[1]);
    Ok(())
}
