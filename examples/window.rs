//! A crawler that fetches each page once a week: its filter forgets.
//!
//!     cargo run --release --example window -- redis://127.0.0.1:6379
//!
//! Takes any Redis or Valkey with the module. Loads a month of history with its own times, and asks
//! which pages are to be fetched today.

use redis::{cmd, Connection};
use std::error::Error;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const KEY: &str = "example:crawled";
const PAGES_A_DAY: u64 = 10_000;
const DAYS: u64 = 30;
const DAY: Duration = Duration::from_secs(86_400);

fn page(day: u64, number: u64) -> String {
    format!("https://example.com/{day}/{number}")
}

fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1);
    let address = address.ok_or("usage: window redis://127.0.0.1:6379")?;
    let mut server = redis::Client::open(address)?.get_connection()?;
    cmd("DEL").arg(KEY).exec(&mut server)?;
    let reserve = ["BF.RESERVE", KEY, "0.001", "100000", "WINDOW", "604800"];
    redis::Cmd::new().arg(&reserve).exec(&mut server)?;

    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    for day in 0..DAYS {
        let at = now - DAY * (DAYS - 1 - day) as u32;
        let mut insert = cmd("BF.INSERT");
        insert.arg(KEY).arg("AT").arg(at.as_millis() as u64).arg("ITEMS");
        for number in 0..PAGES_A_DAY {
            insert.arg(page(day, number));
        }
        insert.exec(&mut server)?;
    }
    println!("{} pages in {DAYS} days", DAYS * PAGES_A_DAY);
    for day in [0, DAYS - 10, DAYS - 7, DAYS - 1] {
        let remembered = remembered(&mut server, day)?;
        let age = DAYS - 1 - day;
        println!("crawled {age} days ago: {remembered} of {PAGES_A_DAY} need no visit");
    }
    let card: u64 = cmd("BF.CARD").arg(KEY).query(&mut server)?;
    let bytes: u64 = cmd("MEMORY").arg("USAGE").arg(KEY).query(&mut server)?;
    println!("{card} pages remembered in {bytes} bytes");
    cmd("DEL").arg(KEY).exec(&mut server)?;
    Ok(())
}

/// How many pages of a day the filter remembers.
fn remembered(server: &mut Connection, day: u64) -> redis::RedisResult<usize> {
    let mut exists = cmd("BF.MEXISTS");
    exists.arg(KEY);
    for number in 0..PAGES_A_DAY {
        exists.arg(page(day, number));
    }
    let found: Vec<bool> = exists.query(server)?;
    Ok(found.into_iter().filter(|found| *found).count())
}
