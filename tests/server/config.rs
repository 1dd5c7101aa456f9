//! The defaults and limits: from load arguments, the configuration file, and CONFIG SET.

use splitbloom_harness::{
    add_items, missing_items, module_path, scan_dump, Connection, Options, Server,
};
use std::fs;

const SETTINGS: [&str; 4] =
    ["bf.error-rate", "bf.initial-size", "bf.expansion-factor", "bf.max-filter-bytes"];
const TOO_BIG: &str = "-ERR filter would exceed bf.max-filter-bytes";

#[test]
fn load_arguments_and_lines_of_the_configuration_file_set_the_defaults() {
    let has_unprefixed = Server::start().dialect().has_unprefixed_settings();
    let three = ["error-rate 0.001", "initial-size 700", "expansion-factor 3"];
    let lines = |prefix: &str| three.map(|line| format!("{prefix}{line}")).to_vec();
    for (arguments, lines, values) in [
        ("", vec![], ["0.01", "100", "2", "0"]),
        ("ERROR_RATE 0.05 INITIAL_SIZE 500 EXPANSION 4", vec![], ["0.05", "500", "4", "0"]),
        ("expansion 4 initial_size 500 error_rate 0.05", vec![], ["0.05", "500", "4", "0"]),
        // All that RedisBloom takes.
        ("CF_MAX_EXPANSIONS 65536 INITIAL_SIZE 300", vec![], ["0.01", "300", "2", "0"]),
        ("", lines("bf."), ["0.001", "700", "3", "0"]),
        ("", vec!["bf.max-filter-bytes 1000000".into()], ["0.01", "100", "2", "1000000"]),
        ("", lines("bf-"), ["0.001", "700", "3", "0"]),
    ] {
        if !has_unprefixed && lines.iter().any(|line| line.starts_with("bf-")) {
            continue;
        }
        let module_arguments = arguments.to_owned();
        let server =
            Server::with(Options { module_arguments, settings: lines, ..Options::default() });
        let mut db = server.connect();
        assert_eq!(settings(&mut db), values);
        assert_eq!(shape_of_a_new_filter(&mut db), values[..3]);
        if arguments.contains("CF_") {
            let shown = if has_unprefixed { "[$cf-max-expansions, $65536]" } else { "[]" };
            assert_eq!(db.ask("CONFIG GET cf-max-expansions"), shown);
        }
    }
}

#[test]
fn bad_load_arguments_are_refused() {
    let (server, mut db) =
        Server::with(Options { without_module: true, ..Options::default() }).with_client();
    for arguments in [
        "ERROR_RATE",
        "ERROR_RATE abc",
        "ERROR_RATE nan",
        "ERROR_RATE 0",
        "ERROR_RATE 1",
        "INITIAL_SIZE 0",
        "INITIAL_SIZE 1.5",
        "INITIAL_SIZE 1099511627777",
        "EXPANSION -1",
        "EXPANSION 32769",
        "CF_MAX_EXPANSIONS 0",
        "CF_MAX_EXPANSIONS 65537",
        "NONSENSE 1",
    ] {
        let reply = db.ask(&format!("MODULE LOAD {} {arguments}", module_path().display()));
        assert!(reply.starts_with("-ERR "), "{arguments}: {reply}");
    }
    let log = server.log();
    for words in [
        "the load argument ERROR_RATE must be a number above 0 and below 1, not \"abc\"",
        "the load argument INITIAL_SIZE must be a whole number from 1 to 1099511627776, not \"0\"",
        "the load argument EXPANSION must be a whole number from 0 to 32768, not \"32769\"",
        "unknown load argument \"NONSENSE\"",
    ] {
        assert!(log.contains(words), "{words} in {log}");
    }
    assert!(!db.ask("MODULE LIST").contains("$bf"));
    db.run(&format!("MODULE LOAD {} INITIAL_SIZE 300", module_path().display()));
    assert_eq!(settings(&mut db), ["0.01", "300", "2", "0"]);
}

#[test]
fn a_setting_changes_the_next_filter_and_no_other() {
    let (_server, mut db) = Server::start().with_client();
    db.run("BF.ADD before a");
    let digest = db.digest("before");
    db.run("CONFIG SET bf.error-rate 0.2 bf.initial-size 33 bf.expansion-factor 5");
    assert_eq!(shape_of_a_new_filter(&mut db), ["0.2", "33", "5"]);
    assert_eq!(db.digest("before"), digest);
    assert_eq!(db.ask("BF.INFO before CAPACITY"), "[:100]");
    assert_eq!(db.ask("BF.INSERT given CAPACITY 7 ITEMS a"), "[:1]");
    assert_eq!(db.ask("BF.INFO given EXPANSION"), "[:5]");
    db.run("CONFIG SET bf.expansion-factor 0");
    db.run("BF.ADD fixed a");
    assert_eq!(db.ask("BF.INFO fixed EXPANSION"), "[_]");
}

#[test]
fn values_at_the_ends_of_the_ranges_are_taken_and_bad_ones_are_refused() {
    let (server, mut db) = Server::start().with_client();
    for (name, ends, bad) in [
        ("bf.error-rate", ["0.999", "0.000000001"], "0 1 -0.1 1.5 abc nan inf 0.01x"),
        ("bf.initial-size", ["1", "1099511627776"], "0 -1 abc 1.5 1099511627777"),
        ("bf.expansion-factor", ["0", "32768"], "-1 32769 abc 1.5"),
        ("bf.max-filter-bytes", ["1", "1099511627776"], "-1 abc"),
        ("cf.error-rate", ["0.999", "0.000000001"], "0 1 nan abc"),
        ("cf.initial-size", ["1", "1099511627776"], "0 -1 1.5 1099511627777"),
    ] {
        for spelling in spellings(&server, name) {
            assert_range(&mut db, &spelling, ends, bad);
        }
    }
}

/// The values at both ends are taken, and the bad ones refused.
pub fn assert_range(db: &mut Connection, name: &str, ends: [&str; 2], bad: &str) {
    for value in ends {
        db.run(&format!("CONFIG SET {name} {value}"));
        assert_eq!(setting(db, name), value);
    }
    for value in bad.split(' ') {
        let reply = db.ask(&format!("CONFIG SET {name} {value}"));
        assert!(reply.starts_with("-ERR "), "{name} {value}: {reply}");
        assert_eq!(setting(db, name), ends[1]);
    }
}

/// All settings of both modules with their values, in order.
fn all_settings(db: &mut Connection) -> Vec<String> {
    let mut settings = Vec::new();
    for names in ["bf.*", "cf.*", "cms.*", "sketch.*"] {
        let reply = db.ask(&format!("CONFIG GET {names}"));
        let words: Vec<&str> = reply.trim_matches(['[', ']']).split(", ").collect();
        settings.extend(words.chunks_exact(2).map(|pair| pair.concat().replace('$', " ")));
    }
    // Those that are there for configuration files of RedisBloom and valkey-bloom.
    const OF_OTHERS: [&str; 5] = [
        "cf.bucket-size",
        "cf.max-iterations",
        "cf.expansion-factor",
        "cf.max-expansions",
        "bf.bloom-",
    ];
    settings.retain(|setting| !OF_OTHERS.iter().any(|name| setting.contains(name)));
    settings.sort();
    settings
}

#[test]
fn the_example_of_a_configuration_file_has_every_setting_with_its_default() {
    let example = include_str!("../../packaging/example.conf");
    let plain = Server::with_sketches(&[]);
    let defaults = all_settings(&mut plain.connect());
    let lines = example.lines().filter_map(|line| line.strip_prefix("# ")?.split_once(' '));
    let is_setting = |(name, _): &(&str, &str)| {
        ["bf.", "cf.", "cms.", "sketch."].iter().any(|prefix| name.starts_with(prefix))
    };
    let mut lines: Vec<String> = lines
        .filter(is_setting)
        .map(|(name, value)| format!(" {} {value}", plain.dialect().spelled(name)))
        .collect();
    lines.sort();
    let names = |lines: &[String]| {
        lines.iter().map(|line| line.split(' ').nth(1).map(str::to_owned)).collect::<Vec<_>>()
    };
    assert_eq!(names(&lines), names(&defaults));
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    assert_eq!(all_settings(&mut Server::with_sketches(&lines).connect()), defaults);
}

#[test]
fn the_documents_list_every_setting_with_its_default() {
    let document = include_str!("../../docs/commands.md");
    let table = document.split("\n### Settings\n").nth(1).expect("a section").split("\n\n").next();
    let server = Server::start();
    let mut listed = Vec::new();
    for row in table.expect("a table").lines().filter(|row| row.starts_with("| `")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let (names, defaults) = (cells[1].split(", "), cells[3].split(", "));
        for (name, default) in names.map(|name| name.trim_matches('`')).zip(defaults) {
            let default = default.split(' ').next().expect("a word");
            listed.push(format!(" {} {default}", server.dialect().spelled(name)));
        }
    }
    listed.sort();
    assert_eq!(listed, all_settings(&mut server.connect()));
}

/// Of each setting: its name, a value that is set, and one that is written into the file.
const EDITS: [(&str, &str, &str); 13] = [
    ("bf.error-rate", "0.2", "0.3"),
    ("bf.initial-size", "33", "44"),
    ("bf.expansion-factor", "5", "7"),
    ("bf.max-filter-bytes", "1000000", "2000000"),
    ("bf.max-pack-bytes", "1000000", "2000000"),
    ("bf.max-merge-bytes", "1000000", "2000000"),
    ("bf.max-followed-items", "1000", "2000"),
    ("bf.max-journal-bytes", "1000000", "2000000"),
    ("bf.journal-idle-time", "33", "44"),
    ("bf.missing-key", "error", "empty"),
    ("bf.aof-load-damaged", "yes", "no"),
    ("cf.error-rate", "0.2", "0.003"),
    ("cf.initial-size", "1", "1099511627776"),
];

/// The spellings of a setting's name that the server knows. CONFIG REWRITE writes the first.
pub fn spellings(server: &Server, name: &str) -> Vec<String> {
    let mut spellings = vec![server.dialect().spelled(name)];
    if server.dialect().has_unprefixed_settings() {
        spellings.push(name.replacen('.', "-", 1));
    }
    spellings
}

/// The lines of the server's file that set this setting, in whatever spelling.
fn lines_of(server: &Server, name: &str) -> Vec<String> {
    let file = fs::read_to_string(server.folder().join("server.conf")).expect("the file");
    let spellings = spellings(server, name);
    let is_one = |line: &&str| {
        line.split(' ').next().is_some_and(|word| spellings.iter().any(|name| name == word))
    };
    file.lines().filter(is_one).map(str::to_owned).collect()
}

#[test]
fn a_line_of_a_rewritten_file_that_is_edited_in_any_spelling_holds() {
    let mut server = Server::start();
    for (name, set, written) in EDITS {
        let spellings = spellings(&server, name);
        for spelling in &spellings {
            let mut db = server.connect();
            db.run(&format!("CONFIG SET {spelling} {set}"));
            db.run("CONFIG REWRITE");
            let lines = lines_of(&server, name);
            let [line] = &lines[..] else { panic!("one line was expected: {lines:?}") };
            assert_eq!(line.replace('"', ""), format!("{} {set}", spellings[0]));
            let path = server.folder().join("server.conf");
            let file = fs::read_to_string(&path).expect("the file");
            let edited = file.replace(line, &format!("{spelling} {written}"));
            fs::write(&path, edited).expect("the file");
            server.restart();
            let mut db = server.connect();
            for spelling in &spellings {
                assert_eq!(setting(&mut db, spelling), written, "{spelling}");
            }
            // And it holds when the file is written anew.
            db.run("CONFIG REWRITE");
            server.restart();
            assert_eq!(setting(&mut server.connect(), spelling), written);
        }
    }
}

#[test]
fn a_setting_that_a_file_has_in_both_spellings_stops_the_start() {
    if !Server::start().dialect().has_unprefixed_settings() {
        return;
    }
    for lines in [
        ["bf.initial-size 33", "bf-initial-size 44"],
        ["bf-initial-size 44", "bf.initial-size 33"],
        ["bf-initial-size 33", "bf.initial-size 33"],
    ] {
        let log = Server::refusal(Options::settings(&lines));
        assert!(log.contains(">>> 'bf-initial-size "), "{lines:?}: {log}");
    }
}

#[test]
fn settings_can_come_with_the_command_that_loads_the_module() {
    let bare = || Server::with(Options { without_module: true, ..Options::default() });
    for spelling in spellings(&bare(), "bf.initial-size") {
        let server = bare();
        let mut db = server.connect();
        let module = module_path();
        let load = format!("MODULE LOADEX {} CONFIG {spelling} 33", module.display());
        db.run(&load);
        assert_eq!(settings(&mut db), ["0.01", "33", "2", "0"], "{spelling}");
    }
}

#[test]
fn a_filter_larger_than_the_limit_is_not_created() {
    let (_server, mut db) = Server::start().with_client();
    for (initial_size, limit, refused, taken) in [
        (
            100,
            10_000,
            ["BF.RESERVE k 0.01 100000", "BF.RESERVE k 0.01 1099511627776"].as_slice(),
            "BF.RESERVE k 0.01 1000",
        ),
        (
            100_000,
            10_000,
            &["BF.ADD k a", "BF.MADD k a b", "BF.INSERT k ITEMS a b"],
            "BF.INSERT k CAPACITY 1000 ITEMS a",
        ),
        (
            100,
            100,
            &["CF.RESERVE k 10", "CF.ADD k a", "CF.INSERT k ITEMS a b"],
            "CONFIG SET bf.max-filter-bytes 0",
        ),
    ] {
        db.run(&format!("CONFIG SET bf.initial-size {initial_size} bf.max-filter-bytes {limit}"));
        for refused in refused {
            assert_eq!(db.ask(refused), TOO_BIG, "{refused}");
            assert_eq!(db.ask("EXISTS k"), ":0", "{refused}");
        }
        db.run_all([taken, "DEL k", "CONFIG SET bf.max-filter-bytes 0", refused[0], "DEL k"]);
    }
}

#[test]
fn a_filter_does_not_grow_past_the_limit() {
    const LIMIT: i64 = 5000;
    let (_server, mut db) = Server::configured(&["bf.max-filter-bytes 5000"]).with_client();
    db.run("BF.RESERVE k 0.01 1000");
    let mut added = 0;
    while db.line(&format!("BF.ADD k item:{added}")).to_string() != TOO_BIG {
        added += 1;
        assert!(added < 10_000, "the limit never works");
    }
    assert!(added > 1000, "refused as early as item {added}");
    assert_eq!(db.ask("BF.INFO k FILTERS"), "[:2]");
    let bytes = db.line("BF.INFO k SIZE").elements()[0].integer();
    assert!(bytes <= LIMIT, "{bytes}");
    assert_eq!(missing_items(&mut db, "k", 0..added), 0);

    let digest = db.digest("k");
    assert_eq!(
        db.ask(&format!("BF.MADD k item:0 item:{added} item:1")),
        format!("[:0, {TOO_BIG}]")
    );
    assert_eq!(db.ask(&format!("BF.INSERT k ITEMS item:{added}")), format!("[{TOO_BIG}]"));
    assert_eq!(db.ask("BF.ADD k item:0"), ":0");
    assert_eq!(db.digest("k"), digest);

    db.run("CONFIG SET bf.max-filter-bytes 0");
    assert_eq!(db.ask(&format!("BF.ADD k item:{added}")), ":1");
}

#[test]
fn a_counting_filter_does_not_grow_past_the_limit() {
    let (_server, mut db) = Server::configured(&["bf.max-filter-bytes 20000"]).with_client();
    // At this rate the refused item is not a false positive.
    db.run("CF.RESERVE k 10 ERROR 0.000001");
    let added = (0..20_000).find(|item| db.ask(&format!("CF.ADD k {item}")) != ":1");
    let added = added.expect("an item is refused");
    assert!(added > 3000, "{added}");
    let size = db.line("CF.INFO k").field("Size").integer();
    assert!((10_000..40_000).contains(&size), "{size}");
    db.converse(&[
        (&format!("CF.ADD k {added}"), TOO_BIG),
        (&format!("CF.INSERT k ITEMS {added} {added}"), "[:-1, :-1]"),
        (&format!("CF.INSERTNX k ITEMS 0 {added}"), "[:0, :-1]"),
        ("CF.ADDNX k 0", ":0"),
        ("CF.DEL k 0", ":1"),
        ("CONFIG SET bf.max-filter-bytes 0", "+OK"),
        (&format!("CF.ADD k {added}"), ":1"),
    ]);
}

#[test]
fn chunks_of_a_filter_larger_than_the_limit_are_not_loaded() {
    let (_server, mut db) = Server::start().with_client();
    db.run("BF.RESERVE k 0.01 100");
    add_items(&mut db, "k", 0..10_000);
    let chunks = scan_dump(&mut db, "k");
    db.run("CONFIG SET bf.max-filter-bytes 5000");
    let (iterator, bytes) = &chunks[0];
    let iterator = iterator.to_string();
    let reply = db.call([b"BF.LOADCHUNK", b"l".as_slice(), iterator.as_bytes(), bytes]);
    assert_eq!(reply.to_string(), TOO_BIG);
    assert_eq!(db.ask("EXISTS l"), ":0");
}

#[test]
fn what_exceeds_a_limit_that_came_later_still_loads() {
    let (mut server, mut db) = Server::start().with_client();
    db.run("BF.RESERVE k 0.01 100");
    add_items(&mut db, "k", 0..10_000);
    let digest = db.digest("k");
    db.run("CONFIG SET bf.max-filter-bytes 100");
    db.run("CONFIG REWRITE");
    db.run("DEBUG RELOAD");
    assert_eq!(db.digest("k"), digest);
    let payload = db.dump("k");
    assert_eq!(db.restore("copy", &payload), "+OK");
    db.run("SAVE");
    server.restart();
    let mut db = server.connect();
    assert_eq!(setting(&mut db, "bf.max-filter-bytes"), "100");
    assert_eq!(db.digest("k"), digest);
    assert_eq!(db.digest("copy"), digest);
}

/// Error rate, capacity and expansion of a filter that an add creates.
pub fn shape_of_a_new_filter(db: &mut Connection) -> [String; 3] {
    db.run("DEL new");
    db.run("BF.ADD new a");
    let info = db.line("BF.INFO new FULL");
    let [capacity, expansion] =
        ["Capacity", "Expansion rate"].map(|name| info.field(name).integer().to_string());
    [info.field("Error rate").double().to_string(), capacity, expansion]
}

/// The value that CONFIG GET shows.
pub fn setting(db: &mut Connection, name: &str) -> String {
    db.run(&format!("CONFIG GET {name}")).field(name).text()
}

fn settings(db: &mut Connection) -> [String; 4] {
    SETTINGS.map(|name| setting(db, name))
}
