//! TDIGEST.*: replies and errors as RedisBloom's.

use crate::module::server;
use splitbloom_harness::Primary;

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
    db.run("TDIGEST.CREATE small COMPRESSION 10");
    db.run("TDIGEST.CREATE large");
    db.run("TDIGEST.ADD large 4 1 3 1.5 -7 1e9");
    db.run("SET string 1");
    let before = db.digest_of_everything();
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
    assert_eq!(db.digest_of_everything(), before);
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
    db.run("TDIGEST.CREATE large");
    db.run("TDIGEST.ADD large 1 2 3");
    db.run("CONFIG SET maxmemory 1");
    let refused = "-OOM command not allowed when used memory > 'maxmemory'.";
    db.converse(&[
        ("TDIGEST.ADD large 1", refused),
        ("TDIGEST.RESET large", "+OK"),
        ("TDIGEST.MAX large", "$nan"),
    ]);
}
