//! Deleting: a counting filter, and what two Bloom filters cannot do.
//!
//!     cargo run --example recipe-deleting -- redis://127.0.0.1:6379

use redis::{Commands, Connection, FromRedisValue, RedisResult};

/// Sends a command, written as on a terminal.
fn call<T: FromRedisValue>(db: &mut Connection, line: &str) -> RedisResult<T> {
    let words: Vec<&str> = line.split(' ').collect();
    redis::cmd(words[0]).arg(&words[1..]).query(db)
}

fn is_valid(db: &mut Connection, coupon: &str) -> RedisResult<&'static str> {
    let mut step = redis::pipe();
    step.atomic();
    step.bf_exists("example:added", coupon);
    step.bf_exists("example:deleted", coupon);
    let (added, deleted): (bool, bool) = step.query(db)?;
    Ok(if added && !deleted { "True" } else { "False" })
}

fn main() -> RedisResult<()> {
    let address = std::env::args().nth(1).expect("an address");
    let mut db = redis::Client::open(address)?.get_connection()?;
    let () = db.del(&["example:online", "example:added", "example:deleted"])?;

    // Users who are online. CF.ADD counts: two devices are two copies.
    let () = call(&mut db, "CF.RESERVE example:online 100000")?;
    for user in ["ann", "ann", "bob"] {
        let () = call(&mut db, &format!("CF.ADD example:online {user}"))?;
    }
    let () = call(&mut db, "CF.DEL example:online ann")?;
    let () = call(&mut db, "CF.DEL example:online bob")?;
    let are_online: Vec<bool> = call(&mut db, "CF.MEXISTS example:online ann bob")?;
    let users = ["ann", "bob"].into_iter().zip(are_online);
    let online: Vec<&str> = users.filter_map(|(user, is)| is.then_some(user)).collect();
    println!("online: {}", online.join(" "));
    let count: u64 = call(&mut db, "CF.COUNT example:online ann")?;
    println!("ann's devices: {count}");
    let deleted: bool = call(&mut db, "CF.DEL example:online bob")?;
    println!("bob, once more: {}", u8::from(deleted));

    // Coupons: valid once issued, until they are redeemed, and never again. Two Bloom filters do.
    let () = call(&mut db, "BF.RESERVE example:added 0.0001 100000")?;
    let () = call(&mut db, "BF.RESERVE example:deleted 0.0001 100000")?;
    let () = call(&mut db, "BF.ADD example:added C-1")?;
    println!("C-1 issued: {}", is_valid(&mut db, "C-1")?);
    let () = call(&mut db, "BF.ADD example:deleted C-1")?;
    println!("C-1 redeemed: {}", is_valid(&mut db, "C-1")?);
    let () = call(&mut db, "BF.ADD example:added C-1")?;
    println!("C-1 issued again: {}", is_valid(&mut db, "C-1")?);
    Ok(())
}
