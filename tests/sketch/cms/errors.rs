//! Error texts, which are RedisBloom's where it has one, in its order; and what stays unchanged.

use crate::module::server;

const TOO_LARGE: &str =
    "-CMS: invalid init arguments: width times depth times the cell size must be \
                         in the range [1, 536805376]";

#[test]
fn a_sketch_that_cannot_be_created() {
    server().connect().converse(&[
        ("SET text a", "+OK"),
        ("CMS.INITBYDIM k 5 2", "+OK"),
        ("CMS.INITBYDIM k 5 2", "-CMS: key already exists"),
        ("CMS.INITBYPROB k 0.1 0.1", "-CMS: key already exists"),
        ("CMS.INITBYDIM text x 2", "-CMS: key already exists"),
        ("CMS.INITBYDIM l 0 x", "-CMS: invalid width"),
        ("CMS.INITBYDIM l -1 2", "-CMS: invalid width"),
        ("CMS.INITBYDIM l 05 2", "-CMS: invalid width"),
        ("CMS.INITBYDIM l 5 0", "-CMS: invalid depth"),
        ("CMS.INITBYDIM l 5 x", "-CMS: invalid depth"),
        ("CMS.INITBYDIM l 5 1025", "-CMS: invalid depth: it must be in the range [1, 1024]"),
        ("CMS.INITBYDIM l 67100673 2", TOO_LARGE),
        ("CMS.INITBYDIM l 9223372036854775807 2", TOO_LARGE),
        ("CMS.INITBYPROB l 0 0.1", "-CMS: invalid overestimation value"),
        ("CMS.INITBYPROB l 1 0.1", "-CMS: invalid overestimation value"),
        ("CMS.INITBYPROB l nan x", "-CMS: invalid overestimation value"),
        ("CMS.INITBYPROB l 0.1 1", "-CMS: invalid prob value"),
        ("CMS.INITBYPROB l 0.1 x", "-CMS: invalid prob value"),
        ("CMS.INITBYDIM l 5", "-ERR wrong number of arguments for 'cms.initbydim' command"),
        ("CMS.INITBYDIM l 5 2 3", "-ERR wrong number of arguments for 'cms.initbydim' command"),
        ("EXISTS l", ":0"),
    ]);
}

#[test]
fn the_largest_sketch_takes_nothing_before_it_is_used_and_is_saved() {
    let server = server();
    let mut db = server.connect();
    db.converse(&[("CMS.INITBYDIM k 134201344 1", "+OK")]);
    assert!(db.run("MEMORY USAGE k").integer() < 300_000);
    db.run("CMS.INCRBY k a 7");
    assert!(db.run("MEMORY USAGE k").integer() < 400_000);
    let digest = db.digest("k");
    db.run("DEBUG RELOAD");
    assert_eq!(db.digest("k"), digest);
}

#[test]
fn a_sum_beyond_the_limit_is_refused() {
    let server = server();
    let mut db = server.connect();
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

#[test]
fn nothing_is_counted_unless_all_increments_are_good() {
    server().connect().converse(&[
        ("CMS.INCRBY k a x", "-CMS: key does not exist"),
        ("CMS.INITBYDIM k 5 2", "+OK"),
        ("CMS.INCRBY k a 1 b x", "-CMS: Cannot parse number"),
        ("CMS.INCRBY k a 1 b 1.5", "-CMS: Cannot parse number"),
        ("CMS.INCRBY k a 1 b 9223372036854775808", "-CMS: Cannot parse number"),
        ("CMS.INCRBY k a 1 b -9223372036854775809", "-CMS: Cannot parse number"),
        ("CMS.INCRBY k a 1 b -9223372036854775808", "-CMS: invalid increment"),
        ("CMS.INCRBY k a 1 b", "-ERR wrong number of arguments for 'cms.incrby' command"),
        ("CMS.INCRBY k a", "-ERR wrong number of arguments for 'cms.incrby' command"),
        ("CMS.INFO k", "[+width, :5, +depth, :2, +count, :0, +cell_size, :4]"),
    ]);
}

#[test]
fn a_key_that_is_missing_or_of_another_type() {
    let wrong = "-WRONGTYPE Operation against a key holding the wrong kind of value";
    server().connect().converse(&[
        ("SET text a", "+OK"),
        ("CMS.QUERY k a", "-CMS: key does not exist"),
        ("CMS.INFO k", "-CMS: key does not exist"),
        ("CMS.MERGE k x text", "-CMS: key does not exist"),
        ("CMS.QUERY text a", wrong),
        ("CMS.INCRBY text a 1", wrong),
        ("CMS.INFO text", wrong),
        ("CMS.MERGE text 1 k", wrong),
        ("CMS.QUERY k", "-ERR wrong number of arguments for 'cms.query' command"),
        ("CMS.INFO k l", "-ERR wrong number of arguments for 'cms.info' command"),
    ]);
}

#[test]
fn sums_that_cannot_be_made_leave_the_destination() {
    server().connect().converse(&[
        ("SET text a", "+OK"),
        ("CMS.INITBYDIM k 5 2", "+OK"),
        ("CMS.INITBYDIM other 6 2", "+OK"),
        ("CMS.INCRBY k a 4000000000", "[:4000000000]"),
        ("CMS.MERGE k x k", "-CMS: invalid numkeys"),
        ("CMS.MERGE k 0 k", "-CMS: Number of keys must be positive"),
        ("CMS.MERGE k -1 k", "-CMS: Number of keys must be positive"),
        ("CMS.MERGE k 2 k", "-CMS: wrong number of keys"),
        ("CMS.MERGE k 9223372036854775807 k", "-CMS: wrong number of keys"),
        ("CMS.MERGE k 1 k k", "-CMS: wrong number of keys"),
        ("CMS.MERGE k 1 k WEIGHTS", "-CMS: wrong number of keys/weights"),
        ("CMS.MERGE k 2 k k WEIGHTS 1", "-CMS: wrong number of keys/weights"),
        ("CMS.MERGE k 1 k WEIGHTS x", "-CMS: invalid weight value"),
        ("CMS.MERGE k 2 other missing", "-CMS: width/depth is not equal"),
        ("CMS.MERGE k 2 missing other", "-CMS: key does not exist"),
        (
            "CMS.MERGE k 2 text k WEIGHTS 1 x",
            "-WRONGTYPE Operation against a key holding the wrong kind of value",
        ),
        ("CMS.MERGE k 1 k WEIGHTS 2", "-CMS: MERGE overflow"),
        ("CMS.MERGE k 1 k WEIGHTS -1", "-CMS: MERGE overflow"),
        ("CMS.QUERY k a", "[:4000000000]"),
    ]);
}
