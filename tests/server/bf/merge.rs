//! BF.MERGE: the union of filters that were created alike.

use crate::replication::assert_replica_and_files_agree;
use splitbloom_harness::{add_items, missing_items, Connection, Server};

const SEED: &str = "SEED 0123456789abcdef";

fn reserve(db: &mut Connection, keys: &[&str], parameters: &str) {
    for key in keys {
        db.run(&format!("BF.RESERVE {key} {parameters} {SEED}"));
    }
}

#[test]
fn a_union_has_what_its_sources_have() {
    let server = Server::start();
    for mut db in [server.connect(), server.connect_resp3()] {
        // A sub-filter; a table; both; several segments; one that does not grow.
        for parameters in
            ["0.01 10000", "0.01 100", "0.01 3000", "0.01 200000", "0.01 9000 NONSCALING"]
        {
            db.run("FLUSHALL");
            reserve(&mut db, &["a", "b", "c", "all"], parameters);
            add_items(&mut db, "a", 0..4000);
            add_items(&mut db, "b", 3000..6000);
            add_items(&mut db, "c", 6000..8000);
            add_items(&mut db, "all", 0..8000);
            assert_eq!(db.ask("BF.MERGE new 3 a b c FORCE"), "+OK", "{parameters}");
            assert_eq!(db.ask("BF.MERGE a 2 b c FORCE"), "+OK", "{parameters}");
            for key in ["new", "a"] {
                assert_eq!(missing_items(&mut db, key, 0..8000), 0, "{parameters}");
                let items = db.line(&format!("BF.CARD {key}")).integer();
                // A sub-filter counts no more than its capacity.
                let least = if parameters == "0.01 3000" { 3_000 } else { 7_800 };
                assert!((least..=9_100).contains(&items), "{parameters}: {items}");
                // A union of sub-filters that were nearly full has more bits than one of them may.
                if parameters != "0.01 3000" {
                    let full = |db: &mut Connection, key: &str, field: &str| {
                        db.line(&format!("BF.INFO {key} FULL")).field(field).double()
                    };
                    assert_eq!(full(&mut db, key, "Fill"), full(&mut db, "all", "Fill"));
                    let field = "Expected false positive rate";
                    let (rate, of_all) = (full(&mut db, key, field), full(&mut db, "all", field));
                    // Each table has its own false positives, and the union has all of them.
                    let is_expected = match parameters {
                        "0.01 100" => rate <= 0.01,
                        _ => rate <= of_all * 1.3,
                    };
                    assert!(is_expected, "{parameters}: {rate}, {of_all}");
                }
            }
            let digest = db.digest("new");
            db.converse(&[("BF.MERGE new 4 a b c new", "+OK"), ("BF.MERGE new 1 new", "+OK")]);
            assert_eq!(db.digest("new"), digest, "{parameters}: nothing new");
            db.run("DEBUG RELOAD");
            assert_eq!(db.digest("new"), digest);
        }
    }
}

#[test]
fn the_limits_hold_and_nothing_has_changed() {
    let (_server, mut db) = Server::start().with_client();
    reserve(&mut db, &["a", "b"], "0.01 100");
    add_items(&mut db, "a", 0..1000);
    add_items(&mut db, "b", 1000..50_000);
    let digest = db.digest("a");
    let size = db.line("BF.INFO a SIZE").elements()[0].integer();
    db.run(&format!("CONFIG SET bf.max-filter-bytes {}", size + 1000));
    let refused = "-ERR filter would exceed bf.max-filter-bytes";
    assert_eq!(db.ask("BF.MERGE a 1 b"), refused);
    assert_eq!(db.ask("BF.MERGE new 2 a b"), refused);
    assert_eq!(db.digest("a"), digest);
    assert_eq!(db.ask("EXISTS new"), ":0");
    db.run("CONFIG SET bf.max-filter-bytes 0");
    assert_eq!(db.ask("BF.MERGE new 2 a b"), "+OK");
    assert_eq!(missing_items(&mut db, "new", 0..50_000), 0);
    assert_eq!(db.ask("CONFIG GET bf.max-merge-bytes"), "[$bf.max-merge-bytes, $67108864]");
}

#[test]
fn the_pages_of_the_destination_that_a_union_touches_count_too() {
    let (primary, mut db) = Server::configured(&["appendonly yes", "appendfsync no"]).with_client();
    let replica = primary.replica(&["bf.max-merge-bytes 1"]);
    reserve(&mut db, &["large", "small"], "0.01 100");
    add_items(&mut db, "large", 0..200_000);
    add_items(&mut db, "small", 200_000..200_300);
    db.run("COPY large shared");
    let digest = db.digest("large");
    // The source alone counts as 0.4 MB.
    db.run("CONFIG SET bf.max-merge-bytes 500kb");
    let refused = "-ERR filters to merge would exceed bf.max-merge-bytes";
    for destination in ["large", "shared"] {
        assert_eq!(db.ask(&format!("BF.MERGE {destination} 1 small")), refused);
        assert_eq!(db.digest(destination), digest);
    }
    assert_eq!(db.ask("BF.MERGE new 1 small"), "+OK");
    db.run("CONFIG SET bf.max-merge-bytes 10mb");
    assert_eq!(db.ask("BF.MERGE large 1 small"), "+OK");
    assert_eq!(missing_items(&mut db, "large", 0..200_300), 0);
    assert_eq!(db.digest("shared"), digest);
    assert_replica_and_files_agree(&primary, &replica);
}

#[test]
fn all_its_keys_are_declared() {
    let (_server, mut db) = Server::start().with_client();
    let keys = db.ask("COMMAND GETKEYS BF.MERGE to 2 one other");
    assert_eq!(keys, "[$to, $one, $other]");
    assert_eq!(
        db.ask("COMMAND GETKEYSANDFLAGS BF.MERGE to 1 one"),
        "[[$to, [+RW, +insert]], [$one, [+RO, +access]]]"
    );
    // A wrong number of keys, which is refused as by the server's own commands.
    for number in ["3", "0", "-1", "x", "02", "9223372036854775807"] {
        for command in ["BF.MERGE", "ZUNIONSTORE"] {
            let keys = db.ask(&format!("COMMAND GETKEYS {command} to {number} one other"));
            let refused = "-ERR Invalid arguments specified for command";
            let is_other = command == "ZUNIONSTORE" && number == "02"; // it takes it for 2
            assert_eq!(keys == refused, !is_other, "{command} {number}: {keys}");
        }
    }
    let info = db.line("COMMAND INFO bf.merge");
    let sources = info.elements()[0].elements()[8].elements()[1].field("flags").to_string();
    assert!(sources.contains("RO") && sources.contains("access"), "{sources}");
    let docs = db.line("COMMAND DOCS bf.merge").field("bf.merge");
    let arguments = docs.field("arguments");
    assert_eq!(arguments.elements()[2].field("key_spec_index").integer(), 1);
}

#[test]
fn a_user_needs_to_write_the_destination_and_to_read_the_sources() {
    let (server, mut db) = Server::start().with_client();
    reserve(&mut db, &["a", "b"], "0.01 1000");
    db.run("BF.ADD a x");
    for (rules, is_allowed) in [
        ("%RW~to %R~a", true),
        ("%RW~to", false),
        ("%RW~to %W~a", false),
        ("%R~to %R~a", false),
        ("%RW~a", false),
    ] {
        db.run("ACL DELUSER someone");
        db.run(&format!("ACL SETUSER someone on nopass +@all {rules}"));
        let mut someone = server.connect();
        someone.run("AUTH someone any");
        let reply = someone.ask("BF.MERGE to 1 a");
        assert_eq!(reply == "+OK", is_allowed, "{rules}: {reply}");
        assert_eq!(reply.starts_with("-NOPERM "), !is_allowed, "{rules}: {reply}");
        // A wrong number of keys never lets a user at a key that the rules forbid.
        for number in ["0", "2", "x"] {
            let reply = someone.ask(&format!("BF.MERGE to {number} a"));
            assert!(reply.starts_with('-'), "{rules}: {reply}");
            assert_eq!(db.ask("EXISTS to"), if is_allowed { ":1" } else { ":0" });
        }
        db.run("DEL to");
    }
}
