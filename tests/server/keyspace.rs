//! A filter as an ordinary key: the server's own commands, events, transactions and scripts.

use splitbloom_harness::{add_items, eventually, missing_items, Connection, Server};

#[test]
fn the_type_has_its_own_name() {
    let server = Server::start();
    server.connect().converse(&[
        ("BF.ADD k a", ":1"),
        ("SET text a", "+OK"),
        ("TYPE k", "+MBbloom--"),
        ("OBJECT ENCODING k", "$raw"),
        ("SCAN 0 TYPE MBbloom--", "[$0, [$k]]"),
        ("SCAN 0 TYPE string", "[$0, [$text]]"),
    ]);
}

#[test]
fn a_copy_is_equal_and_independent() {
    let server = Server::start();
    let mut db = server.connect();
    db.run("BF.RESERVE k 0.01 100");
    add_items(&mut db, "k", 0..5000);
    let digest = db.digest("k");
    assert_eq!(db.ask("COPY k copy"), ":1");
    assert_eq!(db.digest("copy"), digest);
    assert_eq!(missing_items(&mut db, "copy", 0..5000), 0);
    add_items(&mut db, "copy", 5000..6000);
    assert_eq!(db.digest("k"), digest);
    assert_ne!(db.digest("copy"), digest);
    db.run("DEL k");
    assert_eq!(missing_items(&mut db, "copy", 0..6000), 0);
}

#[test]
fn a_filter_moves_between_names_and_databases_unchanged() {
    let server = Server::start();
    let mut db = server.connect();
    db.run("BF.RESERVE k 0.01 100");
    add_items(&mut db, "k", 0..5000);
    let digest = db.digest("k");
    db.converse(&[("RENAME k l", "+OK"), ("EXISTS k", ":0")]);
    assert_eq!(db.digest("l"), digest);
    db.converse(&[("MOVE l 3", ":1"), ("EXISTS l", ":0"), ("SELECT 3", "+OK")]);
    assert_eq!(db.digest("l"), digest);
    db.converse(&[("SWAPDB 3 5", "+OK"), ("EXISTS l", ":0"), ("SELECT 5", "+OK")]);
    assert_eq!(db.digest("l"), digest);
    db.converse(&[("COPY l l DB 0", ":1"), ("SELECT 0", "+OK")]);
    assert_eq!(db.digest("l"), digest);
    assert_eq!(missing_items(&mut db, "l", 0..5000), 0);
}

#[test]
fn every_kind_of_deletion_returns_the_memory() {
    let server = Server::start();
    let mut db = server.connect();
    let baseline = held(&mut db);
    for deletion in [
        "DEL k l",
        "UNLINK k l",
        "FLUSHALL",
        "FLUSHALL ASYNC",
        "FLUSHDB ASYNC",
        "SET k a",
        "RESTORE",
        "EXPIRE",
    ] {
        for key in ["k", "l"] {
            db.run(&format!("BF.RESERVE {key} 0.01 100"));
            add_items(&mut db, key, 0..20_000);
        }
        assert_eq!(db.info_number("bf", "bf_filters"), 2, "{deletion}");
        assert!(held(&mut db) > baseline + 40_000, "{deletion}");
        match deletion {
            "SET k a" => {
                db.run("SET k a");
                db.run("RENAME k l");
            }
            "RESTORE" => {
                db.run("SET text a");
                let payload = db.line("DUMP text").bytes().to_vec();
                for key in ["k", "l"] {
                    let reply = db.call([b"RESTORE", key.as_bytes(), b"0", &payload, b"REPLACE"]);
                    assert_eq!(reply.to_string(), "+OK");
                }
            }
            "EXPIRE" => {
                db.run("PEXPIRE k 1");
                db.run("PEXPIRE l 1");
            }
            other => {
                db.run(other);
            }
        }
        eventually(deletion, || {
            db.info_number("bf", "bf_filters") == 0 && held(&mut db) == baseline
        });
        db.run("FLUSHALL");
    }
}

#[test]
fn an_expired_filter_behaves_like_a_missing_one() {
    let server = Server::start();
    let mut db = server.connect();
    db.run("BF.ADD k a");
    db.run("PEXPIRE k 1");
    eventually("the key expires", || db.ask("BF.EXISTS k a") == ":0");
    db.converse(&[
        ("BF.CARD k", ":0"),
        ("BF.INFO k", "-ERR not found"),
        ("BF.ADD k a", ":1"),
        ("TTL k", ":-1"),
    ]);
}

#[test]
fn an_add_keeps_the_time_to_live() {
    let server = Server::strict(&[]);
    let mut db = server.connect();
    db.converse(&[("BF.ADD k a", ":1"), ("EXPIRE k 1000", ":1"), ("BF.ADD k b", ":1")]);
    assert!(db.line("TTL k").integer() > 0);
}

#[test]
fn events_are_published_for_changes_only() {
    let server = Server::strict(&["notify-keyspace-events KEA"]);
    let mut db = server.connect();
    let chunks = {
        db.run("BF.ADD donor a");
        splitbloom_harness::scan_dump(&mut db, "donor")
    };
    for (command, events) in [
        ("BF.RESERVE k 0.000001 100", ["bf.reserve k"].as_slice()),
        ("BF.ADD k a", &["bf.add k"]),
        ("BF.ADD k a", &[]),
        ("BF.MADD k a b c", &["bf.madd k"]),
        ("BF.MADD k a b c", &[]),
        ("BF.INSERT k ITEMS c d", &["bf.insert k"]),
        ("BF.INSERT k ITEMS c d", &[]),
        ("BF.ADD l a", &["bf.reserve l", "bf.add l"]),
        ("BF.MADD m a", &["bf.reserve m", "bf.madd m"]),
        ("BF.INSERT n CAPACITY 2 NONSCALING ITEMS a b c", &["bf.reserve n", "bf.insert n"]),
        ("BF.MADD n a b c", &[]),
        ("BF.ADD n c", &[]),
        ("BF.EXISTS k a", &[]),
        ("BF.MEXISTS missing a b", &[]),
        ("BF.CARD k", &[]),
        ("BF.DEBUG k", &[]),
        ("BF.INFO k", &[]),
        ("BF.SCANDUMP k 0", &[]),
        ("BF.RESERVE k 0.01 100", &[]),
        ("BF.INSERT missing NOCREATE ITEMS a", &[]),
        ("BF.LOADCHUNK k 1 a", &[]),
    ] {
        assert_eq!(events_of(&server, |db| drop(db.line(command))), events, "{command}");
    }
    let events = events_of(&server, |db| splitbloom_harness::load_chunks(db, "loaded", &chunks));
    assert_eq!(events, vec!["bf.loadchunk loaded"; chunks.len()]);
}

#[test]
fn only_a_real_change_breaks_a_watch() {
    let server = Server::strict(&[]);
    let mut db = server.connect();
    let mut other = server.connect();
    db.run("BF.INSERT full CAPACITY 2 ERROR 0.0001 NONSCALING ITEMS a b");
    db.run("BF.ADD k a");
    for (command, transaction) in [
        ("BF.ADD k a", "[+PONG]"),
        ("BF.MADD k a a", "[+PONG]"),
        ("BF.INSERT k ITEMS a", "[+PONG]"),
        ("BF.EXISTS k a", "[+PONG]"),
        ("BF.INFO k FULL", "[+PONG]"),
        ("BF.SCANDUMP k 0", "[+PONG]"),
        ("BF.RESERVE k 0.01 100", "[+PONG]"),
        ("BF.ADD full c", "[+PONG]"),
        ("BF.MADD full a c", "[+PONG]"),
        ("BF.LOADCHUNK k 1 a", "[+PONG]"),
        ("BF.INSERT missing NOCREATE ITEMS a", "[+PONG]"),
        ("BF.ADD k b", "_"),
        ("BF.MADD k a c", "_"),
        ("BF.INSERT k ITEMS d", "_"),
        ("BF.RESERVE missing 0.01 100", "_"),
    ] {
        db.run("WATCH k full missing");
        other.line(command);
        db.run("MULTI");
        db.run("PING");
        assert_eq!(db.ask("EXEC"), transaction, "{command}");
    }
}

#[test]
fn only_a_real_change_invalidates_a_client_side_cache() {
    let server = Server::strict(&[]);
    let mut caching = server.connect_resp3();
    let mut db = server.connect();
    db.run("BF.ADD k a");
    caching.run("CLIENT TRACKING ON");
    assert_eq!(caching.ask("BF.EXISTS k a"), "#t");
    db.run("BF.ADD k a");
    db.run("BF.MADD k a a");
    assert_eq!(caching.ask("PING"), "+PONG");
    db.run("BF.ADD k b");
    assert_eq!(caching.receive().to_string(), "[$invalidate, [$k]]");
}

#[test]
fn commands_work_in_a_transaction() {
    let server = Server::strict(&[]);
    server.connect().converse(&[
        ("MULTI", "+OK"),
        ("BF.ADD k a", "+QUEUED"),
        ("BF.MADD k a b", "+QUEUED"),
        ("BF.RESERVE k 0.01 100", "+QUEUED"),
        ("BF.EXISTS k b", "+QUEUED"),
        ("EXEC", "[:1, [:0, :1], -ERR item exists, :1]"),
    ]);
}

#[test]
fn commands_work_in_a_script() {
    let server = Server::strict(&[]);
    let mut db = server.connect();
    let mut script = |text: &str| db.call(["EVAL", text, "1", "k"]).to_string();
    assert_eq!(script("return redis.call('BF.ADD', KEYS[1], 'a')"), ":1");
    assert_eq!(script("return redis.call('BF.MADD', KEYS[1], 'a', 'b')"), "[:0, :1]");
    assert_eq!(script("return redis.call('BF.INFO', KEYS[1], 'ITEMS')"), "[:2]");
    assert_eq!(script("return redis.pcall('BF.RESERVE', KEYS[1], 0.01, 100)"), "-ERR item exists");
    assert_eq!(script("redis.setresp(3) return redis.call('BF.EXISTS', KEYS[1], 'b')"), ":1");
    assert_eq!(script("return redis.call('BF.CARD', KEYS[1])"), ":2");
}

#[test]
fn a_read_only_script_can_look_up_but_not_add() {
    let server = Server::start();
    let mut db = server.connect();
    db.run("BF.ADD k a");
    let mut script = |text: &str| db.call(["EVAL_RO", text, "1", "k"]).to_string();
    assert_eq!(script("return redis.call('BF.EXISTS', KEYS[1], 'a')"), ":1");
    assert!(script("return redis.call('BF.ADD', KEYS[1], 'b')")
        .contains("Write commands are not allowed"));
}

#[test]
fn info_counts_the_work_done() {
    let server = Server::start();
    let mut db = server.connect();
    let numbers = |db: &mut Connection| {
        [
            "bf_filters",
            "bf_items_added",
            "bf_lookups",
            "bf_lookup_hits",
            "bf_filters_grown",
            "bf_fill_guard_closings",
        ]
        .map(|name| db.info_number("bf", name))
    };
    assert_eq!(numbers(&mut db), [0, 0, 0, 0, 0, 0]);
    db.run("BF.RESERVE k 0.000001 4 EXPANSION 1");
    db.run("BF.MADD k a b c d a");
    db.run("BF.MEXISTS k a b c y");
    db.run("BF.EXISTS k z");
    db.run("BF.EXISTS k a");
    assert_eq!(numbers(&mut db), [1, 4, 6, 4, 0, 0]);
    db.run("BF.ADD k e");
    assert_eq!(numbers(&mut db), [1, 5, 6, 4, 1, 0]);
    db.run("BF.PACKEXISTS k FIXED 1 abxyzcdeaa");
    db.run("BF.MEXISTS missing a b");
    assert_eq!(numbers(&mut db), [1, 5, 18, 11, 1, 0]);
}

#[test]
fn info_shows_the_modules_section_where_it_is_asked_for() {
    let server = Server::start();
    let mut db = server.connect();
    let mut has_section = |command: &str| db.run(command).text().contains("\r\nbf_lookups:0\r\n");
    // No server shows the sections of modules in plain INFO.
    for command in ["INFO", "INFO default", "INFO all", "INFO stats"] {
        assert!(!has_section(command), "{command}");
    }
    for command in
        ["INFO bf", "INFO bf_stats", "INFO modules", "INFO everything", "INFO default bf"]
    {
        assert!(has_section(command), "{command}");
    }
}

#[test]
fn the_version_is_that_of_cargo_toml_as_text_and_as_a_number() {
    let server = Server::start();
    let mut db = server.connect();
    let version = env!("CARGO_PKG_VERSION");
    let build = db.info("bf", "bf_version"); // 0.1.0 (3f2a1bc 2026-11-26), or 0.1.0 outside of git
    assert_eq!(build.split(' ').next(), Some(version));

    let modules = db.run("MODULE LIST");
    let mut entries = modules.elements().iter();
    let ours = entries.find(|entry| entry.field("name").text() == "bf");
    let numbers: Vec<i64> = version
        .split('.')
        .map(|number| number.parse().expect("a version of numbers and dots"))
        .collect();
    assert_eq!(
        ours.expect("the module is loaded").field("ver").integer(),
        10_000 * numbers[0] + 100 * numbers[1] + numbers[2]
    );
}

#[test]
fn the_seed_is_not_shown() {
    const SEED: &str = "0123456789abcdef";
    let server = Server::configured(&["loglevel debug"]);
    let mut db = server.connect();
    db.run(&format!("BF.RESERVE k 0.01 100 SEED {SEED}"));
    db.run("BF.MADD k a b c");
    for question in ["BF.INFO k FULL", "INFO everything", "DEBUG OBJECT k", "MEMORY USAGE k"] {
        let answer = db.ask(question);
        let number = u64::from_str_radix(SEED, 16).expect("sixteen digits");
        assert!(!answer.to_lowercase().contains(SEED), "{question}");
        assert!(!answer.contains(&number.to_string()), "{question}");
    }
    assert!(!server.log().contains(SEED));
}

#[test]
fn monitor_does_not_show_the_seed_of_an_add_that_creates_a_filter() {
    let server = Server::start();
    let mut monitor = server.connect();
    monitor.run("MONITOR");
    let mut db = server.connect();
    db.run("BF.ADD k a");
    db.run("ECHO end");
    let mut seen = String::new();
    while !seen.contains("end") {
        seen += &monitor.receive().text();
    }
    assert!(seen.contains("BF.ADD") && !seen.contains("SEED"), "{seen}");
}

#[test]
fn eviction_removes_whole_filters_and_returns_their_memory() {
    let server = Server::start();
    let mut db = server.connect();
    let baseline = held(&mut db);
    let used = db.info_number("memory", "used_memory");
    db.run(&format!("CONFIG SET maxmemory {} maxmemory-policy allkeys-lru", used + (8 << 20)));
    for number in 0..200 {
        let key = format!("k{number}");
        db.line(&format!("BF.RESERVE {key} 0.01 100000"));
        let items: String = (0..1000).map(|item| format!(" {item}")).collect();
        db.line(&format!("BF.MADD {key}{items}"));
    }
    db.run("CONFIG SET maxmemory 0"); // or the next commands evict more
    let kept = db.info_number("bf", "bf_filters");
    assert!((10..199).contains(&kept), "{kept} filters are left");
    assert_eq!(db.line("DBSIZE").integer(), kept);
    db.run("FLUSHALL");
    eventually("the memory is returned", || held(&mut db) == baseline);
}

fn held(db: &mut Connection) -> i64 {
    db.info_number("bf", "bf_bytes_held")
}

/// The module's events, and that of an expiry, as `name key`, while an action runs.
pub fn events_of(server: &Server, action: impl FnOnce(&mut Connection)) -> Vec<String> {
    let mut listener = server.connect();
    listener.run("PSUBSCRIBE __keyevent@0__:*");
    let mut db = server.connect();
    action(&mut db);
    db.run("SET end-of-events a");
    let mut events = Vec::new();
    loop {
        let message = listener.receive();
        let channel = message.elements()[2].text();
        let event = channel.strip_prefix("__keyevent@0__:").expect("a channel of events");
        match event {
            "set" => return events,
            event if event.starts_with("bf.") || event.starts_with("cf.") || event == "expire" => {
                events.push(format!("{event} {}", message.elements()[3].text()))
            }
            _ => {}
        }
    }
}
