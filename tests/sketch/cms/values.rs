//! What sketches and sums of them take. What holds for all families is in `crate::values`.

use crate::module::server;
use splitbloom_harness::{eventually, Connection};

#[test]
fn memory_returns_with_the_last_of_what_shares_it() {
    let (_server, mut db) = server().with_client();
    let held = |db: &mut Connection| db.info_number("sketch", "sketch_bytes_held");
    let before = held(&mut db);
    db.run_all(["CMS.INITBYDIM k 2000000 7", "CMS.INCRBY k a 1", "COPY k copy"]);
    db.run_all(["CMS.INCRBY copy b 1", "UNLINK k", "DEL copy"]);
    eventually("memory returns", || held(&mut db) == before);
    assert_eq!(db.info_number("sketch", "sketch_sketches"), 0);
}

#[test]
fn a_sum_beyond_the_limit_is_refused() {
    let (_server, mut db) = server().with_client();
    let refused = "-CMS: sketches to merge would exceed sketch.max-merge-bytes";
    db.converse(&[
        ("CMS.INITBYDIM k 134201344 1", "+OK"),
        ("CMS.INCRBY k a 7", "[:7]"),
        ("CMS.MERGE k 3 k k k", refused),
        ("CMS.MERGE k 2 k k", "+OK"),
        ("CMS.QUERY k a", "[:14]"),
        ("CMS.INITBYDIM small 5 2", "+OK"),
        ("CONFIG SET sketch.max-merge-bytes 79", "+OK"),
        ("CMS.MERGE small 2 small small", refused),
        ("CMS.MERGE small 2 small none", "-CMS: key does not exist"),
        ("CONFIG SET sketch.max-merge-bytes 80", "+OK"),
        ("CMS.MERGE small 2 small small", "+OK"),
    ]);
}
