//! Products in a database behind a cache, with a filter of valid ids in front.
//!
//!     cargo run --example recipe-guard -- redis://127.0.0.1:6379

use redis::{Commands, Connection, RedisResult};

type Known = (RedisResult<Option<String>>, RedisResult<bool>, RedisResult<Vec<u8>>);

/// The cache, and the number of queries to the database.
struct Products(Connection, u32);

impl Products {
    fn fill(&mut self) -> RedisResult<()> {
        let () = self.0.unlink("ids:next")?;
        let () = self.0.bf_reserve("ids:next", 0.01, 12_500)?;
        for id in (0..10_000).step_by(1_000) {
            let ids: Vec<u32> = (id..id + 1_000).collect(); // from the database
            let _: Vec<bool> = self.0.bf_madd("ids:next", ids)?;
        }
        self.0.rename("ids:next", "ids")
    }

    fn find(&mut self, id: u32) -> RedisResult<Option<String>> {
        let (row, proof) = (format!("row:{id}"), format!("absent:{id}"));
        let mut known = redis::pipe();
        known.get(&row).exists(&proof).ignore_errors();
        known.cmd("BF.PACKEXISTS").arg("ids").arg("LINES").arg(id).arg("MUSTEXIST");
        match known.query::<Known>(&mut self.0) {
            Ok((Ok(Some(name)), ..)) => return Ok(Some(name)),
            Ok((_, Ok(true), _)) => return Ok(None),
            Ok((.., Ok(bits))) if bits == [0] => return Ok(None),
            // Perhaps there is such a product; or NOFILTER, and fill() is due; or no cache.
            _ => self.1 += 1,
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
    let cache = redis::Client::open(address)?.get_connection()?;
    let mut shop = Products(cache, 0);
    shop.fill()?;
    println!("42: {}", shop.find(42)?.unwrap_or_default());
    let found = (10_000..20_000).filter(|id| shop.find(*id) != Ok(None));
    println!("found: {}", found.count());
    println!("few reached the database: {}", shop.1 < 500);
    let () = shop.0.unlink("ids")?;
    let name = shop.find(43)?.unwrap_or_default();
    println!("43, without the filter: {name}");
    Ok(())
}
