//! Sketches as values: measured, replicated, restored. What holds for all families is in
//! `crate::values`.

use crate::module::server;
use splitbloom_harness::{
    commands_in_append_only_file, eventually, now, words, Connection, Server,
};

#[test]
fn what_is_replicated_says_the_dimensions_and_the_time() {
    let (server, mut db) = Server::with_sketches(&["appendonly yes"]).with_client();
    db.run_all([
        "CMS.INITBYPROB k 0.001 0.01",
        "CMS.INITBYPROB w 0.001 0.01 WINDOW 60",
        "CMS.INCRBY k a 1",
        "CMS.QUERY k a",
        "CMS.INCRBY w a 1 b 2",
    ]);
    db.line("CMS.INCRBY k b -1");
    db.line("CMS.INITBYDIM k 1 1");
    let commands = commands_in_append_only_file(&server);
    assert_eq!(
        commands[..3],
        ["CMS.INITBYDIM k 2000 7", "CMS.INITBYDIM w 2000 7 WINDOW 60 SLICES 8", "CMS.INCRBY k a 1",]
    );
    assert_eq!(commands.len(), 4);
    let words: Vec<&str> = commands[3].split(' ').collect();
    assert_eq!((&words[..2], &words[3..]), (&["CMS.INCRBYAT", "w"][..], &["a", "1", "b", "2"][..]));
    assert!(words[2].parse::<u64>().unwrap() > 1_700_000_000_000);
}

/// Each run of items that were counted is a command of its own.
#[test]
fn what_does_not_fit_is_not_replicated() {
    let (server, mut db) = Server::with_sketches(&["appendonly yes"]).with_client();
    db.run("CMS.INITBYPROB k 0.001 0.01 CELL_SIZE 1");
    db.run("CMS.INITBYDIM w 2000 7 CELL_SIZE 2 WINDOW 3600");
    let now = now();
    for line in [
        "CMS.INCRBY k a 1 b 256 c 3 d 4 a -2 c -1",
        "CMS.INCRBY k a 255",
        "CMS.PACKINCR k BY 253 LINES a\\nc\\nd\\nx",
        "CMS.PACKINCR k FIXED 1 abab",
        "CMS.PACKINCR k BY -255 FIXED 1 d",
        &format!("CMS.INCRBYAT w {now} a 65536 b 1 a -1"),
        &format!("CMS.INCRBYAT w {now} a 65536"),
        &format!("CMS.PACKINCR w AT {now} BY 65535 FIXED 1 aba"),
        &format!("CMS.PACKINCR w AT {now} BY 65535 FIXED 1 ab"),
    ] {
        db.call(
            words(line)
                .into_iter()
                .map(|word| String::from_utf8_lossy(&word).replace("\\n", "\n").into_bytes()),
        );
    }
    let commands = commands_in_append_only_file(&server);
    assert_eq!(
        commands,
        [
            "CMS.INITBYDIM k 2000 7 CELL_SIZE 1",
            "CMS.INITBYDIM w 2000 7 CELL_SIZE 2 WINDOW 3600 SLICES 8",
            "MULTI",
            "CMS.INCRBY k a 1",
            "CMS.INCRBY k c 3 d 4",
            "CMS.INCRBY k c -1",
            "EXEC",
            "CMS.PACKINCR k BY 253 LINES a\nc\nx\n",
            "CMS.PACKINCR k FIXED 1 abb",
            &format!("CMS.INCRBYAT w {now} b 1"),
            &format!("CMS.INCRBYAT w {now}"),
            &format!("CMS.PACKINCR w AT {now} BY 65535 FIXED 1 a"),
            &format!("CMS.INCRBYAT w {now}"),
        ]
    );
}

#[test]
fn memory_returns_with_the_last_of_what_shares_it() {
    let (_server, mut db) = server().with_client();
    let held = |db: &mut Connection| db.info_number("sketch", "sketch_bytes_held");
    let before = held(&mut db);
    db.run_all(["CMS.INITBYDIM k 2000000 7", "CMS.INCRBY k a 1", "COPY k copy"]);
    db.run_all(["CMS.INCRBY copy b 1", "UNLINK k", "DEL copy"]);
    eventually("memory returns", || held(&mut db) == before);
    assert_eq!(db.info_number("sketch", "sketch_sketches"), 0);
}

#[test]
fn a_sum_beyond_the_limit_is_refused() {
    let (_server, mut db) = server().with_client();
    let refused = "-CMS: sketches to merge would exceed sketch.max-merge-bytes";
    db.converse(&[
        ("CMS.INITBYDIM k 134201344 1", "+OK"),
        ("CMS.INCRBY k a 7", "[:7]"),
        ("CMS.MERGE k 3 k k k", refused),
        ("CMS.MERGE k 2 k k", "+OK"),
        ("CMS.QUERY k a", "[:14]"),
        ("CMS.INITBYDIM small 5 2", "+OK"),
        ("CONFIG SET sketch.max-merge-bytes 79", "+OK"),
        ("CMS.MERGE small 2 small small", refused),
        ("CMS.MERGE small 2 small none", "-CMS: key does not exist"),
        ("CONFIG SET sketch.max-merge-bytes 80", "+OK"),
        ("CMS.MERGE small 2 small small", "+OK"),
    ]);
}
