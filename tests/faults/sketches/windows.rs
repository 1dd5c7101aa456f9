//! Counts over a window against a model that knows when each increment came: through restarts,
//! rewritten append-only files, replicas with other clocks, and a failover.

use super::{replica_of, server_with};
use crate::times;
use crate::windows::{rewrite_append_only_file, Clocked, SECOND, TWO_MINUTES};
use splitbloom_harness::{Connection, Random, Server};

const WINDOW: u64 = 60 * SECOND;
const SLICES: u64 = 4;
/// So few that in 20 000 counters a row, and seven rows, each has some of its own: estimates are
/// exact.
const UNIVERSE: usize = 50;
/// Items of a command.
const BATCH: usize = 10;

/// A sketch, and how its items are counted and looked up.
const SKETCHES: [(&str, &str, &str, &str); 2] = [
    ("counts", "CMS.INITBYDIM counts 20000 7", "CMS.INCRBY", "CMS.QUERY"),
    ("top", "TOPK.RESERVE top 50 20000 7 0.9", "TOPK.INCRBY", "TOPK.COUNT"),
];

/// What has been counted: when at the earliest, when at the latest, and how much.
struct Counted {
    earliest: u64,
    latest: u64,
    increment: u64,
}

struct Model {
    key: &'static str,
    count: &'static str,
    ask: &'static str,
    items: Vec<Vec<Counted>>,
}

impl Model {
    fn new(
        db: &mut Connection,
        (key, create, count, ask): (&'static str, &str, &'static str, &'static str),
    ) -> Self {
        db.run(&format!("{create} WINDOW {} SLICES {SLICES}", WINDOW / SECOND));
        Model { key, count, ask, items: (0..UNIVERSE).map(|_| Vec::new()).collect() }
    }

    fn count(&mut self, server: &mut Clocked, random: &mut Random) {
        let counted: Vec<(usize, u64)> =
            (0..BATCH).map(|_| (random.index(UNIVERSE), 1 + random.below(9))).collect();
        let pairs: String =
            counted.iter().map(|(item, increment)| format!(" {item} {increment}")).collect();
        let earliest = server.now();
        server.db.run(&format!("{} {}{pairs}", self.count, self.key));
        let latest = server.now();
        for (item, increment) in counted {
            self.items[item].push(Counted { earliest, latest, increment });
        }
    }

    /// Each increment counts for the window, and at most a slice longer; none counts twice.
    fn check(&self, server: &mut Clocked) {
        let all: String = (0..UNIVERSE).map(|item| format!(" {item}")).collect();
        let before = server.now();
        let reply = server.db.run(&format!("{} {}{all}", self.ask, self.key));
        let after = server.now();
        for (item, (answer, counted)) in reply.elements().iter().zip(&self.items).enumerate() {
            let sum = |is_in: &dyn Fn(&Counted) -> bool| {
                counted.iter().filter(|one| is_in(one)).map(|one| one.increment).sum::<u64>()
            };
            let least = sum(&|one| after < one.earliest + WINDOW);
            let most = sum(&|one| before < one.latest + WINDOW + WINDOW / SLICES);
            let estimate = answer.integer() as u64;
            let key = self.key;
            assert!((least..=most).contains(&estimate), "{key} {item}: {estimate}, {least}–{most}");
        }
    }
}

/// Checks that the `replicas` hold what the `primary` holds.
fn check_equal(primary: &Server, replicas: &[Server]) {
    let digest = primary.connect().digest_of_everything();
    for replica in replicas {
        primary.wait_for(replica);
        assert_eq!(replica.connect().digest_of_everything(), digest);
    }
}

#[test]
fn counts_of_a_window_agree_with_a_model_over_restarts_clocks_and_a_failover() {
    let rounds = times(50, 500) * SLICES;
    let mut primary = server_with(&["appendonly yes", "appendfsync no"]);
    let mut server = Clocked::of("sketch", &primary, 0);
    let mut replicas = [TWO_MINUTES as i64, -(TWO_MINUTES as i64)]
        .map(|offset| replica_of(&primary, &[&format!("sketch.inject-clock-offset {offset}")]));
    let mut random = Random::seeded(15);
    let mut models = SKETCHES.map(|sketch| Model::new(&mut server.db, sketch));
    for round in 0..rounds {
        server.advance(random.below(2 * WINDOW / SLICES));
        for model in &mut models {
            model.count(&mut server, &mut random);
            model.check(&mut server);
        }
        if round % (rounds / 10) == 3 {
            check_equal(&primary, &replicas);
            rewrite_append_only_file(&mut server.db);
        }
        if round % (rounds / 4) == 7 {
            let digest = server.db.digest_of_everything();
            primary.restart();
            server = Clocked::of("sketch", &primary, server.offset);
            assert_eq!(server.db.digest_of_everything(), digest);
            check_equal(&primary, &replicas);
        }
        if round % (rounds / 4) == 11 {
            replicas[1].restart();
            check_equal(&primary, &replicas);
        }
    }
    check_equal(&primary, &replicas);
    let [promoted, other] = replicas;
    let mut ahead = Clocked::of("sketch", &promoted, server.offset + TWO_MINUTES);
    ahead.db.run("REPLICAOF NO ONE");
    let follow = format!("REPLICAOF 127.0.0.1 {}", promoted.port());
    server.db.run(&follow);
    other.connect().run(&follow);
    for _ in 0..3 * SLICES {
        for model in &mut models {
            model.count(&mut ahead, &mut random);
            model.check(&mut ahead);
        }
        ahead.advance(WINDOW / SLICES);
    }
    check_equal(&promoted, &[primary, other]);
}
