//! Filters that RedisBloom and valkey-bloom wrote, and what they returned for them.
//!
//! `tests/server/golden/redisbloom*` come from its main branch of June 2026 on Redis 8.0.2:
//!
//! ```text
//! BF.RESERVE growing 0.01 50 EXPANSION 2           BF.MADD growing item:0 … item:299
//! BF.RESERVE fixed 0.001 100 NONSCALING            BF.MADD fixed item:0 … item:99
//! CF.RESERVE cuckoo 256 BUCKETSIZE 2 EXPANSION 2   CF.INSERT cuckoo ITEMS item:0 … item:299
//!                                                  CF.INSERT cuckoo ITEMS item:0 … item:49
//!                                                  CF.DEL cuckoo item:250 … item:299
//! ```
//!
//! `redisbloom-KEY.hex` is what DUMP returned, `redisbloom-KEY.pieces` what SCANDUMP did, a line
//! for each iterator and its data; `redisbloom.rdb` what SAVE wrote, and `redisbloom.aof` the base
//! file of BGREWRITEAOF with `aof-use-rdb-preamble no`.
//!
//! `tests/server/golden/valkey-bloom*` are the same of the first two on Valkey 8.1.1, without
//! pieces. No release of valkey-bloom was available. They come from its published sources of
//! October 2024, with the crate `bloomfilter` 3.0.2 and the functions of 1.0 that save and encode,
//! after its published sources.

use crate::{absent_item, item, with_fresh_footer, Connection, Family, Reply};

pub const RDB: &[u8] = include_bytes!("../../server/golden/redisbloom.rdb");
pub const AOF: &[u8] = include_bytes!("../../server/golden/redisbloom.aof");
pub const RDB_OF_VALKEY_BLOOM: &[u8] = include_bytes!("../../server/golden/valkey-bloom.rdb");
pub const AOF_OF_VALKEY_BLOOM: &[u8] = include_bytes!("../../server/golden/valkey-bloom.aof");

/// A filter as RedisBloom made it.
#[derive(Clone, Copy)]
pub struct Sample {
    pub family: Family,
    pub key: &'static str,
    dump: &'static str,
    pieces: &'static str,
    /// How many of the first items it has.
    items: u64,
    /// What INFO says of items inserted.
    pub inserted: i64,
    /// Its false positives among the first 2 000 absent items.
    found: &'static [u64],
}

pub const GROWING: Sample = Sample {
    family: Family::Bloom,
    key: "growing",
    dump: include_str!("../../server/golden/redisbloom-growing.hex"),
    pieces: include_str!("../../server/golden/redisbloom-growing.pieces"),
    items: 300,
    inserted: 297,
    found: &[49, 75, 88, 348, 779, 878, 926, 972, 1308, 1381, 1685, 1924],
};

pub const FIXED: Sample = Sample {
    family: Family::Bloom,
    key: "fixed",
    dump: include_str!("../../server/golden/redisbloom-fixed.hex"),
    pieces: include_str!("../../server/golden/redisbloom-fixed.pieces"),
    items: 100,
    inserted: 100,
    found: &[1418, 1588, 1910],
};

pub const CUCKOO: Sample = Sample {
    family: Family::Counting,
    key: "cuckoo",
    dump: include_str!("../../server/golden/redisbloom-cuckoo.hex"),
    pieces: include_str!("../../server/golden/redisbloom-cuckoo.pieces"),
    items: 250,
    inserted: 300,
    found: &[
        0, 257, 462, 529, 598, 639, 706, 729, 799, 933, 1006, 1035, 1063, 1175, 1234, 1308, 1327,
        1364, 1367, 1384, 1519, 1535, 1593, 1605, 1846, 1887,
    ],
};

pub const ALL: [Sample; 3] = [GROWING, FIXED, CUCKOO];

pub const OF_VALKEY_BLOOM: [Sample; 2] = [
    Sample {
        dump: include_str!("../../server/golden/valkey-bloom-growing.hex"),
        pieces: "",
        inserted: 299,
        found: &[
            14, 92, 161, 226, 386, 579, 601, 696, 1218, 1320, 1504, 1512, 1560, 1697, 1698, 1734,
            1884,
        ],
        ..GROWING
    },
    Sample {
        dump: include_str!("../../server/golden/valkey-bloom-fixed.hex"),
        pieces: "",
        found: &[],
        ..FIXED
    },
];

/// All that were dumped.
pub fn dumped() -> impl Iterator<Item = Sample> {
    ALL.into_iter().chain(OF_VALKEY_BLOOM)
}

/// Bodies in earlier encoding versions of RedisBloom: samples of the core's, which say how they
/// were made.
pub fn earlier_bodies() -> impl Iterator<Item = Vec<u8>> {
    let files = [
        include_str!("../../../crates/filter/src/foreign/golden/version-0.hex"),
        include_str!("../../../crates/filter/src/foreign/golden/version-1.hex"),
        include_str!("../../../crates/filter/src/foreign/golden/version-2.hex"),
        include_str!("../../../crates/filter/src/foreign/golden/version-3.hex"),
        include_str!("../../../crates/filter/src/foreign/cuckoo/golden/version-1.txt"),
        include_str!("../../../crates/filter/src/foreign/cuckoo/golden/version-2.txt"),
        include_str!("../../../crates/filter/src/foreign/cuckoo/golden/version-3.txt"),
    ];
    files.into_iter().map(|file| {
        let mut lines = file.lines();
        let dump = lines.find_map(|line| line.strip_prefix("dump "));
        body_of(dump.expect("a line with a dump"))
    })
}

impl Sample {
    /// The same under another key.
    pub fn under(self, key: &'static str) -> Sample {
        Sample { key, ..self }
    }

    /// Type, encoding version and fields.
    pub fn body(&self) -> Vec<u8> {
        body_of(self.dump)
    }

    /// The header and the pieces, each with its iterator.
    pub fn pieces(&self) -> Vec<(i64, Vec<u8>)> {
        let lines = self.pieces.lines();
        let pieces = lines.map(|line| line.split_once(' ').expect("an iterator and data"));
        pieces
            .map(|(iterator, data)| (iterator.parse().expect("a number"), bytes_of(data)))
            .collect()
    }

    /// Restores the dump, under a footer of this server, which may be older.
    pub fn restore(&self, db: &mut Connection) {
        self.restore_as(db, self.key);
    }

    /// The same under the key `key`.
    pub fn restore_as(&self, db: &mut Connection, key: &str) {
        let payload = payload(db, &self.body());
        assert_eq!(db.restore(key, &payload), "+OK", "{key}");
    }

    /// Checks that it returns what it returned on RedisBloom.
    pub fn assert_is_what_it_was(&self, db: &mut Connection) {
        let Sample { family, key, .. } = self;
        assert_eq!(family.missing_items(db, key, 0..self.items), 0, "{key}");
        let mut candidates = family.looking_up(key);
        candidates.extend((0..2000).map(absent_item));
        let answers = db.call(candidates);
        let answers = answers.elements().iter().zip(0..);
        let found = answers.filter(|(answer, _)| answer.integer() == 1);
        let found: Vec<u64> = found.map(|(_, number)| number).collect();
        assert_eq!(found, self.found, "{key}");
        let info = db.run(&format!("{} {key}", family.command("INFO")));
        let inserted = info.field("Number of items inserted").integer();
        assert_eq!(inserted, self.inserted, "{key}");
        if *family == Family::Counting {
            for number in 0..60 {
                let question = [b"CF.COUNT", key.as_bytes(), &item(number)];
                let copies = if number < 50 { 2 } else { 1 };
                assert!(db.call(question).integer() >= copies, "{number}");
            }
        }
    }
}

/// A payload for RESTORE with this body.
pub fn payload(db: &mut Connection, body: &[u8]) -> Vec<u8> {
    // In a cluster, a key of the slot that the tests move.
    db.run("SET {m}:model 1");
    let model = db.dump("{m}:model");
    db.run("DEL {m}:model");
    with_fresh_footer(&model, body)
}

/// The file without a checksum, and with the header of the oldest version that has all of its
/// contents, for servers that would not read a newer one.
pub fn rdb_for_all_servers(file: &[u8]) -> Vec<u8> {
    const VERSION_BYTES: usize = b"REDIS0012".len();
    const CHECKSUM_BYTES: usize = 8;
    let rest = &file[VERSION_BYTES..file.len() - CHECKSUM_BYTES];
    [b"REDIS0009", rest, &[0; CHECKSUM_BYTES]].concat()
}

/// What each BF.LOAD of the append-only file loads.
pub fn loads() -> Vec<(String, Vec<u8>)> {
    let mut file = AOF_OF_VALKEY_BLOOM;
    let commands = std::iter::from_fn(|| Reply::read(&mut file).ok());
    let loads = commands.filter(|command| command.elements()[0].text() == "BF.LOAD");
    let words = loads.map(|load| (load.elements()[1].text(), load.elements()[2].bytes().to_vec()));
    words.collect()
}

/// A dump without its footer.
fn body_of(dump: &str) -> Vec<u8> {
    const FOOTER_BYTES: usize = 10;
    let mut bytes = bytes_of(dump);
    bytes.truncate(bytes.len() - FOOTER_BYTES);
    bytes
}

/// The bytes of hexadecimal digits, whatever is between them.
pub fn bytes_of(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair| std::str::from_utf8(pair).map(|pair| u8::from_str_radix(pair, 16));
    digits.chunks(2).map(|pair| byte(pair).expect("ASCII").expect("two digits")).collect()
}

/// The number of false positives of a Bloom filter among absent items beyond the sample's.
pub fn strangers_found(db: &mut Connection, key: &str) -> u64 {
    Family::Bloom.count_found(db, key, 2000..12_000, absent_item)
}
