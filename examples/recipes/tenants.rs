//! Many tenants: a filter for each, or one for all of them.
//!
//!     cargo run --release --example recipe-tenants -- redis://127.0.0.1:6379 [TENANTS]

use redis::{cmd, pipe, Cmd, Commands, Connection, InfoDict, RedisResult};
use std::env::args;

fn used(db: &mut Connection) -> RedisResult<f64> {
    let info: InfoDict = cmd("INFO").arg("memory").query(db)?;
    Ok(info.get("used_memory").unwrap_or_default())
}

fn items(tenant: u32) -> Vec<String> {
    (0..10).map(|item| format!("{tenant}:{item}")).collect()
}

/// Sends a command for each tenant, in batches.
fn each(db: &mut Connection, tenants: u32, command: impl Fn(u32) -> Cmd) -> RedisResult<f64> {
    let before = used(db)?;
    for start in (0..tenants).step_by(1_000) {
        let mut trip = pipe();
        for tenant in start..tenants.min(start + 1_000) {
            trip.add_command(command(tenant)).ignore();
        }
        let () = trip.query(db)?;
    }
    Ok((used(db)? - before) / f64::from(tenants))
}

fn key(tenant: u32) -> String {
    format!("example:{tenant}")
}

fn main() -> RedisResult<()> {
    let address = args().nth(1).expect("an address");
    let mut db = redis::Client::open(address)?.get_connection()?;
    let measured = args().nth(2).map(|word| word.parse().expect("a number"));
    let tenants = measured.unwrap_or(1_000);
    let own = |tenant| Cmd::bf_insert(key(tenant), items(tenant));
    let own = each(&mut db, tenants, own)?;
    let () = db.bf_reserve("example:all", 0.01, tenants as usize * 10)?;
    let all = |tenant| Cmd::bf_madd("example:all", items(tenant));
    let all = each(&mut db, tenants, all)?;
    if measured.is_some() {
        println!("a filter each: {own:.0} bytes a tenant");
        println!("one filter: {all:.0} bytes a tenant");
    }
    let known: bool = db.bf_exists(key(7), "7:3")?;
    println!("7 knows 7:3: {known}");
    let known: bool = db.bf_exists("example:all", "7:3")?;
    println!("all know 7:3: {known}");
    let () = db.unlink(key(7))?;
    let known: bool = db.bf_exists(key(7), "7:3")?;
    println!("7 has left: {}", !known);
    each(&mut db, tenants, |tenant| Cmd::unlink(key(tenant)))?;
    db.unlink("example:all")
}
