//! `splitbloom shrink`, `pull --shrink` and `push --shrink`.

use crate::tool::{tool, tool_on, url, Folder, Runs};
use splitbloom_harness::{add_items, missing_items, Connection, Random, Server};
use std::fs;

const SEED: &str = "0123456789abcdef";

/// A filter as it is reserved, and how many items come.
struct Shape {
    rate: String,
    capacity: u64,
    growth: &'static str,
    items: u64,
}

impl Shape {
    /// Rates from 0.25 to 1e-9, capacities from 1 to 10^8, most of them large and far from full.
    /// Each item of a large filter may touch a segment of 64 KiB, so there are few of those.
    fn random(random: &mut Random) -> Self {
        let rate = 10f64.powf(-9.0 + (9.0 + 0.25f64.log10()) * share(random));
        let capacity = 10f64.powf(8.0 * share(random).sqrt()) as u64;
        let most = if capacity < 1_000_000 { 1_500 } else { 60 };
        let items = ((capacity as f64 * share(random).powi(2)) as u64).min(most);
        let growth = *random.pick(&["", " NONSCALING"]);
        Self { rate: rate.to_string(), capacity, growth, items }
    }

    fn reserve(&self, db: &mut Connection, key: &str, capacity: u64) {
        let Self { rate, growth, .. } = self;
        assert_eq!(
            db.ask(&format!("BF.RESERVE {key} {rate} {capacity}{growth} SEED {SEED}")),
            "+OK"
        );
    }
}

/// From 0 to 1.
fn share(random: &mut Random) -> f64 {
    random.below(1 << 32) as f64 / 2f64.powi(32)
}

/// Adds items, and returns those that were new.
fn add(db: &mut Connection, key: &str, items: &[String]) -> Vec<String> {
    if items.is_empty() {
        return Vec::new();
    }
    let command = ["BF.MADD", key].into_iter().chain(items.iter().map(String::as_str));
    let replies = db.call(command);
    let new = items.iter().zip(replies.elements()).filter(|(_, reply)| reply.integer() == 1);
    new.map(|(item, _)| item.clone()).collect()
}

#[test]
fn a_shrunk_filter_is_the_one_reserved_smaller_on_the_server_and_in_the_file() {
    let (server, folder) = (Server::start(), Folder::new());
    let mut db = server.connect();
    let mut random = Random::seeded(32);
    let mut smaller = 0;
    for number in 0..200 {
        let shape = Shape::random(&mut random);
        let items: Vec<String> = (0..shape.items).map(|item| format!("{number}:{item}")).collect();
        db.run("FLUSHALL");
        // The size that these items get.
        shape.reserve(&mut db, "tried", shape.capacity);
        add(&mut db, "tried", &items);
        let roomier = (shape.capacity as f64 * share(&mut random).powi(4)) as u64;
        let wanted = match random.percent(50) {
            true => String::new(),
            false => format!(" CAPACITY {}", roomier.max(shape.items).max(1)),
        };
        let capacity = db.line(&format!("BF.SHRINK tried{wanted}")).integer() as u64;
        assert!(capacity >= shape.items && capacity <= shape.capacity, "{capacity}");
        // False positives of the smaller filter are left out, so that both count the same items.
        shape.reserve(&mut db, "small", capacity);
        let items = add(&mut db, "small", &items);
        shape.reserve(&mut db, "large", shape.capacity);
        assert_eq!(add(&mut db, "large", &items), items);

        let what = format!("{} {} to {capacity}", shape.rate, shape.capacity);
        if capacity < shape.capacity {
            smaller += 1;
            let [large, small, shrunk] = ["large", "small", "shrunk"].map(|name| folder.path(name));
            let pull = |key, file| tool_on(&server, &["pull", key, "-o", file]).prints();
            pull("large", &large);
            pull("small", &small);
            let text = capacity.to_string();
            tool(&["shrink", &large, "--capacity", &text, "-o", &shrunk]).prints();
            assert!(fs::read(&shrunk).unwrap() == fs::read(&small).unwrap(), "{what}: files");
        }
        let reply = db.line(&format!("BF.SHRINK large CAPACITY {capacity}"));
        assert_eq!(reply.integer() as u64, capacity, "{what}");
        assert_eq!(db.digest("large"), db.digest("small"), "{what}: keys");
    }
    assert!(smaller > 100, "{smaller} of 200 have a smaller size");
}

/// A filter of 4 MB of which a hundredth is used.
fn roomy(db: &mut Connection) {
    db.run(&format!("BF.RESERVE roomy 0.01 3000000 SEED {SEED}"));
    add_items(db, "roomy", 0..30_000);
}

#[test]
fn only_what_is_in_a_filter_is_pulled_and_pushed_and_the_key_stays_as_it_is() {
    let (server, other, folder) = (Server::start(), Server::start(), Folder::new());
    let mut db = server.connect();
    roomy(&mut db);
    let digest = db.digest("roomy");
    let [whole, shrunk, pulled] = ["whole", "shrunk", "pulled"].map(|name| folder.path(name));
    tool_on(&server, &["pull", "roomy", "-o", &whole]).prints();
    let text = tool(&["shrink", &whole, "-o", &shrunk]).prints();
    assert!(text.contains(" instead of 3000000, "), "{text}");

    let sent = |db: &mut Connection| db.info_number("stats", "total_net_output_bytes");
    let before = sent(&mut db);
    tool_on(&server, &["pull", "roomy", "-o", &pulled, "--shrink"]).prints();
    let bytes = sent(&mut db) - before;
    assert!(bytes < 100_000, "{bytes} bytes of {}", fs::metadata(&whole).unwrap().len());
    assert!(fs::read(&pulled).unwrap() == fs::read(&shrunk).unwrap());
    let to = url(&other);
    tool_on(&server, &["pull", "roomy", "--to", &to, "--shrink"]).prints();
    tool_on(&server, &["push", &whole, "pushed", "--shrink"]).prints();
    tool_on(&server, &["push", &shrunk, "plain"]).prints();
    assert_eq!(db.digest("roomy"), digest);
    assert_eq!(db.ask("DBSIZE"), ":3");
    let small = db.digest("plain");
    assert_eq!((db.digest("pushed"), other.connect().digest("roomy")), (small.clone(), small));
    assert_eq!(missing_items(&mut db, "plain", 0..30_000), 0);

    let info = tool_on(&server, &["info", "plain"]).prints();
    let shrinks = |info: &str| !info.contains("Capacity if shrunk            -\n");
    assert!(!shrinks(&info), "{info}");
    for words in [["info", "roomy"], ["info", whole.as_str()]] {
        let info = tool_on(&server, &words).prints();
        assert!(shrinks(&info) && info.contains("\nSize if shrunk"), "{info}");
    }
}

#[test]
fn a_server_that_shrinks_no_copy_sends_the_whole_filter_and_keeps_nothing() {
    let (server, folder) = (Server::start(), Folder::new());
    let replica = server.replica(&[]);
    let mut db = server.connect();
    roomy(&mut db);
    db.run("ACL SETUSER reader on nopass ~roomy +bf.scandump +@read +@connection +@transaction");
    server.wait_for(&replica);
    let shrunk = folder.path("shrunk");
    tool_on(&server, &["pull", "roomy", "-o", &shrunk, "--shrink"]).prints();
    let user = url(&server).replace("://", "://reader:any@");
    for (at, limit, why) in [
        (url(&server), "1", "ERR filter to shrink would exceed bf.max-merge-bytes"),
        (url(&replica), "64mb", "READONLY"),
        (user, "64mb", "NOPERM"),
    ] {
        db.run(&format!("CONFIG SET bf.max-merge-bytes {limit}"));
        let pulled = folder.path("pulled");
        let pull = ["pull", "roomy", "-o", &pulled, "--shrink", "--url", &at];
        let run = tool(&pull).run();
        let is_noted = run.stderr.starts_with("splitbloom: note: the server refused: ")
            && run.stderr.contains(why)
            && run.stderr.ends_with(": the whole filter is transferred\n");
        assert!((run.code, run.stdout.as_str()) == (0, "") && is_noted, "{run:?}");
        assert!(fs::read(&pulled).unwrap() == fs::read(&shrunk).unwrap(), "{why}");
        assert_eq!(db.ask("DBSIZE"), ":1", "{why}");
    }
}

#[test]
fn what_cannot_be_shrunk_is_an_error_and_leaves_nothing() {
    let (server, folder) = (Server::start(), Folder::new());
    let mut db = server.connect();
    db.run("BF.RESERVE window 0.01 100 WINDOW 3600");
    db.run("CF.ADD counting a");
    db.run(&format!("BF.INSERT few SEED {SEED} ITEMS a b c"));
    for key in ["window", "counting", "few"] {
        tool_on(&server, &["pull", key, "-o", &folder.path(key)]).prints();
    }
    let (out, none) = (folder.path("out"), "filters of this kind cannot be shrunk");
    for key in ["window", "counting"] {
        let file = folder.path(key);
        assert_eq!(tool(&["shrink", &file, "-o", &out]).error(6), none);
        assert_eq!(tool_on(&server, &["push", &file, "new", "--shrink"]).error(6), none);
        assert_eq!(tool_on(&server, &["pull", key, "-o", &out, "--shrink"]).error(6), none);
    }
    let few = folder.path("few");
    let message = tool(&["shrink", &few, "-o", &out, "--capacity", "2"]).error(6);
    assert_eq!(message, "the filter has 3 items, more than that capacity");
    tool(&["shrink", &few, "-o", &few]).error(2);
    assert_eq!(db.ask("DBSIZE"), ":3");
    assert_eq!(folder.names(), ["counting", "few", "window"]);
    // One that has no smaller size stays as it is.
    tool(&["shrink", &few, "-o", &out]).prints();
    assert!(fs::read(&few).unwrap() == fs::read(&out).unwrap());
}
