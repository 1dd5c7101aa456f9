//! BF.INFO and BF.DEBUG.

use splitbloom_harness::{add_items, Reply, Server};

/// The fields of the long form, of every filter.
pub const FULL_FIELDS: &str = "Capacity, Size, Number of filters, Number of items inserted, \
                               Expansion rate, Error rate, Expected false positive rate, \
                               Estimated items, Fill, Bits per item, Segments allocated, \
                               Segments reserved, Capacity if shrunk, Size if shrunk, Sub-filters, \
                               Table";
const TABLE_FIELDS: &str = "Items, Error rate, Expected false positive rate, Pages, Bytes";
const SUB_FILTER_FIELDS: &str =
    "Capacity, Items, Error rate, Sub-bitmap bytes, Hashes, Bytes, Set bits, Guard";

/// The names of the fields.
pub fn names(info: &Reply) -> String {
    let names: Vec<String> = info.pairs().into_iter().map(|(name, _)| name).collect();
    names.join(", ")
}

#[test]
fn info_has_exactly_five_fields_in_order() {
    // Which lines the items touch, and so the size, depends on the seed.
    const RESERVE: &str = "BF.RESERVE k 0.01 1000 EXPANSION 3 SEED 0123456789abcdef";
    let (server, mut db) = Server::start().with_client();
    db.run_all([RESERVE, "BF.MADD k a b"]);
    let size = db.line("BF.INFO k SIZE").elements()[0].integer();
    let info = format!(
        "{{+Capacity: :1000, +Size: :{size}, +Number of filters: :1, \
         +Number of items inserted: :2, +Expansion rate: :3}}"
    );
    server.converse(&[(RESERVE, "+OK"), ("BF.MADD k a b", "[#t, #t]"), ("BF.INFO k", &info)]);
}

#[test]
fn info_of_one_field_is_its_value_alone() {
    let (server, mut db) = Server::start().with_client();
    db.run("BF.RESERVE k 0.01 1000 EXPANSION 3");
    db.run("BF.RESERVE fixed 0.01 1000 NONSCALING");
    db.run("BF.ADD k a");
    let size = db.line("BF.INFO k").field("Size").to_string();
    let mut resp3 = server.connect_resp3();
    for (question, name, value) in [
        ("k CAPACITY", "Capacity", ":1000"),
        ("k capacity", "Capacity", ":1000"),
        ("k SIZE", "Size", size.as_str()),
        ("k Filters", "Number of filters", ":1"),
        ("k ITEMS", "Number of items inserted", ":1"),
        ("k EXPANSION", "Expansion rate", ":3"),
        ("fixed EXPANSION", "Expansion rate", "_"),
    ] {
        let question = format!("BF.INFO {question}");
        assert_eq!(db.ask(&question), format!("[{value}]"));
        assert_eq!(resp3.ask(&question), format!("{{+{name}: {value}}}"));
    }
}

#[test]
fn info_full_has_all_fields_in_order() {
    let server = Server::start();
    for mut db in [server.connect(), server.connect_resp3()] {
        db.run("DEL k");
        db.run("BF.RESERVE k 0.01 1000");
        add_items(&mut db, "k", 0..900);
        let info = db.line("BF.INFO k FULL");
        assert_eq!(names(&info), FULL_FIELDS);
        let sub_filters = info.field("Sub-filters");
        assert_eq!(sub_filters.elements().len(), 1);
        assert_eq!(names(&sub_filters.elements()[0]), SUB_FILTER_FIELDS);
        assert!(matches!(info.field("Table"), Reply::Null));
        add_items(&mut db, "k", 900..2_000);
        let table = db.line("BF.INFO k FULL").field("Table");
        assert_eq!(names(&table), TABLE_FIELDS);
    }
}

#[test]
fn info_full_numbers_agree_with_each_other() {
    let server = Server::start();
    for mut db in [server.connect(), server.connect_resp3()] {
        db.run("DEL k");
        db.run("BF.RESERVE k 0.01 100000 NONSCALING");
        let new = add_items(&mut db, "k", 0..100_000) as i64;
        let info = db.line("BF.INFO k FULL");
        let double = |name: &str| info.field(name).double();
        let integer = |name: &str| info.field(name).integer();
        assert_eq!(double("Error rate"), 0.01);
        assert!((0.0085..0.0105).contains(&double("Expected false positive rate")), "{info}");
        assert!((98_000..102_000).contains(&integer("Estimated items")), "{info}");
        assert!((0.3..0.7).contains(&double("Fill")), "{info}");
        assert!((9.5..10.5).contains(&double("Bits per item")), "{info}");
        assert_eq!(integer("Number of items inserted"), new);
        assert_eq!(integer("Segments allocated"), integer("Segments reserved"));
        let sub_filter = info.field("Sub-filters").elements()[0].clone();
        assert_eq!(sub_filter.field("Capacity").integer(), 100_000);
        assert_eq!(sub_filter.field("Items").integer(), new);
        assert_eq!(sub_filter.field("Sub-bitmap bytes").integer(), 64);
        let bits = 8.0 * sub_filter.field("Bytes").integer() as f64;
        let fill = sub_filter.field("Set bits").integer() as f64 / bits;
        assert!((fill - double("Fill")).abs() < 1e-6, "{fill} in {info}");
    }
}

#[test]
fn debug_shows_a_line_for_the_filter_and_one_for_each_part() {
    let server = Server::start();
    for mut db in [server.connect(), server.connect_resp3()] {
        db.run("DEL k");
        db.run("BF.RESERVE k 0.01 4 SEED 0123456789abcdef");
        let empty = db.ask("BF.DEBUG k");
        assert!(empty.starts_with("[$size:0, $bytes:"), "{empty}");
        assert!(empty.ends_with(" ratio:0.00666667]"), "{empty}");
        add_items(&mut db, "k", 0..100);
        let debug = db.line("BF.DEBUG k");
        let lines: Vec<String> = debug.elements().iter().map(Reply::text).collect();
        assert_eq!(lines[0], format!("size:{}", db.ask("BF.CARD k").replace(':', "")));
        let info = db.line("BF.INFO k FULL");
        assert_eq!((lines.len(), info.field("Sub-filters").elements().len()), (3, 1));
        let table = info.field("Table");
        let (items, bytes) = (table.field("Items").integer(), table.field("Bytes").integer());
        let bits = bytes * 8;
        assert_eq!(
            lines[2],
            format!(
                "bytes:{bytes} bits:{bits} hashes:1 hashwidth:64 capacity:{items} size:{items} \
                 ratio:0.00333333"
            )
        );
        let sub_filter = info.field("Sub-filters").elements()[0].clone();
        let [bytes, hashes, capacity, items] =
            ["Bytes", "Hashes", "Capacity", "Items"].map(|name| sub_filter.field(name).integer());
        let bits = bytes * 8;
        let begins = format!(
            "bytes:{bytes} bits:{bits} hashes:{hashes} hashwidth:64 capacity:{capacity} \
             size:{items} ratio:"
        );
        assert!(lines[1].starts_with(&begins), "{}, not {begins}", lines[1]);
    }
}
