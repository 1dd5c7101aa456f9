//! A blacklist of URLs, built beside the old one and swapped in while it is asked.
//!
//!     cargo run --example recipe-blacklist -- redis://127.0.0.1:6379

mod rebuild;

use rebuild::rebuild;
use redis::{cmd, Client, Connection, RedisResult};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::{thread, time::Duration};

const KEY: &str = "example:blocked";
const LINES: usize = 100_000;

/// Replaces the list, when no other process does.
fn build(db: &mut Connection, urls: &[String]) -> RedisResult<()> {
    while !rebuild(db, KEY, (0.000001, urls.len()), || urls.iter())? {
        thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// Without a list, returns the error NOFILTER: only the caller knows what is safe then.
fn is_blocked(db: &mut Connection, url: &str) -> RedisResult<bool> {
    let mut exists = cmd("BF.PACKEXISTS");
    exists.arg(KEY).arg("FIXED").arg(url.len()).arg(url).arg("MUSTEXIST");
    exists.query::<Vec<u8>>(db).map(|bits| bits != [0])
}

fn urls(host: &str) -> impl Iterator<Item = String> + '_ {
    (0..LINES).map(move |n| format!("https://{host}/{n}"))
}

fn main() -> RedisResult<()> {
    let client = Client::open(std::env::args().nth(1).expect("an address"))?;
    let (mut db, mut other) = (client.get_connection()?, client.get_connection()?);
    let list: Vec<String> = urls("bad.example").collect();
    build(&mut db, &list)?;
    let (old, new) = (&list[7], "https://worse.example/7");
    println!("{old}: {} / {new}: {}", is_blocked(&mut db, old)?, is_blocked(&mut db, new)?);

    // Somebody asks all the time while the next list is built and swapped in.
    let stop = AtomicBool::new(false);
    let (asked, missed) = thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let (mut asked, mut missed) = (0, 0);
            while asked == 0 || !stop.load(Relaxed) {
                asked += 1;
                missed += u32::from(is_blocked(&mut other, old) != Ok(true));
            }
            (asked, missed)
        });
        let both: Vec<String> = list.iter().cloned().chain(urls("worse.example")).collect();
        let built = build(&mut db, &both);
        stop.store(true, Relaxed);
        built.map(|()| asking.join().expect("no panic"))
    })?;
    println!("asked meanwhile: {} / missed: {missed}", asked > 0);
    println!("{old}: {} / {new}: {}", is_blocked(&mut db, old)?, is_blocked(&mut db, new)?);
    Ok(())
}
