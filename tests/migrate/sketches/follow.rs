//! A replica of RedisBloom's sketches, under commands of all kinds, cut off and synchronised again.

use super::{measurement, server_of_theirs, skewed, with};
use crate::follow::cut_link;
use crate::number;
use splitbloom_harness::{item, words, Connection, Link, Random, Reply, Server};

/// The sketches that the replica follows.
const FOLLOWED: [&str; 6] = [
    "CMS.INITBYDIM cms:1 2000 7",
    "CMS.INITBYDIM cms:2 2000 7",
    "TOPK.RESERVE topk:1 20 2000 7 0.9",
    "TDIGEST.CREATE tdigest:1 COMPRESSION 100",
    "TDIGEST.CREATE tdigest:2 COMPRESSION 300",
    "CMS.INITBYDIM cms:sum 2000 7",
];

/// Commands that change them, and the numbers that the t-digests were given.
struct Changes {
    random: Random,
    numbers: [Vec<f64>; 2],
}

impl Changes {
    fn next(&mut self) -> Vec<Vec<u8>> {
        let Changes { random, numbers: [first, second] } = self;
        let which = 1 + random.below(2);
        match random.below(10) {
            0..4 => {
                let each = (0..20).map(|_| {
                    let by = 1 + random.below(9);
                    vec![skewed(random, 500), by.to_string().into_bytes()]
                });
                with(&format!("CMS.INCRBY cms:{which}"), each)
            }
            4 => words("CMS.MERGE cms:sum 2 cms:1 cms:2 WEIGHTS 1 3"),
            5..7 => with("TOPK.ADD topk:1", (0..20).map(|_| vec![skewed(random, 500)])),
            7 => with("TOPK.INCRBY topk:1", [vec![skewed(random, 500), b"7".to_vec()]].into_iter()),
            _ => match random.below(40) {
                0 => {
                    first.extend_from_slice(second);
                    words("TDIGEST.MERGE tdigest:1 1 tdigest:2")
                }
                1 => {
                    second.clear();
                    words("TDIGEST.RESET tdigest:2")
                }
                _ => {
                    let to = if which == 1 { first } else { second };
                    let each = (0..20).map(|_| {
                        let number = measurement(random, 2);
                        to.push(number.parse().expect("a number"));
                        vec![number.into_bytes()]
                    });
                    with(&format!("TDIGEST.ADD tdigest:{which}"), each)
                }
            },
        }
    }
}

/// RedisBloom replicates the words of a command: count-min sketches stay equal, t-digests differ by
/// where they join nodes, and top-k lists by their random numbers, as on replicas of RedisBloom.
#[test]
fn a_replica_counts_what_its_primary_counts() {
    let Some(primary) = server_of_theirs(&["repl-backlog-size 200kb"]) else { return };
    let (commands, cuts) = (number("COMMANDS", 100_000) / 10, number("CUTS", 10));
    let random = Random::seeded(number("SEED", 1));
    let mut changes = Changes { random, numbers: [const { Vec::new() }; 2] };
    let mut db = primary.connect();
    db.run_all(FOLLOWED);
    let link = Link::to(primary.port());
    let replica = Server::with_sketches(&[&format!("replicaof 127.0.0.1 {}", link.port())]);
    primary.wait_for(&replica);
    for cut in 0..cuts {
        cut_link(&link, cut, &mut changes.random);
        let each: Vec<_> = (0..commands / cuts).map(|_| changes.next()).collect();
        for reply in db.pipeline(each) {
            assert!(!reply.is_error(), "{reply}");
        }
        link.repair();
        primary.wait_for(&replica);
        assert_follows(&mut db, &mut replica.connect(), &mut changes.numbers);
    }
    let mut promoted = replica.connect();
    promoted.run("REPLICAOF NO ONE");
    promoted.run("DEBUG RELOAD");
    assert_follows(&mut db, &mut promoted, &mut changes.numbers);
    let full = db.info("stats", "sync_full");
    eprintln!("replica of sketches: {commands} commands, {cuts} cuts, {full} full copies");
}

fn assert_follows(primary: &mut Connection, replica: &mut Connection, numbers: &mut [Vec<f64>; 2]) {
    let items = || (0..500).map(|n| vec![item(n)]);
    for key in ["cms:1", "cms:2", "cms:sum"] {
        let question = with(&format!("CMS.QUERY {key}"), items());
        let [there, here] = [&mut *primary, &mut *replica].map(|db| db.call(&question).to_string());
        assert_eq!(there, here, "{key}");
    }
    let [there, here] = [&mut *primary, &mut *replica].map(|db| db.run("TOPK.LIST topk:1"));
    let is_here = |item: &&Reply| here.elements().iter().any(|other| other.bytes() == item.bytes());
    // The eighth of 500 items is 1.3 times as frequent as the twentieth: ln(500 / i) / 500.
    assert!(there.elements().iter().take(8).all(|item| is_here(&item)), "{there} {here}");
    for (key, numbers) in ["tdigest:1", "tdigest:2"].iter().zip(numbers) {
        for question in ["MIN", "MAX"].map(|name| format!("TDIGEST.{name} {key}")) {
            assert_eq!(primary.ask(&question), replica.ask(&question), "{key}");
        }
        numbers.sort_by(f64::total_cmp);
        let [there, here] = [&mut *primary, &mut *replica].map(|db| error(db, key, numbers));
        assert!(here <= there + 0.01, "{key}: the rank is wrong by {here}, there by {there}");
        let weight = numbers.len();
        eprintln!("{key} of {weight} numbers: ranks are wrong by {here:.4}, there by {there:.4}");
    }
}

/// Returns the largest error in the ranks of the quantiles that the t-digest `key` estimates;
/// `numbers`, in ascending order, are those that were added to it.
fn error(db: &mut Connection, key: &str, numbers: &[f64]) -> f64 {
    const QUANTILES: [f64; 7] = [0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99];
    if numbers.is_empty() {
        return 0.0; // since TDIGEST.RESET
    }
    let quantiles =
        db.run(&format!("TDIGEST.QUANTILE {key} {}", QUANTILES.map(|q| q.to_string()).join(" ")));
    let errors = quantiles.elements().iter().zip(QUANTILES).map(|(quantile, q)| {
        let x = quantile.double();
        let part = |count: usize| count as f64 / numbers.len() as f64;
        let below = part(numbers.partition_point(|number| *number < x));
        let up_to = part(numbers.partition_point(|number| *number <= x));
        (below - q).max(q - up_to).max(0.0)
    });
    errors.fold(0.0, f64::max)
}
