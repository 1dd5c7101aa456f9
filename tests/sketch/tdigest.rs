//! TDIGEST.*: replies as RedisBloom's.

use crate::module::server;

#[test]
fn replies_are_those_of_redisbloom() {
    let (server, mut db) = server().with_client();
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
fn a_union_beyond_the_limit_is_refused_but_not_by_a_replica() {
    let (server, mut db) = server().with_client();
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
    server.assert_equal(&replica);
}
