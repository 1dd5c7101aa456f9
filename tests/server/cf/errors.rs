//! Every error of the CF commands, in one table. No error changes anything.

use crate::errors::{check_errors, Traces};
use splitbloom_harness::Server;

/// A filter, a full one that does not grow, a filter of the other kind, and another type.
const SETUP: [&str; 6] = [
    "CF.RESERVE filter 100",
    "CF.ADD filter a",
    "CF.RESERVE full 2 EXPANSION 0 ERROR 0.000001",
    "CF.INSERT full ITEMS a b",
    "BF.ADD bloom a",
    "SET text a",
];

const WRONG_TYPE: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";
const BAD_CAPACITY: &str = "ERR bad capacity";
const CAPACITY_RANGE: &str = "ERR capacity must be in the range [1, 1099511627776]";
const BAD_BUCKET_SIZE: &str = "ERR bad bucket size";
const BUCKET_SIZE_RANGE: &str = "ERR bucket size must be in the range [1, 255]";
const BAD_MAX_ITERATIONS: &str = "ERR bad max iterations";
const MAX_ITERATIONS_RANGE: &str = "ERR max iterations must be in the range [1, 65535]";
const BAD_EXPANSION: &str = "ERR bad expansion";
const EXPANSION_RANGE: &str = "ERR expansion must be in the range [0, 32768]";
const BAD_ERROR_RATE: &str = "ERR bad error rate";
const ERROR_RATE_RANGE: &str = "ERR error rate must be in the range (0.000000, 1.000000)";
const BAD_SEED: &str = "ERR bad seed";
const SYNTAX: &str = "ERR syntax error";
const NO_WINDOW: &str = "ERR counting filters have no window";
const NOT_FOUND: &str = "ERR not found";
const FULL: &str = "ERR Filter is full";
const NOT_NUMERIC: &str = "ERR Second argument must be numeric";
const BAD_DATA: &str = "ERR received bad data";
const BAD_FIELD: &str = "ERR Invalid information value";

const ERRORS: &[(&str, &str)] = &[
    // Numbers.
    ("CF.RESERVE k abc", BAD_CAPACITY),
    ("CF.RESERVE k 1.5", BAD_CAPACITY),
    ("CF.RESERVE k 01", BAD_CAPACITY),
    ("CF.RESERVE k 9223372036854775808", BAD_CAPACITY),
    ("CF.RESERVE k BUCKETSIZE 2", BAD_CAPACITY),
    ("CF.RESERVE k 0", CAPACITY_RANGE),
    ("CF.RESERVE k -1", CAPACITY_RANGE),
    ("CF.RESERVE k 1099511627777", CAPACITY_RANGE),
    ("CF.RESERVE k 10 BUCKETSIZE abc", BAD_BUCKET_SIZE),
    ("CF.RESERVE k 10 BUCKETSIZE 1.5", BAD_BUCKET_SIZE),
    ("CF.RESERVE k 10 BUCKETSIZE 0", BUCKET_SIZE_RANGE),
    ("CF.RESERVE k 10 BUCKETSIZE -1", BUCKET_SIZE_RANGE),
    ("CF.RESERVE k 10 BUCKETSIZE 256", BUCKET_SIZE_RANGE),
    ("CF.RESERVE k 10 BUCKETSIZE 33554432", BUCKET_SIZE_RANGE),
    ("CF.RESERVE k 10 MAXITERATIONS abc", BAD_MAX_ITERATIONS),
    ("CF.RESERVE k 10 MAXITERATIONS 0", MAX_ITERATIONS_RANGE),
    ("CF.RESERVE k 10 MAXITERATIONS -1", MAX_ITERATIONS_RANGE),
    ("CF.RESERVE k 10 MAXITERATIONS 65536", MAX_ITERATIONS_RANGE),
    ("CF.RESERVE k 10 EXPANSION abc", BAD_EXPANSION),
    ("CF.RESERVE k 10 EXPANSION -1", EXPANSION_RANGE),
    ("CF.RESERVE k 10 EXPANSION 32769", EXPANSION_RANGE),
    ("CF.RESERVE k 10 ERROR abc", BAD_ERROR_RATE),
    ("CF.RESERVE k 10 ERROR nan", BAD_ERROR_RATE),
    ("CF.RESERVE k 10 ERROR 0", ERROR_RATE_RANGE),
    ("CF.RESERVE k 10 ERROR 1", ERROR_RATE_RANGE),
    ("CF.RESERVE k 10 ERROR inf", ERROR_RATE_RANGE),
    ("CF.RESERVE k 10 SEED 0123", BAD_SEED),
    ("CF.RESERVE k 10 SEED 0123456789abcdeg", BAD_SEED),
    ("CF.INSERT k CAPACITY abc ITEMS a", BAD_CAPACITY),
    ("CF.INSERT k CAPACITY ITEMS a", BAD_CAPACITY),
    ("CF.INSERT k CAPACITY 0 ITEMS a", CAPACITY_RANGE),
    ("CF.INSERTNX k CAPACITY -1 ITEMS a", CAPACITY_RANGE),
    ("CF.INSERT filter CAPACITY abc ITEMS a", BAD_CAPACITY),
    // Unknown options, and prefixes of options.
    ("CF.RESERVE k 10 2", SYNTAX),
    ("CF.RESERVE k 10 BUCKETSIZ 2", SYNTAX),
    ("CF.RESERVE k 10 BUCKETSIZEX 2", SYNTAX),
    ("CF.RESERVE k 10 NONSCALING", SYNTAX),
    ("CF.INSERT k a b", SYNTAX),
    ("CF.INSERT k ITEM a", SYNTAX),
    ("CF.INSERT k C 10 ITEMS a", SYNTAX),
    ("CF.INSERT k NOCREATEX ITEMS a", SYNTAX),
    ("CF.INSERT k ERROR 0.1 ITEMS a", SYNTAX),
    ("CF.RESERVE k 10 WINDOW 60", NO_WINDOW),
    ("CF.INSERT k WINDOW 60 ITEMS a", NO_WINDOW),
    ("CF.INSERTNX k EXPANSION 2 ITEMS a", SYNTAX),
    // The key.
    ("CF.RESERVE filter 10", "ERR item exists"),
    ("CF.DEL k a", "ERR Not found"),
    ("CF.INFO k", NOT_FOUND),
    ("CF.INFO k FULL", NOT_FOUND),
    ("CF.DEBUG k", NOT_FOUND),
    ("CF.INSERT k NOCREATE ITEMS a", NOT_FOUND),
    ("CF.INSERTNX k CAPACITY 10 NOCREATE ITEMS a", NOT_FOUND),
    ("CF.ADD full c", FULL),
    ("CF.ADD full a", FULL),
    ("CF.ADDNX full c", FULL),
    ("CF.COMPACT k", NOT_FOUND),
    ("CF.SCANDUMP k 0", NOT_FOUND),
    // Chunks.
    ("CF.SCANDUMP filter abc", NOT_NUMERIC),
    ("CF.SCANDUMP k abc", NOT_NUMERIC),
    ("CF.LOADCHUNK k abc a", NOT_NUMERIC),
    ("CF.LOADCHUNK k 1 a", BAD_DATA),
    ("CF.LOADCHUNK filter 1 a", BAD_DATA),
    // Fields.
    ("CF.INFO filter SIZE", BAD_FIELD),
    ("CF.INFO filter FULLX", BAD_FIELD),
    // Arguments are checked before the key.
    ("CF.RESERVE text 0", CAPACITY_RANGE),
    ("CF.INSERT text CAPACITY abc ITEMS a", BAD_CAPACITY),
    ("CF.INFO text NONSENSE", BAD_FIELD),
    ("CF.INFO k NONSENSE", BAD_FIELD),
];

/// Each with a number of words that is wrong.
const WRONG_ARITY: &[&str] = &[
    "CF.RESERVE",
    "CF.RESERVE k",
    "CF.RESERVE k 10 BUCKETSIZE",
    "CF.RESERVE k 10 MAXITERATIONS",
    "CF.RESERVE k 10 EXPANSION",
    "CF.RESERVE k 10 ERROR",
    "CF.RESERVE k 10 SEED",
    "CF.ADD",
    "CF.ADD k",
    "CF.ADD k a b",
    "CF.ADDNX k",
    "CF.ADDNX k a b",
    "CF.INSERT k",
    "CF.INSERT k ITEMS",
    "CF.INSERT k NOCREATE ITEMS",
    "CF.INSERT k NOCREATE CAPACITY",
    "CF.INSERT k CAPACITY 10",
    "CF.INSERTNX k ITEMS",
    "CF.INSERTNX k NOCREATE ITEMS",
    "CF.EXISTS k",
    "CF.EXISTS k a b",
    "CF.MEXISTS k",
    "CF.COUNT k",
    "CF.COUNT k a b",
    "CF.DEL k",
    "CF.DEL k a b",
    "CF.INFO",
    "CF.INFO filter FULL FULL",
    "CF.DEBUG",
    "CF.DEBUG filter a",
    "CF.COMPACT",
    "CF.COMPACT filter a",
    "CF.SCANDUMP filter",
    "CF.SCANDUMP filter 0 a",
    "CF.LOADCHUNK k 1",
    "CF.LOADCHUNK k 1 a b",
];

/// A valid call of every command on a key.
const CALLS: &[&str] = &[
    "CF.RESERVE KEY 10",
    "CF.ADD KEY a",
    "CF.ADDNX KEY a",
    "CF.INSERT KEY ITEMS a",
    "CF.INSERT KEY NOCREATE ITEMS a",
    "CF.INSERTNX KEY ITEMS a",
    "CF.EXISTS KEY a",
    "CF.MEXISTS KEY a b",
    "CF.COUNT KEY a",
    "CF.DEL KEY a",
    "CF.INFO KEY",
    "CF.INFO KEY FULL",
    "CF.DEBUG KEY",
    "CF.COMPACT KEY",
    "CF.SCANDUMP KEY 0",
    "CF.LOADCHUNK KEY 1 a",
];

#[test]
fn every_error_has_its_text_and_changes_nothing() {
    let arity = |line: &str| {
        let name = line.split(' ').next().expect("a name").to_lowercase();
        format!("ERR wrong number of arguments for '{name}' command")
    };
    let arities: Vec<String> = WRONG_ARITY.iter().map(|line| arity(line)).collect();
    let mut wrong_types = Vec::new();
    for key in ["text", "bloom"] {
        wrong_types.extend(CALLS.iter().map(|call| call.replace("KEY", key)));
    }
    // And a filter that counts is no Bloom filter.
    for call in
        ["BF.ADD filter a", "BF.EXISTS filter a", "BF.INFO filter", "BF.RESERVE filter 0.1 9"]
    {
        wrong_types.push(call.to_owned());
    }
    let wrong_arity = WRONG_ARITY.iter().zip(&arities);
    let lines = ERRORS
        .iter()
        .copied()
        .chain(wrong_arity.map(|(line, error)| (*line, error.as_str())))
        .chain(wrong_types.iter().map(|line| (line.as_str(), WRONG_TYPE)));
    let cases: Vec<(Vec<&str>, &str)> =
        lines.map(|(line, error)| (line.split(' ').collect(), error)).collect();
    check_errors(&SETUP, &cases);
}

#[test]
fn a_server_at_maxmemory_refuses_what_adds_but_not_what_deletes() {
    let server = Server::start();
    let mut db = server.connect();
    for line in SETUP {
        db.run(line);
    }
    let before = Traces::of(&mut db);
    db.run("CONFIG SET maxmemory 1");
    for write in [
        "CF.RESERVE k 100",
        "CF.ADD filter b",
        "CF.ADDNX filter b",
        "CF.INSERT filter ITEMS b",
        "CF.INSERTNX filter ITEMS b",
        "CF.LOADCHUNK k 1 a",
    ] {
        assert!(db.ask(write).starts_with("-OOM "), "{write}");
    }
    assert_eq!(Traces::of(&mut db), before);
    db.converse(&[
        ("CF.EXISTS filter a", ":1"),
        ("CF.COUNT filter a", ":1"),
        ("CF.COMPACT filter", "+OK"),
        ("CF.DEL filter a", ":1"),
        ("CF.EXISTS filter a", ":0"),
    ]);
}

#[test]
fn a_filter_does_not_grow_past_the_limit() {
    const TOO_BIG: &str = "ERR filter would exceed bf.max-filter-bytes";
    let server = Server::configured(&["bf.max-filter-bytes 100"]);
    let mut db = server.connect();
    for refused in ["CF.RESERVE k 10", "CF.ADD k a", "CF.INSERT k ITEMS a b"] {
        assert_eq!(db.ask(refused), format!("-{TOO_BIG}"), "{refused}");
        assert_eq!(db.ask("EXISTS k"), ":0", "{refused}");
    }
    db.run("CONFIG SET bf.max-filter-bytes 20000");
    // At a rate at which the refused item is none of those before it.
    db.run("CF.RESERVE k 10 ERROR 0.000001");
    let added = (0..20_000).find(|item| db.ask(&format!("CF.ADD k {item}")) != ":1");
    let added = added.expect("an item is refused");
    assert!(added > 3000, "{added}");
    let size = db.line("CF.INFO k").field("Size").integer();
    assert!((10_000..40_000).contains(&size), "{size}");
    db.converse(&[
        (&format!("CF.ADD k {added}"), &format!("-{TOO_BIG}")),
        (&format!("CF.INSERT k ITEMS {added} {added}"), "[:-1, :-1]"),
        (&format!("CF.INSERTNX k ITEMS 0 {added}"), "[:0, :-1]"),
        ("CF.ADDNX k 0", ":0"),
        ("CF.DEL k 0", ":1"),
        ("CONFIG SET bf.max-filter-bytes 0", "+OK"),
        (&format!("CF.ADD k {added}"), ":1"),
    ]);
}
