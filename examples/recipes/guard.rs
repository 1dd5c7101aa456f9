//! Products in a database behind a cache, with a filter of valid ids in front.
//!
//!     cargo run --example recipe-guard -- redis://127.0.0.1:6379

use redis::{Commands, Connection, InfoDict, RedisResult};

type Known = (Option<String>, bool, (bool, bool));

/// The cache, the mark that the filter must have, and how often the database was asked. A server
/// that restarted may have a filter without the last ids: its mark is another one.
struct Products(Connection, String, u32);

impl Products {
    fn fill(&mut self) -> RedisResult<()> {
        let () = self.0.unlink("ids:next")?;
        let () = self.0.bf_reserve("ids:next", 0.01, 12_500)?;
        for id in (0..10_000).step_by(1_000) {
            let ids: Vec<u32> = (id..id + 1_000).collect(); // from the database
            let _: Vec<bool> = self.0.bf_madd("ids:next", ids)?;
        }
        let _: bool = self.0.bf_add("ids:next", &self.1)?;
        self.0.rename("ids:next", "ids")
    }

    fn find(&mut self, id: u32) -> RedisResult<Option<String>> {
        let (row, proof) = (format!("row:{id}"), format!("absent:{id}"));
        let mut known = redis::pipe();
        known.get(&row).exists(&proof);
        known.bf_mexists("ids", &[&id.to_string(), &self.1]);
        // Without the cache, ask the database.
        match known.query::<Known>(&mut self.0).unwrap_or_default() {
            (Some(name), ..) => return Ok(Some(name)),
            (_, true, _) | (_, _, (false, true)) => return Ok(None),
            _ => self.2 += 1, // not known, or no filter
        }
        let name = (id < 10_000).then(|| format!("product {id}")); // from the database
        let () = match &name {
            Some(name) => self.0.set_ex(row, name, 60)?,
            None => self.0.set_ex(proof, "", 10)?,
        };
        Ok(name)
    }
}

fn main() -> RedisResult<()> {
    let address = std::env::args().nth(1).expect("an address");
    let mut cache = redis::Client::open(address)?.get_connection()?;
    let server: InfoDict = redis::cmd("INFO").arg("server").query(&mut cache)?;
    let mark = format!("filled on {:?}", server.get::<String>("run_id"));
    let mut shop = Products(cache, mark, 0);
    shop.fill()?;
    println!("42: {}", shop.find(42)?.unwrap_or_default());
    let found = (10_000..20_000).filter(|id| shop.find(*id) != Ok(None));
    println!("found: {}", found.count());
    println!("few reached the database: {}", shop.2 < 500);
    let () = shop.0.unlink("ids")?;
    let name = shop.find(43)?.unwrap_or_default();
    println!("43, without the filter: {name}");
    Ok(())
}
