// The script of commands, for the release of redis-rs that is called `redis`. Argument: PORT.

use redis::{cmd, Connection, FromRedisValue, RedisError, ToRedisArgs, Value};
use std::collections::HashMap;

fn call<T: FromRedisValue>(db: &mut Connection, line: &str) -> Result<T, RedisError> {
    let words: Vec<&str> = line.split(' ').collect();
    cmd(words[0]).arg(&words[1..]).query(db)
}

fn with<T: FromRedisValue>(
    db: &mut Connection,
    line: &str,
    last: impl ToRedisArgs,
) -> Result<T, RedisError> {
    let words: Vec<&str> = line.split(' ').collect();
    cmd(words[0]).arg(&words[1..]).arg(last).query(db)
}

fn say(name: &str, values: &[i64]) {
    let values: Vec<String> = values.iter().map(i64::to_string).collect();
    println!("{name}: {}", values.join(" "));
}

fn main() -> Result<(), RedisError> {
    let port = std::env::args().nth(1).unwrap_or_default();
    let db = &mut redis::Client::open(format!("redis://127.0.0.1:{port}"))?.get_connection()?;

    println!("reserve: {}", call::<String>(db, "BF.RESERVE k 0.01 1000")?);
    say("add", &[call(db, "BF.ADD k a")?, call(db, "BF.ADD k a")?]);
    say("madd", &call::<Vec<i64>>(db, "BF.MADD k a b c")?);
    say(
        "exists",
        &[call(db, "BF.EXISTS k a")?, call(db, "BF.EXISTS k z")?],
    );
    say("mexists", &call::<Vec<i64>>(db, "BF.MEXISTS k a z")?);
    say(
        "insert",
        &call::<Vec<i64>>(db, "BF.INSERT i CAPACITY 1000 ERROR 0.01 ITEMS x y")?,
    );
    say("card", &[call(db, "BF.CARD k")?]);
    let info: HashMap<String, i64> = call(db, "BF.INFO k")?;
    say("capacity", &[info["Capacity"]]);
    say("items", &call::<Vec<i64>>(db, "BF.INFO k ITEMS")?);
    // Its values are of several types.
    let full: HashMap<String, Value> = call(db, "BF.INFO k FULL")?;
    let Value::Int(estimated) = full["Estimated items"] else {
        panic!("{full:?}")
    };
    say("estimated", &[estimated]);

    call::<()>(db, "BF.RESERVE big 0.000001 1000")?;
    with::<()>(db, "BF.MADD big", (0..1000).collect::<Vec<i64>>())?;
    let (mut iterator, mut loaded) = (0_i64, String::new());
    loop {
        let chunk: Vec<u8>;
        (iterator, chunk) = call(db, &format!("BF.SCANDUMP big {iterator}"))?;
        if iterator == 0 {
            break;
        }
        loaded = with(db, &format!("BF.LOADCHUNK copy {iterator}"), chunk)?;
    }
    print!("copy: {loaded} ");
    let found: Vec<i64> = call(db, "BF.MEXISTS copy 0 999 z")?;
    println!("{} {} {}", found[0], found[1], found[2]);

    let binary = b"\x00\xff\n";
    let [added, found, absent] = [
        with(db, "BF.ADD k", binary)?,
        with(db, "BF.EXISTS k", binary)?,
        with(db, "BF.EXISTS k", &binary[..2])?,
    ];
    say("binary", &[added, found, absent]);
    let bits: Vec<u8> = call(db, "BF.PACKADD p FIXED 1 abcdefgh BITS")?;
    println!("bits: {:02x}", bits[0]);
    let window: String = call(db, "BF.RESERVE w 0.01 100 WINDOW 60")?;
    let added: [i64; 2] = [call(db, "BF.ADD w a")?, call(db, "BF.ADD w a")?];
    println!("window: {window} {} {}", added[0], added[1]);

    call::<()>(db, "BF.RESERVE n 0.01 2 NONSCALING")?;
    if call::<Vec<Value>>(db, "BF.MADD n a b c").is_err() {
        println!("mind: an-error-among-the-replies");
    }
    say("full", &call::<Vec<i64>>(db, "BF.MEXISTS n a b c")?);

    print!("counting: {} ", call::<String>(db, "CF.RESERVE c 100")?);
    let added: [i64; 2] = [call(db, "CF.ADD c a")?, call(db, "CF.ADD c a")?];
    let count: i64 = call(db, "CF.COUNT c a")?;
    let deleted: i64 = call(db, "CF.DEL c a")?;
    let left: i64 = call(db, "CF.COUNT c a")?;
    println!("{} {} {count} {deleted} {left}", added[0], added[1]);
    let info: HashMap<String, i64> = call(db, "CF.INFO c")?;
    say("deleted", &[info["Number of items deleted"]]);
    let error = call::<()>(db, "BF.RESERVE k 0.01 1000").expect_err("the filter exists");
    println!("error: {}", error.detail().unwrap_or_default());
    Ok(())
}
