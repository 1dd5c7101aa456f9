//! `splitbloom load`, `check` and `unload`.

use crate::tool::{lines, tool_on, Folder, Runs};
use splitbloom_harness::{eventually, Server};
use std::fs;
use std::process::Stdio;

#[test]
fn what_is_loaded_is_found_and_nothing_else() {
    let (server, work) = (Server::start(), Folder::new());
    let (here, there) = (lines(0..50_000), lines(50_000..60_000));
    let file = work.file("here", here.as_bytes());
    let reserve = ["--capacity", "60000", "--error", "1e-9"];
    let text = tool_on(&server, &[["load", "seen", &file].as_slice(), &reserve].concat()).prints();
    assert_eq!(text, "50000 items, 50000 new\n");
    let capacity = server.connect().ask("BF.INFO seen CAPACITY");
    assert!(capacity.contains(":60000"), "{capacity}");

    let check = |words: &[&str]| tool_on(&server, &[&["check", "seen"], words].concat());
    assert_eq!(check(&[&file]).prints(), here);
    assert_eq!(check(&[&file, "--missing"]).prints(), "");
    let both = [here.clone(), there.clone()].concat();
    for (words, text) in [
        ([].as_slice(), here.as_str()),
        (&["--missing"], &there),
        (&["--count"], "50000\n"),
        (&["--missing", "--count", "--connections", "1"], "10000\n"),
    ] {
        let run = check(words).run_with(both.as_bytes());
        assert_eq!((run.code, run.stderr.as_str()), (1, ""), "{words:?}");
        assert!(run.stdout == text, "{words:?}");
    }
}

#[test]
fn items_of_a_fixed_width_may_contain_anything() {
    let (server, work) = (Server::start(), Folder::new());
    let items: Vec<u8> = (0..40_000_u32).flat_map(|number| number.to_be_bytes()).collect();
    let file = work.file("items", &items);
    let text = tool_on(&server, &["load", "codes", &file, "--fixed", "4"]).prints();
    assert!(text.starts_with("40000 items, 3"), "{text}");
    let mut db = server.connect();
    assert_eq!(db.call([b"BF.EXISTS".as_slice(), b"codes", b"\0\0\n\n"]).to_string(), ":1");
    tool_on(&server, &["check", "codes", &file, "--fixed", "4", "--missing"]).prints();
    let mut odd = tool_on(&server, &["load", "codes", "--fixed", "3", &file]);
    odd.error_with(6, "1 bytes are left over; loaded");
}

#[test]
fn a_line_is_an_item_with_every_byte_in_it() {
    let (server, work) = (Server::start(), Folder::new());
    let long = vec![b'x'; 1_000_000];
    let lines: [&[u8]; 11] = [
        b"caf\xe9",                  // Latin-1
        b"\xc3\xdc\xc2\xeb",         // GBK
        b"\xef\xe0\xf0\xee\xeb\xfc", // windows-1251
        b"a\0b",
        b"\0",
        b"",
        b" leading",
        b"trailing ",
        b"tab\t",
        b"0123ABCD:42\r",
        &long,
    ];
    let text = lines.join(&b'\n');
    for (key, end) in [("ended", "\n"), ("open", "")] {
        let file = work.file(key, &[&text, end.as_bytes()].concat());
        let reserve = ["--capacity", "1000", "--error", "1e-9"];
        let load = [["load", key, &file].as_slice(), &reserve].concat();
        assert_eq!(tool_on(&server, &load).prints(), "11 items, 11 new\n");
        let mut db = server.connect();
        let mut is_present = |item: &[u8]| {
            let reply = db.call([b"BF.EXISTS", key.as_bytes(), item]);
            reply.integer() == 1
        };
        assert!(lines.into_iter().all(&mut is_present));
        assert!(!is_present(b"0123ABCD:42") && !is_present(b"0123ABCD") && !is_present(b"leading"));
        assert_eq!(tool_on(&server, &["check", key, &file, "--missing"]).prints(), "");
    }
}

#[test]
fn packed_files_one_after_another_are_one_input() {
    let (server, work) = (Server::start(), Folder::new());
    // "a\nb\n", as gzip writes it.
    let gzip = b"\x1f\x8b\x08\0\0\0\0\0\x02\x03K\xe4J\xe2\x02\0\x97*W\x18\x04\0\0\0";
    let files = [work.file("plain", b"c\nd"), work.file("gzip", gzip), work.file("more", b"\ne\n")];
    let words: Vec<&str> = files.iter().map(String::as_str).collect();
    let load = ["load", "letters", "--capacity", "1000", "--error", "1e-9"];
    let text = tool_on(&server, &[load.as_slice(), &words].concat()).prints();
    assert_eq!(text, "6 items, 6 new\n");
    let mut db = server.connect();
    for item in ["a", "b", "c", "d", "", "e"] {
        assert_eq!(db.call(["BF.EXISTS", "letters", item]).to_string(), ":1", "{item}");
    }
}

#[test]
fn a_filter_that_exists_is_left_as_it_is_and_differences_are_told() {
    let (server, mut db) = Server::start().with_client();
    db.run("BF.RESERVE seen 0.01 1000");
    let load = |words: &[&str]| {
        let run = tool_on(&server, &[&["load", "seen"], words].concat()).run_with(b"a\n");
        assert_eq!(run.code, 0, "{run:?}");
        run.stderr
    };
    assert_eq!(load(&["--capacity", "1000", "--error", "0.01"]), "");
    let words = ["--capacity", "2000", "--error", "0.001", "--window", "60"];
    assert_eq!(
        load(&words),
        "splitbloom: warning: the filter exists, with an error rate of 0.01 and not 0.001, \
         a capacity of 1000 and not 2000, window none and not 60\n"
    );
    assert!(load(&["--capacity", "10", "--nonscaling"]).contains("room to grow"));
    assert_eq!(db.ask("BF.CARD seen"), ":1");
    let run = tool_on(&server, &["load", "new", "--window", "60", "--renew"]).run_with(b"a\n");
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{run:?}");
    assert!(db.ask("BF.INFO new FULL").contains("Window"));
}

#[test]
fn a_counting_filter_counts_what_is_loaded_until_it_is_unloaded() {
    let (server, work) = (Server::start(), Folder::new());
    let file = work.file("items", lines(0..1000).as_bytes());
    let on = |words: &[&str]| tool_on(&server, words);
    for _ in 0..2 {
        let text = on(&["load", "bag", &file, "--cf", "--error", "1e-9"]).prints();
        assert_eq!(text, "1000 items, 1000 new\n");
    }
    let mut db = server.connect();
    assert_eq!(db.ask("CF.COUNT bag https://example.org/7"), ":2");
    assert_eq!(on(&["check", "bag", &file, "--count"]).prints(), "1000\n");
    assert_eq!(on(&["unload", "bag", &file]).prints(), "1000 items, 1000 removed\n");
    assert_eq!(on(&["unload", "bag", &file]).prints(), "1000 items, 1000 removed\n");
    let none = on(&["unload", "bag", &file]).run();
    none.ends(1, "1000 items, 0 removed\n");

    let checkpoint = work.path("done");
    on(&["load", "bag", &file, "--checkpoint", &checkpoint]).error_with(2, "count them twice");
    db.run("BF.ADD seen a");
    on(&["unload", "seen", &file]).error_with(6, "a Bloom filter");
    on(&["load", "seen", &file, "--cf"]).error_with(6, "a Bloom filter");
}

#[test]
fn a_checkpoint_of_another_load_is_refused() {
    let (server, work) = (Server::start(), Folder::new());
    let mut db = server.connect();
    let items = lines(0..300_000);
    let (file, checkpoint) = (work.file("items", items.as_bytes()), work.path("done"));
    let load = |key: &str, words: &[&str]| {
        let all = [&["load", key, &file, "--checkpoint", &checkpoint], words].concat();
        tool_on(&server, &all)
    };
    // The filter is full before all items are loaded.
    db.run("BF.RESERVE seen 0.01 200000 NONSCALING");
    let message = load("seen", &[]).error(4);
    assert!(message.contains("full; loaded ") && message.contains("goes on"), "{message}");
    let text = fs::read_to_string(&checkpoint).expect("a file of text");
    for other in [load("other", &[]).error(6), load("seen", &["--fixed", "1"]).error(6)] {
        assert!(other.contains("another load"), "{other}");
    }
    let mut swapped = items.clone().into_bytes();
    swapped.swap(8, 9);
    work.file("items", &swapped);
    load("seen", &[]).error_with(6, "has changed");
    work.file("items", items.replacen("https", "ftp", 1).as_bytes());
    load("seen", &[]).error_with(6, "another load");
    work.file("items", items.as_bytes());
    assert_eq!(
        fs::read_to_string(&checkpoint).expect("a file of text"),
        text,
        "refusals leave it alone"
    );
    // A server that has lost its data.
    db.run("FLUSHALL");
    load("seen", &[]).error_with(6, "fewer than");
    db.run("BF.ADD seen a");
    load("seen", &[]).error_with(6, "fewer than");
    tool_on(&server, &["load", "seen", "--checkpoint", &checkpoint])
        .error_with(2, "standard input");
}

#[test]
fn what_the_server_refuses_is_told_with_how_far_the_load_has_come() {
    let (server, work) = (Server::start(), Folder::new());
    let mut db = server.connect();
    let items = lines(0..1_000_000);
    let file = work.file("items", items.as_bytes());
    let on = |words: &[&str]| tool_on(&server, words);
    let used = db.info_number("memory", "used_memory");
    // Room for the tool's buffers and for a part of the filter, which takes 2 MB.
    db.run(&format!("CONFIG SET maxmemory {}", used + (3 << 19)));
    let message = on(&["load", "seen", &file, "--connections", "1"]).error(4);
    assert!(message.contains("OOM") && message.contains("run it again"), "{message}");
    db.run("CONFIG SET maxmemory 0");
    assert_first_are_there(&server, "seen", &items, &message);
    on(&["load", "seen", &file]).prints();
    assert_eq!(on(&["check", "seen", &file, "--missing", "--count"]).prints(), "0\n");

    db.run("BF.RESERVE full 0.000001 1000 NONSCALING");
    // With several connections, a later block may take the room of the first.
    let load = ["load", "full", &file, "--connections", "1"];
    let message = on(&load).error_with(4, "ERR non scaling filter is full");
    assert!(!message.contains("again"), "that would not help: {message}");
    assert_first_are_there(&server, "full", &items, &message);

    db.run("SET text t");
    on(&["load", "text", &file]).error_with(6, "no filter: string");
    on(&["check", "nothing", &file]).error_with(6, "no such key");

    let replica = server.replica(&[]);
    let message = tool_on(&replica, &["load", "seen", &file]).error(4);
    assert!(message.contains("READONLY") && message.contains("loaded 0 items"), "{message}");
}

/// Asserts that the first items, as many as the message says, are in the filter.
fn assert_first_are_there(server: &Server, key: &str, items: &str, message: &str) {
    let (_, loaded) = message.split_once("loaded ").expect("how far it has come");
    let loaded = loaded.split(' ').next().and_then(|loaded| loaded.parse::<usize>().ok());
    let loaded = loaded.expect("a number");
    assert!(loaded > 0, "{message}");
    let first: String = items.split_inclusive('\n').take(loaded).collect();
    let run = tool_on(server, &["check", key, "--missing"]).run_with(first.as_bytes());
    assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{message}");
}

#[test]
fn a_load_without_items_says_whether_there_is_a_filter() {
    let (server, work) = (Server::start(), Folder::new());
    let empty = work.file("empty", b"");
    let load = |key: &str, words: &[&str]| {
        let run = tool_on(&server, &[&["load", key, &empty], words].concat()).run();
        run.ends(0, "0 items, 0 new\n");
        run.stderr
    };
    let note = "splitbloom: note: without items the server creates no filter\n";
    let mut db = server.connect();
    for (key, words, is_there) in [
        ("none", &[][..], false),
        ("reserved", &["--capacity", "100"], true),
        ("spread", &["--partitions", "2"], true),
        ("reserved", &[], true),
    ] {
        assert_eq!(load(key, words), if is_there { "" } else { note }, "{key}");
    }
    assert_eq!(db.ask("EXISTS none reserved spread:{0} spread:{1}"), ":3");
}

#[test]
fn a_server_that_dies_ends_a_load_in_one_line() {
    let (mut server, work) = (Server::start(), Folder::new());
    let file = work.file("items", lines(0..5_000_000).as_bytes());
    let checkpoint = work.path("done");
    let mut load = tool_on(&server, &["load", "seen", &file, "--checkpoint", &checkpoint]);
    let load = load.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let load = load.expect("it starts");
    eventually("the load has begun", || work.names().contains(&"done".to_owned()));
    server.kill();
    let output = load.wait_with_output().expect("it ends");
    let message = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(3), "{message}");
    assert!(
        message.contains("no connection to the server") && message.contains("goes on"),
        "{message}"
    );
    assert_eq!(message.lines().count(), 1, "{message}");
}
