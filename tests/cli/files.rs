//! Filters in files: `splitbloom build`, `push`, `pull`, `merge` and `info`.

use crate::tool::{tool, tool_on, url, Folder, Runs};
use splitbloom_harness::{add_items, load_chunks, scan_dump, Server};
use std::fs;

const SEED: &str = "0123456789abcdef";

/// Lines of which some come twice.
fn lines(from: u64, to: u64) -> String {
    (from..to).map(|n| format!("https://example.com/{}\n", n - n % 7)).collect()
}

fn digest(server: &Server, key: &str) -> String {
    let digest = server.connect().digest(key);
    assert!(digest.contains(|digit| digit != '0'), "{key} is missing");
    digest
}

/// Adds the lines to a new filter with BF.MADD.
fn madd(server: &Server, key: &str, reserve: &str, lines: &str) {
    let mut db = server.connect();
    db.run(&format!("BF.RESERVE {key} {reserve} SEED {SEED}"));
    let lines: Vec<&str> = lines.lines().collect();
    for batch in lines.chunks(1_000) {
        let command = ["BF.MADD", key].into_iter().chain(batch.iter().copied());
        assert!(!db.call(command).is_error());
    }
}

#[test]
fn a_filter_that_was_built_and_pushed_has_the_digest_of_one_that_was_filled() {
    let (server, folder) = (Server::start(), Folder::new());
    let all = lines(0, 60_000);
    let items = folder.file("items", all.as_bytes());
    // Room for all items; full and continued by a table; a table from the start; no growth.
    for (key, reserve, arguments) in [
        ("large", "0.001 100000", ["--error=0.001", "--capacity=100000", "--expansion=2"]),
        ("full", "0.01 5000", ["--error=0.01", "--capacity=5000", "--expansion=2"]),
        ("table", "0.01 100", ["--error=0.01", "--capacity=100", "--expansion=2"]),
        ("fixed", "0.01 70000 NONSCALING", ["--error=0.01", "--capacity=70000", "--nonscaling"]),
    ] {
        madd(&server, &format!("{key}:filled"), reserve, &all);
        for threads in ["1", "3"] {
            let (file, pushed) = (folder.path("built.sbf"), format!("{key}:{threads}"));
            let seed = ["--seed", SEED, "--threads", threads];
            let output = ["build", &items, "-o", &file, "--replace"];
            let build = [&output, &arguments[..], &seed].concat();
            let text = tool(&build).prints();
            assert!(text.contains("60000 items"), "{text}");
            tool_on(&server, &["push", &file, &pushed]).prints();
            assert_eq!(digest(&server, &pushed), digest(&server, &format!("{key}:filled")));
        }
    }
}

#[test]
fn build_counts_the_items_of_files_and_asks_for_those_of_a_pipe() {
    let folder = Folder::new();
    let (items, file) = (folder.file("items", b"a\nb\nc"), folder.path("few.sbf"));
    let text = tool(&["build", &items, &items, "-o", &file, "--seed", SEED]).prints();
    assert!(text.contains("6 items, 3 of them new"), "{text}");
    assert!(tool(&["info", &file]).prints().contains("Capacity                      6\n"));
    let none = folder.path("no.sbf");
    tool(&["build", "-o", &none]).error_with(2, "--capacity");
    for missing in [["missing"].as_slice(), &[&items, "missing"], &["missing", "--capacity=9"]] {
        let build = [&["build", "-o", &none], missing].concat();
        let message = tool(&build).error(5);
        assert!(message.starts_with("missing: No such file"), "{message}");
    }
    let message = tool(&["build", &folder.path("."), "-o", &none]).error(5);
    assert!(message.ends_with("is a directory"), "{message}");
    let pairs = ["build", "-o", &file, "--replace", "--capacity", "9", "--fixed", "2"];
    let run = tool(&pairs).run_with(b"aabb");
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert!(run.stdout.contains("2 items, 2 of them new"), "{run:?}");
    let full = ["build", &items, "-o", &none, "--capacity=2", "--nonscaling", "--seed", SEED];
    tool(&full).error_with(6, "full and does not grow");
    assert_eq!(folder.names(), ["few.sbf", "items"]);
}

#[test]
fn a_filter_of_any_kind_goes_to_a_file_and_to_another_server_and_stays_the_same() {
    let (server, other, folder) = (Server::start(), Server::start(), Folder::new());
    let mut db = server.connect();
    madd(&server, "bloom", "0.01 5000", &lines(0, 20_000));
    db.run("CF.ADD counting a");
    db.run("CF.ADD counting a");
    db.run("BF.RESERVE window 0.01 100 WINDOW 3600");
    db.run("BF.ADD window a");
    for key in ["bloom", "counting", "window"] {
        let file = folder.path(key);
        tool_on(&server, &["pull", key, "-o", &file]).prints();
        assert!(tool(&["info", &file]).prints().starts_with("Kind "));
        tool_on(&server, &["push", &file, "back"]).prints();
        assert_eq!(digest(&server, "back"), digest(&server, key), "{key}");
        let message = tool_on(&server, &["push", &file, "back"]).error(6);
        assert_eq!(message, "back exists already: --replace takes its place");
        tool_on(&server, &["push", &file, "back", "--replace"]).prints();
        db.run("DEL back");
        let to = url(&other);
        tool_on(&server, &["pull", key, "--to", &to, "--as", "{there}x"]).prints();
        assert_eq!(digest(&other, "{there}x"), digest(&server, key), "{key}");
        assert_eq!(other.connect().ask("TTL {there}x"), ":-1");
        let into = ["pull", key, "--to", &to, "--as", "{there}x", "--replace"];
        tool_on(&server, &into).prints();
        assert_eq!(other.connect().ask("DBSIZE"), ":1");
        other.connect().run("DEL {there}x");
        assert_eq!(
            tool_on(&server, &["pull", "missing", "-o", &folder.path("x")]).error(6),
            "there is no such key: missing"
        );
        let elsewhere = tool_on(&server, &["pull", "missing", "--to", &to]).error(6);
        assert_eq!(elsewhere, "there is no such key: missing");
    }
    assert_eq!(db.ask("DBSIZE"), ":3");
    assert_eq!(folder.names(), ["bloom", "counting", "window"]);
}

#[test]
fn a_sparse_filter_of_any_capacity_is_a_small_file() {
    let folder = Folder::new();
    let (items, file) = (folder.file("items", lines(0, 1_000).as_bytes()), folder.path("sparse"));
    tool(&["build", &items, "-o", &file, "--capacity", "1000000000000"]).prints();
    let bytes = fs::metadata(&file).expect("it was built").len();
    assert!(bytes < 84 * 1_000 + 4_000, "{bytes}");
}

#[test]
fn a_damaged_file_leaves_nothing_behind() {
    let (server, folder) = (Server::start(), Folder::new());
    let items: String = (0..300_000).map(|n| format!("{n}\n")).collect();
    let items = folder.file("items", items.as_bytes());
    let file = folder.path("whole.sbf");
    // Chunks are 1 MiB, so it has several: almost all sub-bitmaps have bits.
    tool(&["build", &items, "-o", &file, "--capacity", "3000000"]).prints();
    let whole = fs::read(&file).expect("it was built");
    assert!(whole.len() > 3 << 20);
    let mut db = server.connect();
    db.run("SET key value");
    for (name, bytes) in [
        ("cut", whole[..whole.len() - 1].to_vec()),
        ("early", whole[..2 << 20].to_vec()),
        ("changed", {
            let mut bytes = whole.clone();
            bytes[2 << 20] ^= 1;
            bytes
        }),
        ("longer", [&whole[..], b"x"].concat()),
        ("text", b"no filter".to_vec()),
    ] {
        let damaged = folder.file(name, &bytes);
        for command in
            [["push", &damaged, "other"].as_slice(), &["push", &damaged, "key", "--replace"]]
        {
            tool_on(&server, command).error(6);
        }
        tool(&["info", &damaged]).error(6);
        tool(&["merge", &damaged, "-o", &folder.path("union.sbf")]).error(6);
    }
    assert_eq!(db.ask("GET key"), "$value");
    assert_eq!(db.ask("DBSIZE"), ":1");
    assert!(!folder.names().iter().any(|name| name.contains("union") || name.contains("part")));
}

#[test]
fn a_filter_that_is_itself_being_loaded_is_not_copied() {
    let (server, other, folder) = (Server::start(), Server::start(), Folder::new());
    let mut db = server.connect();
    db.run("BF.RESERVE whole 0.01 3000000");
    add_items(&mut db, "whole", 0..300_000);
    let chunks = scan_dump(&mut db, "whole");
    load_chunks(&mut db, "part", &chunks[..chunks.len() - 1]);
    let (file, to) = (folder.path("part.sbf"), url(&other));
    for command in [["pull", "part", "-o", &file], ["pull", "part", "--to", &to]] {
        tool_on(&server, &command).error_with(6, "being loaded");
    }
    assert_eq!(other.connect().ask("DBSIZE"), ":0");
    assert!(folder.names().is_empty(), "{:?}", folder.names());
}

#[test]
fn a_union_finds_what_each_filter_finds_and_unlike_filters_have_none() {
    let (server, folder) = (Server::start(), Folder::new());
    let build_for = |capacity: &str, name: &str, lines: String, seed: &str, error: &str| {
        let items = folder.file("items", lines.as_bytes());
        let file = folder.path(name);
        let parameters = ["--capacity", capacity, "--error", error, "--seed", seed];
        tool(&[&["build", &items, "-o", &file], &parameters[..]].concat()).prints();
        file
    };
    let build = |name, lines, seed, error| build_for("50000", name, lines, seed, error);
    let one = build("one", lines(0, 20_000), SEED, "0.01");
    let two = build("two", lines(10_000, 40_000), SEED, "0.01");
    let union = folder.path("union");
    tool(&["merge", "-o", &union, &one, &two]).prints();
    for (file, key) in [(&one, "one"), (&two, "two"), (&union, "union")] {
        tool_on(&server, &["push", file, key]).prints();
    }
    let mut db = server.connect();
    db.run("BF.MERGE both 2 one two");
    assert_eq!(digest(&server, "both"), digest(&server, "union"));
    let seed = build("seed", lines(0, 10), "fedcba9876543210", "0.01");
    let rate = build("rate", lines(0, 10), SEED, "0.02");
    let small = build_for("1000", "small", lines(0, 10), SEED, "0.01");
    let capacity = "capacity: only those above some 6 000 items (at 1 %) may";
    for (other, difference) in [(&seed, "seed"), (&rate, "error rate"), (&small, capacity)] {
        let message = tool(&["merge", "-o", &folder.path("no"), &one, other]).error(6);
        assert_eq!(message, format!("{one} and {other} differ in {difference}"));
    }
    db.run("CF.ADD bag a");
    let bag = folder.path("bag");
    tool_on(&server, &["pull", "bag", "-o", &bag]).prints();
    let message = tool(&["merge", "-o", &folder.path("no"), &one, &bag]).error(6);
    assert!(message.ends_with("filters of this kind have no union"), "{message}");
}

/// A server that refuses the remaining commands is left in the same state as by a process that is
/// killed before it sends them.
#[test]
fn a_push_that_ends_anywhere_leaves_no_key_that_never_expires() {
    let (server, folder) = (Server::start(), Folder::new());
    let file = folder.path("built.sbf");
    let items = folder.file("items", lines(0, 600_000).as_bytes());
    // Several chunks.
    tool(&["build", &items, "-o", &file, "--capacity", "4000000"]).prints();
    let mut db = server.connect();
    for (replace, refused) in [
        (None, "-expire -unlink"),
        (None, "-renamenx -unlink"),
        (Some("--replace"), "-rename -unlink"),
        (None, "-exec -unlink"),
    ] {
        db.run(&format!("ACL SETUSER tool on nopass ~* &* +@all {refused}"));
        let user = url(&server).replace("://", "://tool:any@");
        let push = ["push", &file, "key", "--url", &user];
        let run = tool(&[push.as_slice(), replace.as_slice()].concat()).run();
        assert_eq!(run.code, 4, "{refused}: {run:?}");
        let keys = db.run("KEYS *");
        for key in keys.elements() {
            let time = db.call([b"TTL", key.bytes()]).integer();
            assert!(time > 0, "{refused}: {key} stays");
        }
        db.run("FLUSHALL");
    }
    // One whose key another client has taken.
    let push = ["push", &file, "key"];
    tool_on(&server, &push).prints();
    tool_on(&server, &push).error(6);
    assert_eq!(db.ask("DBSIZE"), ":1");
    assert_eq!(db.ask("TTL key"), ":-1");
}
