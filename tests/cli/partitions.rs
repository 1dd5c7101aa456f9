//! A filter in many keys, of which some are missing or unknown.

use crate::tool::{tool_on, url, Folder, Run, Runs};
use splitbloom_harness::{eventually, Server};
use std::io::Write as _;
use std::process::Stdio;

const ITEMS: u32 = 10_000;

/// A server with a filter in sixteen partitions, and a file of its items.
fn filled() -> (Server, Folder, String) {
    let (server, work) = (Server::start(), Folder::new());
    let items: String = (0..ITEMS).map(|number| format!("user:{number}\n")).collect();
    let file = work.file("items", items.as_bytes());
    let load = ["load", "users", &file, "--capacity=20000", "--error=1e-9"];
    let loaded = tool_on(&server, &[load.as_slice(), &["--partitions=16"]].concat()).prints();
    assert_eq!(loaded, "10000 items, 10000 new\n");
    (server, work, file)
}

#[test]
fn a_wrong_number_of_partitions_is_an_error() {
    let (server, work, file) = filled();
    let here = url(&server);
    for (partitions, message) in [
        ("1", "users:{1} exists: the filter has more partitions"),
        ("8", "users:{8} exists: the filter has more partitions"),
        (
            "32",
            "16 keys of the filter do not exist, from users:{16} to users:{31}: it may have been \
             lost in part, or have fewer partitions",
        ),
    ] {
        for command in [
            ["check", "users", &file].as_slice(),
            &["load", "users", &file],
            &["load", "users", &file, "--checkpoint", &work.path("done")],
            &["load", "users", &file, "--capacity=20000"],
            &["compare", &here, &here, "users", &file],
        ] {
            let words = [command, &["--partitions", partitions]].concat();
            let error = tool_on(&server, &words).error(6);
            assert!(error.ends_with(message), "{command:?}: {error}");
        }
    }
    assert_eq!(server.connect().ask("DBSIZE"), ":16");
    let check = ["check", "users", &file, "--count", "--partitions=16"];
    assert_eq!(tool_on(&server, &check).prints(), "10000\n");
}

/// That includes partitions without an item.
#[test]
fn a_load_without_parameters_creates_every_partition() {
    for family in [None, Some("--cf")] {
        let server = Server::start();
        let load = [["load", "few", "--partitions=64"].as_slice(), family.as_slice()].concat();
        let run = tool_on(&server, &load).run_with(b"a\nb\n");
        assert_eq!(run.stdout, "2 items, 2 new\n", "{run:?}");
        assert_eq!(server.connect().ask("DBSIZE"), ":64");
        let check = ["check", "few", "--partitions=64", "--count"];
        assert_eq!(tool_on(&server, &check).run_with(b"a\nb\n").stdout, "2\n");
    }
}

#[test]
fn a_key_that_is_lost_while_items_are_looked_up_or_added_is_an_error() {
    let keys: [&[&str]; 3] = [&[], &["--partitions=1"], &["--partitions=4"]];
    for (command, keys) in ["check", "load"].iter().flat_map(|it| keys.map(|keys| (it, keys))) {
        let (server, mut db) = Server::start().with_client();
        tool_on(&server, &[&["load", "users", "--capacity=100"], keys].concat()).prints();
        let mut child = tool_on(&server, &[&[command, "users"], keys].concat())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the tool starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(b"a\nb\nc\nd\n").expect("it reads");
        eventually("the first items are sent", || {
            let stats = db.run("INFO commandstats").text().to_lowercase();
            stats.contains("cmdstat_bf.packadd") || stats.contains("cmdstat_bf.packexists")
        });
        db.run("FLUSHALL");
        let _ = stdin.write_all(b"a\nb\nc\nd\n"); // the tool may have ended
        drop(stdin);
        let run = Run::from(child.wait_with_output().expect("it ends"));
        assert_eq!(run.code, 6, "{command}: {run:?}");
        assert!(run.stderr.contains("does not exist"), "{command}: {run:?}");
    }
}
