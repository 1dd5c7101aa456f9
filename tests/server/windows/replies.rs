//! What commands reply of filters that forget.

use crate::bf::{names, FULL_FIELDS};
use splitbloom_harness::{Reply, Server};

#[test]
fn every_command_of_other_filters_works() {
    let server = Server::start();
    server.converse(&[
        ("BF.RESERVE w 0.000001 100 WINDOW 1000", "+OK"),
        ("BF.ADD w a", "#t"),
        ("BF.ADD w a", "#f"),
        ("BF.MADD w a b c b", "[#f, #t, #t, #f]"),
        ("BF.INSERT w ITEMS c d", "[#f, #t]"),
        ("BF.INSERT w WINDOW 5 ITEMS a e", "[#f, #t]"),
        ("BF.EXISTS w a", "#t"),
        ("BF.MEXISTS w a z d", "[#t, #f, #t]"),
        ("BF.PACKADD w FIXED 1 dx", ":1"),
        ("BF.PACKADD w FIXED 1 xy BITS", "$\\x02"),
        ("BF.PACKEXISTS w FIXED 1 axz", "$\\x03"),
        ("BF.CARD w", ":7"),
        ("TYPE w", "+MBbloom--"),
        ("COPY w copy", ":1"),
        ("BF.MEXISTS copy a z d", "[#t, #f, #t]"),
        ("BF.ADD copy f", "#t"),
        ("BF.EXISTS w f", "#f"),
        ("BF.FORGET w 1000000000005", "#t"),
    ]);
    server.connect().converse(&[
        ("BF.INFO w ITEMS", "[:7]"),
        ("BF.INFO w CAPACITY", "[:100]"),
        ("BF.INFO w FILTERS", "[:1]"),
        ("BF.INFO w EXPANSION", "[:2]"),
    ]);
    assert_eq!(server.connect_resp3().run("BF.INFO w").pairs().len(), 5);
}

#[test]
fn the_long_form_has_the_window_after_the_fields_of_every_filter() {
    const OF_A_WINDOW: &str =
        "Window, Slices, Renew, Items by slice, Age of the oldest, Items forgotten";
    let server = Server::strict(&[]);
    for mut db in [server.connect(), server.connect_resp3()] {
        db.run("DEL w plain");
        // No slice of this length ends between two commands.
        db.run("BF.INSERT w WINDOW 300000000 SLICES 4 ITEMS a b");
        db.run("BF.INSERT plain ITEMS a b");
        let long = db.run("BF.INFO w FULL");
        assert_eq!(names(&db.run("BF.INFO plain FULL")), FULL_FIELDS);
        assert_eq!(names(&long), format!("{FULL_FIELDS}, {OF_A_WINDOW}"));
        assert_eq!(long.field("Items by slice").to_string(), "[:0, :0, :0, :0, :2]");
        assert!(long.field("Age of the oldest").integer() <= 75_000_000);
        assert_eq!(long.field("Items forgotten").to_string(), ":0");
    }
}

#[test]
fn lines_for_people_show_the_window() {
    let (_server, mut db) = Server::start().with_client();
    db.run("BF.RESERVE w 0.01 100 WINDOW 1000 SLICES 4 RENEW SEED 0123456789abcdef");
    db.run("BF.MADD w a b");
    let lines = db.run("BF.DEBUG w");
    let lines: Vec<String> = lines.elements().iter().map(Reply::text).collect();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert_eq!(lines[0], "size:2");
    assert_eq!(lines[1], "window:1000 slices:4 renew:1 forgotten:0");
    assert!(lines[2].ends_with(" size:2 ratio:0.01"), "{}", lines[2]);
}

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
