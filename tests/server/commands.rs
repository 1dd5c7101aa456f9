//! The replies of each command, in both protocols.

use splitbloom_harness::{add_items, item, missing_items, Reply, Server};

#[test]
fn a_reserved_filter_is_empty() {
    let server = Server::start();
    server.connect().converse(&[
        ("BF.RESERVE k 0.01 1000", "+OK"),
        ("BF.CARD k", ":0"),
        ("BF.EXISTS k a", ":0"),
        ("BF.INFO k CAPACITY", "[:1000]"),
        ("BF.INFO k ITEMS", "[:0]"),
        ("BF.INFO k FILTERS", "[:1]"),
        ("BF.INFO k EXPANSION", "[:2]"),
    ]);
}

#[test]
fn an_add_returns_one_for_a_new_item_and_zero_for_a_known_one() {
    let server = Server::strict(&[]);
    server.connect().converse(&[
        ("BF.ADD k a", ":1"),
        ("BF.ADD k a", ":0"),
        ("BF.EXISTS k a", ":1"),
        ("BF.EXISTS k b", ":0"),
        ("BF.MADD k a b b c", "[:0, :1, :0, :1]"),
        ("BF.MEXISTS k a b c d", "[:1, :1, :1, :0]"),
        ("BF.INSERT k ITEMS c d", "[:0, :1]"),
        ("BF.CARD k", ":4"),
    ]);
}

#[test]
fn resp3_replies_are_booleans() {
    let server = Server::start();
    server.connect_resp3().converse(&[
        ("BF.RESERVE k 0.01 1000", "+OK"),
        ("BF.ADD k a", "#t"),
        ("BF.ADD k a", "#f"),
        ("BF.EXISTS k a", "#t"),
        ("BF.EXISTS k b", "#f"),
        ("BF.MADD k a b", "[#f, #t]"),
        ("BF.MEXISTS k a z", "[#t, #f]"),
        ("BF.INSERT k ITEMS b c", "[#f, #t]"),
        ("BF.CARD k", ":3"),
    ]);
}

#[test]
fn reads_of_a_missing_key_return_zero_and_do_not_create_it() {
    let server = Server::start();
    server.connect().converse(&[
        ("BF.EXISTS k a", ":0"),
        ("BF.MEXISTS k a b", "[:0, :0]"),
        ("BF.CARD k", ":0"),
        ("EXISTS k", ":0"),
    ]);
    server.connect_resp3().converse(&[
        ("BF.EXISTS k a", "#f"),
        ("BF.MEXISTS k a b", "[#f, #f]"),
        ("BF.CARD k", ":0"),
        ("EXISTS k", ":0"),
    ]);
}

#[test]
fn command_names_may_be_in_any_case() {
    let server = Server::start();
    server.connect().converse(&[("bf.add k a", ":1"), ("Bf.Exists k a", ":1")]);
}

#[test]
fn an_add_creates_the_key_with_the_defaults() {
    let server = Server::start();
    let mut db = server.connect();
    for creating in ["BF.ADD k a", "BF.MADD k a", "BF.INSERT k ITEMS a"] {
        db.run("DEL k");
        db.run(creating);
        db.converse(&[("BF.INFO k CAPACITY", "[:100]"), ("BF.INFO k EXPANSION", "[:2]")]);
        assert_eq!(db.line("BF.INFO k FULL").field("Error rate").double(), 0.01, "{creating}");
    }
}

#[test]
fn items_can_be_any_bytes() {
    let server = Server::start();
    let mut db = server.connect();
    db.run("BF.RESERVE k 0.000001 100");
    let long = vec![b'x'; 1 << 20];
    let items: [&[u8]; 8] = [b"", b"\0", b"\0\0", b"a\0", b"a\r\nb", b"\xff\xfe", b" ", &long];
    for item in items {
        assert_eq!(db.call([b"BF.EXISTS".as_slice(), b"k", item]).integer(), 0);
        assert_eq!(db.call([b"BF.ADD".as_slice(), b"k", item]).integer(), 1);
        assert_eq!(db.call([b"BF.EXISTS".as_slice(), b"k", item]).integer(), 1);
    }
    assert_eq!(db.call([b"BF.EXISTS".as_slice(), b"k", b"a"]).integer(), 0);
    let all = [b"BF.MADD".as_slice(), b"k"].into_iter().chain(items);
    assert_eq!(db.call(all).to_string(), "[:0, :0, :0, :0, :0, :0, :0, :0]");
    assert_eq!(db.ask("BF.CARD k"), ":8");
}

#[test]
fn keys_can_be_any_bytes() {
    let server = Server::start();
    let mut db = server.connect();
    let keys: [&[u8]; 4] = [b"", b"\0", b"NONSCALING", b"a\r\nb"];
    for key in keys {
        assert_eq!(db.call([b"BF.RESERVE".as_slice(), key, b"0.01", b"100"]).to_string(), "+OK");
        assert_eq!(db.call([b"BF.ADD".as_slice(), key, b"a"]).integer(), 1);
        assert_eq!(db.call([b"BF.INFO".as_slice(), key, b"EXPANSION"]).to_string(), "[:2]");
    }
}

#[test]
fn reserve_accepts_its_options_in_any_case_and_any_order() {
    let server = Server::start();
    let mut db = server.connect();
    for (options, expansion) in [
        ("EXPANSION 4", "[:4]"),
        ("expansion 4", "[:4]"),
        ("eXpAnSiOn 1", "[:1]"),
        ("EXPANSION 32768", "[:32768]"),
        ("4", "[:4]"),
        ("EXPANSION 0", "[_]"),
        ("0", "[_]"),
        ("NONSCALING", "[_]"),
        ("nonscaling", "[_]"),
        ("NONSCALING EXPANSION 0", "[_]"),
        ("EXPANSION 0 NONSCALING", "[_]"),
        ("SEED 0123456789abcdef", "[:2]"),
        ("seed 0123456789ABCDEF expansion 3", "[:3]"),
        ("EXPANSION 3 SEED 0123456789abcdef", "[:3]"),
        ("SEED 0123456789abcdef NONSCALING", "[_]"),
    ] {
        db.run("DEL k");
        assert_eq!(db.ask(&format!("BF.RESERVE k 0.01 100 {options}")), "+OK", "{options}");
        assert_eq!(db.ask("BF.INFO k EXPANSION"), expansion, "{options}");
    }
}

#[test]
fn reserve_honours_every_error_rate_in_range() {
    let server = Server::start();
    let mut db = server.connect();
    for rate in ["0.000000001", "1e-9", "0.25", "0.5", "0.9", "0.999", "1e-3", ".01"] {
        db.run("DEL k");
        db.run(&format!("BF.RESERVE k {rate} 100"));
        let asked_for: f64 = rate.parse().expect("a number");
        assert_eq!(db.line("BF.INFO k FULL").field("Error rate").double(), asked_for);
        assert_eq!(db.ask("BF.ADD k a"), ":1", "{rate}");
        assert_eq!(db.ask("BF.EXISTS k a"), ":1", "{rate}");
    }
}

#[test]
fn equal_seeds_and_items_make_equal_filters() {
    let server = Server::start();
    let other_server = Server::start();
    let mut digests = Vec::new();
    for mut db in [server.connect(), other_server.connect()] {
        db.run("BF.RESERVE k 0.01 100 SEED 0123456789abcdef");
        add_items(&mut db, "k", 0..500);
        digests.push(db.digest("k"));
    }
    assert_eq!(digests[0], digests[1]);
    let mut db = server.connect();
    db.run("BF.RESERVE other-seed 0.01 100 SEED 0123456789abcdee");
    add_items(&mut db, "other-seed", 0..500);
    assert_ne!(db.digest("other-seed"), digests[0]);
}

#[test]
fn filters_created_without_a_seed_have_different_ones() {
    let server = Server::start();
    let mut db = server.connect();
    for key in ["one", "other"] {
        db.run(&format!("BF.RESERVE {key} 0.01 100"));
    }
    assert_ne!(db.digest("one"), db.digest("other"));
}

#[test]
fn a_digest_changes_only_with_a_new_item() {
    let server = Server::strict(&[]);
    let mut db = server.connect();
    db.run("BF.ADD k a");
    let before = db.digest("k");
    db.run("BF.ADD k a");
    assert_eq!(db.digest("k"), before);
    db.run("BF.ADD k b");
    assert_ne!(db.digest("k"), before);
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
        let sub_filters = info.field("Sub-filters");
        assert_eq!(sub_filters.elements().len(), 1);
        let [_, of_sub_filter, of_table] = &lines[..] else {
            panic!("three lines: {lines:?}");
        };
        let table = info.field("Table");
        let (items, bytes) = (table.field("Items").integer(), table.field("Bytes").integer());
        let bits = bytes * 8;
        assert_eq!(
            *of_table,
            format!(
                "bytes:{bytes} bits:{bits} hashes:1 hashwidth:64 capacity:{items} size:{items} \
                 ratio:0.00333333"
            )
        );
        for (line, sub_filter) in [of_sub_filter].iter().zip(sub_filters.elements()) {
            let number = |name: &str| sub_filter.field(name).integer();
            let (bytes, hashes) = (number("Bytes"), number("Hashes"));
            let (capacity, items) = (number("Capacity"), number("Items"));
            let begins = format!(
                "bytes:{bytes} bits:{} hashes:{hashes} hashwidth:64 capacity:{capacity} \
                 size:{items} ratio:",
                bytes * 8
            );
            assert!(line.starts_with(&begins), "{line}, not {begins}");
        }
    }
}

#[test]
fn a_full_non_scaling_filter_refuses_only_new_items() {
    let server = Server::start();
    let mut db = server.connect();
    db.converse(&[
        ("BF.RESERVE k 0.000001 3 NONSCALING", "+OK"),
        ("BF.MADD k a b c", "[:1, :1, :1]"),
        ("BF.ADD k a", ":0"),
        ("BF.ADD k d", "-ERR non scaling filter is full"),
        ("BF.MADD k a d b e", "[:0, -ERR non scaling filter is full]"),
        ("BF.INSERT k ITEMS b d", "[:0, -ERR non scaling filter is full]"),
        ("BF.MADD k d", "[-ERR non scaling filter is full]"),
        ("BF.MADD k a b c", "[:0, :0, :0]"),
        ("BF.MEXISTS k a b c d e", "[:1, :1, :1, :0, :0]"),
        ("BF.CARD k", ":3"),
    ]);
    server.connect_resp3().converse(&[
        ("BF.MADD k a d b", "[#f, -ERR non scaling filter is full]"),
        ("BF.INSERT k ITEMS d b", "[-ERR non scaling filter is full]"),
        ("BF.ADD k d", "-ERR non scaling filter is full"),
    ]);
}

#[test]
fn items_before_the_refused_one_are_kept() {
    let server = Server::start();
    server.connect().converse(&[
        ("BF.RESERVE k 0.000001 3 NONSCALING", "+OK"),
        ("BF.MADD k a b c d e", "[:1, :1, :1, -ERR non scaling filter is full]"),
        ("BF.MEXISTS k a b c d e", "[:1, :1, :1, :0, :0]"),
        (
            "BF.INSERT l CAPACITY 2 ERROR 0.000001 NONSCALING ITEMS a b c",
            "[:1, :1, -ERR non scaling filter is full]",
        ),
        ("BF.MEXISTS l a b c", "[:1, :1, :0]"),
    ]);
}

#[test]
fn insert_accepts_its_options_in_any_case_and_any_order() {
    let server = Server::strict(&[]);
    let mut db = server.connect();
    for (options, capacity, expansion) in [
        ("CAPACITY 500", 500, "[:2]"),
        ("capacity 500 error 0.001", 500, "[:2]"),
        ("ERROR 0.001 CAPACITY 500", 500, "[:2]"),
        ("EXPANSION 4", 100, "[:4]"),
        ("EXPANSION 0", 100, "[_]"),
        ("NONSCALING", 100, "[_]"),
        ("NonScaling Capacity 7", 7, "[_]"),
        ("NONSCALING EXPANSION 4", 100, "[_]"),
        ("EXPANSION 4 NONSCALING", 100, "[_]"),
        ("CAPACITY 10 CAPACITY 20", 20, "[:2]"),
        ("EXPANSION 3 EXPANSION 4", 100, "[:4]"),
    ] {
        db.run("DEL k");
        assert_eq!(db.ask(&format!("BF.INSERT k {options} items a b")), "[:1, :1]", "{options}");
        assert_eq!(db.ask("BF.INFO k CAPACITY"), format!("[:{capacity}]"), "{options}");
        assert_eq!(db.ask("BF.INFO k EXPANSION"), expansion, "{options}");
    }
}

#[test]
fn the_last_error_rate_given_to_insert_wins() {
    let server = Server::start();
    let mut db = server.connect();
    db.run("BF.INSERT k ERROR 0.5 ERROR 0.001 ITEMS a");
    assert_eq!(db.line("BF.INFO k FULL").field("Error rate").double(), 0.001);
}

#[test]
fn everything_after_items_is_data() {
    let server = Server::strict(&[]);
    server.connect().converse(&[
        ("BF.INSERT k ITEMS NOCREATE ITEMS CAPACITY", "[:1, :1, :1]"),
        ("BF.MEXISTS k NOCREATE ITEMS CAPACITY nocreate", "[:1, :1, :1, :0]"),
    ]);
}

#[test]
fn insert_with_nocreate_adds_to_an_existing_filter() {
    let server = Server::strict(&[]);
    server.connect().converse(&[
        ("BF.INSERT k NOCREATE ITEMS a", "-ERR not found"),
        ("EXISTS k", ":0"),
        ("BF.ADD k a", ":1"),
        ("BF.INSERT k NOCREATE ITEMS a b", "[:0, :1]"),
        ("BF.INSERT k nocreate ITEMS c", "[:1]"),
    ]);
}

#[test]
fn insert_ignores_creation_options_for_an_existing_filter() {
    let server = Server::start();
    server.connect().converse(&[
        ("BF.RESERVE k 0.01 50 EXPANSION 3", "+OK"),
        ("BF.INSERT k CAPACITY 5000 ERROR 0.5 NONSCALING ITEMS a", "[:1]"),
        ("BF.INFO k CAPACITY", "[:50]"),
        ("BF.INFO k EXPANSION", "[:3]"),
    ]);
}

#[test]
fn info_has_exactly_five_fields_in_order() {
    let server = Server::start();
    let mut db = server.connect();
    db.run("BF.RESERVE k 0.01 1000 EXPANSION 3");
    db.run("BF.MADD k a b");
    let size = db.line("BF.INFO k SIZE").elements()[0].integer();
    let flat = format!(
        "[+Capacity, :1000, +Size, :{size}, +Number of filters, :1, +Number of items inserted, \
         :2, +Expansion rate, :3]"
    );
    assert_eq!(db.ask("BF.INFO k"), flat);
    let map = format!(
        "{{+Capacity: :1000, +Size: :{size}, +Number of filters: :1, +Number of items inserted: \
         :2, +Expansion rate: :3}}"
    );
    assert_eq!(server.connect_resp3().ask("BF.INFO k"), map);
}

#[test]
fn info_of_one_field_is_its_value_alone() {
    let server = Server::start();
    let mut db = server.connect();
    db.run("BF.RESERVE k 0.01 1000 EXPANSION 3");
    db.run("BF.ADD k a");
    db.converse(&[
        ("BF.INFO k CAPACITY", "[:1000]"),
        ("BF.INFO k capacity", "[:1000]"),
        ("BF.INFO k Filters", "[:1]"),
        ("BF.INFO k ITEMS", "[:1]"),
        ("BF.INFO k EXPANSION", "[:3]"),
    ]);
    let size = db.line("BF.INFO k").field("Size").integer();
    assert_eq!(db.ask("BF.INFO k SIZE"), format!("[:{size}]"));
    let mut db = server.connect_resp3();
    db.converse(&[
        ("BF.INFO k CAPACITY", "{+Capacity: :1000}"),
        ("BF.INFO k FILTERS", "{+Number of filters: :1}"),
        ("BF.INFO k ITEMS", "{+Number of items inserted: :1}"),
        ("BF.INFO k EXPANSION", "{+Expansion rate: :3}"),
    ]);
    assert_eq!(db.ask("BF.INFO k SIZE"), format!("{{+Size: :{size}}}"));
}

#[test]
fn a_non_scaling_filter_has_no_expansion_rate() {
    let server = Server::start();
    let mut db = server.connect();
    db.run("BF.RESERVE k 0.01 1000 NONSCALING");
    assert_eq!(db.ask("BF.INFO k EXPANSION"), "[_]");
    assert_eq!(db.line("BF.INFO k").field("Expansion rate"), Reply::Null);
    let mut db = server.connect_resp3();
    assert_eq!(db.ask("BF.INFO k EXPANSION"), "{+Expansion rate: _}");
    assert_eq!(db.line("BF.INFO k").field("Expansion rate"), Reply::Null);
}

#[test]
fn size_agrees_with_memory_usage() {
    /// The server's part: the key, its entry in the table, the value's header.
    const OVERHEAD: i64 = 200;
    let server = Server::start();
    let mut db = server.connect();
    for (key, parameters) in [("small", "0.01 100"), ("big", "0.001 1000000")] {
        db.run(&format!("BF.RESERVE {key} {parameters}"));
        add_items(&mut db, key, 0..50_000);
        let size = db.line(&format!("BF.INFO {key} SIZE")).elements()[0].integer();
        let usage = db.line(&format!("MEMORY USAGE {key}")).integer();
        assert!(
            (0..OVERHEAD).contains(&(usage - size)),
            "{key}: size {size}, memory usage {usage}"
        );
    }
}

const FULL_FIELDS: [&str; 16] = [
    "Capacity",
    "Size",
    "Number of filters",
    "Number of items inserted",
    "Expansion rate",
    "Error rate",
    "Expected false positive rate",
    "Estimated items",
    "Fill",
    "Bits per item",
    "Segments allocated",
    "Segments reserved",
    "Capacity if shrunk",
    "Size if shrunk",
    "Sub-filters",
    "Table",
];

const TABLE_FIELDS: [&str; 5] =
    ["Items", "Error rate", "Expected false positive rate", "Pages", "Bytes"];

const SUB_FILTER_FIELDS: [&str; 8] =
    ["Capacity", "Items", "Error rate", "Sub-bitmap bytes", "Hashes", "Bytes", "Set bits", "Guard"];

#[test]
fn info_full_has_all_fields_in_order() {
    let server = Server::start();
    for mut db in [server.connect(), server.connect_resp3()] {
        db.run("DEL k");
        db.run("BF.RESERVE k 0.01 1000");
        add_items(&mut db, "k", 0..900);
        let info = db.line("BF.INFO k FULL");
        let names: Vec<String> = info.pairs().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, FULL_FIELDS);
        let sub_filters = info.field("Sub-filters");
        assert_eq!(sub_filters.elements().len(), 1);
        let names: Vec<String> =
            sub_filters.elements()[0].pairs().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, SUB_FILTER_FIELDS);
        assert!(matches!(info.field("Table"), Reply::Null));
        add_items(&mut db, "k", 900..2_000);
        let table = db.line("BF.INFO k FULL").field("Table");
        let names: Vec<String> = table.pairs().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, TABLE_FIELDS);
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
fn memory_is_allocated_only_as_items_arrive() {
    let server = Server::start();
    let mut db = server.connect();
    db.run("BF.RESERVE k 0.01 100000000");
    let size =
        |db: &mut splitbloom_harness::Connection| db.line("BF.INFO k SIZE").elements()[0].integer();
    assert!(size(&mut db) < 100_000);
    db.run("BF.ADD k a");
    assert!(size(&mut db) < 200_000);
    let info = db.line("BF.INFO k FULL");
    assert_eq!(info.field("Segments allocated").integer(), 1);
    assert!(info.field("Segments reserved").integer() > 1500);
}

#[test]
fn a_filter_grows_by_one_table_whatever_its_expansion_rate() {
    let server = Server::start();
    let mut db = server.connect();
    for (reserved, expansion, filters) in
        [(10, 1, 2), (10, 7, 2), (100, 1, 1), (100, 5, 1), (200, 2, 2), (1_000, 32_768, 2)]
    {
        db.run("DEL k");
        db.run(&format!("BF.RESERVE k 0.01 {reserved} EXPANSION {expansion}"));
        assert_eq!(db.ask("BF.INFO k FILTERS"), "[:1]");
        assert_eq!(db.ask("BF.INFO k CAPACITY"), format!("[:{reserved}]"));
        let new = add_items(&mut db, "k", 0..5_000) as i64;
        assert_eq!(db.ask("BF.INFO k FILTERS"), format!("[:{filters}]"));
        assert_eq!(db.ask("BF.INFO k EXPANSION"), format!("[:{expansion}]"));
        let info = db.line("BF.INFO k FULL");
        let sub_filters = info.field("Sub-filters");
        let capacities = sub_filters.elements().iter();
        let capacity: i64 = capacities.map(|one| one.field("Capacity").integer()).sum();
        assert_eq!(capacity, if filters == 2 { reserved } else { 0 });
        let in_table = info.field("Table").field("Items").integer();
        assert_eq!(capacity + in_table, new);
        assert_eq!(info.field("Capacity").integer(), new);
        assert_eq!(missing_items(&mut db, "k", 0..5_000), 0);
    }
}

#[test]
fn the_error_rates_of_all_parts_add_up_to_no_more_than_requested() {
    let server = Server::start();
    let mut db = server.connect();
    for (reserved, table_rate) in [(100, 0.01), (10, 0.01 / 3.0)] {
        db.run("DEL k");
        db.run(&format!("BF.RESERVE k 0.01 {reserved}"));
        add_items(&mut db, "k", 0..100_000);
        let info = db.line("BF.INFO k FULL");
        let sub_filters = info.field("Sub-filters");
        let rates = sub_filters.elements().iter();
        let sum: f64 = rates.map(|one| one.field("Error rate").double()).sum();
        let table = info.field("Table");
        assert!((table.field("Error rate").double() - table_rate).abs() < 1e-9);
        assert!(sum + table_rate <= 0.01 * (1.0 + 1e-9), "{sum}");
        let now = table.field("Expected false positive rate").double();
        assert!(now > 0.0 && now < table_rate, "{now}");
    }
}

#[test]
fn forty_thousand_items_of_one_command_take_one_table() {
    let server = Server::start();
    let mut db = server.connect();
    let words = ["BF.INSERT", "k", "CAPACITY", "1", "EXPANSION", "1", "ITEMS"];
    let words = words.map(|word| word.as_bytes().to_vec());
    db.call(words.into_iter().chain((0..40_000).map(item)));
    assert_eq!(db.ask("BF.INFO k FILTERS"), "[:2]");
    assert_eq!(db.ask("BF.INFO k EXPANSION"), "[:1]");
    assert_eq!(missing_items(&mut db, "k", 0..40_000), 0);
    let bytes = db.line("MEMORY USAGE k SAMPLES 0").integer();
    assert!(bytes < 105_000, "{bytes}");
}

#[test]
fn there_are_no_false_negatives_while_a_filter_grows() {
    const STEP: u64 = 250;
    let server = Server::start();
    let mut db = server.connect();
    db.run("BF.RESERVE k 0.1 10 EXPANSION 2");
    let mut new = 0;
    for end in (STEP..=10_000).step_by(STEP as usize) {
        new += add_items(&mut db, "k", end - STEP..end);
        assert_eq!(missing_items(&mut db, "k", 0..end), 0);
        assert_eq!(db.line("BF.CARD k").integer() as u64, new);
    }
}
