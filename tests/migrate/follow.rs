//! A replica with this module of a primary with the one that filters come from, under commands of
//! all kinds, cut off and synchronised again: nothing that the primary acknowledged is denied.

use crate::number;
use crate::words::{first_commands, Acknowledged};
use splitbloom_harness::{peer, Connection, Link, Options, Random, Server};

/// The number of commands that are sent at once, at most, between two cuts.
const BATCH: u64 = 500;

#[test]
fn a_replica_denies_nothing_that_its_primary_acknowledged() {
    let Some(options) = peer() else { return };
    let primary = Server::with(options.and_settings(&["repl-backlog-size 200kb"]));
    let (commands, cuts) = (number("COMMANDS", 100_000), number("CUTS", 10));
    let mut random = Random::seeded(number("SEED", 1));
    let mut acknowledged = Acknowledged::default();
    let mut db = primary.connect();
    db.run_all(first_commands());
    // Filters that the first copy brings.
    play(&mut db, &mut random, &mut acknowledged, commands / 10);
    let link = Link::to(primary.port());
    let replica = primary.replica_through(link.port(), &[]);
    for cut in 0..cuts {
        cut_link(&link, cut, &mut random);
        play(&mut db, &mut random, &mut acknowledged, commands / cuts);
        link.repair();
        primary.wait_for(&replica);
        assert_nothing_denied(&mut replica.connect(), &acknowledged);
    }
    for server in [&primary, &replica] {
        assert_no_error_line(server);
    }
    let mut promoted = replica.connect();
    promoted.run("REPLICAOF NO ONE");
    assert_nothing_denied(&mut promoted, &acknowledged);
    let ignored = promoted.info("bf", "bf_replays_ignored");
    assert_eq!(promoted.info("bf", "bf_replays_refused"), "0");
    promoted.run("DEBUG RELOAD");
    assert_nothing_denied(&mut promoted, &acknowledged);
    let full = db.info("stats", "sync_full");
    let (_, items) = acknowledged.questions();
    eprintln!(
        "replica: {commands} commands, {cuts} cuts, {full} full copies, {items} items, 0 denied, \
         {ignored} commands ignored"
    );
}

/// Cuts `link` for the `cut`-th time.
pub fn cut_link(link: &Link, cut: u64, random: &mut Random) {
    match cut % 3 {
        // Partly resynchronised from the backlog,
        0 => link.cut(),
        1 => link.cut_after(random.below(100_000)),
        // or in full, as the backlog has not lasted.
        _ => link.break_after(random.below(10_000)),
    }
}

/// The replica writes an append-only file of its own, and starts again from it.
#[test]
fn the_append_only_file_of_a_replica_has_all_that_its_primary_acknowledged() {
    let Some(options) = peer() else { return };
    let primary = Server::with(options);
    let mut random = Random::seeded(number("SEED", 1) + 1);
    let mut acknowledged = Acknowledged::default();
    let mut db = primary.connect();
    db.run_all(first_commands());
    play(&mut db, &mut random, &mut acknowledged, 5000);
    let mut replica = Server::with(Options::settings(&[
        "appendonly yes",
        "appendfsync no",
        "aof-use-rdb-preamble no",
    ]));
    replica.connect().run(&format!("REPLICAOF 127.0.0.1 {}", primary.port()));
    primary.wait_for(&replica);
    play(&mut db, &mut random, &mut acknowledged, 5000);
    primary.wait_for(&replica);
    replica.connect().run("REPLICAOF NO ONE");
    replica.shut_down("SHUTDOWN");
    replica.start_again();
    assert_nothing_denied(&mut replica.connect(), &acknowledged);
    assert_no_error_line(&replica);
}

fn play(db: &mut Connection, random: &mut Random, acknowledged: &mut Acknowledged, commands: u64) {
    let mut left = commands;
    while left > 0 {
        // A command that deletes depends on the replies before: each is awaited.
        for _ in 0..left.min(BATCH) {
            let command = acknowledged.next(random);
            let reply = db.call(&command.words);
            acknowledged.note(command, &reply);
        }
        left = left.saturating_sub(BATCH);
    }
}

fn assert_nothing_denied(db: &mut Connection, acknowledged: &Acknowledged) {
    let (questions, _) = acknowledged.questions();
    let replies = db.pipeline(questions.clone());
    for (question, reply) in questions.iter().zip(&replies) {
        let key = String::from_utf8_lossy(&question[1]).into_owned();
        let answers = question[2..].iter().zip(reply.elements());
        let denied = answers.filter(|(_, answer)| answer.integer() != 1);
        let denied: Vec<_> = denied.map(|(item, _)| String::from_utf8_lossy(item)).collect();
        assert!(denied.is_empty(), "{key} denies {denied:?}");
    }
}

fn assert_no_error_line(server: &Server) {
    /// What a log says of errors all the same: RedisBloom's note that it caps a rate, and a link
    /// that was cut.
    const FINE: [&str; 4] = ["capped", "connection", "sync", "reading from"];
    let mut lines = server.errors_logged();
    lines.retain(|line| line.contains("critical") || !FINE.iter().any(|fine| line.contains(fine)));
    assert!(lines.is_empty(), "{lines:#?}");
}
