//! Lookups in a missing key: nothing is found there, or that is an error.

use splitbloom_harness::{Connection, Server};

const NO_FILTER: &str = "-NOFILTER no such filter";

/// Lookups in the key `{}`, with their replies if it is an empty filter.
const LOOKUPS: [(&str, &str); 8] = [
    ("BF.EXISTS {} a", ":0"),
    ("BF.MEXISTS {} a b", "[:0, :0]"),
    ("BF.PACKEXISTS {} FIXED 1 ab", "$\0"),
    ("BF.CARD {}", ":0"),
    ("CF.EXISTS {} a", ":0"),
    ("CF.MEXISTS {} a b", "[:0, :0]"),
    ("CF.PACKEXISTS {} FIXED 1 ab", "$\0"),
    ("CF.COUNT {} a", ":0"),
];

fn look_up(db: &mut Connection, line: &str, keys: &str) -> String {
    let family = line[..2].to_lowercase();
    db.ask(&line.replace("{}", &keys.replace('*', &family)))
}

#[test]
fn a_missing_key_is_an_empty_filter_or_an_error_as_the_setting_says() {
    let server = Server::start();
    for mut db in [server.connect(), server.connect_resp3()] {
        db.run("FLUSHALL");
        db.run("BF.RESERVE bf 0.01 100");
        db.run("CF.RESERVE cf 100");
        db.run("SET text a");
        for setting in ["empty", "error", "empty"] {
            db.run(&format!("CONFIG SET bf.missing-key {setting}"));
            let before = db.info_number("bf", "bf_lookups");
            for (line, _) in LOOKUPS {
                let there = look_up(&mut db, line, "*");
                assert!(!there.starts_with('-'), "{line}: {there}");
                let missing = look_up(&mut db, line, "missing");
                let expected = if setting == "empty" { there.as_str() } else { NO_FILTER };
                assert_eq!(missing, expected, "{line}");
                assert!(look_up(&mut db, line, "text").starts_with("-WRONGTYPE "), "{line}");
            }
            let counted = db.info_number("bf", "bf_lookups") - before;
            assert_eq!(counted, if setting == "empty" { 22 } else { 11 });
        }
        assert_eq!(db.ask("EXISTS missing"), ":0");
        let refusal = db.ask("CONFIG SET bf.missing-key full");
        assert!(refusal.contains("it must be empty or error"), "{refusal}");
        // Adds create the filter, whatever the setting says.
        db.run("CONFIG SET bf.missing-key error");
        db.run("BF.ADD created a");
        db.run("CONFIG SET bf.missing-key empty");
    }
    let mut db = server.connect();
    for (line, reply) in LOOKUPS.iter().filter(|(line, _)| !line.contains("PACK")) {
        assert_eq!(look_up(&mut db, line, "missing"), *reply);
    }
}

#[test]
fn a_packed_lookup_may_demand_the_filter() {
    let (_server, mut db) = Server::strict(&[]).with_client();
    for family in ["BF", "CF"] {
        let line = format!("{family}.PACKEXISTS {family} LINES a");
        let empty = db.ask(&line);
        assert!(!empty.starts_with('-'));
        assert_eq!(db.ask(&format!("{line} mustexist")), NO_FILTER);
        db.run(&format!("{family}.ADD {family} b"));
        assert_eq!(db.ask(&format!("{line} MUSTEXIST")), empty);
        assert_eq!(db.ask(&format!("{line} BITS")), "-ERR syntax error");
        let add = format!("{family}.PACKADD {family} LINES a MUSTEXIST");
        assert_eq!(db.ask(&add), "-ERR syntax error");
    }
}
