//! The words of filters that forget, and what is wrong with them.

use crate::windows::now;
use splitbloom_harness::Server;

#[test]
fn words_come_in_any_order_and_case() {
    let server = Server::start();
    server.connect().converse(&[
        ("BF.RESERVE a 0.01 100 WINDOW 60", "+OK"),
        ("BF.RESERVE b 0.01 100 renew slices 4 window 60 EXPANSION 2", "+OK"),
        ("BF.RESERVE c 0.01 100 WINDOW 60 NONSCALING SEED 00000000000000ff", "+OK"),
        ("BF.RESERVE d 0.01 100 WINDOW 1 SLICES 2 WINDOW 315360000 SLICES 14 3", "+OK"),
        (
            "BF.INSERT e AT 1000000000005 RENEW WINDOW 60 CAPACITY 9 ERROR 1e-9 SLICES 3 ITEMS AT",
            "[:1]",
        ),
        ("BF.INSERT e NOCREATE AT 1000000000006 ITEMS AT b", "[:0, :1]"),
        ("BF.INSERT e WINDOW 9 SLICES 2 ITEMS AT WINDOW", "[:1, :1]"),
    ]);
    let mut db = server.connect();
    for (key, window, slices, renew) in [
        ("a", ":60", ":8", ":0"),
        ("b", ":60", ":4", ":1"),
        ("c", ":60", ":8", ":0"),
        ("d", ":315360000", ":14", ":0"),
        ("e", ":60", ":3", ":1"),
    ] {
        let info = db.run(&format!("BF.INFO {key} FULL"));
        let said = ["Window", "Slices", "Renew"].map(|name| info.field(name).to_string());
        assert_eq!(said, [window, slices, renew], "{key}");
    }
}

#[test]
fn every_error_names_what_is_wrong_and_nothing_changes() {
    let server = Server::start();
    let mut db = server.connect();
    db.run("BF.RESERVE plain 0.01 100");
    db.run("BF.RESERVE w 0.01 100 WINDOW 60");
    db.run("BF.MADD plain a");
    db.run("BF.MADD w a");
    db.run("CF.RESERVE counting 100");
    db.run("SET text x");
    let before = db.digest_of_everything();
    const RANGE: &str = "-ERR window must be in the range [1, 315360000]";
    const SLICES: &str = "-ERR slices must be in the range [2, 14]";
    const MISSING: &str = "-ERR a window is missing";
    const FUTURE: &str = "-ERR the time is more than one window ahead of the server's clock";
    const SECONDS: &str = "-ERR the time is before 1973: it must be in milliseconds since 1970";
    const TYPE: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";
    let ahead = now() + 70_000;
    for (command, error) in [
        ("BF.RESERVE n 0.01 100 WINDOW 0", RANGE),
        ("BF.RESERVE n 0.01 100 WINDOW 315360001", RANGE),
        ("BF.RESERVE n 0.01 100 WINDOW x", "-ERR bad window"),
        ("BF.RESERVE n 0.01 100 WINDOW 1.5", "-ERR bad window"),
        ("BF.RESERVE n 0.01 100 WINDOW 9 SLICES 1", SLICES),
        ("BF.RESERVE n 0.01 100 WINDOW 9 SLICES 15", SLICES),
        ("BF.RESERVE n 0.01 100 WINDOW 9 SLICES x", "-ERR bad slices"),
        ("BF.RESERVE n 0.01 100 SLICES 8", MISSING),
        ("BF.RESERVE n 0.01 100 RENEW", MISSING),
        ("BF.RESERVE n 0.01 100 WINDOW 9 AT 5", "-ERR syntax error"),
        ("BF.RESERVE w 0.01 100 WINDOW 9", "-ERR item exists"),
        (
            "BF.RESERVE n 0.01 100 WINDOW 9 NONSCALING EXPANSION 2",
            "-ERR Nonscaling filters cannot expand",
        ),
        ("BF.RESERVE n 0.01 100 WINDOW", "-ERR wrong number of arguments for 'bf.reserve' command"),
        (
            "BF.RESERVE n 0.01 100 WINDOW 9 SLICES",
            "-ERR wrong number of arguments for 'bf.reserve' command",
        ),
        ("BF.INSERT n WINDOW 0 ITEMS a", RANGE),
        ("BF.INSERT n WINDOW 9 SLICES 1 ITEMS a", SLICES),
        ("BF.INSERT w SLICES 4 ITEMS b", MISSING),
        ("BF.INSERT w RENEW ITEMS b", MISSING),
        ("BF.INSERT n AT 5 ITEMS a", MISSING),
        ("BF.INSERT plain AT 5 ITEMS b", MISSING),
        ("BF.INSERT n NOCREATE WINDOW 9 AT 5 ITEMS a", "-ERR not found"),
        ("BF.INSERT w AT x ITEMS b", "-ERR bad time"),
        ("BF.INSERT w AT -1 ITEMS b", "-ERR bad time"),
        ("BF.INSERT w AT ITEMS b", "-ERR bad time"),
        ("BF.INSERT w AT 9007199254740991 ITEMS b", FUTURE),
        (&format!("BF.INSERT w AT {ahead} ITEMS b"), FUTURE),
        (&format!("BF.INSERT n WINDOW 60 AT {ahead} ITEMS b"), FUTURE),
        ("BF.PACKADD n AT 5 LINES a", MISSING),
        ("BF.PACKADD plain AT 5 LINES b", MISSING),
        ("BF.PACKADD w AT x LINES b", "-ERR bad time"),
        ("BF.PACKADD w LINES b AT 5", "-ERR syntax error"),
        ("CF.PACKADD counting AT 5 LINES b", "-ERR syntax error"),
        (&format!("BF.PACKADD w AT {ahead} LINES b"), FUTURE),
        (&format!("BF.FORGET w {ahead}"), FUTURE),
        ("BF.INSERT w AT 1789000000 ITEMS b", SECONDS),
        ("BF.INSERT w AT 99999999999 ITEMS b", SECONDS),
        ("BF.INSERT n WINDOW 60 AT 0 ITEMS b", SECONDS),
        ("BF.PACKADD w AT 1789000000 LINES b", SECONDS),
        ("BF.FORGET w 1789000000", SECONDS),
        ("BF.FORGET w x", "-ERR bad time"),
        ("BF.FORGET missing 5", "-ERR not found"),
        ("BF.FORGET plain 5", MISSING),
        ("BF.FORGET counting 5", TYPE),
        ("BF.FORGET text 5", TYPE),
        ("BF.FORGET w", "-ERR wrong number of arguments for 'bf.forget' command"),
    ] {
        assert_eq!(db.ask(command), error, "{command}");
    }
    assert_eq!(db.digest_of_everything(), before);
}
