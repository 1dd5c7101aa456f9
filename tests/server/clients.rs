//! Real client libraries, in both protocols.

use redis::bloom::{
    BloomFilterDumpIterator, BloomFilterInfoType, BloomFilterInsertOptions,
    BloomFilterScalingOptions,
};
use redis::{Commands, Connection, RedisResult};
use splitbloom_harness::{run_python, Server};
use std::collections::HashMap;

#[test]
fn redis_rs_inserts_with_options() {
    in_both_protocols(|db| {
        assert_eq!(db.bf_insert::<_, _, Vec<bool>>("k", &["a", "b"])?, [true, true]);
        let options = BloomFilterInsertOptions::default()
            .capacity(2)
            .error_rate(0.000001)
            .expansion(BloomFilterScalingOptions::NonScaling);
        assert_eq!(
            db.bf_insert_options::<_, _, Vec<bool>>("strict", &["a", "b"], options)?,
            [true, true]
        );
        let full = db.bf_add::<_, _, bool>("strict", "c").expect_err("a full filter");
        assert!(full.to_string().contains("full"), "{full}");
        let refused =
            db.bf_madd::<_, _, Vec<bool>>("strict", &["a", "c", "d"]).expect_err("a full filter");
        assert!(refused.to_string().contains("full"), "{refused}");
        let options = BloomFilterInsertOptions::default().nocreate();
        let missing = db
            .bf_insert_options::<_, _, Vec<bool>>("missing", &["a"], options)
            .expect_err("no filter");
        assert!(missing.to_string().contains("not found"), "{missing}");
        Ok(())
    });
}

#[test]
fn redis_rs_reads_info() {
    in_both_protocols(|db| {
        let expansion = BloomFilterScalingOptions::ExpansionRate(4);
        let reserved: () = db.bf_reserve_options("k", 0.01, 500, expansion)?;
        assert_eq!(reserved, ());
        let twice: RedisResult<()> = db.bf_reserve("k", 0.01, 500);
        assert!(twice.expect_err("the filter exists").to_string().contains("exists"));
        assert!(db.bf_add::<_, _, bool>("k", "a")?);
        let info: HashMap<String, redis::bloom::BloomFilterInfoTypeResponse> = db.bf_info("k")?;
        assert_eq!(info.len(), 5);
        assert_eq!(info["Capacity"], 500.0);
        assert_eq!(info["Number of filters"], 1.0);
        assert_eq!(info["Number of items inserted"], 1.0);
        assert_eq!(info["Expansion rate"], 4.0);
        assert!(*info["Size"] > 0.0);
        for (kind, value) in [
            (BloomFilterInfoType::Capacity, 500.0),
            (BloomFilterInfoType::Filters, 1.0),
            (BloomFilterInfoType::Items, 1.0),
            (BloomFilterInfoType::Expansion, 4.0),
            (BloomFilterInfoType::Size, *info["Size"]),
        ] {
            let one: redis::bloom::BloomFilterInfoTypeResponse = db.bf_info_type("k", kind)?;
            assert_eq!(one, value);
        }
        Ok(())
    });
}

#[test]
fn redis_rs_dumps_and_loads() {
    in_both_protocols(|db| {
        let reserved: () = db.bf_reserve("k", 0.01, 1_000_000)?;
        assert_eq!(reserved, ());
        assert!(db.bf_add::<_, _, bool>("k", "a")?);
        let chunks: RedisResult<Vec<_>> = BloomFilterDumpIterator::new(db, "k").collect();
        for chunk in chunks? {
            let loaded: () = db.bf_loadchunk("l", chunk)?;
            assert_eq!(loaded, ());
        }
        assert!(db.bf_exists::<_, _, bool>("l", "a")?);
        assert_eq!(db.bf_card::<_, usize>("l")?, 1);
        Ok(())
    });
}

#[test]
fn redis_py_works_by_default_and_in_both_protocols() {
    for protocol in [&[][..], &["2"], &["3"]] {
        let server = Server::strict(&[]);
        let port = server.port().to_string();
        run_python(&[&["tests/server/redis_py.py", &port], protocol].concat());
    }
}

fn in_both_protocols(conversation: impl Fn(&mut Connection) -> RedisResult<()>) {
    for protocol in ["resp2", "resp3"] {
        let server = Server::strict(&[]);
        let address = format!("redis://127.0.0.1:{}/?protocol={protocol}", server.port());
        let connected = redis::Client::open(address).and_then(|client| client.get_connection());
        let mut db = connected.expect("a connection");
        conversation(&mut db).unwrap_or_else(|error| panic!("{protocol}: {error}"));
    }
}
