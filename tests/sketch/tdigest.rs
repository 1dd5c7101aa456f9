//! TDIGEST.*: replies as RedisBloom's, values that survive whatever a server does with keys,
//! replicas that are equal bit by bit.

use crate::module::server;
use splitbloom_harness::{eventually, words, Connection, Options, Primary, Random, Server};

const KEYS: [&str; 3] = ["small", "large", "empty"];

fn create(db: &mut Connection) {
    db.run("TDIGEST.CREATE small COMPRESSION 10");
    db.run("TDIGEST.CREATE large");
    db.run("TDIGEST.CREATE empty");
}

/// Adds skewed numbers, in batches and one by one.
fn fill(db: &mut Connection, seed: u64) {
    let mut random = Random::seeded(seed);
    for key in ["small", "large"] {
        for len in [1, 7, 100, 900] {
            let mut add = words(&format!("TDIGEST.ADD {key}"));
            let mut number = || random.below(1 << 20) as f64 / (1 + random.below(1 << 10)) as f64;
            add.extend((0..len).map(|_| number().to_string().into_bytes()));
            assert_eq!(db.call(add).to_string(), "+OK");
        }
    }
}

fn digests(db: &mut Connection) -> Vec<String> {
    KEYS.iter().map(|key| db.digest(key)).collect()
}

#[test]
fn replies_are_those_of_redisbloom() {
    let server = server();
    let mut db = server.connect();
    db.converse(&[
        ("TDIGEST.CREATE k COMPRESSION 100", "+OK"),
        ("TDIGEST.MIN k", "$nan"),
        ("TDIGEST.QUANTILE k 0.5", "[$nan]"),
        ("TDIGEST.RANK k 1", "[:-2]"),
        ("TDIGEST.ADD k 1 2 2 3 3 3 4 4 4 4 5 5 5 5 5", "+OK"),
        ("TDIGEST.MIN k", "$1"),
        ("TDIGEST.MAX k", "$5"),
        ("TDIGEST.QUANTILE k 0 0.5 1", "[$1, $4, $5]"),
        ("TDIGEST.CDF k 0 9", "[$0, $1]"),
        ("TDIGEST.RANK k 0 1 3 5 9", "[:-1, :0, :4, :12, :15]"),
        ("TDIGEST.REVRANK k 0 1 3 5 9", "[:15, :14, :10, :2, :-1]"),
        ("TDIGEST.BYRANK k 0 7 14 15", "[$1, $4, $5, $inf]"),
        ("TDIGEST.BYREVRANK k 0 7 14 15", "[$5, $4, $1, $-inf]"),
        ("TDIGEST.MERGE m 2 k k", "+OK"),
        ("TDIGEST.RANK m 9", "[:30]"),
        ("TDIGEST.MERGE m 1 k COMPRESSION 50 OVERRIDE", "+OK"),
        ("TDIGEST.RANK m 9", "[:15]"),
    ]);
    let mean = db.line("TDIGEST.TRIMMED_MEAN k 0 1").double();
    assert!((mean - 55.0 / 15.0).abs() < 1e-12, "{mean}");
    let info = db.line("TDIGEST.INFO m").pairs();
    let expected = [
        ("Compression", 50),
        ("Capacity", 310),
        ("Merged nodes", 0),
        ("Unmerged nodes", 15),
        ("Merged weight", 0),
        ("Unmerged weight", 15),
        ("Observations", 15),
        ("Total compressions", 0),
    ];
    for ((name, value), expected) in info.iter().zip(expected) {
        assert_eq!((name.as_str(), value.integer()), expected);
    }
    assert_eq!(info[8].0, "Memory usage");
    db.converse(&[("TDIGEST.RESET m", "+OK"), ("TDIGEST.MAX m", "$nan")]);
    server.connect_resp3().converse(&[
        ("TDIGEST.MIN k", ",1"),
        ("TDIGEST.QUANTILE k 0 0.5 1", "[,1, ,4, ,5]"),
        ("TDIGEST.BYRANK k 15", "[,inf]"),
    ]);
}

#[test]
fn errors_are_those_of_redisbloom_and_change_nothing() {
    let server = server();
    let mut db = server.connect();
    create(&mut db);
    fill(&mut db, 4);
    db.run("SET string 1");
    let before = digests(&mut db);
    let wrong_type = "-WRONGTYPE Operation against a key holding the wrong kind of value";
    let missing = "-ERR T-Digest: key does not exist";
    let cuts = "-ERR T-Digest: low_cut_percentile and high_cut_percentile should be in [0,1]";
    db.converse(&[
        ("TDIGEST.CREATE large", "-ERR T-Digest: key already exists"),
        ("TDIGEST.CREATE string", wrong_type),
        ("TDIGEST.CREATE n SIZE 5", "-ERR T-Digest: wrong keyword"),
        (
            "TDIGEST.CREATE n COMPRESSION 0",
            "-ERR T-Digest: compression parameter needs to be a positive integer",
        ),
        ("TDIGEST.CREATE n COMPRESSION x", "-ERR T-Digest: error parsing compression parameter"),
        ("TDIGEST.ADD none 1", missing),
        ("TDIGEST.ADD string 1", wrong_type),
        ("TDIGEST.ADD large 1 x", "-ERR T-Digest: error parsing val parameter"),
        ("TDIGEST.ADD large 1 nan", "-ERR T-Digest: error parsing val parameter"),
        ("TDIGEST.ADD large 1 inf", "-ERR T-Digest: val parameter needs to be a finite number"),
        ("TDIGEST.QUANTILE large 1.1", "-ERR T-Digest: quantile should be in [0,1]"),
        ("TDIGEST.QUANTILE large x", "-ERR T-Digest: error parsing quantile"),
        ("TDIGEST.CDF large x", "-ERR T-Digest: error parsing cdf"),
        ("TDIGEST.RANK large x", "-ERR T-Digest: error parsing value"),
        ("TDIGEST.BYRANK large -1", "-ERR T-Digest: rank needs to be non negative"),
        ("TDIGEST.BYRANK large x", "-ERR T-Digest: error parsing rank"),
        ("TDIGEST.TRIMMED_MEAN large 2 0.5", cuts),
        ("TDIGEST.MERGE large 1 none", missing),
        ("TDIGEST.MERGE string 1 large", wrong_type),
        ("TDIGEST.MERGE large 0 small", "-ERR T-Digest: numkeys needs to be a positive integer"),
        ("TDIGEST.MERGE large x small", "-ERR T-Digest: error parsing numkeys"),
        ("TDIGEST.RESET none", missing),
        ("TDIGEST.INFO none", missing),
        ("EXISTS n", ":0"),
    ]);
    assert!(db.ask("TDIGEST.CREATE n COMPRESSION 100001").ends_with(" 100000"));
    assert_eq!(digests(&mut db), before);
}

#[test]
fn a_union_beyond_the_limit_is_refused_but_not_by_a_replica() {
    let server = server();
    let mut db = server.connect();
    let replica = server.replica(&["sketch.max-merge-bytes 1"]);
    let refused = "-ERR T-Digest: digests to merge would exceed sketch.max-merge-bytes";
    db.converse(&[
        ("TDIGEST.CREATE k", "+OK"),
        ("TDIGEST.ADD k 1 2", "+OK"),
        // 16 bytes for each of the two nodes, then for those and two more.
        ("CONFIG SET sketch.max-merge-bytes 95", "+OK"),
        ("TDIGEST.MERGE m 2 k k", refused),
        ("TDIGEST.MERGE m 2 k none", "-ERR T-Digest: key does not exist"),
        ("EXISTS m", ":0"),
        ("CONFIG SET sketch.max-merge-bytes 96", "+OK"),
        ("TDIGEST.MERGE m 2 k k", "+OK"),
        ("TDIGEST.MERGE m 1 k", "+OK"),
        ("TDIGEST.MERGE m 1 k", refused),
        ("TDIGEST.MERGE m 1 k OVERRIDE", "+OK"),
    ]);
    server.wait_for(&replica);
    assert_eq!(replica.connect().digest("m"), db.digest("m"));
}

#[test]
fn replicas_are_equal_bit_by_bit_whoever_asks_them() {
    let primary = server();
    let mut db = primary.connect();
    create(&mut db);
    let replica = primary.replica(&[]);
    for seed in 0..5 {
        fill(&mut db, seed);
        primary.wait_for(&replica);
        let mut asked = replica.connect();
        for key in KEYS {
            asked.run(&format!("TDIGEST.QUANTILE {key} 0.1 0.5 0.99"));
            asked.run(&format!("DUMP {key}"));
        }
        db.line("TDIGEST.ADD large 1 x");
        db.run("TDIGEST.MERGE small 1 large COMPRESSION 20");
        if seed == 2 {
            db.run("CLIENT KILL TYPE replica");
        }
    }
    primary.wait_for(&replica);
    assert_eq!(digests(&mut replica.connect()), digests(&mut db));
}

#[test]
fn a_replica_skips_the_words_that_redisbloom_skips() {
    let replica = server();
    let mut primary = Primary::with_empty_replica(&replica);
    primary.send_all(
        &replica,
        &[
            "SELECT 0",
            "TDIGEST.CREATE from",
            "TDIGEST.ADD from 1 2 3",
            "TDIGEST.MERGE to 1 from x COMPRESSION 50 COMPRESSION y",
            "TDIGEST.MERGE to 1 from",
            "TDIGEST.MERGE over 2 from to",
            "TDIGEST.MERGE over 1 to x OVERRIDE",
        ],
    );
    let mut db = replica.connect();
    assert_eq!(db.line("TDIGEST.INFO to").field("Compression").integer(), 50);
    db.converse(&[("TDIGEST.RANK to 9", "[:6]"), ("TDIGEST.RANK over 9", "[:6]")]);
    assert_eq!(db.info_number("sketch", "sketch_replays_refused"), 0);
    db.run("REPLICAOF NO ONE");
    db.converse(&[("TDIGEST.MERGE to 1 from x OVERRIDE", "-ERR T-Digest: wrong keyword")]);
}

#[test]
fn a_digest_can_be_emptied_while_memory_is_short() {
    let server = server();
    let mut db = server.connect();
    create(&mut db);
    fill(&mut db, 1);
    db.run("CONFIG SET maxmemory 1");
    let refused = "-OOM command not allowed when used memory > 'maxmemory'.";
    db.converse(&[
        ("TDIGEST.ADD large 1", refused),
        ("TDIGEST.RESET large", "+OK"),
        ("TDIGEST.MAX large", "$nan"),
    ]);
}

#[test]
fn values_survive_files_dumps_and_copies() {
    for preamble in ["yes", "no"] {
        let mut server = Server::with(Options {
            with_sketches: true,
            ..Options::settings(&[
                "appendonly yes",
                "appendfsync no",
                &format!("aof-use-rdb-preamble {preamble}"),
            ])
        });
        let mut db = server.connect();
        create(&mut db);
        fill(&mut db, 1);
        let before = digests(&mut db);
        db.run("DEBUG RELOAD");
        assert_eq!(digests(&mut db), before);
        for (key, digest) in KEYS.iter().zip(&before) {
            db.run(&format!("COPY {key} copy"));
            let dump = db.run(&format!("DUMP {key}"));
            let restore = [&b"RESTORE"[..], b"restored", b"0", dump.bytes()];
            assert!(!db.call(restore).is_error());
            for copy in ["copy", "restored"] {
                assert_eq!(&db.digest(copy), digest, "{key}");
                assert!(db.run(&format!("MEMORY USAGE {copy}")).integer() > 0);
                db.run(&format!("TDIGEST.ADD {copy} 0.5"));
                assert_eq!(&db.digest(key), digest, "{key} is not its copy");
                db.run(&format!("UNLINK {copy}"));
            }
        }
        server.restart();
        let mut db = server.connect();
        assert_eq!(digests(&mut db), before);
        db.run("BGREWRITEAOF");
        eventually("the rewrite ends", || {
            db.info("persistence", "aof_rewrite_in_progress") == "0"
                && db.info("persistence", "aof_rewrite_scheduled") == "0"
        });
        assert_eq!(db.info("persistence", "aof_last_bgrewrite_status"), "ok");
        fill(&mut db, 2);
        let before = digests(&mut db);
        server.restart();
        assert_eq!(digests(&mut server.connect()), before);
    }
}

#[test]
fn damaged_dumps_are_refused_or_are_values_that_work() {
    let server = server();
    let mut db = server.connect();
    create(&mut db);
    fill(&mut db, 3);
    db.run("DEBUG SET-SKIP-CHECKSUM-VALIDATION 1");
    let mut random = Random::seeded(5);
    for key in KEYS {
        let dump = db.run(&format!("DUMP {key}")).bytes().to_vec();
        for _ in 0..1_000 {
            let mut damaged = dump.clone();
            let place = 10 + random.below(dump.len() as u64 - 20) as usize;
            damaged[place] ^= 1 << random.below(8);
            if db.call([&b"RESTORE"[..], b"d", b"0", &damaged]).is_error() {
                continue;
            }
            db.run("TDIGEST.QUANTILE d 0 0.5 1");
            db.run("TDIGEST.TRIMMED_MEAN d 0.1 0.9");
            db.run("TDIGEST.ADD d 1 2 3");
            db.run("TDIGEST.MERGE m 1 d");
            db.run("DUMP d");
            db.run("DEL d m");
        }
    }
}
