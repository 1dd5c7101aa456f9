//! A feed that shows nothing twice in 30 days, with a small filter for each user, which forgets:
//! `cargo run --example recipe-feed -- redis://127.0.0.1:6379`

mod fail_open;

use fail_open::FailOpen;
use redis::{cmd, pipe, Client, RedisResult, Value};
use std::collections::HashSet;
use std::thread;

/// Of a filter that a user's first page creates. It grows, and expires after the last visit.
const OPTIONS: &str = "CAPACITY 100 ERROR 0.001 WINDOW 2592000 SLICES 6 EX 3110400 ITEMS";
const EXPIRY: i64 = 3_110_400;

/// The first candidates that the user has not seen, which count as seen from now on.
fn page(server: &mut FailOpen, user: u64, candidates: &[u64]) -> Vec<u64> {
    let key = format!("example:feed:{user}");
    let items: Vec<u8> = candidates.iter().flat_map(|id| id.to_le_bytes()).collect();
    let mut look = cmd("BF.PACKEXISTS");
    look.arg(&key).arg("FIXED").arg(8).arg(items);
    let bits = server.ask::<(RedisResult<Vec<u8>>,)>(pipe().add_command(look));
    // Without an answer nothing is known to be seen: twice is better than an empty page.
    let bits = bits.and_then(|(bits,)| bits.ok()).unwrap_or_default();
    let is_seen = |n: usize| bits.get(n / 8).is_some_and(|byte| byte >> (n % 8) & 1 == 1);
    let unseen = candidates.iter().enumerate().filter(|(n, _)| !is_seen(*n));
    let chosen: Vec<u64> = unseen.map(|(_, id)| *id).take(20).collect();
    if chosen.is_empty() {
        return chosen;
    }
    let mut add = cmd("BF.INSERT");
    let ids: Vec<_> = chosen.iter().map(|id| id.to_le_bytes().to_vec()).collect();
    add.arg(&key).arg(OPTIONS.split(' ').collect::<Vec<_>>()).arg(ids);
    let mut trip = pipe();
    trip.add_command(add).expire(&key, EXPIRY);
    let added = server.ask::<(RedisResult<Vec<bool>>, RedisResult<Value>)>(&mut trip);
    let added = added.and_then(|(added, _)| added.ok()).unwrap_or(vec![true; chosen.len()]);
    // What another device of the user took in between is not new to the filter.
    chosen.into_iter().zip(added).filter_map(|(id, is_new)| is_new.then_some(id)).collect()
}

fn forget(server: &mut FailOpen, user: u64) {
    server.ask::<(RedisResult<Value>,)>(pipe().unlink(format!("example:feed:{user}")));
}

fn main() -> RedisResult<()> {
    let client = Client::open(std::env::args().nth(1).expect("an address"))?;
    let devices = [(); 2].map(|()| FailOpen::new(client.clone()));
    let (mut phone, candidates) = (FailOpen::new(client), (0..2_000).collect::<Vec<_>>());
    let mut shown = page(&mut phone, 7, &candidates);
    println!("the first page is full: {}", shown.len() > 15);
    let read = |mut device| (0..40).flat_map(|_| page(&mut device, 7, &candidates)).collect();
    let pages: [Vec<u64>; 2] = thread::scope(|scope| {
        let reading = devices.map(|device| scope.spawn(|| read(device)));
        reading.map(|it| it.join().expect("a device"))
    });
    shown.extend(pages.concat());
    forget(&mut phone, 7);
    let begins_anew = page(&mut phone, 7, &candidates).len() > 15;
    println!("after deletion it begins anew: {begins_anew}");
    println!("shown twice: {}", shown.len() - shown.iter().collect::<HashSet<_>>().len());
    Ok(())
}
