//! Filters of all shapes, written by the module that they come from, with what it answers.

use crate::asking::{count, found};
use crate::number;
use splitbloom_harness::{item, Connection, Family, Random, Reply};

/// An item that no filter has.
pub fn stranger(number: u64) -> Vec<u8> {
    format!("stranger:{number}").into_bytes()
}

/// Items per command.
const BATCH: u64 = 1000;

const ERROR_RATES: [&str; 10] = [
    "0.25",
    "0.1",
    "0.05",
    "0.01",
    "0.003",
    "0.001",
    "0.0001",
    "0.000001",
    "0.00000001",
    "0.000000001",
];

/// The most items of a filter, but for the first one.
fn most_items() -> u64 {
    number("MOST_ITEMS", 200_000)
}

/// The most sub-filters that a series is made of.
const LONGEST_SERIES: u64 = 20;

/// A filter on the server that it was made on.
pub struct Shape {
    pub family: Family,
    pub key: String,
    /// How it was reserved.
    reserve: String,
    /// Items below this number were added, except those that were deleted.
    pub items: u64,
    /// For a cuckoo filter: items below `twice` were added twice, from `deleted_from` on deleted.
    twice: u64,
    deleted_from: u64,
    answers: Answers,
}

/// What the module that wrote a filter says about it.
#[derive(Default, PartialEq, Eq)]
pub struct Answers {
    /// False negatives: a cuckoo filter of several layers may delete another item's copy.
    missing: u64,
    card: String,
    /// One bit for each stranger.
    strangers: Vec<u8>,
    counts: Vec<i64>,
}

impl Shape {
    /// A Bloom filter, number `n`.
    fn bloom(random: &mut Random, n: u64) -> Shape {
        let (most, largest) = (most_items(), number("MOST_CAPACITY", 1_000_000));
        let expansion = *random.pick(&[0, 1, 2, 4]);
        // Capacities are as likely to have few digits as many, but for the largest, which take the
        // most memory.
        let [one, other] = [(); 2].map(|()| random.below(u64::from(largest.ilog10()) + 1));
        let capacity = 10u64.pow(one.min(other) as u32) * (1 + random.below(9));
        let capacity = capacity.min(largest);
        let series = match expansion {
            0 => 1,
            _ => 1 + random.below(LONGEST_SERIES),
        };
        let (mut room, mut next) = (0u64, capacity);
        for _ in 0..series {
            room = room.saturating_add(next);
            next = next.saturating_mul(expansion);
        }
        let room = room.min(most);
        let items = match random.below(4) {
            0 => room, // full
            1 => 0,
            _ => random.below(room + 1),
        };
        // The first one is the largest, and full.
        let (capacity, items) = match n {
            0 => (largest, largest),
            _ => (capacity, items),
        };
        let rate = random.pick(&ERROR_RATES);
        let growth = match expansion {
            0 => "NONSCALING".to_owned(),
            factor => format!("EXPANSION {factor}"),
        };
        Shape {
            family: Family::Bloom,
            key: format!("bloom:{n}"),
            reserve: format!("BF.RESERVE bloom:{n} {rate} {capacity} {growth}"),
            items,
            twice: 0,
            deleted_from: items,
            answers: Answers::default(),
        }
    }

    /// A cuckoo filter, number `n`.
    fn cuckoo(random: &mut Random, n: u64) -> Shape {
        let most = most_items();
        let capacity = 8 << random.below(u64::from(most.ilog2()) - 4);
        let bucket = [1, 2, 3, 4, 8][random.index(5)];
        let expansion = [0, 1, 2, 4][random.index(4)];
        // Without growth, a cuckoo filter with buckets of one slot refuses items when half full.
        let items = match expansion {
            0 => random.below(capacity / 2),
            _ => random.below((8 * capacity).min(most)),
        };
        // RedisBloom does not dump an empty one in pieces.
        let items = items.max(1);
        Shape {
            family: Family::Counting,
            key: format!("cuckoo:{n}"),
            reserve: format!(
                "CF.RESERVE cuckoo:{n} {} BUCKETSIZE {bucket} MAXITERATIONS {} EXPANSION \
                 {expansion}",
                capacity.max(2 * bucket),
                1 + random.below(50)
            ),
            items,
            twice: items / 10,
            deleted_from: items - items / 5,
            answers: Answers::default(),
        }
    }

    /// Many of both.
    pub fn all(random: &mut Random) -> Vec<Shape> {
        let filters = number("FILTERS", 60);
        let blooms: Vec<Shape> = (0..filters).map(|n| Shape::bloom(random, n)).collect();
        let cuckoos = (0..filters / 5).map(|n| Shape::cuckoo(random, n));
        let cuckoos: Vec<Shape> = cuckoos.collect();
        blooms.into_iter().chain(cuckoos).collect()
    }

    /// Makes it, and notes what its maker answers.
    pub fn write(&mut self, db: &mut Connection) {
        db.run(&self.reserve);
        match self.family {
            Family::Bloom => drop(self.family.add_items(db, &self.key, 0..self.items)),
            Family::Counting => self.write_cuckoo(db),
        }
        self.answers = self.answers(db);
        let is_bloom = self.family == Family::Bloom;
        assert!(!is_bloom || self.answers.missing == 0, "{}", self.reserve);
    }

    /// A cuckoo filter may refuse an item; only the items before it are looked up.
    fn write_cuckoo(&mut self, db: &mut Connection) {
        self.items = self.add_until_refused(db, self.items);
        self.twice = self.add_until_refused(db, self.twice.min(self.items / 10));
        self.deleted_from = self.items - self.items / 5;
        let deleted = self.deleted_from..self.items;
        db.pipeline(deleted.map(|number| self.cuckoo_command("CF.DEL", number)));
    }

    /// The number of the first item that is refused.
    fn add_until_refused(&self, db: &mut Connection, items: u64) -> u64 {
        for first in (0..items).step_by(BATCH as usize) {
            let batch = first..items.min(first + BATCH);
            let replies = db.pipeline(batch.map(|number| self.cuckoo_command("CF.ADD", number)));
            if let Some(refused) = replies.iter().position(Reply::is_error) {
                return first + refused as u64;
            }
        }
        items
    }

    fn cuckoo_command(&self, name: &str, number: u64) -> Vec<Vec<u8>> {
        vec![name.into(), self.key.clone().into(), item(number)]
    }

    fn answers(&self, db: &mut Connection) -> Answers {
        let strangers = number("STRANGERS", 20_000);
        Answers {
            missing: self.missing(db),
            card: match self.family {
                Family::Bloom => db.ask(&format!("BF.CARD {}", self.key)),
                Family::Counting => {
                    let info = db.run(&format!("CF.INFO {}", self.key));
                    let field = |name| info.field(name).to_string();
                    field("Number of items inserted") + " " + &field("Number of items deleted")
                }
            },
            strangers: found(self.family, db, &self.key, 0..strangers, stranger),
            counts: match self.family {
                Family::Bloom => Vec::new(),
                Family::Counting => self.counts(db),
            },
        }
    }

    /// How many copies there are of items that were added twice, once, deleted, and never.
    fn counts(&self, db: &mut Connection) -> Vec<i64> {
        let some = 0..200;
        let items = some.clone().map(item);
        let deleted = some.clone().map(|n| item(self.deleted_from + n));
        let questions = items.chain(deleted).chain(some.map(stranger));
        let questions =
            questions.map(|item| vec![b"CF.COUNT".to_vec(), self.key.clone().into(), item]);
        let replies = db.pipeline(questions);
        replies.iter().map(|reply| reply.integer()).collect()
    }

    /// Asserts that the filter on another server is what it was: all items that were added are
    /// present, and strangers get the same answers.
    pub fn assert_moved(&self, db: &mut Connection, way: &str) {
        let of = format!("{way}: {}, {} items", self.reserve, self.items);
        let answers = self.answers(db);
        assert_eq!(answers.missing, self.answers.missing, "missing after {of}");
        assert_eq!(answers.card, self.answers.card, "{of}");
        assert_eq!(answers.strangers.len(), self.answers.strangers.len(), "{of}");
        let both = self.answers.strangers.iter().zip(&answers.strangers);
        let differ: Vec<u8> = both.map(|(there, here)| there ^ here).collect();
        assert_eq!(count(&differ), 0, "strangers with another answer after {of}");
        assert_eq!(answers.counts, self.answers.counts, "{of}");
    }

    /// No more items are missing than were where it was made.
    pub fn assert_lives(&self, db: &mut Connection, way: &str) {
        let missing = self.missing(db);
        assert!(missing <= self.answers.missing, "{way}: {missing} items of {}", self.reserve);
    }

    /// How many of the items that were added and not deleted are not there.
    pub fn missing(&self, db: &mut Connection) -> u64 {
        let found = found(self.family, db, &self.key, 0..self.deleted_from, item);
        self.deleted_from - count(&found)
    }
}
