//! Hot keys: who may ask how often in a minute. Most ask once, and cost bits instead of a counter.
//!
//!     cargo run --release --example recipe-hot -- redis://127.0.0.1:6379 [VISITORS]

use redis::{cmd, pipe, Cmd, Commands, Connection, InfoDict, RedisResult};
use std::env::args;
use std::time::Instant;

/// One step on the server. The first question of a window goes into the filter; a counter begins
/// with the second one.
const MAY_ASK: &str = "
if redis.call('BF.ADD', KEYS[1], ARGV[1]) == 1 then return 1 end
local asked = 1 + redis.call('INCR', KEYS[2])
if asked == 2 then redis.call('EXPIRE', KEYS[2], 60) end
return asked <= 3 and 1 or 0";
/// The same without a filter, to compare with.
const COUNT: &str = "
local asked = redis.call('INCR', KEYS[2])
if asked == 1 then redis.call('EXPIRE', KEYS[2], 60) end
return asked <= 3 and 1 or 0";

fn may_ask(script: &str, who: &str) -> Cmd {
    let counter = format!("example:asked:{who}");
    let mut ask = cmd("EVALSHA");
    ask.arg(script).arg(2).arg("example:visitors").arg(counter);
    ask.arg(who).take()
}

fn used(db: &mut Connection) -> RedisResult<f64> {
    let info: InfoDict = cmd("INFO").arg("memory").query(db)?;
    Ok(info.get("used_memory").unwrap_or_default())
}

fn main() -> RedisResult<()> {
    let address = args().nth(1).expect("an address");
    let visitors = args().nth(2).map(|word| word.parse().expect("a number"));
    let mut db = redis::Client::open(address)?.get_connection()?;
    for (name, script) in [("with a filter", MAY_ASK), ("counters alone", COUNT)] {
        let () = db.del(&["example:visitors", "example:asked:ann"])?;
        let before = used(&mut db)?;
        let options = ["example:visitors", "0.001", "100000", "WINDOW", "60"];
        cmd("BF.RESERVE").arg(&options).exec(&mut db)?;
        let script: String = cmd("SCRIPT").arg("LOAD").arg(script).query(&mut db)?;
        let mut ann = || may_ask(&script, "ann").query::<bool>(&mut db);
        println!("{name}: {} {} {} {}", ann()?, ann()?, ann()?, ann()?);
        let Some(visitors) = visitors else { continue };
        let started = Instant::now();
        for first in (0..visitors).step_by(100) {
            let mut trip = pipe();
            for n in first..first + 100 {
                trip.add_command(may_ask(&script, &format!("{name} {n}")));
            }
            trip.exec(&mut db)?;
        }
        let micros = started.elapsed().as_secs_f64() * 1e6 / f64::from(visitors);
        let bytes = (used(&mut db)? - before) / f64::from(visitors);
        println!("{micros:.1} us and {bytes:.1} bytes a visitor");
    }
    Ok(())
}
