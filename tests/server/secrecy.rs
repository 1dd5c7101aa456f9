//! The seed of a filter is a secret: whoever has it can choose items that collide. Nothing that
//! shows commands or states shows it.

use splitbloom_harness::{Connection, Family, Reply, Server};

const SEED: &str = "5eed5eed5eed5eed";
/// The same, as a chunk of SCANDUMP has it, in the escapes of MONITOR and SLOWLOG.
const SEED_IN_A_CHUNK: &str = "\\xed^\\xed^\\xed^\\xed^";

/// A filter of each family with the seed, a copy, and the parameters.
const SECRET: [(Family, &str, &str, &str); 2] = [
    (Family::Bloom, "k", "copy", "0.01 100"),
    (Family::Counting, "counting", "counting-copy", "100"),
];

#[test]
fn monitor_and_slow_log_show_no_seed_on_the_primary_nor_on_the_replica() {
    let everything_is_slow = ["slowlog-log-slower-than 0", "slowlog-max-len 1000"];
    let primary = Server::configured(&everything_is_slow);
    let replica = primary.replica(&everything_is_slow);
    primary.wait_for(&replica);
    let mut monitors: Vec<Connection> =
        [&primary, &replica].map(|server| server.connect()).into_iter().collect();
    for monitor in &mut monitors {
        monitor.run("MONITOR");
    }

    let mut db = primary.connect();
    db.run(&format!("BF.RESERVE k 0.01 100 SEED {SEED}"));
    db.line(&format!("BF.RESERVE k 0.01 nonsense SEED {SEED}"));
    db.run(&format!("CF.RESERVE counting 100 SEED {SEED} BUCKETSIZE 4"));
    db.line(&format!("CF.RESERVE counting nonsense SEED {SEED}"));
    // Where SEED is no option, or in the wrong place.
    for refused in [
        "CF.INSERT counting SEED ? ITEMS a",
        "CF.INSERTNX counting NOCREATE SEED ? ITEMS a",
        "CF.INSERT counting CAPACITY 1 ITEMS a b SEED",
        "BF.INSERT k CAPACITY nonsense SEED ? ITEMS a",
        "BF.INSERT k SEED ? nonsense ITEMS a",
        "BF.PACKADD k SEED ? LINES a",
        "CF.PACKADD counting SEED ? LINES a",
        "CF.PACKDEL counting LINES a SEED ?",
        "BF.PACKEXISTS k SEED ? LINES a",
    ] {
        let reply = db.ask(&refused.replace('?', SEED));
        assert_eq!(reply.starts_with("-ERR "), refused.contains('?'), "{reply}");
    }
    for (family, key, copy, _) in SECRET {
        family.add_items(&mut db, key, 0..1);
        let chunks = family.scan_dump(&mut db, key);
        family.load_chunks(&mut db, copy, &chunks);
        db.run(&format!("{} {key}-made-by-an-add a", family.command("ADD")));
        assert_eq!(db.digest(key), db.digest(copy));
    }
    db.run("ECHO done");
    db.run("SET done 1");
    primary.wait_for(&replica);

    for (server, monitor) in [&primary, &replica].into_iter().zip(&mut monitors) {
        let mut shown = Vec::new();
        while !shown.last().is_some_and(|line: &String| line.contains("\"SET\" \"done\"")) {
            shown.push(monitor.receive().to_string());
        }
        shown.push(server.connect().run("SLOWLOG GET -1").to_string());
        let shown = shown.join("\n");
        for family in Family::BOTH {
            for command in ["RESERVE", "LOADCHUNK"] {
                assert!(shown.contains(&family.command(command)), "{shown}");
            }
        }
        assert!(shown.contains("(redacted)"), "{shown}");
        assert!(!shown.contains(SEED), "{shown}");
        assert!(!shown.contains(SEED_IN_A_CHUNK), "{shown}");
        let after_seed = shown.split("\"SEED\" ").skip(1);
        assert!(after_seed.into_iter().all(|rest| rest.starts_with("\"(redacted)\"")), "{shown}");
    }
}

/// A seed without repetitions, so that a compressor leaves it as it is.
const RANDOM_SEED: u64 = 0xd1c2_b3a4_9586_7768;

/// How a filter is made, and how many items it gets.
const FILTERS: [(Family, &str, u64); 9] = [
    (Family::Bloom, "0.01 100", 0),
    (Family::Bloom, "0.01 100", 1),
    (Family::Bloom, "0.5 1 NONSCALING", 1),
    (Family::Bloom, "0.01 10 EXPANSION 1", 60),
    (Family::Bloom, "0.01 1099511627776", 1),
    (Family::Bloom, "0.01 1000000", 20_000),
    (Family::Counting, "100", 0),
    (Family::Counting, "100 ERROR 0.5", 1),
    (Family::Counting, "100", 20_000),
];

#[test]
fn the_slow_log_shows_no_seed_and_no_bit_of_a_filter_that_a_dump_or_a_script_brings() {
    for compression in ["yes", "no"] {
        let settings = [
            "slowlog-log-slower-than 0",
            "slowlog-max-len 1000",
            &format!("rdbcompression {compression}"),
        ];
        let [here, there] = [Server::configured(&settings), Server::configured(&settings)];
        let mut db = here.connect();
        for (number, (family, creation, items)) in FILTERS.into_iter().enumerate() {
            let key = format!("k{number}");
            let parameters = format!("{creation} SEED {RANDOM_SEED:016x}");
            family.reserve_with(&mut db, &key, &parameters);
            family.add_items(&mut db, &key, 0..items);
            let payload = db.dump(&key);
            let shown = &payload[..payload.len().min(SHOWN_BYTES)];
            assert!(chunk_bytes_in(shown) <= SHOWN_BYTES, "{creation}");

            let chunks = family.scan_dump(&mut db, &key);
            assert_eq!(db.restore(&key.replace('k', "restored"), &payload), "+OK");
            for (iterator, chunk) in &chunks {
                let load = family.command("LOADCHUNK");
                let script = format!("return redis.call('{load}', KEYS[1], ARGV[1], ARGV[2])");
                let loaded = key.replace('k', "loaded");
                let iterator = iterator.to_string();
                let reply = db.call([
                    b"EVAL",
                    script.as_bytes(),
                    b"1",
                    loaded.as_bytes(),
                    iterator.as_bytes(),
                    chunk,
                ]);
                assert_eq!(reply.to_string(), "+OK");
            }
            let migration = format!("MIGRATE 127.0.0.1 {} {key} 0 5000 COPY", there.port());
            assert_eq!(db.ask(&migration), "+OK");

            let hash = &chunks[0].1[SHOWN_BYTES..][..8];
            for server in [&here, &there] {
                assert_kept_secret(&mut server.connect(), [&RANDOM_SEED.to_le_bytes(), hash]);
            }
        }
        assert_eq!(there.connect().ask("DBSIZE"), format!(":{}", FILTERS.len()));
    }
}

#[test]
fn the_slow_log_shows_no_seed_after_an_append_only_file_was_loaded() {
    for ((family, _, _, parameters), preamble) in
        SECRET.into_iter().flat_map(|one| ["yes", "no"].map(|preamble| (one, preamble)))
    {
        let (mut server, mut db) = Server::configured(&[
            "slowlog-log-slower-than 0",
            "appendonly yes",
            "appendfsync no",
            &format!("aof-use-rdb-preamble {preamble}"),
        ])
        .with_client();
        family.reserve_with(&mut db, "k", &format!("{parameters} SEED {RANDOM_SEED:016x}"));
        family.add_items(&mut db, "k", 0..1);
        let chunks = family.scan_dump(&mut db, "k");
        family.load_chunks(&mut db, "loaded", &chunks);
        let hash = chunks[0].1[SHOWN_BYTES..][..8].to_vec();
        for rewritten in [false, true] {
            if rewritten {
                db.rewrite_append_only_file();
            }
            server.restart();
            db = server.connect();
            assert_eq!(db.digest("k"), db.digest("loaded"));
            assert_kept_secret(&mut db, [&RANDOM_SEED.to_le_bytes(), &hash]);
        }
    }
}

/// How many bytes of an argument a server's logs keep.
const SHOWN_BYTES: usize = 128;

/// No entry of the server's logs of commands has a part of a secret, as it is or in hex.
fn assert_kept_secret(db: &mut Connection, secrets: [&[u8]; 2]) {
    let hex = format!("{RANDOM_SEED:016x}");
    let mut entries = vec![db.run("SLOWLOG GET -1")];
    // Valkey 8.1 and later keep logs of large commands and replies, too.
    entries.extend(
        ["slow", "large-request", "large-reply"]
            .map(|log| db.line(&format!("COMMANDLOG GET -1 {log}"))),
    );
    for entry in entries.iter().filter(|reply| !reply.is_error()).flat_map(Reply::elements) {
        for argument in entry.elements()[3].elements() {
            let shown = argument.bytes();
            let contains = |part: &[u8]| shown.windows(part.len()).any(|window| window == part);
            for secret in secrets {
                // A part of it would help to guess the rest.
                assert!(!secret.windows(4).any(contains), "{entry}");
            }
            assert!(!contains(hex.as_bytes()), "{entry}");
        }
    }
}

/// How many bytes of the first chunk the beginning of a dump gives away: a dump is a type byte,
/// nine bytes of module, the mark of a string, and the string, perhaps compressed.
fn chunk_bytes_in(dump: &[u8]) -> usize {
    const STRING: usize = 11;
    const COMPRESSED: u8 = 0xC3;
    if dump[STRING] != COMPRESSED {
        return dump.len() - STRING - length_bytes(dump[STRING]);
    }
    let mut at = STRING + 1;
    at += length_bytes(dump[at]);
    at += length_bytes(dump[at]);
    // LZF: a byte below 32 is that many literals less one, another the length of a repetition.
    let mut found = 0;
    while let Some(&control) = dump.get(at) {
        let literals = usize::from(control) + 1;
        let rest = dump.len() - at - 1;
        let (bytes, taken) = match control >> 5 {
            0 => (literals.min(rest), literals),
            7 => (dump.get(at + 1).map_or(0, |more| usize::from(*more) + 9), 2),
            short => (usize::from(short) + 2, 1),
        };
        found += bytes;
        at += 1 + taken;
    }
    found
}

/// Bytes of a length in a dump.
fn length_bytes(first: u8) -> usize {
    match first >> 6 {
        0 => 1,
        1 => 2,
        _ => 5,
    }
}

#[test]
fn no_answer_and_no_log_shows_a_seed() {
    let (server, mut db) = Server::configured(&["loglevel debug"]).with_client();
    let mut shown = Vec::new();
    for (family, key, copy, parameters) in SECRET {
        let reserve = family.command(&format!("RESERVE {key} {parameters} SEED {SEED}"));
        db.run(&reserve);
        family.add_items(&mut db, key, 0..1);
        let chunks = family.scan_dump(&mut db, key);
        family.load_chunks(&mut db, copy, &chunks);
        let mut cut = chunks[0].1.clone();
        cut.pop();
        shown.push(family.load(&mut db, "cut", 1, &cut));
        shown.push(db.ask(&reserve));
        for key in [key, copy] {
            shown.push(db.ask(&format!("{} {key} FULL", family.command("INFO"))));
            shown.push(db.ask(&format!("{} {key}", family.command("DEBUG"))));
        }
    }
    shown.push(db.ask(&format!("BF.RESERVE other 0.01 0 SEED {SEED}")));
    shown.push(db.ask(&format!("CF.RESERVE other 0 SEED {SEED}")));
    for question in [
        "INFO everything",
        "CLIENT LIST",
        "CONFIG GET *",
        "MODULE LIST",
        "DEBUG OBJECT k",
        "MEMORY STATS",
        "LATENCY LATEST",
    ] {
        shown.push(db.run(question).to_string());
    }
    db.run("DEBUG RELOAD");
    shown.push(server.log());
    let shown = shown.join("\n").to_lowercase();
    let as_a_number = u64::from_str_radix(SEED, 16).expect("a seed").to_string();
    for secret in [SEED, SEED_IN_A_CHUNK, &as_a_number] {
        assert!(!shown.contains(secret), "{secret} in {shown}");
    }
}
