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
        "appendfsync no",
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

#[test]
fn no_answer_and_no_log_shows_a_seed() {
    let server = Server::configured(&["loglevel debug"]);
    let mut db = server.connect();
    db.run(&format!("BF.RESERVE k 0.01 100 SEED {SEED}"));
    db.run("BF.ADD k a");
    let pieces = scan_dump(&mut db, "k");
    load_pieces(&mut db, "copy", &pieces);
    let mut cut = pieces[0].1.clone();
    cut.pop();
    let mut shown = vec![
        db.ask(&format!("BF.RESERVE k 0.01 100 SEED {SEED}")),
        db.ask(&format!("BF.RESERVE other 0.01 0 SEED {SEED}")),
        db.call([
            b"BF.LOADCHUNK".to_vec(),
            b"cut".to_vec(),
            b"1".to_vec(),
            cut,
        ])
        .to_string(),
    ];
    for question in [
        "INFO everything",
        "BF.INFO k FULL",
        "BF.INFO copy FULL",
        "CLIENT LIST",
        "CONFIG GET *",
        "MODULE LIST",
        "DEBUG OBJECT k",
        "MEMORY STATS",
        "LATENCY LATEST",
    ] {
        shown.push(db.run(question).to_string());
    }
    db.run("DEBUG RELOAD");
    shown.push(server.log());
    let shown = shown.join("\n").to_lowercase();
    let as_a_number = u64::from_str_radix(SEED, 16).expect("a seed").to_string();
    for secret in [SEED, SEED_IN_A_PIECE, &as_a_number] {
        assert!(!shown.contains(secret), "{secret} in {shown}");
    }
}

/// The rules of docs/security.md.
const USERS: [(&str, &str, &[&str]); 2] = [
    (
        "asks",
        "on >password resetkeys %R~seen:* resetchannels -@all +bf.exists +bf.mexists",
        &["BF.EXISTS seen:k a", "BF.MEXISTS seen:k a b"],
    ),
    (
        "adds",
        "on >password resetkeys ~seen:* resetchannels -@all +bf.exists +bf.mexists +bf.add +bf.madd",
        &[
            "BF.EXISTS seen:k a",
            "BF.MEXISTS seen:k a b",
            "BF.ADD seen:k a",
            "BF.MADD seen:k a b",
        ],
    ),
];

#[test]
fn the_rules_for_users_one_does_not_trust_allow_just_what_they_say() {
    let server = Server::start();
    let mut admin = server.connect();
    admin.run("BF.RESERVE seen:k 0.01 100");
    admin.run("BF.RESERVE other 0.01 100");
    let everything = [
        "BF.EXISTS seen:k a",
        "BF.MEXISTS seen:k a b",
        "BF.ADD seen:k a",
        "BF.MADD seen:k a b",
        "BF.EXISTS other a",
        "BF.ADD other a",
        "BF.SCANDUMP seen:k 0",
        "BF.LOADCHUNK seen:new 1 a",
        "BF.RESERVE seen:new 0.01 100",
        "BF.INSERT seen:new ITEMS a",
        "BF.INFO seen:k FULL",
        "DUMP seen:k",
        "DEL seen:k",
    ];
    for (user, rules, allowed) in USERS {
        admin.run(&format!("ACL SETUSER {user} {rules}"));
        let mut db = server.connect();
        db.run(&format!("AUTH {user} password"));
        for command in everything {
            let refused = db.ask(command).starts_with("-NOPERM");
            assert_eq!(!refused, allowed.contains(&command), "{user}: {command}");
        }
    }
}
