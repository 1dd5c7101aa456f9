//! Every error that a client can get, in one table. No error changes anything.

use splitbloom_harness::{scan_dump, Connection, Dialect, Server};

/// The setup: a filter, a full one that cannot scale, and a key of another type.
const SETUP: [&str; 4] = [
    "BF.RESERVE filter 0.000001 100",
    "BF.ADD filter a",
    "BF.INSERT full ERROR 0.000001 CAPACITY 2 NONSCALING ITEMS a b",
    "SET text a",
];

const WRONG_TYPE: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";
const BAD_ERROR_RATE: &str = "ERR bad error rate";
const ERROR_RATE_RANGE: &str = "ERR error rate must be in the range (0.000000, 1.000000)";
const BAD_CAPACITY: &str = "ERR bad capacity";
const CAPACITY_RANGE: &str = "ERR capacity must be in the range [1, 1099511627776]";
const BAD_EXPANSION: &str = "ERR bad expansion";
const EXPANSION_RANGE: &str = "ERR expansion must be in the range [0, 32768]";
const CANNOT_EXPAND: &str = "ERR Nonscaling filters cannot expand";
const BAD_FIELD: &str = "ERR Invalid information value";
const NOT_NUMERIC: &str = "ERR Second argument must be numeric";
const TOO_LONG: &str = "ERR the keys would take more than 64 MiB";
/// 8 KiB long: 16 384 keys of that name are 128 MiB.
const LONG_NAME: &str = match std::str::from_utf8(&[b'n'; 8192]) {
    Ok(name) => name,
    Err(_) => "",
};
const BAD_DATA: &str = "ERR received bad data";
const NOT_FOUND: &str = "ERR not found";
const FULL: &str = "ERR non scaling filter is full";

const BAD_PARTITIONS: &str = "ERR bad number of partitions";
const PARTITIONS_RANGE: &str = "ERR partitions must be a power of two in the range [1, 16384]";
const BRACE_IN_NAME: &str = "ERR the name of a partitioned filter must not contain {";

const SYNTAX: &str = "ERR syntax error";
const BAD_SEED: &str = "ERR bad seed";

/// Commands whose arguments contain no spaces, and their errors.
const ERRORS: &[(&str, &str)] = &[
    // Numbers of arguments.
    ("BF.RESERVE", "ERR wrong number of arguments for 'bf.reserve' command"),
    ("BF.RESERVE k", "ERR wrong number of arguments for 'bf.reserve' command"),
    ("BF.RESERVE k 0.01", "ERR wrong number of arguments for 'bf.reserve' command"),
    ("BF.ADD", "ERR wrong number of arguments for 'bf.add' command"),
    ("BF.ADD k", "ERR wrong number of arguments for 'bf.add' command"),
    ("BF.ADD k a b", "ERR wrong number of arguments for 'bf.add' command"),
    ("BF.MADD", "ERR wrong number of arguments for 'bf.madd' command"),
    ("BF.MADD k", "ERR wrong number of arguments for 'bf.madd' command"),
    ("BF.INSERT", "ERR wrong number of arguments for 'bf.insert' command"),
    ("BF.INSERT k", "ERR wrong number of arguments for 'bf.insert' command"),
    ("BF.INSERT k ITEMS", "ERR wrong number of arguments for 'bf.insert' command"),
    ("BF.INSERT k NOCREATE ITEMS", "ERR wrong number of arguments for 'bf.insert' command"),
    ("BF.INSERT k NOCREATE NONSCALING", "ERR wrong number of arguments for 'bf.insert' command"),
    ("BF.INSERT k CAPACITY 100", "ERR wrong number of arguments for 'bf.insert' command"),
    ("BF.INSERT k NOCREATE CAPACITY", "ERR wrong number of arguments for 'bf.insert' command"),
    ("BF.INSERT k NOCREATE ERROR", "ERR wrong number of arguments for 'bf.insert' command"),
    ("BF.INSERT k NOCREATE EXPANSION", "ERR wrong number of arguments for 'bf.insert' command"),
    ("BF.INSERT filter NOCREATE ITEMS", "ERR wrong number of arguments for 'bf.insert' command"),
    ("BF.EXISTS", "ERR wrong number of arguments for 'bf.exists' command"),
    ("BF.EXISTS k", "ERR wrong number of arguments for 'bf.exists' command"),
    ("BF.EXISTS k a b", "ERR wrong number of arguments for 'bf.exists' command"),
    ("BF.MEXISTS", "ERR wrong number of arguments for 'bf.mexists' command"),
    ("BF.MEXISTS k", "ERR wrong number of arguments for 'bf.mexists' command"),
    ("BF.CARD", "ERR wrong number of arguments for 'bf.card' command"),
    ("BF.CARD k a", "ERR wrong number of arguments for 'bf.card' command"),
    ("BF.DEBUG", "ERR wrong number of arguments for 'bf.debug' command"),
    ("BF.DEBUG filter a", "ERR wrong number of arguments for 'bf.debug' command"),
    ("BF.INFO", "ERR wrong number of arguments for 'bf.info' command"),
    ("BF.INFO filter CAPACITY SIZE", "ERR wrong number of arguments for 'bf.info' command"),
    ("BF.SCANDUMP", "ERR wrong number of arguments for 'bf.scandump' command"),
    ("BF.SCANDUMP k", "ERR wrong number of arguments for 'bf.scandump' command"),
    ("BF.SCANDUMP k 0 0 0", "ERR wrong number of arguments for 'bf.scandump' command"),
    ("BF.LOADCHUNK", "ERR wrong number of arguments for 'bf.loadchunk' command"),
    ("BF.LOADCHUNK k 1", "ERR wrong number of arguments for 'bf.loadchunk' command"),
    ("BF.LOADCHUNK k 1 a b", "ERR wrong number of arguments for 'bf.loadchunk' command"),
    ("BF.KEYS", "ERR wrong number of arguments for 'bf.keys' command"),
    ("BF.KEYS k PARTITIONS", "ERR wrong number of arguments for 'bf.keys' command"),
    ("BF.KEYS k PARTITIONS 4 ITEMS", "ERR wrong number of arguments for 'bf.keys' command"),
    // Error rates.
    ("BF.RESERVE k abc 100", BAD_ERROR_RATE),
    ("BF.RESERVE k nan 100", BAD_ERROR_RATE),
    ("BF.RESERVE k -nan 100", BAD_ERROR_RATE),
    ("BF.RESERVE k NaN 100", BAD_ERROR_RATE),
    ("BF.RESERVE k 0.01x 100", BAD_ERROR_RATE),
    ("BF.RESERVE k 0,01 100", BAD_ERROR_RATE),
    ("BF.RESERVE k 0x1g 100", BAD_ERROR_RATE),
    ("BF.RESERVE k . 100", BAD_ERROR_RATE),
    ("BF.RESERVE k 0 100", ERROR_RATE_RANGE),
    ("BF.RESERVE k 0.0 100", ERROR_RATE_RANGE),
    ("BF.RESERVE k -0 100", ERROR_RATE_RANGE),
    ("BF.RESERVE k -0.01 100", ERROR_RATE_RANGE),
    ("BF.RESERVE k 1 100", ERROR_RATE_RANGE),
    ("BF.RESERVE k 1.0 100", ERROR_RATE_RANGE),
    ("BF.RESERVE k 1.5 100", ERROR_RATE_RANGE),
    ("BF.RESERVE k 100 100", ERROR_RATE_RANGE),
    ("BF.RESERVE k inf 100", ERROR_RATE_RANGE),
    ("BF.RESERVE k -inf 100", ERROR_RATE_RANGE),
    // Capacities.
    ("BF.RESERVE k 0.01 abc", BAD_CAPACITY),
    ("BF.RESERVE k 0.01 1.5", BAD_CAPACITY),
    ("BF.RESERVE k 0.01 1e3", BAD_CAPACITY),
    ("BF.RESERVE k 0.01 +1", BAD_CAPACITY),
    ("BF.RESERVE k 0.01 01", BAD_CAPACITY),
    ("BF.RESERVE k 0.01 0x10", BAD_CAPACITY),
    ("BF.RESERVE k 0.01 100x", BAD_CAPACITY),
    ("BF.RESERVE k 0.01 nan", BAD_CAPACITY),
    ("BF.RESERVE k 0.01 inf", BAD_CAPACITY),
    ("BF.RESERVE k 0.01 9223372036854775808", BAD_CAPACITY),
    ("BF.RESERVE k 0.01 99999999999999999999", BAD_CAPACITY),
    ("BF.RESERVE k 0.01 NONSCALING", BAD_CAPACITY),
    ("BF.RESERVE k 0.01 0", CAPACITY_RANGE),
    ("BF.RESERVE k 0.01 -1", CAPACITY_RANGE),
    ("BF.RESERVE k 0.01 1099511627777", CAPACITY_RANGE),
    ("BF.RESERVE k 0.01 9223372036854775807", CAPACITY_RANGE),
    ("BF.RESERVE k 0.01 -9223372036854775808", CAPACITY_RANGE),
    // Expansion.
    ("BF.RESERVE k 0.01 100 EXPANSION", "ERR no expansion"),
    ("BF.RESERVE k 0.01 100 NONSCALING EXPANSION", "ERR no expansion"),
    ("BF.RESERVE k 0.01 100 EXPANSION abc", BAD_EXPANSION),
    ("BF.RESERVE k 0.01 100 EXPANSION 1.5", BAD_EXPANSION),
    ("BF.RESERVE k 0.01 100 EXPANSION NONSCALING", BAD_EXPANSION),
    ("BF.RESERVE k 0.01 100 EXPANSION 9223372036854775808", BAD_EXPANSION),
    ("BF.RESERVE k 0.01 100 EXPANSION -1", EXPANSION_RANGE),
    ("BF.RESERVE k 0.01 100 EXPANSION 32769", EXPANSION_RANGE),
    ("BF.RESERVE k 0.01 100 32769", EXPANSION_RANGE),
    ("BF.RESERVE k 0.01 100 -1", EXPANSION_RANGE),
    ("BF.RESERVE k 0.01 100 NONSCALING EXPANSION 2", CANNOT_EXPAND),
    ("BF.RESERVE k 0.01 100 EXPANSION 1 NONSCALING", CANNOT_EXPAND),
    ("BF.RESERVE k 0.01 100 2 NONSCALING", CANNOT_EXPAND),
    // Unknown options, and prefixes of options.
    ("BF.RESERVE k 0.01 100 NONSCALING 2", CANNOT_EXPAND),
    ("BF.RESERVE k 0.01 100 NONSENSE", SYNTAX),
    ("BF.RESERVE k 0.01 100 NONSCALINGX", SYNTAX),
    ("BF.RESERVE k 0.01 100 NONSCALIN", SYNTAX),
    ("BF.RESERVE k 0.01 100 N", SYNTAX),
    ("BF.RESERVE k 0.01 100 EXPANSIONX 2", SYNTAX),
    ("BF.RESERVE k 0.01 100 E 2", SYNTAX),
    ("BF.RESERVE k 0.01 100 1.5", SYNTAX),
    ("BF.RESERVE k 0.01 100 SEED", BAD_SEED),
    ("BF.RESERVE k 0.01 100 SEED 0123", BAD_SEED),
    ("BF.RESERVE k 0.01 100 SEED 0123456789abcdeg", BAD_SEED),
    ("BF.RESERVE k 0.01 100 SEED 0123456789abcdef0", BAD_SEED),
    ("BF.RESERVE k 0.01 100 SEED +123456789abcdef", BAD_SEED),
    ("BF.INSERT k NONSENSE ITEMS a", SYNTAX),
    ("BF.INSERT k NOCREATEX ITEMS a", SYNTAX),
    ("BF.INSERT k NONSCALINGX ITEMS a", SYNTAX),
    ("BF.INSERT k CAP 100 ITEMS a", SYNTAX),
    ("BF.INSERT k CAPACITYX 100 ITEMS a", SYNTAX),
    ("BF.INSERT k N ITEMS a", SYNTAX),
    ("BF.INSERT k 2 ITEMS a", SYNTAX),
    ("BF.INSERT k ITEM a", SYNTAX),
    ("BF.INSERT k a b", SYNTAX),
    // BF.INSERT checks the same values.
    ("BF.INSERT k ERROR abc ITEMS a", BAD_ERROR_RATE),
    ("BF.INSERT k ERROR nan ITEMS a", BAD_ERROR_RATE),
    ("BF.INSERT k ERROR ITEMS a", BAD_ERROR_RATE),
    ("BF.INSERT k ERROR 0 ITEMS a", ERROR_RATE_RANGE),
    ("BF.INSERT k ERROR 1 ITEMS a", ERROR_RATE_RANGE),
    ("BF.INSERT k ERROR inf ITEMS a", ERROR_RATE_RANGE),
    ("BF.INSERT k CAPACITY abc ITEMS a", BAD_CAPACITY),
    ("BF.INSERT k CAPACITY 1.5 ITEMS a", BAD_CAPACITY),
    ("BF.INSERT k CAPACITY ITEMS a", BAD_CAPACITY),
    ("BF.INSERT k CAPACITY 0 ITEMS a", CAPACITY_RANGE),
    ("BF.INSERT k CAPACITY 1099511627777 ITEMS a", CAPACITY_RANGE),
    ("BF.INSERT k EXPANSION abc ITEMS a", BAD_EXPANSION),
    ("BF.INSERT k EXPANSION 1.5 ITEMS a", BAD_EXPANSION),
    ("BF.INSERT k EXPANSION ITEMS a", BAD_EXPANSION),
    ("BF.INSERT k EXPANSION -1 ITEMS a", EXPANSION_RANGE),
    ("BF.INSERT k EXPANSION 32769 ITEMS a", EXPANSION_RANGE),
    ("BF.INSERT k NOCREATE ITEMS a", NOT_FOUND),
    ("BF.INSERT k NOCREATE CAPACITY 100 ITEMS a", NOT_FOUND),
    ("BF.INSERT filter CAPACITY abc ITEMS a", BAD_CAPACITY),
    ("BF.INSERT filter ERROR nan ITEMS a", BAD_ERROR_RATE),
    ("BF.INSERT filter EXPANSION abc ITEMS a", BAD_EXPANSION),
    // The key.
    ("BF.RESERVE filter 0.01 100", "ERR item exists"),
    ("BF.RESERVE full 0.01 100", "ERR item exists"),
    ("BF.RESERVE text 0.01 100", WRONG_TYPE),
    ("BF.ADD text a", WRONG_TYPE),
    ("BF.MADD text a b", WRONG_TYPE),
    ("BF.INSERT text ITEMS a", WRONG_TYPE),
    ("BF.INSERT text NOCREATE ITEMS a", WRONG_TYPE),
    ("BF.EXISTS text a", WRONG_TYPE),
    ("BF.MEXISTS text a b", WRONG_TYPE),
    ("BF.CARD text", WRONG_TYPE),
    ("BF.DEBUG text", WRONG_TYPE),
    ("BF.INFO text", WRONG_TYPE),
    ("BF.INFO text SIZE", WRONG_TYPE),
    ("BF.SCANDUMP text 0", WRONG_TYPE),
    ("BF.LOADCHUNK text 1 a", WRONG_TYPE),
    ("BF.DEBUG k", NOT_FOUND),
    ("BF.INFO k", NOT_FOUND),
    ("BF.INFO k ITEMS", NOT_FOUND),
    ("BF.INFO k FULL", NOT_FOUND),
    ("BF.SCANDUMP k 0", NOT_FOUND),
    ("BF.ADD full c", FULL),
    // Fields, iterators, chunks.
    ("BF.INFO filter NONSENSE", BAD_FIELD),
    ("BF.INFO filter CAP", BAD_FIELD),
    ("BF.INFO filter CAPACITYX", BAD_FIELD),
    ("BF.INFO filter 1", BAD_FIELD),
    ("BF.SCANDUMP filter abc", NOT_NUMERIC),
    ("BF.SCANDUMP filter 1.5", NOT_NUMERIC),
    ("BF.SCANDUMP filter 9223372036854775808", NOT_NUMERIC),
    ("BF.LOADCHUNK k abc a", NOT_NUMERIC),
    ("BF.LOADCHUNK k 1.5 a", NOT_NUMERIC),
    ("BF.LOADCHUNK k 1 a", BAD_DATA),
    ("BF.LOADCHUNK k 0 a", BAD_DATA),
    ("BF.LOADCHUNK k -1 a", BAD_DATA),
    ("BF.LOADCHUNK k 9223372036854775807 a", BAD_DATA),
    ("BF.LOADCHUNK filter 1 a", BAD_DATA),
    ("BF.LOADCHUNK filter 2 a", BAD_DATA),
    // Partitions.
    ("BF.KEYS k PARTITION 4", SYNTAX),
    ("BF.KEYS k PARTITIONSX 4", SYNTAX),
    ("BF.KEYS k 4 PARTITIONS", SYNTAX),
    ("BF.KEYS k PARTITIONS 4 ITEM a", SYNTAX),
    ("BF.KEYS k PARTITIONS abc", BAD_PARTITIONS),
    ("BF.KEYS k PARTITIONS 1.5", BAD_PARTITIONS),
    ("BF.KEYS k PARTITIONS 04", BAD_PARTITIONS),
    ("BF.KEYS k PARTITIONS 9223372036854775808", BAD_PARTITIONS),
    ("BF.KEYS k PARTITIONS 0", PARTITIONS_RANGE),
    ("BF.KEYS k PARTITIONS -1", PARTITIONS_RANGE),
    ("BF.KEYS k PARTITIONS 3", PARTITIONS_RANGE),
    ("BF.KEYS k PARTITIONS 32768", PARTITIONS_RANGE),
    ("BF.KEYS k PARTITIONS 9223372036854775807", PARTITIONS_RANGE),
    ("BF.KEYS {k} PARTITIONS 4", BRACE_IN_NAME),
    ("BF.KEYS k{ PARTITIONS 4 ITEMS a", BRACE_IN_NAME),
    // Arguments are checked before the key.
    ("BF.RESERVE text nan 100", BAD_ERROR_RATE),
    ("BF.RESERVE filter 0.01 0", CAPACITY_RANGE),
    ("BF.INSERT text CAPACITY abc ITEMS a", BAD_CAPACITY),
    ("BF.INFO text NONSENSE", BAD_FIELD),
    ("BF.INFO k NONSENSE", BAD_FIELD),
    ("BF.SCANDUMP k abc", NOT_NUMERIC),
    ("BF.SCANDUMP text abc", NOT_NUMERIC),
    ("BF.LOADCHUNK text abc a", NOT_NUMERIC),
];

/// Commands with arguments that are empty or contain spaces.
const ERRORS_OF_ODD_WORDS: &[(&[&str], &str)] = &[
    (&["BF.RESERVE", "k", "", "100"], BAD_ERROR_RATE),
    (&["BF.RESERVE", "k", " 0.01", "100"], BAD_ERROR_RATE),
    (&["BF.RESERVE", "k", "0.01 ", "100"], BAD_ERROR_RATE),
    (&["BF.RESERVE", "k", "0.01\0", "100"], BAD_ERROR_RATE),
    (&["BF.RESERVE", "k", "0.01", ""], BAD_CAPACITY),
    (&["BF.RESERVE", "k", "0.01", " 1"], BAD_CAPACITY),
    (&["BF.RESERVE", "k", "0.01", "1 "], BAD_CAPACITY),
    (&["BF.RESERVE", "k", "0.01", "1\0"], BAD_CAPACITY),
    (&["BF.RESERVE", "k", "0.01", "100", "EXPANSION", ""], BAD_EXPANSION),
    (&["BF.RESERVE", "k", "0.01", "100", "EXPANSION", " 2"], BAD_EXPANSION),
    (&["BF.RESERVE", "k", "0.01", "100", ""], SYNTAX),
    (&["BF.RESERVE", "k", "0.01", "100", " 2"], SYNTAX),
    (&["BF.RESERVE", "k", "0.01", "100", "NONSCALING\0"], SYNTAX),
    (&["BF.INSERT", "k", "", "ITEMS", "a"], SYNTAX),
    (&["BF.INSERT", "k", "ITEMS ", "a"], SYNTAX),
    (&["BF.INFO", "filter", ""], BAD_FIELD),
    (&["BF.INFO", "filter", "CAPACITY\0"], BAD_FIELD),
    (&["BF.SCANDUMP", "filter", ""], NOT_NUMERIC),
    (&["BF.SCANDUMP", "filter", " 0"], NOT_NUMERIC),
    (&["BF.LOADCHUNK", "k", "", "a"], NOT_NUMERIC),
    (&["BF.LOADCHUNK", "k", "1", ""], BAD_DATA),
    (&["BF.KEYS", LONG_NAME, "PARTITIONS", "16384"], TOO_LONG),
];

#[test]
fn every_error_has_its_text_and_changes_nothing() {
    let simple = ERRORS.iter().map(|(line, error)| (line.split_whitespace().collect(), *error));
    let odd = ERRORS_OF_ODD_WORDS.iter().map(|(words, error)| (words.to_vec(), *error));
    let cases: Vec<(Vec<&str>, &str)> = simple.chain(odd).collect();
    check_errors(&SETUP, &cases);
}

/// Checks that each command returns its error, and that none changes anything.
pub fn check_errors(setup: &[&str], cases: &[(Vec<&str>, &str)]) {
    // Without syncs, because a write to the file, and its size, would wait for a sync in progress.
    let server = Server::configured(&["appendonly yes", "appendfsync no"]);
    let mut db = server.connect();
    for line in setup {
        db.run(line);
    }

    let before = Traces::of(&mut db);
    let mut wrong = Vec::new();
    for (command, error) in cases {
        let reply = db.call(command).to_string();
        if reply != format!("-{error}") {
            wrong.push(format!("{command:?}\n    returns  {reply}\n    expected -{error}"));
        }
        if Traces::of(&mut db) != before {
            panic!("{command:?} changed something");
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} are wrong:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
}

#[test]
fn a_valid_chunk_does_not_replace_a_value_of_another_type() {
    let server = Server::start();
    let mut db = server.connect();
    for line in SETUP {
        db.run(line);
    }
    let before = Traces::of(&mut db);
    for (iterator, bytes) in scan_dump(&mut db, "filter") {
        let iterator = iterator.to_string();
        let reply = db.call([b"BF.LOADCHUNK", b"text".as_slice(), iterator.as_bytes(), &bytes]);
        assert_eq!(reply.to_string(), format!("-{WRONG_TYPE}"));
    }
    assert_eq!(Traces::of(&mut db), before);
}

#[test]
fn a_server_at_maxmemory_refuses_every_write_and_answers_every_read() {
    let server = Server::start();
    let mut db = server.connect();
    for line in SETUP {
        db.run(line);
    }
    let before = Traces::of(&mut db);
    db.run("CONFIG SET maxmemory 1");
    for write in [
        "BF.RESERVE k 0.01 100",
        "BF.ADD filter b",
        "BF.MADD filter b",
        "BF.INSERT filter ITEMS b",
        "BF.LOADCHUNK k 1 a",
    ] {
        assert!(db.ask(write).starts_with("-OOM "), "{write}");
    }
    assert_eq!(Traces::of(&mut db), before);
    db.converse(&[
        ("BF.EXISTS filter a", ":1"),
        ("BF.MEXISTS filter a z", "[:1, :0]"),
        ("BF.CARD filter", ":1"),
        ("BF.INFO filter ITEMS", "[:1]"),
    ]);
    assert!(!db.line("BF.SCANDUMP filter 0").is_error());
}

/// Everything that a failed command could leave behind.
#[derive(Debug, PartialEq)]
pub struct Traces {
    digest: String,
    keys: i64,
    changes: String,
    propagated_bytes: Option<String>,
}

impl Traces {
    pub fn of(db: &mut Connection) -> Traces {
        let persistence = db.run("INFO persistence").text();
        let field =
            |name| persistence.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
        Traces {
            digest: db.digest_of_everything(),
            keys: db.line("DBSIZE").integer(),
            changes: field("rdb_changes_since_last_save:").expect("a count of changes"),
            propagated_bytes: field("aof_current_size:"),
        }
    }
}

/// As docs/commands.md says.
#[test]
fn a_script_gets_the_error_at_the_end_of_an_array_which_newer_valkeys_raise() {
    let server = Server::start();
    let raises = server.dialect() >= Dialect::Valkey { major: 9, minor: 0 };
    let mut db = server.connect();
    for command in ["'BF.MADD', KEYS[1]", "'BF.INSERT', KEYS[1], 'ITEMS'"] {
        db.run("FLUSHALL");
        db.run("BF.RESERVE three 0.000001 3 NONSCALING");
        let script =
            |call: &str| format!("return redis.{call}({command}, 'a', 'b', 'c', 'd', 'e')");
        let mut eval = |script: &str| db.call(["EVAL", script, "1", "three"]).to_string();
        let [first, again] = match raises {
            true => ["-ERR non scaling filter is full"; 2],
            false => [
                "[:1, :1, :1, -ERR non scaling filter is full]",
                "[:0, :0, :0, -ERR non scaling filter is full]",
            ],
        };
        let reply = eval(&script("call"));
        assert!(reply.starts_with(first), "{reply}");
        let reply = eval(&script("pcall"));
        assert!(reply.starts_with(again), "{reply}");
        // Either way the items before the error are in the filter.
        assert_eq!(db.ask("BF.MEXISTS three a b c d"), "[:1, :1, :1, :0]");
    }
}
