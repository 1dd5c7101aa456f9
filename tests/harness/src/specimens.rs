//! One filter of every kind, and a fingerprint of each that must survive saving, copying and
//! moving.

use crate::{absent_item, item, layers, Connection, Family, Reply};
use std::ops::Range;

/// Absent items looked up for a fingerprint: false positives are part of a filter's behaviour.
const ABSENT_ITEMS: u64 = 2000;

/// Items whose copies are counted for a fingerprint.
const COUNTED_ITEMS: u64 = 300;

/// A filter: its key, the parameters of its RESERVE, and the items that it is given.
#[derive(Clone, Copy)]
pub struct Specimen {
    pub family: Family,
    pub key: &'static str,
    parameters: &'static str,
    items: u64,
}

const fn bloom(key: &'static str, parameters: &'static str, items: u64) -> Specimen {
    Specimen { family: Family::Bloom, key, parameters, items }
}

const fn counting(key: &'static str, parameters: &'static str, items: u64) -> Specimen {
    Specimen { family: Family::Counting, ..bloom(key, parameters, items) }
}

/// Bloom filters; tables, in which those begin that are reserved for 100 items; Bloom filters with
/// a table behind them; filters that forget, one day; and counting filters, which are tables.
const SPECIMENS: [Specimen; 14] = [
    bloom("empty", "0.01 1000", 0),
    bloom("strict", "0.000001 5000", 4000),
    bloom("non-scaling", "0.01 10000 NONSCALING", 9000),
    bloom("big", "0.001 2000000", 100_000),
    bloom("empty-table", "0.01 100", 0),
    bloom("small", "0.01 100", 60),
    bloom("grown", "0.01 100", 20_000),
    bloom("bloom-and-table", "0.01 50", 3200),
    bloom("window", "0.01 100 WINDOW 300000000 SLICES 14", 20_000),
    bloom("window-few", "0.001 5000 WINDOW 300000000 RENEW NONSCALING", 60),
    counting("counting", "1000", 0),
    counting("counting-few", "1000 BUCKETSIZE 4 MAXITERATIONS 7", 60),
    counting(COPIES, "1000 EXPANSION 2", 5000),
    counting("counting-grown", "1000 ERROR 0.000000000001", 150_000),
];

/// A counting filter with copies of its first items; others have been deleted.
const COPIES: &str = "counting-copies";

/// Layers from RedisBloom, with a table after them.
const LAYERS: Specimen = bloom("layers", "", 3000);
const NUM_LAYERS: u32 = 40;

/// The specimens on a server.
pub struct Specimens;

impl Specimens {
    pub fn all() -> impl Iterator<Item = Specimen> {
        SPECIMENS.into_iter().chain([LAYERS])
    }

    pub fn create(db: &mut Connection) {
        for Specimen { family, key, parameters, items } in SPECIMENS {
            family.reserve_with(db, key, parameters);
            family.add_items(db, key, 0..items);
        }
        let of_copies = Family::Counting;
        of_copies.add_items(db, COPIES, 0..100);
        of_copies.add_items(db, COPIES, 0..10);
        of_copies.add_items(db, COPIES, 5000..8000);
        delete_items(db, COPIES, 5000..8000);
        db.run(&format!("CF.INSERT {COPIES} ITEMS{}", " often".repeat(300)));
        let Specimen { key, items, .. } = LAYERS;
        Family::Bloom.load_chunks(db, key, &layers(NUM_LAYERS));
        Family::Bloom.add_items(db, key, 0..items);
    }

    pub fn fingerprints(db: &mut Connection) -> Vec<Fingerprint> {
        Specimens::all()
            .map(|specimen| Fingerprint::of(db, specimen.family, specimen.key, specimen.items))
            .collect()
    }
}

/// Deletes a copy of each of these items from a counting filter.
pub fn delete_items(db: &mut Connection, key: &str, numbers: Range<u64>) {
    let deletions = numbers.map(|number| vec![b"CF.DEL".to_vec(), key.into(), item(number)]);
    for reply in db.pipeline(deletions) {
        assert_eq!(reply.to_string(), ":1", "{key}");
    }
}

/// Everything about a filter that is visible from outside.
#[derive(Debug, PartialEq)]
pub struct Fingerprint {
    digest: String,
    info: String,
    items_missing: u64,
    false_positives: u64,
    counts: Vec<i64>,
}

impl Fingerprint {
    /// Of a filter that contains the items `0..items`.
    pub fn of(db: &mut Connection, family: Family, key: &str, items: u64) -> Fingerprint {
        let fingerprint = Fingerprint {
            digest: db.digest(key),
            info: everything_but_sizes(&db.call([&family.command("INFO"), key, "FULL"])),
            items_missing: items - family.count_found(db, key, 0..items, item),
            false_positives: family.count_found(db, key, 0..ABSENT_ITEMS, absent_item),
            counts: match family {
                Family::Bloom => Vec::new(),
                Family::Counting => counts(db, key),
            },
        };
        assert_eq!(fingerprint.items_missing, 0, "{key}: a false negative");
        fingerprint
    }
}

/// How many copies a counting filter has of its first items.
fn counts(db: &mut Connection, key: &str) -> Vec<i64> {
    let items = (0..COUNTED_ITEMS).map(item).chain([b"often".to_vec()]);
    let questions = items.map(|item| vec![b"CF.COUNT".to_vec(), key.into(), item]);
    db.pipeline(questions).iter().map(Reply::integer).collect()
}

/// What depends on spare capacity in the filter's lists, and on the order in which the directory of
/// its table grew; and on the time.
const SIZES: [&str; 4] = ["Size", "Bits per item", "Bytes", "Age of the oldest"];

/// All of INFO except the sizes.
fn everything_but_sizes(info: &Reply) -> String {
    let fields = info.pairs().into_iter();
    let fields = fields.filter(|(name, _)| !SIZES.contains(&name.as_str()));
    fields
        .map(|(name, value)| match value {
            Reply::Array(_) if name == "Table" => everything_but_sizes(&value),
            value => format!("{name}: {value}\n"),
        })
        .collect()
}

/// All chunks of a Bloom filter, each with its iterator.
pub fn scan_dump(db: &mut Connection, key: &str) -> Vec<(i64, Vec<u8>)> {
    Family::Bloom.scan_dump(db, key)
}

/// Loads chunks of a Bloom filter in order.
pub fn load_chunks(db: &mut Connection, key: &str, chunks: &[(i64, Vec<u8>)]) {
    Family::Bloom.load_chunks(db, key, chunks);
}
