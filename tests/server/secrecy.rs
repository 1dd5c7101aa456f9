//! The seed of a filter is a secret: whoever has it can choose items that collide. Nothing that shows commands or states shows it.

use crate::harness::{load_pieces, scan_dump, Connection, Server};

const SEED: &str = "5eed5eed5eed5eed";
/// The same, as a piece of SCANDUMP has it, in the escapes of MONITOR and SLOWLOG.
const SEED_IN_A_PIECE: &str = "\\xed^\\xed^\\xed^\\xed^";

#[test]
fn monitor_and_slow_log_show_no_seed_on_the_primary_nor_on_the_replica() {
    let everything_is_slow = ["slowlog-log-slower-than 0", "slowlog-max-len 1000"];
    let primary = Server::configured(&everything_is_slow);
    let replica = primary.replica(&everything_is_slow);
    primary.wait_for(&replica);
    let mut monitors: Vec<Connection> = [&primary, &replica]
        .map(|server| server.connect())
        .into_iter()
        .collect();
    for monitor in &mut monitors {
        monitor.run("MONITOR");
    }

    let mut db = primary.connect();
    db.run(&format!("BF.RESERVE k 0.01 100 SEED {SEED}"));
    db.line(&format!("BF.RESERVE k 0.01 nonsense SEED {SEED}"));
    db.run("BF.ADD k a");
    let pieces = scan_dump(&mut db, "k");
    load_pieces(&mut db, "copy", &pieces);
    db.run("BF.ADD made-by-an-add a");
    db.run("ECHO done");
    db.run("SET done 1");
    primary.wait_for(&replica);
    assert_eq!(db.digest("k"), db.digest("copy"));

    for (server, monitor) in [&primary, &replica].into_iter().zip(&mut monitors) {
        let mut shown = Vec::new();
        while !shown
            .last()
            .is_some_and(|line: &String| line.contains("\"SET\" \"done\""))
        {
            shown.push(monitor.receive().to_string());
        }
        shown.push(server.connect().run("SLOWLOG GET -1").to_string());
        let shown = shown.join("\n");
        assert!(shown.contains("BF.RESERVE") && shown.contains("BF.LOADCHUNK"));
        assert!(shown.contains("(redacted)"), "{shown}");
        assert!(!shown.contains(SEED), "{shown}");
        assert!(!shown.contains(SEED_IN_A_PIECE), "{shown}");
        let after_seed = shown.split("\"SEED\" ").skip(1);
        assert!(
            after_seed
                .into_iter()
                .all(|rest| rest.starts_with("\"(redacted)\"")),
            "{shown}"
        );
    }
}

#[test]
fn a_redacted_piece_still_reaches_the_replica_and_the_append_only_file() {
    let mut primary = Server::configured(&[
        "appendonly yes",
        "appendfsync no", // or what came during a flush to the disk is not in the file yet
        "aof-use-rdb-preamble no",
    ]);
    let replica = primary.replica(&[]);
    let mut db = primary.connect();
    db.run(&format!("BF.RESERVE k 0.01 100 SEED {SEED}"));
    db.run("BF.ADD k a");
    let pieces = scan_dump(&mut db, "k");
    load_pieces(&mut db, "copy", &pieces);
    let digest = db.digest("copy");
    primary.wait_for(&replica);
    assert_eq!(replica.connect().digest("copy"), digest);
    primary.restart();
    let mut db = primary.connect();
    assert_eq!(
        [db.digest("k"), db.digest("copy")],
        [digest.clone(), digest]
    );
}
