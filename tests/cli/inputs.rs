//! Items as people have them: packed in other ways, with line ends of other systems, very long.

use crate::tool::{tool, tool_on, Folder, Runs};
use splitbloom_harness::Server;
use std::fs;

/// Inputs that contain no items, and what the message has to say.
const OTHERS: [(&[u8], &str); 4] = [
    (b"\xfd7zXZ\0\0\x04\xe6", "`xz -dc "),
    (b"\x89SBF\r\n\x1a\n\x01\0", "`splitbloom push`"),
    (b"\xff\xfea\0\n\0", "`iconv -f UTF-16 "),
    // The same, packed with gzip.
    (
        b"\x1f\x8b\x08\0\0\0\0\0\x02\x03\xfb\xff\x2f\x91\x81\x8b\x01\0\
          \xbf\x9c\x77\xdb\x06\0\0\0",
        "`iconv -f UTF-16 ",
    ),
];

#[test]
fn what_contains_no_items_is_refused_before_anything_is_done() {
    let (server, folder) = (Server::start(), Folder::new());
    let good = folder.file("good", b"a\nb\n");
    let mut db = server.connect();
    db.run("BF.ADD there a");
    db.run("CF.ADD bag a");
    for (bytes, advice) in OTHERS {
        let bad = folder.file("bad", bytes);
        for command in [
            ["load", "new", &good, &bad].as_slice(),
            &["load", "new", &good, &bad, "--capacity", "1000"],
            &["check", "there", &good, &bad, "--count"],
            &["unload", "bag", &good, &bad],
            &["build", "-o", &folder.path("no.sbf"), &good, &bad],
            &["build", "-o", &folder.path("no.sbf"), &bad, "--capacity", "9"],
        ] {
            tool_on(&server, command).error_with(6, advice);
        }
        let is_packed = bytes.starts_with(b"\x1f\x8b");
        let load = ["load", "new", "--capacity", "1000"];
        // What packed bytes of a pipe contain is not known before they are read.
        let load = if is_packed { &load[..2] } else { &load };
        let run = tool_on(&server, load).run_with(bytes);
        assert_eq!(run.code, 6, "{run:?}");
        assert!(run.stderr.contains(advice.trim_end()), "{run:?}");
    }
    for missing in [["missing"].as_slice(), &[&good, "missing"], &[&folder.path(".")]] {
        let load = [&["load", "new", "--capacity", "1000"], missing].concat();
        tool_on(&server, &load).error(5);
    }
    assert_eq!(db.ask("CF.COUNT bag a"), ":1");
    db.run("DEL there bag");
    assert_eq!(db.ask("DBSIZE"), ":0");
    assert_eq!(folder.names(), ["bad", "good"]);
}

#[test]
fn line_ends_of_other_systems_are_warned_about_and_can_be_stripped() {
    let (server, folder) = (Server::start(), Folder::new());
    let mut db = server.connect();
    let plain = folder.file("plain", b"a\nb\n\nc");
    let text = folder.file("text", b"\xef\xbb\xbfa\r\nb\r\n\r\nc");
    let run = tool_on(&server, &["load", "raw", &text, "--error=1e-9"]).run();
    run.ends(0, "4 items, 4 new\n");
    let warnings: Vec<&str> = run.stderr.lines().collect();
    assert_eq!(warnings.len(), 2, "{run:?}");
    assert!(warnings.iter().all(|warning| warning.contains("--text strips it")), "{run:?}");
    for item in ["\u{feff}a\r", "b\r", "\r", "c"] {
        assert_eq!(db.call(["BF.EXISTS", "raw", item]).to_string(), ":1");
    }
    tool_on(&server, &["load", "stripped", &text, "--text"]).prints();
    let check = ["check", "stripped", "--text", &text];
    assert_eq!(tool_on(&server, &check).prints(), "a\nb\n\nc\n");
    assert_eq!(tool_on(&server, &["check", "stripped", &plain, "--missing"]).prints(), "");
    let built = |name: &str, words: &[&str]| {
        let file = folder.path(name);
        let seed = ["-o", &file, "--seed", "0123456789abcdef"];
        let build = [["build"].as_slice(), words, &seed].concat();
        let count = tool(&build).prints();
        assert!(count.contains("4 items, 4 of them new"), "{count}");
        fs::read(file).expect("it was built")
    };
    assert!(built("1", &[&plain]) == built("2", &[&text, "--text"]));
    let run = tool_on(&server, &["load", "raw", "--text", "--fixed", "2"]).run();
    assert_eq!(run.code, 2, "{run:?}");
}

#[test]
fn a_file_whose_length_is_reported_as_zero_is_not_empty() {
    let (server, folder) = (Server::start(), Folder::new());
    // A file of one line, whose length the kernel gives as 0.
    let kernel = "/proc/sys/kernel/ostype";
    assert_eq!(fs::metadata(kernel).expect("Linux").len(), 0);
    let text = tool(&["build", kernel, "-o", &folder.path("kernel.sbf")]).prints();
    assert!(text.contains(": 1 items, 1 of them new"), "{text}");
    let text = tool_on(&server, &["load", "kernel", kernel]).prints();
    assert_eq!(text, "1 items, 1 new\n");
    let empty = folder.file("empty", b"");
    let text = tool(&["build", &empty, "-o", &folder.path("empty.sbf")]).prints();
    assert!(text.contains(": 0 items"), "{text}");
}

#[test]
fn an_item_longer_than_the_server_takes_packed_is_sent_by_itself() {
    let (server, folder) = (Server::start(), Folder::new());
    let mut db = server.connect();
    db.run("CONFIG SET bf.max-pack-bytes 65536");
    let long = "x".repeat(200_000);
    let items = folder.file("items", format!("a\n{long}\nb\n{long}y\nc\n").as_bytes());
    for (key, load, partitions) in [
        ("seen", ["--capacity=100", "--error=1e-9"], "1"),
        ("spread", ["--capacity=100", "--error=1e-9"], "4"),
        ("bag", ["--cf", "--error=1e-9"], "1"),
    ] {
        let on = |command: &str, more: &[&str]| {
            let words = [command, key, &items];
            let spread: &[&str] = match partitions {
                "1" => &[],
                _ => &["--partitions", partitions],
            };
            tool_on(&server, &[&words, more, spread].concat()).prints()
        };
        assert_eq!(on("load", &load), "5 items, 5 new\n", "{key}");
        assert_eq!(on("check", &["--count"]), "5\n", "{key}");
        if key == "bag" {
            assert_eq!(on("unload", &[]), "5 items, 5 removed\n");
        }
    }
    assert_eq!(db.call(["BF.EXISTS", "seen", &long]).to_string(), ":1");
}
