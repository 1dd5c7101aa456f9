//! Commands that reply with an error among their answers, in the stream of a primary and in a file:
//! a server with `propagation-error-behavior panic` dies of one error in a replay.

use splitbloom_harness::{now, Primary, Server, APPEND_ONLY};

const KEYS: [&str; 9] = [
    "CMS.INITBYDIM counts 500 3",
    "CMS.INITBYDIM day 500 3 WINDOW 86400",
    "CMS.INITBYDIM bytes 500 3 CELL_SIZE 1",
    "CMS.INITBYDIM words 500 3 CELL_SIZE 8 WINDOW 86400",
    "TOPK.RESERVE top 2 50 3 0.9",
    "TOPK.RESERVE hour 2 50 3 0.9 WINDOW 3600",
    "BF.RESERVE full 0.000001 10 NONSCALING",
    "CF.RESERVE few 2 EXPANSION 0",
    "CF.RESERVE many 1000",
];

/// Commands of both modules that reply with an error among their answers, or in place of one.
fn commands() -> Vec<String> {
    let now = now();
    let copies = " a".repeat(300);
    let lines = [
        "CMS.INCRBY counts a 4294967294 b 1 a 1 c 9223372036854775807",
        "CMS.INCRBY counts a 1",
        "CMS.INCRBY day a 9223372036854775807 b 1",
        &format!("CMS.INCRBYAT day {now} a 0 b 4294967295"),
        "CMS.INCRBY counts b -2 d 3 b -2",
        "CMS.INCRBY bytes a 250 b 300 a 10 b -1 c 5 a -20",
        &format!("CMS.INCRBYAT words {now} a 9223372036854775807 b 1 a -1 b 1 c -1"),
        "TOPK.INCRBY top a 5 b x c 7",
        "TOPK.INCRBY top b 100001",
        "TOPK.INCRBY hour a 5 b -1",
        &format!("TOPK.INCRBYAT hour {now} c 2 d x"),
        "BF.MADD full a b c d e f g h i j k l m n",
        "BF.INSERT full ITEMS o p q",
        "BF.PACKADD full FIXED 1 0123456789",
        "BF.PACKADD full FIXED 1 0123456789 BITS",
        "CF.INSERT few ITEMS a b c d",
        "CF.INSERTNX few ITEMS a b c d",
        "CF.PACKADD few FIXED 1 abcd",
        &format!("CF.INSERT many ITEMS{copies}"),
    ];
    lines.map(str::to_owned).into()
}

fn assert_took_no_error(server: &Server) {
    let log = server.log();
    assert!(!log.contains("sending an error") && !log.contains("CRITICAL"), "{log}");
    let mut db = server.connect();
    for (section, field) in [("sketch", "sketch_replays_refused"), ("bf", "bf_replays_refused")] {
        assert_eq!(db.info_number(section, field), 0);
    }
}

#[test]
fn an_error_among_the_answers_is_none_on_a_replica_or_in_a_file() {
    let (mut primary, mut db) = Server::with_sketches(&APPEND_ONLY).with_client();
    let replica = primary.replica(&[]);
    db.run_all(KEYS);
    for command in commands() {
        let reply = db.line(&command).to_string();
        assert!(reply.contains('-') || command.starts_with("CF.INSERT many"), "{command}: {reply}");
    }
    let digest = primary.assert_equal(&replica);
    assert_took_no_error(&replica);
    primary.restart();
    assert_eq!(primary.connect().digest_of_everything(), digest);
    assert_took_no_error(&primary);
}

/// RedisBloom replicates these as the client sent them.
#[test]
fn an_error_among_the_answers_is_none_to_a_primary_that_sends_the_whole_command() {
    let replica = Server::with_sketches(&[]);
    let mut primary = Primary::with_empty_replica(&replica);
    let commands = commands();
    let is_redisblooms = |line: &&str| line.starts_with("CMS.") || line.starts_with("TOPK.");
    let mut lines = vec!["SELECT 0"];
    lines.extend(KEYS.iter().copied().filter(is_redisblooms));
    lines.extend(commands.iter().map(String::as_str).filter(is_redisblooms));
    primary.send_all(&replica, &lines);
    assert_took_no_error(&replica);
    let mut db = replica.connect();
    db.converse(&[
        // Before Redis 8.12 a counter stopped at its end, and none had other than 4 bytes.
        ("CMS.QUERY counts a b c d", "[:4294967295, :1, :4294967295, :3]"),
        ("CMS.QUERY bytes a b c", "[:230, :0, :5]"),
        ("TOPK.COUNT top a b c", "[:5, :0, :0]"),
    ]);
}
