//! What RedisBloom has accepted comes in its stream and its append-only file, and is accepted here.

use crate::module::server;
use splitbloom_harness::{encoded, server_with_log, words, Connection, Options, Primary, Server};

/// Commands that RedisBloom accepts (2.8, on Redis 7.4 to 8.6), beyond the limits of new values or
/// in another form.
const COMMANDS: [&str; 20] = [
    "CMS.INITBYPROB by-bounds 0x1p-7 0x1p-4",
    "CMS.INITBYDIM deep 5 100000",
    "CMS.INCRBY deep a 3",
    "CMS.INITBYDIM wide 2000000000 7",
    "TOPK.RESERVE half 3 8 7 0x1p-1",
    "TOPK.RESERVE deep-list 3 8 100000 0x.8",
    "TOPK.ADD deep-list a",
    "TOPK.RESERVE long 2000000",
    "TDIGEST.CREATE d",
    "TDIGEST.ADD d 0x10 1 -0X1.8P3 +.5 5. 1e-320 0x1p-1074",
    "TDIGEST.CREATE largest COMPRESSION 357913939",
    "TDIGEST.CREATE overflown COMPRESSION 4294967301",
    "TDIGEST.ADD overflown 0x1p+2",
    "TDIGEST.MERGE merged 1 d COMPRESSION 1000000 x",
    "TDIGEST.MERGE to 1 d x COMPRESSION 50 COMPRESSION y",
    "TDIGEST.MERGE to 1 d",
    "TDIGEST.MERGE over 2 d to",
    "TDIGEST.MERGE over 1 to x OVERRIDE",
    "TDIGEST.CREATE heavy",
    "TDIGEST.ADD heavy 1 2 3",
];

/// How often RedisBloom can double three numbers: then they are 3 · 2^61, below 2^63.
const DOUBLINGS: usize = 61;

/// Each with what it has left behind.
const REPLIES: [(&str, &str); 13] = [
    ("CMS.INFO by-bounds", "[+width, :256, +depth, :4, +count, :0, +cell_size, :4]"),
    ("CMS.INFO deep", "[+width, :5, +depth, :100000, +count, :3, +cell_size, :4]"),
    ("CMS.QUERY deep a", "[:3]"),
    ("CMS.INFO wide", "[+width, :2000000000, +depth, :7, +count, :0, +cell_size, :4]"),
    ("TOPK.INFO half", "[+k, :3, +width, :8, +depth, :7, +decay, $0.5]"),
    ("TOPK.LIST deep-list WITHCOUNT", "[$a, :1]"),
    ("TOPK.LIST long", "[]"),
    ("TDIGEST.BYRANK d 0 4 5 6", "[$-12, $1, $5, $16]"),
    ("TDIGEST.MAX overflown", "$4"),
    ("TDIGEST.RANK merged 99", "[:7]"),
    ("TDIGEST.RANK to 99", "[:14]"),
    ("TDIGEST.RANK over 99", "[:14]"),
    ("TDIGEST.QUANTILE heavy 0 1", "[$1, $3]"),
];

fn all() -> impl Iterator<Item = &'static str> {
    let doublings = std::iter::repeat_n("TDIGEST.MERGE heavy 1 heavy", DOUBLINGS);
    COMMANDS.into_iter().chain(doublings)
}

fn assert_all_are_there(db: &mut Connection) {
    db.converse(&REPLIES);
    let heavy = db.line("TDIGEST.INFO heavy").field("Observations").integer();
    assert!((heavy as f64 / (3.0 * 2_f64.powi(61)) - 1.0).abs() < 1e-12, "{heavy}");
    let compressions = ["largest", "overflown", "merged", "to"]
        .map(|key| db.line(&format!("TDIGEST.INFO {key}")).field("Compression").integer());
    assert_eq!(compressions, [357_913_939, 357_913_939, 1_000_000, 50]);
    assert_eq!(db.info_number("sketch", "sketch_replays_refused"), 0);
}

#[test]
fn a_replica_accepts_what_redisbloom_accepts() {
    let replica = server();
    let mut primary = Primary::with_empty_replica(&replica);
    let commands: Vec<&str> = std::iter::once("SELECT 0").chain(all()).collect();
    primary.send_all(&replica, &commands);
    assert_all_are_there(&mut replica.connect());
}

#[test]
fn a_server_starts_from_an_append_only_file_with_what_redisbloom_accepts() {
    let file: Vec<u8> = all().flat_map(|line| encoded(words(line))).collect();
    let options = Options { with_sketches: true, ..Options::default() };
    let server = server_with_log(options, &file);
    assert_all_are_there(&mut server.connect());
}

#[test]
fn what_redisbloom_refuses_is_refused_in_a_replay() {
    let options =
        Options { with_sketches: true, provokes_replay_errors: true, ..Options::default() };
    let replica = Server::with(options);
    let mut primary = Primary::with_empty_replica(&replica);
    let refused = [
        "TDIGEST.ADD d 0x",
        "TDIGEST.ADD d 0x1p1024",
        "TDIGEST.ADD d nan",
        "TDIGEST.ADD d inf",
        "TDIGEST.CREATE n COMPRESSION 0x10",
        "CMS.INITBYDIM n 0x10 1",
        "CMS.INITBYPROB n 0x1 0.1",
        "TOPK.RESERVE n 3 8 7 0x1.8p0",
    ];
    let commands = ["SELECT 0", "TDIGEST.CREATE d"];
    primary.send_all(&replica, &[&commands[..], &refused].concat());
    let mut db = replica.connect();
    assert_eq!(db.info_number("sketch", "sketch_replays_refused"), refused.len() as i64);
    db.converse(&[("EXISTS n", ":0"), ("TDIGEST.RANK d 0", "[:-2]")]);
}
