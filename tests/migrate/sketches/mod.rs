//! Sketches of all shapes, written by RedisBloom: moved each way they have the same answers, and
//! again once they have gone back.

mod follow;

use crate::number;
use crate::ways;
use splitbloom_harness::{item, peer, words, Connection, Random, Server, APPEND_ONLY};

/// The most items or numbers of a command.
const BATCH: u64 = 500;
/// How many items are looked up that were added to the larger sketches; a third as many were added
/// to none.
const LOOKED_UP: u64 = 150;
/// The quantiles of a t-digest that are compared.
const QUANTILES: &str = "0 0.001 0.01 0.1 0.25 0.5 0.75 0.9 0.99 0.999 1";

/// A sketch on the server that it was made on.
struct Sketch {
    /// Each family has its own questions: `cms`, `topk`, `tdigest`.
    family: &'static str,
    key: String,
    /// What made it.
    commands: Vec<Vec<Vec<u8>>>,
    answers: Vec<String>,
}

/// A command with a word or two for each of many items.
fn with(line: &str, each: impl Iterator<Item = Vec<Vec<u8>>>) -> Vec<Vec<u8>> {
    words(line).into_iter().chain(each.flatten()).collect()
}

/// An item of a skewed distribution: the smaller its number, the more frequent.
fn skewed(random: &mut Random, items: u64) -> Vec<u8> {
    let bound = 1 + random.below(items);
    item(random.below(bound))
}

/// A number from 1 to one of these.
fn one_to(random: &mut Random, most: &[u64]) -> u64 {
    let most = *random.pick(most);
    1 + random.below(most)
}

/// How many items or numbers a sketch gets: none, a few, or many.
fn amount(random: &mut Random, most: u64) -> u64 {
    let most = *random.pick(&[0, 1, 30, 1_000, most]);
    random.below(most + 1)
}

/// Splits `amount` items or numbers into batches.
fn batches(amount: u64) -> impl Iterator<Item = u64> {
    (0..amount).step_by(BATCH as usize).map(move |done| BATCH.min(amount - done))
}

impl Sketch {
    fn count_min(random: &mut Random, n: u64) -> Sketch {
        let key = format!("cms:{n}");
        let (width, depth) = (one_to(random, &[3, 100, 10_000, 300_000]), 1 + random.below(12));
        let reserve = match random.below(2) {
            0 => format!("CMS.INITBYDIM {key} {width} {depth}"),
            _ => {
                let error = random.pick(&["0.5", "0.01", "0.001", "0.00002"]);
                let probability = random.pick(&["0.9", "0.5", "0.01", "0.0001"]);
                format!("CMS.INITBYPROB {key} {error} {probability}")
            }
        };
        let increment = *random.pick(&[1, 10, 1_000, 4_294_967_295]);
        let mut commands = vec![words(&reserve)];
        for batch in batches(amount(random, 20_000)) {
            let each = (0..batch).map(|_| {
                let by = 1 + random.below(increment);
                vec![skewed(random, 5_000), by.to_string().into_bytes()]
            });
            commands.push(with(&format!("CMS.INCRBY {key}"), each));
        }
        Sketch { family: "cms", key, commands, answers: Vec::new() }
    }

    fn top_k(random: &mut Random, n: u64) -> Sketch {
        let key = format!("topk:{n}");
        let k = one_to(random, &[1, 10, 100, 2_000]);
        let width = one_to(random, &[1, 8, 1_000, 50_000]);
        let (depth, decay) =
            (1 + random.below(10), *random.pick(&["0.1", "0.5", "0.9", "0.99", "1"]));
        let reserve = match random.below(4) {
            0 => format!("TOPK.RESERVE {key} {k}"),
            _ => format!("TOPK.RESERVE {key} {k} {width} {depth} {decay}"),
        };
        let mut commands = vec![words(&reserve)];
        for batch in batches(amount(random, 20_000)) {
            let line = format!("TOPK.ADD {key}");
            commands.push(with(&line, (0..batch).map(|_| vec![skewed(random, 5_000)])));
        }
        if random.percent(50) {
            let each = (0..20).map(|_| {
                let by = 1 + random.below(100_000);
                vec![skewed(random, 5_000), by.to_string().into_bytes()]
            });
            commands.push(with(&format!("TOPK.INCRBY {key}"), each));
        }
        Sketch { family: "topk", key, commands, answers: Vec::new() }
    }

    fn t_digest(random: &mut Random, n: u64) -> Sketch {
        let key = format!("tdigest:{n}");
        let reserve = match random.below(3) {
            0 => format!("TDIGEST.CREATE {key}"),
            _ => format!("TDIGEST.CREATE {key} COMPRESSION {}", one_to(random, &[20, 100, 1_000])),
        };
        let kind = random.below(4);
        let mut commands = vec![words(&reserve)];
        for batch in batches(amount(random, 30_000)) {
            let each = (0..batch).map(|_| vec![measurement(random, kind).into_bytes()]);
            commands.push(with(&format!("TDIGEST.ADD {key}"), each));
        }
        Sketch { family: "tdigest", key, commands, answers: Vec::new() }
    }

    /// Many of each family.
    fn all(random: &mut Random) -> Vec<Sketch> {
        let sketches = number("SKETCHES", 60);
        let each = (0..sketches).flat_map(|n| {
            [Sketch::count_min(random, n), Sketch::top_k(random, n), Sketch::t_digest(random, n)]
        });
        each.collect()
    }

    /// Makes it, and notes what its maker answers.
    fn write(&mut self, db: &mut Connection) {
        for reply in db.pipeline(std::mem::take(&mut self.commands)) {
            // An item whose count overflows has an error among the replies, which is fine.
            assert!(!reply.is_error(), "{}: {reply}", self.key);
        }
        self.answers = self.answers(db);
    }

    fn answers(&self, db: &mut Connection) -> Vec<String> {
        let Sketch { family, key, .. } = self;
        let items =
            || (0..LOOKED_UP).chain(1_000_000..1_000_000 + LOOKED_UP / 3).map(|n| vec![item(n)]);
        let mut ask = |question: Vec<Vec<u8>>| db.call(question);
        match *family {
            "cms" => {
                // Not `cell_size`, which RedisBloom has from Redis 8.12 on.
                let info = ask(words(&format!("CMS.INFO {key}")));
                let fields = ["width", "depth", "count"].map(|name| info.field(name));
                let counts = ask(with(&format!("CMS.QUERY {key}"), items()));
                vec![format!("{fields:?}"), counts.to_string()]
            }
            "topk" => {
                let list = ask(words(&format!("TOPK.LIST {key} WITHCOUNT")));
                // Items of equal counts are in no particular order.
                let pairs = list.elements().chunks(2);
                let mut pairs: Vec<_> =
                    pairs.map(|pair| [pair[1].to_string(), pair[0].to_string()]).collect();
                pairs.sort();
                let info = ask(words(&format!("TOPK.INFO {key}"))).to_string();
                let others = ["TOPK.QUERY", "TOPK.COUNT"]
                    .map(|name| with(&format!("{name} {key}"), items()));
                let others = others.map(|question| ask(question).to_string());
                [info, format!("{pairs:?}")].into_iter().chain(others).collect()
            }
            _ => {
                let numbers = "-1e300 -1000 -1 0 0.25 0.5 1 3 17.5 1000 1e300";
                // Not ranks: RedisBloom rounds them on the way to a fraction and back.
                let questions = [
                    format!("TDIGEST.QUANTILE {key} {QUANTILES}"),
                    format!("TDIGEST.CDF {key} {numbers}"),
                    format!("TDIGEST.MIN {key}"),
                    format!("TDIGEST.MAX {key}"),
                    format!("TDIGEST.TRIMMED_MEAN {key} 0.1 0.9"),
                ];
                questions.iter().map(|question| ask(words(question)).to_string()).collect()
            }
        }
    }

    fn assert_moved(&self, db: &mut Connection, way: &str) {
        assert_eq!(self.answers(db), self.answers, "{way}, {}", self.key);
    }
}

/// A number: one of few, one of a smooth distribution, or of one that spans orders of magnitude.
fn measurement(random: &mut Random, kind: u64) -> String {
    let fraction = random.below(1 << 53) as f64 / (1_u64 << 53) as f64;
    match kind {
        0 => random.below(20).to_string(),
        1 => (fraction * 2_000.0 - 1_000.0).to_string(),
        2 => (-fraction.ln()).to_string(),
        _ => fraction.powi(20).to_string(),
    }
}

fn server_of_theirs(lines: &[&str]) -> Option<Server> {
    Some(Server::with(peer()?.and_settings(lines)))
}

#[test]
fn sketches_of_all_shapes_move_each_way_and_back() {
    let Some(origin) = server_of_theirs(&APPEND_ONLY) else { return };
    let mut sketches = Sketch::all(&mut Random::seeded(number("SEED", 1)));
    let mut db = origin.connect();
    // A file with all five types: that of each family of filters is small here.
    db.run("BF.ADD bloom a");
    db.run("CF.ADD cuckoo a");
    sketches.iter_mut().for_each(|sketch| sketch.write(&mut db));
    let count = sketches.len();
    ways::by_what_is_saved(&origin, &mut |server, way| {
        let mut db = server.connect();
        assert_eq!(db.ask("BF.EXISTS bloom a"), ":1");
        assert_eq!(db.ask("CF.EXISTS cuckoo a"), ":1");
        sketches.iter().for_each(|sketch| sketch.assert_moved(&mut db, way));
        db.run("UNLINK bloom cuckoo"); // these cannot go back
        back(server, &sketches, way);
        eprintln!("{way}: {count} sketches, there and back");
    });
}

/// All sketches of a server of ours go back, by DUMP and by an RDB file.
fn back(from: &Server, sketches: &[Sketch], way: &str) {
    let theirs = server_of_theirs(&[]).expect("it was there before");
    ways::copy_all(from, &theirs);
    let mut db = theirs.connect();
    let names = [format!("{way}, back by DUMP"), format!("{way}, back by RDB file")];
    sketches.iter().for_each(|sketch| sketch.assert_moved(&mut db, &names[0]));
    from.connect().run("SAVE");
    let theirs = server_of_theirs(&[]).expect("it was there before");
    let theirs = ways::with_files(theirs, from, &["dump.rdb"]);
    let mut db = theirs.connect();
    sketches.iter().for_each(|sketch| sketch.assert_moved(&mut db, &names[1]));
}
