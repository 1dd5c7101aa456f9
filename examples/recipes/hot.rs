//! Hot keys: who may ask how often in a minute: by a top-k, by a filter, and by counters alone.
//!
//!     cargo run --release --example recipe-hot -- redis://127.0.0.1:6379 [VISITORS]

use redis::{cmd, pipe, Cmd, Commands, Connection, InfoDict, RedisResult};
use std::env::args;
use std::time::Instant;

const TOP_K: &str = "
redis.call('TOPK.ADD', KEYS[1], ARGV[1])
return redis.call('TOPK.COUNT', KEYS[1], ARGV[1])[1] <= 3 and 1 or 0";
/// The first question of a window goes into the filter; a counter begins with the second one.
const FILTER: &str = "
if redis.call('BF.ADD', KEYS[1], ARGV[1]) == 1 then return 1 end
local asked = 1 + redis.call('INCR', KEYS[2])
if asked == 2 then redis.call('EXPIRE', KEYS[2], 60) end
return asked <= 3 and 1 or 0";
const COUNTER: &str = "
local asked = redis.call('INCR', KEYS[2])
if asked == 1 then redis.call('EXPIRE', KEYS[2], 60) end
return asked <= 3 and 1 or 0";

fn may_ask(script: &str, who: &str) -> Cmd {
    let keys = ["example:visitors".to_owned(), format!("example:asked:{who}")];
    cmd("EVALSHA").arg(script).arg(2).arg(&keys).arg(who).take()
}

fn used(db: &mut Connection) -> RedisResult<f64> {
    let info: InfoDict = cmd("INFO").arg("memory").query(db)?;
    Ok(info.get("used_memory").unwrap_or_default())
}

fn main() -> RedisResult<()> {
    let address = args().nth(1).expect("an address");
    let visitors = args().nth(2).map(|word| word.parse().expect("a number"));
    let mut db = redis::Client::open(address)?.get_connection()?;
    for (name, begin, script) in [
        ("a top-k", "TOPK.RESERVE example:visitors 100 10000 3 0.9 WINDOW 60", TOP_K),
        ("a filter and counters", "BF.RESERVE example:visitors 0.001 100000 WINDOW 60", FILTER),
        ("counters alone", "PING", COUNTER),
    ] {
        let () = db.del(&["example:visitors", "example:asked:ann"])?;
        let before = used(&mut db)?;
        Cmd::new().arg(begin.split(' ').collect::<Vec<_>>()).exec(&mut db)?;
        let script: String = cmd("SCRIPT").arg("LOAD").arg(script).query(&mut db)?;
        let mut ann = || may_ask(&script, "ann").query::<bool>(&mut db);
        println!("{name}: {} {} {} {}", ann()?, ann()?, ann()?, ann()?);
        let Some(visitors) = visitors else { continue };
        let started = Instant::now();
        for first in (0..visitors).step_by(100) {
            let mut trip = pipe();
            (first..first + 100).for_each(|n| {
                trip.add_command(may_ask(&script, &format!("{name} {n}")));
            });
            trip.exec(&mut db)?;
        }
        let each = f64::from(visitors);
        let (micros, bytes) = (started.elapsed().as_micros() as f64, used(&mut db)? - before);
        println!("{:.1} us and {:.1} bytes a visitor", micros / each, bytes / each);
    }
    Ok(())
}
