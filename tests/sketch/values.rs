//! What holds for sketches of every family: they survive files, dumps and copies, and replicas are
//! equal bit by bit.

use crate::cms::encoding::written;
use crate::module::server;
use splitbloom_harness::{now, words, Connection, Random, Server};

/// A family of sketches.
struct Family {
    /// How each key is created.
    create: &'static [&'static str],
    /// Fills the keys; further calls add more.
    fill: fn(&mut Connection, &mut Random),
    /// A command that changes a value.
    change: &'static str,
    /// Commands that are refused, or that ask.
    others: &'static [&'static str],
    /// Commands that make a value of others.
    merges: &'static [&'static str],
}

/// A sketch of several segments, an empty one, one that is full to the brim, and windows; lists of
/// few buckets, so that adds decay, and items of any bytes; digests.
const FAMILIES: [Family; 3] = [
    Family {
        create: &[
            "CMS.INITBYDIM counts:large 20000 5",
            "CMS.INITBYPROB counts:empty 0.01 0.01",
            "CMS.INITBYDIM counts:full 1 2",
            "CMS.INITBYDIM counts:recent 20000 5 WINDOW 3600 SLICES 4",
            "CMS.INITBYDIM counts:bytes 20000 5 CELL_SIZE 1",
            "CMS.INITBYDIM counts:words 2000 5 CELL_SIZE 8",
            "CMS.INITBYDIM counts:slices 20000 5 CELL_SIZE 2 WINDOW 3600 SLICES 4",
        ],
        fill: fill_counts,
        change: "CMS.INCRBY KEY item:0 1",
        others: &["CMS.INCRBY counts:empty a -1", "CMS.QUERY counts:recent a b"],
        merges: &[
            "CMS.MERGE counts:large 2 counts:large counts:large WEIGHTS 2 -1",
            "CMS.INITBYPROB counts:new 0.001 0.0001",
            "CMS.INITBYPROB counts:short 0.1 0.1 WINDOW 1 SLICES 2",
            "CMS.INCRBY counts:new a 1 b 2",
            "CMS.INCRBY counts:short a 1 b 2",
        ],
    },
    Family {
        create: &[
            "TOPK.RESERVE top:plain 10 8 3 0.9",
            "TOPK.RESERVE top:windowed 10 8 3 0.9 WINDOW 60 SLICES 6",
            "TOPK.RESERVE top:empty 5",
            "TOPK.RESERVE top:bytes 5 100 3 0.9",
        ],
        fill: fill_top,
        change: "TOPK.ADD KEY more",
        others: &[
            "TOPK.INCRBY top:plain a 5 b x c 7",
            "TOPK.INCRBY top:windowed a 5 b x c 7",
            "TOPK.ADDAT top:windowed 1700000000000 long-ago",
            "TOPK.LIST top:plain",
        ],
        merges: &[],
    },
    Family {
        create: &[
            "TDIGEST.CREATE times:small COMPRESSION 10",
            "TDIGEST.CREATE times:large",
            "TDIGEST.CREATE times:empty",
        ],
        fill: fill_times,
        change: "TDIGEST.ADD KEY 0.5",
        others: &[
            "TDIGEST.ADD times:large 1 x",
            "TDIGEST.QUANTILE times:small 0.1 0.5 0.99",
            "TDIGEST.QUANTILE times:large 0.1 0.5 0.99",
        ],
        merges: &["TDIGEST.MERGE times:small 1 times:large COMPRESSION 20"],
    },
];

fn fill_counts(db: &mut Connection, random: &mut Random) {
    for first in (0..1_000).step_by(100) {
        let items = (first..first + 100).map(|item| format!(" item:{item} {}", random.below(999)));
        db.run(&format!("CMS.INCRBY counts:large{}", items.collect::<String>()));
    }
    // Its counters stay at their end.
    db.line("CMS.INCRBY counts:full a 4294967295 b 9223372036854775807");
    for key in ["counts:bytes", "counts:words", "counts:slices"] {
        // Of both signs, and some of them do not fit.
        let mut by = || (random.below(1 << 17) >> random.below(17)) as i64 * 3 / 2 - (1 << 15);
        let items = (0..100).map(|item| format!(" of-{key}:{} {}", item % 30, by()));
        db.run(&format!("CMS.INCRBY {key}{}", items.collect::<String>()));
        db.run(&format!("CMS.PACKINCR {key} BY 90 FIXED 1 xyx"));
    }
    db.run("CMS.INCRBY counts:recent a 5 b 6");
    db.run("CMS.INCRBY counts:recent a 1");
}

/// Adds skewed items, so that a few are heavy and most decay others: in batches, one by one and
/// with increments, now and in the past.
fn fill_top(db: &mut Connection, random: &mut Random) {
    fn add(db: &mut Connection, head: &str, items: impl Iterator<Item = Vec<u8>>) {
        assert!(!db.call(words(head).into_iter().chain(items)).is_error());
    }
    fn item(random: &mut Random) -> Vec<u8> {
        let digits = random.below(12);
        random.below(1 << digits).to_string().into_bytes()
    }
    for key in ["top:plain", "top:windowed"] {
        for _ in 0..20 {
            add(db, &format!("TOPK.ADD {key}"), (0..50).map(|_| item(random)));
            let pairs = (0..10).flat_map(|_| {
                let increment = random.below(300).to_string().into_bytes();
                [item(random), increment]
            });
            add(db, &format!("TOPK.INCRBY {key}"), pairs);
        }
    }
    let past = now() - 25_000;
    for step in 0..20 {
        let head = format!("TOPK.ADDAT top:windowed {}", past + 1_000 * step);
        add(db, &head, (0..20).map(|_| item(random)));
    }
    let bytes = [&b""[..], b"\0", b"a\0b", b"a\0c", b"\xff\n\r"].map(<[u8]>::to_vec);
    add(db, "TOPK.ADD top:bytes", bytes.into_iter());
}

/// Adds skewed numbers, in batches and one by one.
fn fill_times(db: &mut Connection, random: &mut Random) {
    for key in ["times:small", "times:large"] {
        for len in [1, 7, 100, 900] {
            let mut number = || random.below(1 << 20) as f64 / (1 + random.below(1 << 10)) as f64;
            let numbers = (0..len).map(|_| number().to_string().into_bytes());
            let add = words(&format!("TDIGEST.ADD {key}")).into_iter().chain(numbers);
            assert_eq!(db.call(add).to_string(), "+OK");
        }
    }
}

fn create(db: &mut Connection) {
    db.run_all(FAMILIES.iter().flat_map(|family| family.create));
}

fn fill(db: &mut Connection, seed: u64) {
    let mut random = Random::seeded(seed);
    FAMILIES.iter().for_each(|family| (family.fill)(db, &mut random));
}

/// Each key, with the command that changes a value of its family.
fn keys() -> Vec<(&'static str, &'static str)> {
    let of = |family: &'static Family| {
        let keys = family.create.iter().map(|line| line.split(' ').nth(1).expect("a key"));
        keys.map(|key| (key, family.change))
    };
    FAMILIES.iter().flat_map(of).collect()
}

#[test]
fn values_survive_files_dumps_and_copies() {
    for (preamble, version) in [("yes", 0), ("no", 1)] {
        let preamble = format!("aof-use-rdb-preamble {preamble}");
        let lines = ["appendonly yes", "appendfsync no", &preamble, &written(version)];
        let (mut server, mut db) = Server::with_sketches(&lines).with_client();
        create(&mut db);
        fill(&mut db, 1);
        let before = db.digest_of_everything();
        db.run("DEBUG RELOAD");
        assert_eq!(db.digest_of_everything(), before);
        for (key, change) in keys() {
            let digest = db.digest(key);
            db.run(&format!("COPY {key} copy"));
            let dump = db.dump(key);
            assert_eq!(db.restore("restored", &dump), "+OK");
            for copy in ["copy", "restored"] {
                assert_eq!(db.digest(copy), digest, "{key}");
                assert!(db.run(&format!("MEMORY USAGE {copy}")).integer() > 0);
                db.line(&change.replace("KEY", copy));
                // Where all counters are at their end, nothing changes.
                assert_eq!(db.digest(copy) == digest, key == "counts:full", "{key}");
                assert_eq!(db.digest(key), digest, "{key} is not its copy");
                db.run(&format!("UNLINK {copy}"));
            }
        }
        // From the commands, and from a rewritten file with more commands after it.
        server.restart();
        let mut db = server.connect();
        assert_eq!(db.digest_of_everything(), before);
        db.rewrite_append_only_file();
        fill(&mut db, 2);
        let before = db.digest_of_everything();
        server.restart();
        assert_eq!(server.connect().digest_of_everything(), before);
    }
}

#[test]
fn replicas_are_equal_bit_by_bit_whatever_is_refused_and_whoever_asks_them() {
    let (primary, mut db) = server().with_client();
    create(&mut db);
    let replica = primary.replica(&["sketch.max-merge-bytes 1"]);
    for seed in 0..5 {
        fill(&mut db, seed);
        primary.wait_for(&replica);
        let mut there = replica.connect();
        for family in FAMILIES {
            family.others.iter().for_each(|line| drop([db.line(line), there.line(line)]));
            family.merges.iter().for_each(|line| drop(db.line(line)));
        }
        keys().iter().for_each(|(key, _)| drop(there.run(&format!("DUMP {key}"))));
        if seed == 2 {
            db.run("CLIENT KILL TYPE replica");
        }
    }
    let late = primary.replica(&[]);
    fill(&mut db, 9);
    for replica in [&replica, &late] {
        primary.assert_equal(replica);
    }
}

/// Sketches that RedisBloom has, too, have its types; the others have their own.
#[test]
fn each_kind_has_its_type() {
    let (_server, mut db) = server().with_client();
    create(&mut db);
    db.converse(&[
        ("TYPE counts:large", "+CMSk-TYPE"),
        ("TYPE counts:bytes", "+CMSk-TYPE"),
        ("TYPE counts:recent", "+CMSwindow"),
        ("TYPE top:plain", "+TopK-TYPE"),
        ("TYPE top:windowed", "+TopKwindw"),
        ("TYPE times:small", "+TDIS-TYPE"),
    ]);
}
