//! The defaults of counting filters: from the configuration file and CONFIG SET.

use crate::config::assert_range;
use splitbloom_harness::{Connection, Server};

/// Error rate, capacity, bucket size, iterations and expansion of a filter that an add creates.
fn shape_of_a_new_filter(db: &mut Connection) -> (f64, [i64; 4]) {
    db.run("DEL new");
    db.run("CF.ADD new a");
    let info = db.line("CF.INFO new FULL");
    let numbers = ["Capacity", "Bucket size", "Max iterations", "Expansion rate"];
    (info.field("Error rate").double(), numbers.map(|name| info.field(name).integer()))
}

#[test]
fn redisbloom_s_settings_are_taken_where_the_server_allows_their_names() {
    let plain = Server::start();
    if !plain.dialect().has_unprefixed_settings() {
        assert_eq!(plain.connect().ask("CONFIG GET *bucket-size"), "[]");
        return;
    }
    let (_server, mut db) = Server::configured(&[
        "cf-initial-size 64",
        "cf-bucket-size 4",
        "cf-max-iterations 500",
        "cf-expansion-factor 0",
        "cf-max-expansions 16",
    ])
    .with_client();
    assert_eq!(shape_of_a_new_filter(&mut db), (0.01, [64, 4, 500, 0]));
    for (name, ends, beyond) in [
        ("cf-bucket-size", ["1", "255"], "0 256"),
        ("cf-max-iterations", ["1", "65535"], "0 65536"),
        ("cf-expansion-factor", ["0", "32768"], "-1 32769"),
        ("cf-max-expansions", ["1", "65536"], "0 65537"),
    ] {
        assert_range(&mut db, name, ends, beyond);
    }
    let shape = shape_of_a_new_filter(&mut db);
    assert_eq!(shape, (0.01, [64, 255, 65_535, 32_768]));
}
