//! Products in a database behind a cache, with a filter of valid ids in front.
//!
//!     cargo run --example recipe-guard -- redis://127.0.0.1:6379

mod fail_open;
mod rebuild;

use fail_open::FailOpen;
use redis::{pipe, Client, RedisResult};
use std::collections::BTreeMap;

/// The replies about an id. Each may be an error, and then says nothing.
type Known = (RedisResult<Option<String>>, RedisResult<Option<String>>, RedisResult<Vec<u8>>);

/// The cache, the database, and the number of queries to it.
struct Products(FailOpen, BTreeMap<String, String>, u32);

impl Products {
    /// Replaces the filter, at first and after a loss; false if another process does.
    fn fill(&self) -> RedisResult<bool> {
        rebuild::rebuild(&mut self.0.connect()?, "ids", (0.01, 12_500), || self.1.keys())
    }

    fn find(&mut self, id: &str) -> Option<String> {
        let (row, proof) = (format!("row:{id}"), format!("absent:{id}"));
        let mut known = pipe();
        known.get(&row).get(&proof);
        known.cmd("BF.PACKEXISTS").arg("ids").arg("FIXED").arg(id.len()).arg(id).arg("MUSTEXIST");
        match self.0.ask::<Known>(&mut known) {
            Some((Ok(Some(name)), ..)) => return Some(name),
            Some((_, Ok(Some(_)), _)) => return None,
            Some((.., Ok(bits))) if bits == [0] => return None,
            _ => self.2 += 1, // perhaps there is such a product; or there is no filter or no cache
        }
        let name = self.1.get(id).cloned();
        let (key, value, seconds) = match &name {
            Some(name) => (row, name.as_str(), 60),
            None => (proof, "", 10),
        };
        self.0.ask::<()>(pipe().set_ex(key, value, seconds).ignore());
        name
    }
}

fn main() -> RedisResult<()> {
    let cache = FailOpen::new(Client::open(std::env::args().nth(1).expect("an address"))?);
    let rows = (0..10_000).map(|n| (n.to_string(), format!("product {n}")));
    let rows = rows.chain([("4\n2".into(), "two lines".into())]).collect();
    let mut shop = Products(cache, rows, 0);
    if let Err(error) = shop.fill() {
        eprintln!("the filter is as it was: {error}");
    }
    let [plain, odd] = ["42", "4\n2"].map(|id| shop.find(id).unwrap_or_default());
    println!("42: {plain} / an id of two lines: {odd}");
    let found = (0..1_000).filter(|n| shop.find(&format!("{n}\n{n}")).is_some());
    println!("found: {}", found.count());
    println!("few reached the database: {}", shop.2 < 50);
    Ok(())
}
