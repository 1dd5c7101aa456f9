//! The settings of valkey-bloom: four are second names of ours, three have no effect.

use crate::config::{setting, shape_of_a_new_filter};
use splitbloom_harness::{Connection, Options, Server};

/// Each as valkey-bloom spells it, a value, and our name.
const COUNTERPARTS: [(&str, &str, &str); 4] = [
    ("bf.bloom-capacity", "1000", "bf.initial-size"),
    ("bf.bloom-fp-rate", "0.001", "bf.error-rate"),
    ("bf.bloom-expansion", "4", "bf.expansion-factor"),
    ("bf.bloom-memory-usage-limit", "67108864", "bf.max-filter-bytes"),
];

/// Each with its default and another value.
const WITHOUT_EFFECT: [(&str, &str, &str); 3] = [
    ("bf.bloom-tightening-ratio", "0.5", "0.3"),
    ("bf.bloom-use-random-seed", "yes", "no"),
    ("bf.bloom-defrag-enabled", "yes", "no"),
];

fn assert_all_set(db: &mut Connection) {
    for (name, value, own) in COUNTERPARTS {
        assert_eq!([setting(db, name), setting(db, own)], [value, value], "{name}");
    }
    for (name, _, value) in WITHOUT_EFFECT {
        assert_eq!(setting(db, name), value, "{name}");
    }
    assert_eq!(shape_of_a_new_filter(db), ["0.001", "1000", "4"]);
}

#[test]
fn a_file_with_all_settings_of_valkey_bloom_starts_and_survives_a_rewrite() {
    let counterparts = COUNTERPARTS.map(|(name, value, _)| format!("{name} {value}"));
    let others = WITHOUT_EFFECT.map(|(name, _, value)| format!("{name} {value}"));
    let settings: Vec<String> = counterparts.into_iter().chain(others.clone()).collect();
    let mut server = Server::with(Options { settings, ..Options::default() });
    assert_all_set(&mut server.connect());
    let log = server.log();
    for line in others {
        let words = format!("{line} has no effect in splitbloom");
        assert_eq!(log.matches(&words).count(), 1, "{words} in {log}");
    }
    assert!(!log.contains("is set, too"), "{log}");
    server.connect().run("CONFIG REWRITE");
    server.restart();
    assert_all_set(&mut server.connect());
    assert!(!server.log().contains("is set, too"));
}

#[test]
fn both_names_of_a_setting_always_have_one_value() {
    let (mut server, mut db) = Server::start().with_client();
    for (name, value, own) in COUNTERPARTS {
        assert_eq!(setting(&mut db, name), setting(&mut db, own));
        let default = setting(&mut db, own);
        db.run(&format!("CONFIG SET {name} {value}"));
        assert_eq!(setting(&mut db, own), value);
        db.run(&format!("CONFIG SET {own} {default}"));
        assert_eq!(setting(&mut db, name), default);
        db.run(&format!("CONFIG SET {own} {value}"));
    }
    db.run("CONFIG REWRITE");
    server.restart();
    let mut db = server.connect();
    for (name, value, own) in COUNTERPARTS {
        assert_eq!([setting(&mut db, name), setting(&mut db, own)], [value, value]);
    }
}

#[test]
fn our_own_name_holds_where_a_file_has_both_and_the_log_says_so() {
    for lines in [
        ["bf.initial-size 100", "bf.bloom-capacity 1000"],
        ["bf.bloom-capacity 1000", "bf.initial-size 100"],
    ] {
        let server = Server::configured(&lines);
        assert_eq!(setting(&mut server.connect(), "bf.bloom-capacity"), "100", "{lines:?}");
        let words = "bf.bloom-capacity 1000 has no effect, because bf.initial-size is set, too, \
                     to 100";
        assert!(server.log().contains(words), "{lines:?}");
    }
}

#[test]
fn a_name_of_valkey_bloom_overrides_a_load_argument() {
    let server = Server::with(Options {
        module_arguments: "INITIAL_SIZE 500 ERROR_RATE 0.05".to_owned(),
        ..Options::settings(&["bf.bloom-capacity 1000"])
    });
    assert_eq!(shape_of_a_new_filter(&mut server.connect()), ["0.05", "1000", "2"]);
}

#[test]
fn settings_without_an_effect_have_their_defaults_and_no_line_in_the_log() {
    let (server, mut db) = Server::start().with_client();
    for (name, default, other) in WITHOUT_EFFECT {
        assert_eq!(setting(&mut db, name), default);
        db.run(&format!("CONFIG SET {name} {other}"));
        assert_eq!(setting(&mut db, name), other);
    }
    assert!(!server.log().contains("has no effect"));
}

#[test]
fn a_bad_value_of_a_setting_of_valkey_bloom_stops_the_start() {
    for line in [
        "bf.bloom-capacity 0",
        "bf.bloom-fp-rate 1",
        "bf.bloom-expansion 32769",
        "bf.bloom-memory-usage-limit -1",
        "bf.bloom-tightening-ratio 1",
        "bf.bloom-use-random-seed maybe",
        "bf.bloom-defrag-enabled 2",
    ] {
        let log = Server::refusal(Options::settings(&[line]));
        let name = line.split(' ').next().expect("a name");
        assert!(log.contains(name), "{line}: {log}");
    }
}

#[test]
fn the_documents_list_the_settings_of_valkey_bloom() {
    let document = include_str!("../../docs/commands.md");
    let settings = document.split("\n### Settings\n").nth(1).expect("a section");
    let settings = settings.split("\n### ").next().expect("a section");
    let ours = COUNTERPARTS.map(|(name, ..)| name).into_iter();
    for name in ours.chain(WITHOUT_EFFECT.map(|(name, ..)| name)) {
        assert!(settings.contains(&format!("`{name}`")), "{name}");
    }
}
