//! Filters that an add creates depend on settings, which do not travel: those of both servers must
//! be equal.

use splitbloom_harness::{peer, Connection, Server};

/// Settings of RedisBloom on Redis 8, with ours, as far as they decide what an add creates.
const SETTINGS: [(&str, &str); 4] = [
    ("bf-error-rate", "bf.error-rate"),
    ("bf-initial-size", "bf.initial-size"),
    ("bf-expansion-factor", "bf.expansion-factor"),
    ("cf-initial-size", "cf.initial-size"),
];

fn setting(db: &mut Connection, name: &str) -> Option<f64> {
    let reply = db.run(&format!("CONFIG GET {name}"));
    let value = reply.elements().get(1)?.text();
    value.parse().ok()
}

#[test]
fn the_defaults_of_both_modules_are_equal() {
    let Some(options) = peer() else { return };
    let (theirs, ours) = (Server::with(options), Server::start());
    let (mut theirs, mut ours) = (theirs.connect(), ours.connect());
    for (there, here) in SETTINGS {
        let Some(value) = setting(&mut theirs, there) else {
            eprintln!("{there}: unknown to this version, whose load arguments decide");
            continue;
        };
        assert_eq!(setting(&mut ours, here), Some(value), "CONFIG SET {here} {value}");
        eprintln!("{there} = {here} = {value}");
    }
}

/// A command that is refused for its number of words is refused before the module sees it.
#[test]
fn every_command_that_a_replica_follows_takes_the_same_number_of_words() {
    let Some(options) = peer() else { return };
    let (theirs, ours) = (Server::with(options), Server::start());
    let (mut theirs, mut ours) = (theirs.connect(), ours.connect());
    let mut compared = 0;
    for category in ["bloom", "cuckoo"] {
        for name in theirs.run(&format!("ACL CAT {category}")).elements() {
            let arity = |db: &mut Connection| {
                let info = db.run(&format!("COMMAND INFO {}", name.text()));
                info.elements()[0].elements()[1].integer()
            };
            let (theirs, ours) = (arity(&mut theirs), arity(&mut ours));
            if theirs == -1 {
                continue; // the module itself refuses what does not fit, and does not replicate it
            }
            let takes = |arity: i64, words: i64| match arity {
                0.. => words == arity,
                _ => words >= -arity,
            };
            for words in 1..10 {
                let is_replicated = takes(theirs, words);
                assert!(!is_replicated || takes(ours, words), "{} of {words}", name.text());
            }
            compared += 1;
        }
    }
    assert!(compared > 20, "{compared}");
}
