//! Builds a filter in this process, without a server, and loads it into one with BF.LOADCHUNK.
//!
//!     cargo run --release --example offline -- redis://127.0.0.1:6379 words </usr/share/dict/words
//!
//! Each line of standard input is an item. The key must not exist.

use splitbloom_filter::codec::encode_chunk;
use splitbloom_filter::{Filter, Growth, Parameters, Seed, SizeLimit};
use std::error::Error;
use std::hash::{BuildHasher, RandomState};
use std::io::{stdin, BufRead};

const ERROR_RATE: f64 = 0.01;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, key] = arguments.as_slice() else {
        return Err("usage: offline URL KEY < ITEMS".into());
    };
    let items: Vec<Vec<u8>> = stdin().lock().split(b'\n').collect::<Result<_, _>>()?;

    let mut filter = Filter::new(
        Parameters {
            error_rate: ERROR_RATE,
            capacity: (items.len() as u64).max(1),
            growth: Growth::Times(2),
            // Whoever knows the seed can choose items that collide: it must be hard to guess.
            seed: Seed(RandomState::new().hash_one(std::process::id())),
        },
        SizeLimit::Unlimited,
    )?;
    let items = items.iter().map(Vec::as_slice);
    filter.add_many(items, |_is_new| ())?;

    let mut server = redis::Client::open(url.as_str())?.get_connection()?;
    let mut iterator = 0;
    while let Some(chunk) = encode_chunk(&filter, iterator)? {
        redis::cmd("BF.LOADCHUNK").arg(key).arg(chunk.next).arg(chunk.bytes).exec(&mut server)?;
        iterator = chunk.next;
    }
    let size: u64 = redis::cmd("MEMORY").arg("USAGE").arg(key).query(&mut server)?;
    println!("{key}: {} items, {size} bytes on the server", filter.items());
    Ok(())
}
