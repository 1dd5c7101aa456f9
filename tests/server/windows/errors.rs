//! The words of filters that forget, and what is wrong with them.

use splitbloom_harness::{check_errors, now, Options, Server};

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

/// `AHEAD` stands for a time that is more than one window ahead.
const ERRORS: &str = "
ERR window must be in the range [1, 315360000]
    BF.RESERVE n 0.01 100 WINDOW <0|315360001>
    BF.INSERT n WINDOW 0 ITEMS a
ERR bad window
    BF.RESERVE n 0.01 100 WINDOW <x|1.5>
ERR slices must be in the range [2, 14]
    BF.RESERVE n 0.01 100 WINDOW 9 SLICES <1|15>
    BF.INSERT n WINDOW 9 SLICES 1 ITEMS a
ERR bad slices
    BF.RESERVE n 0.01 100 WINDOW 9 SLICES x
ERR a window is missing
    BF.RESERVE n 0.01 100 <SLICES 8|RENEW>
    BF.INSERT w <SLICES 4|RENEW> ITEMS b
    BF.INSERT <n|plain> AT 5 ITEMS a
    BF.PACKADD <n|plain> AT 5 LINES b
    BF.FORGET plain 5
ERR item exists
    BF.RESERVE w 0.01 100 WINDOW 9
ERR not found
    BF.INSERT n NOCREATE WINDOW 9 AT 5 ITEMS a
    BF.FORGET missing 5
ERR bad time
    BF.INSERT w AT <x|-1|> ITEMS b
    BF.PACKADD w AT x LINES b
    BF.FORGET w x
ERR syntax error
    BF.PACKADD w LINES b AT 5
ERR the time is more than one window ahead of the server's clock
    BF.INSERT w AT 9007199254740991 ITEMS b
    BF.INSERT <w|n WINDOW 60> AT AHEAD ITEMS b
    BF.PACKADD w AT AHEAD LINES b
    BF.FORGET w AHEAD
ERR the time is before 1973: it must be in milliseconds since 1970
    BF.INSERT <w AT 1789000000|w AT 99999999999|n WINDOW 60 AT 0> ITEMS b
    BF.PACKADD w AT 1789000000 LINES b
    BF.FORGET w 1789000000
WRONGTYPE Operation against a key holding the wrong kind of value
    BF.FORGET <counting|text> 5
";

#[test]
fn every_error_names_what_is_wrong_and_nothing_changes() {
    let setup = [
        "BF.RESERVE plain 0.01 100",
        "BF.RESERVE w 0.01 100 WINDOW 60",
        "BF.MADD plain a",
        "BF.MADD w a",
        "CF.RESERVE counting 100",
        "SET text x",
    ];
    let ahead = now() + 70_000;
    check_errors(Options::default(), &setup, &ERRORS.replace("AHEAD", &ahead.to_string()));
}
