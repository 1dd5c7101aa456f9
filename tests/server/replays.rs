//! A refusal in a replay loses something, so it is always logged: in an append-only file, and in
//! the stream of a primary.
//!
//! Each kind of chunk, header and value is damaged at a hundred places, one bit at a time, each
//! under a key of its own.

use splitbloom_harness::kinds::{kinds, Command, Kind, PLACES};
use splitbloom_harness::samples::{payload, ALL, CUCKOO, GROWING, OF_VALKEY_BLOOM};
use splitbloom_harness::{
    encoded, server_with_log, stopped_server_with_log, words, Options, Primary, Server,
};

/// The setting with which a file loads although commands in it are refused.
const WAY_OUT: &str = "bf.aof-load-damaged yes";

/// Whatever a key may be, the log shows it on one line.
const KEY: &[u8] = b"k%n%s\"\r\n\0\xff";
const SHOWN: &str = r#"key "k%n%s\"\r\n\x00\xff""#;

const SEED: &str = "00112233aabbccdd";

/// All kinds at all places, each under a key of its own.
fn each_damaged(kinds: &[Kind]) -> impl Iterator<Item = (&Kind, String, Vec<Command>)> {
    kinds.iter().flat_map(|kind| {
        (0..PLACES).map(move |place| {
            let key = format!("{}:{place}.", kind.name);
            let commands = kind.damaged(place, key.as_bytes());
            (kind, key, commands)
        })
    })
}

/// No key has false negatives, unless the log names it.
fn assert_nothing_is_denied_without_a_word(server: &Server, kinds: &[Kind], source: &str) {
    let log = server.log();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains(source)).collect();
    let mut db = server.connect();
    let refused = db.info_number("bf", "bf_replays_refused");
    assert_eq!(lines.len() as i64, refused);
    for (kind, key, _) in each_damaged(kinds) {
        let named = format!("key \"{key}\"");
        if !lines.iter().any(|line| line.contains(&named)) {
            kind.assert_is_under(&mut db, &key);
        }
    }
    for kind in kinds {
        let start = format!("key \"{}:", kind.name);
        let named = lines.iter().filter(|line| line.contains(&start));
        kind.assert_enough_are_named(named.count());
    }
}

#[test]
fn no_file_with_a_damaged_bit_denies_an_item_without_a_word() {
    let kinds = kinds();
    let commands = each_damaged(&kinds).flat_map(|(_, _, commands)| commands);
    let file: Vec<u8> = commands.flat_map(encoded).collect();
    let server = server_with_log(tolerant().and_settings(&[WAY_OUT]), &file);
    assert_nothing_is_denied_without_a_word(&server, &kinds, "from the append-only file");
}

#[test]
fn no_stream_with_a_damaged_bit_denies_an_item_without_a_word() {
    let kinds = kinds();
    let replica = Server::with(tolerant());
    let mut primary = Primary::with_empty_replica(&replica);
    for (_, _, commands) in each_damaged(&kinds) {
        commands.into_iter().for_each(|command| primary.send(command));
    }
    primary.wait_for(&replica);
    assert_nothing_is_denied_without_a_word(&replica, &kinds, "from the replication stream");
    // The server has its own line for each, and counts it.
    let mut db = replica.connect();
    let refused = db.info_number("bf", "bf_replays_refused");
    let errors = db.info_number("stats", "unexpected_error_replies");
    assert_eq!(errors, refused);
    assert_eq!(replica.log().matches("== CRITICAL ==").count() as i64, refused);
}

/// Commands that lose something, and words of the reason.
fn refusals() -> Vec<(Vec<Command>, &'static str)> {
    let kinds = kinds();
    let mut refusals = Vec::new();
    for name in ["table", "bloom", "window", "counting"] {
        let kind = kinds.iter().find(|kind| kind.name == name);
        let damaged = kind.expect("a kind").damaged(PLACES / 2, KEY);
        refusals.push((damaged, "ERR received bad data"));
    }
    let on = |line: &str| {
        let mut command = words(line);
        command[1] = KEY.to_vec();
        command
    };
    let load = vec![b"BF.LOAD".to_vec(), KEY.to_vec(), b"nonsense".to_vec()];
    refusals.push((vec![load.clone()], "ERR received bad data"));
    refusals.push((vec![on("BF.ADD k a"), load], "ERR item exists"));
    for sample in [GROWING, CUCKOO] {
        let (end, bytes) = sample.pieces().remove(0);
        let mut header = sample.family.loading("", end, &bytes[1..]);
        header[1] = KEY.to_vec();
        refusals.push((vec![header], "ERR received bad data"));
    }
    for (line, reason) in [
        ("BF.RESERVE k 0 100 SEED 00112233aabbccdd", "ERR error rate"),
        ("BF.RESERVE k 0.01 100 EXPANSION 2 SEED 00112233aabbccdd NEWWORD", "ERR syntax error"),
        ("CF.RESERVE k 100 NEWWORD ERROR 0.01 SEED 00112233aabbccdd", "ERR syntax error"),
        ("BF.INSERT k NEWWORD 1 SEED 00112233aabbccdd ITEMS hidden", "ERR syntax error"),
        ("BF.INSERT k NOCREATE ITEMS hidden", "ERR not found"),
        ("BF.INSERT k AT 1 ITEMS hidden", "ERR a window is missing"),
        ("BF.PACKADD k FIXED 4 hidden", "ERR bad packing"),
        ("BF.MERGE k 1 missing", "ERR not found"),
        ("BF.LOADCHUNK k 7 hidden", "ERR received bad data"),
        ("CF.LOADCHUNK k 7 hidden", "ERR received bad data"),
        ("CF.INSERT k NOCREATE ITEMS hidden", "ERR not found"),
    ] {
        refusals.push((vec![on(line)], reason));
    }
    for line in ["BF.ADD k hidden", "CF.DEL k hidden", "BF.FORGET k 1"] {
        let text = on("SET k hidden");
        refusals.push((vec![text, on(line)], "WRONGTYPE"));
    }
    refusals
}

fn assert_says_what_was_refused(log: &str, command: &Command, reason: &str) {
    let name = String::from_utf8_lossy(&command[0]).to_lowercase();
    let line = log.lines().find(|line| line.contains("refused "));
    let line = line.unwrap_or_else(|| panic!("no line: {log}"));
    for words in [&format!("refused {name} from "), reason, SHOWN] {
        assert!(line.contains(words), "no {words} in {line}");
    }
    for secret in ["hidden", SEED] {
        assert!(!line.contains(secret), "{line}");
    }
}

#[test]
fn a_server_does_not_start_from_a_file_of_which_a_command_is_refused() {
    let mut server = stopped_server_with_log(Options::default(), b"");
    let base = server.folder().join("appendonlydir/appendonly.aof.1.base.aof");
    for (commands, reason) in refusals() {
        let mut file: Vec<u8> = commands.iter().flat_map(encoded).collect();
        file.extend(encoded(words("BF.ADD k later")));
        std::fs::write(&base, &file).expect("a file");
        let (status, log) = server.start_in_vain();
        assert_eq!(status, Some(1), "{log}");
        assert!(!log.contains("BUG REPORT") && !log.contains("Ready to accept"), "{log}");
        assert!(log.contains("bf.aof-load-damaged"), "{log}");
        assert_says_what_was_refused(&log, &commands[commands.len() - 1], reason);
    }
    // Within a transaction, too.
    let transaction = ["MULTI", "BF.ADD k a", "BF.INSERT l NOCREATE ITEMS a", "EXEC"];
    let file: Vec<u8> = transaction.iter().flat_map(|line| encoded(words(line))).collect();
    std::fs::write(&base, &file).expect("a file");
    assert_eq!(server.start_in_vain().0, Some(1));
    // A command with too few words reads nothing beyond them, even if the server does not check.
    std::fs::write(&base, encoded(words("BF.ADD k"))).expect("a file");
    let (status, log) = server.start_in_vain();
    assert_eq!(status, Some(1));
    assert!(log.contains("wrong number of arguments") && !log.contains("panic"), "{log}");
}

/// The script gets the reply and handles it: a server crashes on a script that ends with an error,
/// whatever the command.
#[test]
fn a_refusal_in_a_script_in_a_file_is_named_as_such_and_does_not_stop_the_start() {
    let script = "redis.pcall('BF.LOADCHUNK', KEYS[1], 7, 'hidden')";
    let mut file = encoded([b"EVAL", script.as_bytes(), b"1", KEY]);
    file.extend(encoded(words("BF.ADD k later")));
    let server = server_with_log(Options::default(), &file);
    let line = server.logged("refused bf.loadchunk");
    for words in ["from a script or a module while a file loads", SHOWN] {
        assert!(line.contains(words), "no {words} in {line}");
    }
    let mut db = server.connect();
    assert_eq!(db.info("bf", "bf_replays_refused"), "1");
    assert_eq!(db.ask("BF.EXISTS k later"), ":1");
}

#[test]
fn a_stream_gets_the_error_of_what_it_loses() {
    for (commands, reason) in refusals() {
        let replica = Server::with(tolerant());
        let mut primary = Primary::with_empty_replica(&replica);
        commands.iter().for_each(|command| primary.send(command));
        primary.wait_for(&replica);
        let log = replica.log();
        let refused = &commands[commands.len() - 1];
        assert_says_what_was_refused(&log, refused, reason);
        assert_eq!(log.matches("== CRITICAL ==").count(), 1, "{log}");
        let mut db = replica.connect();
        assert_eq!(db.info("bf", "bf_replays_refused"), "1");
        assert_eq!(db.info("bf", "bf_replays_ignored"), "0");
        drop(primary);
    }
}

/// The server checks the payload of a RESTORE, and goes on loading the file; it says so itself.
#[test]
fn a_damaged_value_in_a_file_or_a_stream_is_never_without_a_word() {
    let (_donor, mut db) = Server::start().with_client();
    db.run("BF.RESERVE ours 0.01 100");
    db.run("CF.RESERVE counting 100");
    let mut payloads: Vec<Vec<u8>> = ["ours", "counting"].iter().map(|key| db.dump(key)).collect();
    for sample in ALL.into_iter().chain(OF_VALKEY_BLOOM) {
        payloads.push(payload(&mut db, &sample.body()));
    }
    let mut damaged = Vec::new();
    for (number, payload) in payloads.iter().enumerate() {
        for place in 0..PLACES {
            let (mut bytes, key) = (payload.clone(), format!("{number}:{place}"));
            let bit = place * bytes.len() * 8 / PLACES;
            bytes[bit / 8] ^= 1 << (bit % 8);
            damaged.push(vec![b"RESTORE".to_vec(), key.into(), b"0".to_vec(), bytes]);
        }
    }
    let file: Vec<u8> = damaged.iter().flat_map(encoded).collect();
    let server = server_with_log(tolerant(), &file);
    let replica = Server::with(tolerant());
    let mut primary = Primary::with_empty_replica(&replica);
    damaged.iter().for_each(|command| primary.send(command));
    primary.wait_for(&replica);
    for server in [&server, &replica] {
        let mut db = server.connect();
        let keys = db.run("DBSIZE").integer();
        let errors = db.info_number("stats", "unexpected_error_replies");
        assert_eq!(keys + errors, damaged.len() as i64);
    }
}

#[test]
fn a_value_that_the_module_refuses_is_named_by_its_key() {
    let (server, mut db) = Server::start().with_client();
    db.run("BF.RESERVE donor 0.01 100");
    let footer = 10;
    let body = db.dump("donor");
    let body = &mut body[..body.len() - footer].to_vec();
    let middle = body.len() / 2;
    body[middle] ^= 1;
    let payload = payload(&mut db, body);
    let reply = db.call([b"RESTORE".as_slice(), KEY, b"0", &payload]);
    assert!(reply.is_error(), "{reply}");
    let line = server.logged("refused a value");
    assert!(line.to_lowercase().contains(SHOWN), "{line}");
    assert_eq!(db.info("bf", "bf_values_refused"), "1");
}

/// Commands may be refused on the server, which does not die of it.
fn tolerant() -> Options {
    Options { provokes_replay_errors: true, ..Options::default() }
}
