//! Tests of the harness, on a server without the module.

use splitbloom_harness::{words, Options, Server};

fn plain() -> Server {
    Server::with(Options { without_module: true, ..Options::default() })
}

#[test]
fn replies_of_both_protocols_are_parsed() {
    let server = plain();
    let mut db = server.connect();
    db.run("SET text a");
    assert_eq!(db.ask("GET text"), "$a");
    assert_eq!(db.ask("GET missing"), "_");
    assert_eq!(db.ask("STRLEN text"), ":1");
    assert_eq!(db.ask("DEBUG PROTOCOL double"), "$3.141");
    assert_eq!(db.ask("DEBUG PROTOCOL map"), "[:0, :0, :1, :1, :2, :0]");
    let mut db = server.connect_resp3();
    assert_eq!(db.ask("DEBUG PROTOCOL double"), ",3.141");
    assert_eq!(db.ask("DEBUG PROTOCOL map"), "{:0: #f, :1: #t, :2: #f}");
    assert_eq!(db.ask("DEBUG PROTOCOL null"), "_");
    assert_eq!(
        db.ask("NONSENSE a"),
        "-ERR unknown command 'NONSENSE', with args beginning with: 'a' "
    );
}

#[test]
fn a_restarted_server_finds_what_it_saved() {
    let mut server = plain();
    server.connect().run("SET text a");
    server.connect().run("SAVE");
    server.restart();
    assert_eq!(server.connect().ask("GET text"), "$a");
}

#[test]
fn a_replica_catches_up() {
    let primary = plain();
    primary.connect().run("SET text a");
    let replica = plain();
    let mut db = replica.connect();
    db.run(&format!("REPLICAOF 127.0.0.1 {}", primary.port()));
    primary.wait_for(&replica);
    assert_eq!(db.ask("GET text"), "$a");
}

#[test]
fn a_server_with_an_invalid_configuration_does_not_start() {
    let mut options = Options::settings(&["no-such-setting 1"]);
    options.without_module = true;
    assert!(Server::refusal(options).contains("no-such-setting"));
}

#[test]
fn pipelined_replies_come_in_order() {
    let server = plain();
    let mut db = server.connect();
    let commands = (0..1000).map(|_| words("INCR counter"));
    let replies = db.pipeline(commands);
    let counted: Vec<i64> = replies.iter().map(|reply| reply.integer()).collect();
    assert_eq!(counted, (1..=1000).collect::<Vec<i64>>());
}
