//! What the doctor finds on servers that are well, and on those that are not.

use crate::tool::{tool_on, Folder, Run, Runs};
use splitbloom_harness::samples::dumped;
use splitbloom_harness::{compile, eventually, server_path, write_script, Options, Server};
use std::path::{Path, PathBuf};

const GOOD: [&str; 2] = ["appendonly yes", "enable-module-command no"];

fn examined(server: &Server) -> Run {
    tool_on(server, &["doctor"]).run()
}

/// The run ends with this code, and a line has the level, the subject and the words.
fn assert_finds(run: &Run, code: i32, [level, subject, words]: [&str; 3]) {
    assert_eq!((run.code, run.stderr.as_str()), (code, ""), "{run:?}");
    let is_it = |line: &str| {
        line.starts_with(level) && line[8..].starts_with(subject) && line.contains(words)
    };
    assert!(run.stdout.lines().any(is_it), "{level}, {subject}, {words}:\n{}", run.stdout);
}

#[test]
fn a_good_server_needs_no_advice() {
    let server = Server::configured(&GOOD);
    let run = examined(&server);
    assert_finds(&run, 0, ["ok", "commands", "BF.*, CF.*: splitbloom "]);
    assert!(run.stdout.lines().all(|line| line.starts_with("ok ")), "{}", run.stdout);
    let json = tool_on(&server, &["doctor", "--json"]).prints();
    assert!(json.starts_with("{\n  \"level\": \"ok\",\n  \"findings\": [\n"), "{json}");
}

#[test]
fn filters_of_other_modules_are_found() {
    let (server, mut db) = Server::configured(&GOOD).with_client();
    let sample = dumped().next().expect("a sample");
    sample.restore(&mut db);
    db.run("BF.ADD ours x");
    let words =
        format!("filters: 2, described: 2, of another module's format: 1, as {}", sample.key);
    assert_finds(&examined(&server), 1, ["advice", "keys", &words]);
}

#[test]
fn a_server_without_the_module_is_wrong_and_the_advice_is_how_to_load_it() {
    let settings = Options::settings(&GOOD);
    let server = Server::with(Options { without_module: true, ..settings });
    let run = examined(&server);
    assert_finds(&run, 2, ["wrong", "commands", "BF.*, CF.*"]);
    assert!(run.stdout.contains("→ add `loadmodule "), "{}", run.stdout);
}

#[test]
fn a_server_that_evicts_filters_is_found() {
    let (server, mut db) =
        Server::configured(&[&GOOD[..], &["maxmemory 1gb"]].concat()).with_client();
    db.run("CONFIG SET maxmemory-policy allkeys-lru");
    assert_finds(&examined(&server), 2, ["wrong", "memory", "allkeys-lru: any filter may be"]);
    db.run("CONFIG SET maxmemory-policy volatile-lru");
    db.run("BF.RESERVE expires 0.01 100 EX 1000");
    assert_finds(&examined(&server), 1, ["advice", "memory", "volatile-lru: 1 filters that"]);
}

#[test]
fn a_node_that_lacks_the_module_is_named() {
    let options = || Options { is_node: true, ..Options::settings(&GOOD) };
    let server = Server::with(options());
    let other = Server::with(Options { without_module: true, ..options() });
    let (port, bus) = (other.port(), other.bus_port());
    server.connect().run(&format!("CLUSTER MEET 127.0.0.1 {port} {bus}"));
    let knows_two = |server: &Server| {
        server.connect().run("CLUSTER INFO").text().contains("cluster_known_nodes:2")
    };
    eventually("the nodes know each other", || knows_two(&server) && knows_two(&other));
    let words = format!("127.0.0.1:{port} lacks the module");
    // Whichever the URL names.
    for first in [&server, &other] {
        assert_finds(&examined(first), 2, ["wrong", "nodes", &words]);
    }
}

#[test]
fn a_replica_two_minutes_ahead_is_found() {
    let work = Folder::new();
    let settings = Options::settings(&GOOD);
    let server = Server::with(settings.clone());
    let follow = format!("replicaof 127.0.0.1 {}", server.port());
    let executable = Some(server_ahead(&work));
    let replica = Server::with(Options { executable, ..settings.and_settings(&[&follow]) });
    server.wait_for(&replica);
    let words = format!("127.0.0.1:{} is 1", replica.port());
    for first in [&server, &replica] {
        assert_finds(&examined(first), 2, ["wrong", "clocks", &words]);
    }
}

/// A script that starts the server under test with a clock two minutes ahead.
fn server_ahead(work: &Folder) -> PathBuf {
    let library = work.path("ahead.so");
    compile("tests/cli/ahead.c", Path::new(&library));
    let server = server_path();
    let script =
        format!("#!/bin/sh\nexport LD_PRELOAD={library}\nexec {} \"$@\"\n", server.display());
    let path = PathBuf::from(work.path("server"));
    write_script(&path, &script);
    path
}

#[test]
fn what_a_user_may_not_read_is_reported_as_unknown() {
    let server = Server::configured(&GOOD);
    server.connect().run("ACL SETUSER asks on >secret -@all +ping +bf.add");
    let mut doctor = tool_on(&server, &["doctor"]);
    let url = format!("redis://asks:secret@127.0.0.1:{}", server.port());
    let run = doctor.env("REDIS_URL", url).run();
    for (subject, command) in [
        ("commands", "COMMAND LIST"),
        ("server", "INFO"),
        ("saving", "INFO"),
        ("persistence", "CONFIG GET"),
        ("memory", "INFO"),
        ("slow log", "CONFIG GET"),
        ("users", "ACL LIST"),
        ("counters", "INFO"),
        ("keys", "SCAN"),
        ("nodes", "INFO"),
        ("clocks", "TIME"),
    ] {
        assert_finds(&run, 1, ["advice", subject, &format!("not known: {command}")]);
    }
}
