//! Another module, `interferer/main.rs`, changes a key in the event that announces it.

use splitbloom_harness::{commands_in_append_only_file, Family, Options, Server, APPEND_ONLY};
use std::env;

/// Every write command in a form that creates its key (`KEY`), and the events it publishes. What
/// CF.DEL and CF.PACKDEL delete from is created before.
const CREATIONS: [(&str, &[&str]); 19] = [
    ("BF.RESERVE KEY 0.001 1000", &["bf.reserve"]),
    ("BF.RESERVE KEY 0.001 1000 EX 1000", &["bf.reserve"]),
    ("BF.ADD KEY a", &["bf.reserve", "bf.add"]),
    ("BF.MADD KEY a b c", &["bf.reserve", "bf.madd"]),
    ("BF.INSERT KEY CAPACITY 5 ERROR 0.001 ITEMS a b", &["bf.reserve", "bf.insert"]),
    // Replicated as the items before the rejected one.
    ("BF.INSERT KEY CAPACITY 2 NONSCALING ITEMS a b c d", &["bf.reserve", "bf.insert"]),
    ("BF.PACKADD KEY FIXED 1 abc", &["bf.reserve", "bf.packadd"]),
    ("BF.MERGE KEY 1 other", &["bf.reserve", "bf.merge"]),
    ("BF.LOADCHUNK KEY", &["bf.loadchunk"]),
    ("CF.RESERVE KEY 1000", &["cf.reserve"]),
    ("CF.ADD KEY a", &["cf.reserve", "cf.add"]),
    ("CF.ADDNX KEY a", &["cf.reserve", "cf.addnx"]),
    ("CF.INSERT KEY CAPACITY 5 ITEMS a a b", &["cf.reserve", "cf.insert"]),
    ("CF.INSERT KEY EX 1000 ITEMS a", &["cf.reserve", "cf.insert"]),
    ("CF.INSERTNX KEY ITEMS a b", &["cf.reserve", "cf.insertnx"]),
    ("CF.PACKADD KEY LINES a", &["cf.reserve", "cf.packadd"]),
    ("CF.LOADCHUNK KEY", &["cf.loadchunk"]),
    ("CF.DEL KEY a", &["cf.del"]),
    ("CF.PACKDEL KEY LINES a", &["cf.packdel"]),
];

/// What the other module does in the event.
const INTERFERENCES: [&str; 4] = ["DEL", "RENAME", "SET", "FLUSHALL"];

#[test]
fn primary_replica_and_file_agree_whatever_another_module_does_to_a_key_in_its_event() {
    let interferer = env::var("SPLITBLOOM_INTERFERER");
    let interferer =
        interferer.expect("SPLITBLOOM_INTERFERER is the path of the interfering module");
    let load = format!("loadmodule {interferer}");
    let primary = Server::with(Options::settings(&APPEND_ONLY).and_settings(&[&load]));
    // Other defaults: if the replica created the filter on its own, it would be a different one.
    let replica = primary.replica(&["bf.initial-size 7", "bf.error-rate 0.2"]);
    let mut db = primary.connect();
    db.run("BF.RESERVE donor 0.01 1000");
    db.run("CF.RESERVE counting-donor 1000");
    let donors = [(Family::Bloom, "donor"), (Family::Counting, "counting-donor")]
        .map(|(family, key)| (family, family.scan_dump(&mut db, key).remove(0)));
    let mut done = 0;
    for (number, (creation, events)) in CREATIONS.into_iter().enumerate() {
        for event in events {
            for interference in INTERFERENCES {
                db.run("BF.ADD other a");
                let key = format!("{event}/{interference}/{number}");
                let words = creation.replace("KEY", &key);
                let mut words: Vec<Vec<u8>> = words.split(' ').map(Into::into).collect();
                for (family, (iterator, chunk)) in &donors {
                    if creation.starts_with(&family.command("LOADCHUNK")) {
                        words.extend([iterator.to_string().into_bytes(), chunk.clone()]);
                    }
                }
                if creation.starts_with("CF.DEL") || creation.starts_with("CF.PACKDEL") {
                    db.run(&format!("CF.ADD {key} a"));
                }
                let reply = db.call(&words);
                let what = format!("{creation}: {interference} in {event}");
                assert!(!reply.is_error(), "{what}: {reply}");
                assert_eq!(db.ask(&format!("TYPE {key}")), type_after(interference), "{what}");
                primary.wait_for(&replica);
                let here = db.digest_of_everything();
                let passed_on = || commands_in_append_only_file(&primary).join("\n");
                let there = replica.connect().digest_of_everything();
                assert_eq!(there, here, "{what}:\n{}", passed_on());
                db.run("DEBUG LOADAOF");
                assert_eq!(db.digest_of_everything(), here, "{what}:\n{}", passed_on());
                done += 1;
            }
        }
    }
    assert_eq!(done, 4 * 31);
}

/// The type of the key after the interference: the filter is gone.
fn type_after(interference: &str) -> &'static str {
    match interference {
        "SET" => "+string",
        _ => "+none",
    }
}
