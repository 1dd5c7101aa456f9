//! Sketches as values: copied, measured, saved, replicated, restored.

use crate::module::server;
use splitbloom_harness::{
    commands_in_append_only_file, eventually, words, Connection, Options, Primary, Server,
};

/// Fills a sketch of several segments, an empty one, one that is full to the brim, and a windowed
/// one.
fn fill(db: &mut Connection) {
    db.run("CMS.INITBYDIM large 20000 5");
    for first in (0..1_000).step_by(100) {
        let items: String =
            (first..first + 100).map(|number| format!(" item:{number} {}", number + 1)).collect();
        db.run(&format!("CMS.INCRBY large{items}"));
    }
    db.run("CMS.INITBYPROB empty 0.01 0.01");
    db.run("CMS.INITBYDIM full 1 2");
    db.line("CMS.INCRBY full a 9223372036854775807 b 9223372036854775807");
    db.run("CMS.INITBYDIM recent 20000 5 WINDOW 3600 SLICES 4");
    db.run("CMS.INCRBY recent a 5 b 6");
    db.run("CMS.INCRBY recent a 1");
}

const KEYS: [&str; 4] = ["large", "empty", "full", "recent"];

fn digests(db: &mut Connection) -> Vec<String> {
    KEYS.map(|key| db.digest(key)).into()
}

#[test]
fn a_copy_is_equal_and_independent() {
    let server = server();
    let mut db = server.connect();
    fill(&mut db);
    let before = digests(&mut db);
    for key in KEYS {
        assert_eq!(db.ask(&format!("COPY {key} copy:{key}")), ":1");
        assert_eq!(db.digest(key), db.digest(&format!("copy:{key}")));
        db.line(&format!("CMS.INCRBY copy:{key} item:0 1"));
        // Where all counters are at their end, nothing changes.
        let is_equal = db.digest(key) == db.digest(&format!("copy:{key}"));
        assert_eq!(is_equal, key == "full", "{key}");
    }
    assert_eq!(digests(&mut db), before);
}

#[test]
fn values_survive_reloads_dumps_and_rewritten_files() {
    let options = Options {
        with_sketches: true,
        ..Options::settings(&["appendonly yes", "aof-use-rdb-preamble no"])
    };
    let mut server = Server::with(options);
    let mut db = server.connect();
    fill(&mut db);
    let before = digests(&mut db);
    db.run("DEBUG RELOAD");
    assert_eq!(digests(&mut db), before);
    for key in KEYS {
        let dump = db.run(&format!("DUMP {key}")).bytes().to_vec();
        db.run(&format!("DEL {key}"));
        let restored = db.call([b"RESTORE".as_slice(), key.as_bytes(), b"0", &dump]);
        assert_eq!(restored.to_string(), "+OK");
    }
    assert_eq!(digests(&mut db), before);
    db.run("BGREWRITEAOF");
    eventually("the file is rewritten", || {
        db.info("persistence", "aof_rewrite_in_progress") == "0"
    });
    assert_eq!(db.info("persistence", "aof_last_bgrewrite_status"), "ok");
    server.restart();
    let mut db = server.connect();
    assert_eq!(digests(&mut db), before);
    db.converse(&[
        ("TYPE large", "+CMSk-TYPE"),
        ("TYPE recent", "+CMSwindow"),
        ("CMS.QUERY recent a b", "[:6, :6]"),
    ]);
}

#[test]
fn a_replica_is_equal_from_the_stream_and_from_a_file() {
    let server = server();
    let mut db = server.connect();
    fill(&mut db);
    let replica = server.replica(&["sketch.max-merge-bytes 1"]);
    server.wait_for(&replica);
    let mut copy = replica.connect();
    assert_eq!(digests(&mut copy), digests(&mut db));
    for line in [
        "CMS.INITBYPROB new 0.001 0.0001",
        "CMS.INITBYPROB short 0.1 0.1 WINDOW 1 SLICES 2",
        "CMS.INCRBY new a 1 b 2",
        "CMS.INCRBY short a 1 b 2",
        "CMS.INCRBY recent a 1 c 2",
        "CMS.MERGE large 2 large large WEIGHTS 2 -1",
    ] {
        db.run(line);
    }
    server.wait_for(&replica);
    assert_eq!(copy.digest_of_everything(), db.digest_of_everything());
}

#[test]
fn a_replica_creates_what_redisbloom_has_created() {
    let replica = server();
    let mut primary = Primary::with_empty_replica(&replica);
    let sketches =
        ["SELECT 0", "CMS.INITBYPROB wide 0.000000001 0.01", "CMS.INITBYDIM deep 5 2000"];
    primary.send_all(&replica, &sketches);
    let mut db = replica.connect();
    db.converse(&[
        ("CMS.INFO wide", "[+width, :2000000000, +depth, :7, +count, :0]"),
        ("CMS.INFO deep", "[+width, :5, +depth, :2000, +count, :0]"),
    ]);
    assert_eq!(db.info_number("sketch", "sketch_replays_refused"), 0);
}

#[test]
fn what_is_replicated_says_the_dimensions_and_the_time() {
    let options = Options { with_sketches: true, ..Options::settings(&["appendonly yes"]) };
    let server = Server::with(options);
    let mut db = server.connect();
    for line in [
        "CMS.INITBYPROB k 0.001 0.01",
        "CMS.INITBYPROB w 0.001 0.01 WINDOW 60",
        "CMS.INCRBY k a 1",
        "CMS.QUERY k a",
        "CMS.INCRBY w a 1 b 2",
    ] {
        db.run(line);
    }
    db.line("CMS.INCRBY k a -1");
    db.line("CMS.INITBYDIM k 1 1");
    let commands = commands_in_append_only_file(&server);
    assert_eq!(
        commands[..3],
        ["CMS.INITBYDIM k 2000 7", "CMS.INITBYDIM w 2000 7 WINDOW 60 SLICES 8", "CMS.INCRBY k a 1",]
    );
    assert_eq!(commands.len(), 4);
    let words: Vec<&str> = commands[3].split(' ').collect();
    assert_eq!((&words[..2], &words[3..]), (&["CMS.INCRBYAT", "w"][..], &["a", "1", "b", "2"][..]));
    assert!(words[2].parse::<u64>().unwrap() > 1_700_000_000_000);
}

#[test]
fn memory_is_that_of_what_items_touch_and_returns() {
    let server = server();
    let mut db = server.connect();
    let held = |db: &mut Connection| db.info_number("sketch", "sketch_bytes_held");
    let before = held(&mut db);
    db.run("CMS.INITBYDIM k 2000000 7");
    let empty = db.run("MEMORY USAGE k").integer();
    assert!(empty < 30_000, "{empty}");
    db.run("CMS.INCRBY k a 1");
    let one = db.run("MEMORY USAGE k").integer() - empty;
    assert!((7 * 64..7 * 200).contains(&one), "{one}");
    db.run("CMS.INITBYDIM small 5 2");
    assert!(db.run("MEMORY USAGE small").integer() < 200);
    db.run("COPY k copy");
    db.run("CMS.INCRBY copy b 1");
    for key in ["UNLINK k", "DEL copy", "DEL small"] {
        db.run(key);
    }
    eventually("memory returns", || held(&mut db) == before);
    assert_eq!(db.info_number("sketch", "sketch_sketches"), 0);
}

#[test]
fn what_is_replaced_or_over_is_freed() {
    let server = server();
    let mut db = server.connect();
    let held = |db: &mut Connection| db.info_number("sketch", "sketch_bytes_held");
    let before = held(&mut db);
    // Lines of more than a thousand segments, which a thread frees.
    db.run("CMS.INITBYDIM k 8000000 4");
    db.run("CMS.INITBYDIM w 8000000 4 WINDOW 60 SLICES 2");
    for command in ["CMS.INCRBY k", "CMS.INCRBYAT w 1700000000000"] {
        let mut increment = words(command);
        increment.extend((0..500).flat_map(|item| [item.to_string().into(), b"1".to_vec()]));
        assert!(!db.call(increment).is_error());
    }
    let size = |db: &mut Connection, key| db.run(&format!("MEMORY USAGE {key}")).integer();
    let full = size(&mut db, "k");
    assert!(full > 1_001 * 64, "{full}");
    db.run("CMS.MERGE k 1 k");
    assert!(size(&mut db, "k") <= full);
    db.run("CMS.INCRBY w a 1");
    assert!(size(&mut db, "w") < full / 2);
    db.run("DEL k w");
    eventually("memory returns", || held(&mut db) == before);
}

/// A dump that RedisBloom has made: crates/sketch/src/cms/golden/by-probability.txt.
#[test]
fn a_dump_of_redisbloom_is_restored_and_made_again() {
    let golden = include_str!("../../../crates/sketch/src/cms/golden/by-probability.txt");
    let dump = golden.lines().find_map(|line| line.strip_prefix("dump ")).unwrap();
    let digits = dump.as_bytes().chunks(2);
    let byte = |two: &[u8]| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap();
    let dump: Vec<u8> = digits.map(byte).collect();
    let server = server();
    let mut db = server.connect();
    db.run("CONFIG SET rdbcompression no");
    // An older server refuses the version of the file format that a newer one has written.
    let restored = db.call([b"RESTORE".as_slice(), b"k", b"0", &dump]);
    if restored.is_error() {
        assert!(restored.to_string().contains("version or checksum"), "{restored}");
        return;
    }
    db.converse(&[
        ("CMS.INFO k", "[+width, :40, +depth, :6, +count, :5500]"),
        ("CMS.QUERY k item:0 item:39 absent", "[:1, :274, :0]"),
    ]);
    let again = db.run("DUMP k").bytes().to_vec();
    // The last ten bytes are the version of the file format and a checksum.
    assert_eq!(again[..again.len() - 10], dump[..dump.len() - 10]);
}
