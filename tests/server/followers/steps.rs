//! What happens at each step of a fetch: a link stops before every command of the follower.

use super::SOON;
use splitbloom_client::Follower;
use splitbloom_harness::{add_items, eventually, item, load_chunks, patient, scan_dump};
use splitbloom_harness::{Connection, Link, Server};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// A follower of `f` that reaches the server by the link. `before` is called with the number of
/// each of its commands, except those of the connection.
fn following(server: &Server, mut before: impl FnMut(usize) + Send + 'static) -> (Link, Follower) {
    const NAME: &[u8] = b"\r\nBF.";
    let mut commands = 0;
    let upwards = move |bytes: &mut [u8]| {
        for _ in bytes.windows(NAME.len()).filter(|bytes| *bytes == NAME) {
            before(commands);
            commands += 1;
        }
    };
    let link = Link::changing(server.port(), upwards, |_| ());
    let follower = super::following(link.port(), "f");
    (link, follower)
}

fn denied(follower: &Follower, numbers: std::ops::Range<u64>) -> usize {
    let items: Vec<Vec<u8>> = numbers.map(item).collect();
    let found = follower.contains_many(&items).expect("there is a copy");
    found.into_iter().filter(|found| !found).count()
}

/// What takes two chunks and the question after them: two commands to begin, two a chunk.
const STEPS: usize = 8;

/// The items of `f`, which is copied from `full`, and of `other`.
const ITEMS: std::ops::Range<u64> = 0..150_000;
const OTHERS: std::ops::Range<u64> = 500_000..500_100;

/// A filter of two chunks, and another one, in a database of their own.
fn prepared() -> Server {
    let (server, mut db) = Server::start().with_client();
    db.run("SELECT 5");
    for key in ["full", "spare"] {
        db.run(&format!("BF.RESERVE {key} 0.0000001 300000 SEED 00000000000000aa"));
    }
    add_items(&mut db, "full", ITEMS);
    add_items(&mut db, "spare", OTHERS);
    assert!(scan_dump(&mut db, "full").len() >= 2);
    server
}

/// Puts copies of them where a follower of `f` begins.
fn begin(db: &mut Connection) {
    db.run_all([
        "FLUSHDB",
        "SELECT 5",
        "COPY full f DB 0",
        "COPY spare other DB 0",
        "COPY spare f DB 1 REPLACE",
        "SELECT 0",
    ]);
}

/// Exchanges that end where they began.
const THERE_AND_BACK: [[&[&str]; 2]; 4] = [
    [&["SWAPDB 0 1"], &["SWAPDB 0 1"]],
    [&["RENAME f g", "RENAME other f"], &["RENAME f other", "RENAME g f"]],
    [&["RENAME f g", "COPY other f"], &["RENAME g f"]],
    [&["COPY f g", "RENAME f h", "COPY other f"], &["RENAME h f"]],
];

/// Runs the cases, which mostly wait, on four servers at once.
fn on_prepared_servers<T: Sync>(cases: &[T], run: impl Fn(&Server, &T) + Sync) {
    thread::scope(|scope| {
        for cases in cases.chunks(cases.len().div_ceil(4)) {
            scope.spawn(|| {
                let server = prepared();
                cases.iter().for_each(|case| run(&server, case));
            });
        }
    });
}

#[test]
fn a_name_exchanged_and_exchanged_back_at_any_step_of_a_fetch_leaves_the_right_copy() {
    on_prepared_servers(&THERE_AND_BACK, |server, &[there, back]| {
        for (first, second) in (0..STEPS).flat_map(|first| [1, 2].map(|more| (first, first + more)))
        {
            let mut db = server.connect();
            begin(&mut db);
            let (_link, follower) = following(server, move |number| {
                let lines = match number {
                    _ if number == first => there,
                    _ if number == second => back,
                    _ => return,
                };
                db.run_all(lines);
            });
            let mut db = server.connect();
            eventually("the copy is that of the key", || {
                follower.wait_until_ready(patient(SOON)) && denied(&follower, ITEMS) == 0
            });
            add_items(&mut db, "f", 200_000..200_100);
            eventually("what is new has come", || denied(&follower, 200_000..200_100) == 0);
            assert_eq!(denied(&follower, ITEMS), 0, "{there:?} {first} {second}");
        }
    });
}

/// Commands that exchange the filter under a name, and the items of that name afterwards. `RESTORE
/// f` and `LOAD f` bring the other filter.
const CHANGES: [(&[&str], std::ops::Range<u64>); 15] = [
    (&["RENAME other f"], OTHERS),
    (&["RENAME f g", "RENAMENX other f"], OTHERS),
    (&["MOVE f 2", "RENAME other f", "SELECT 2", "DEL f"], OTHERS),
    (&["SWAPDB 0 1"], OTHERS),
    (&["COPY other f REPLACE"], OTHERS),
    (&["DEL f", "COPY other f"], OTHERS),
    (&["UNLINK f", "COPY other f"], OTHERS),
    (&["PEXPIREAT f 1", "COPY other f"], OTHERS),
    (&["BF.CLEAR f", "BF.MERGE f 1 other FORCE"], OTHERS),
    (&["BF.MERGE f 1 other FORCE"], ITEMS),
    (&["BF.MERGE f 1 other FORCE"], OTHERS),
    (&["BF.SHRINK f"], ITEMS),
    (&["RESTORE f"], OTHERS),
    (&["DEL f", "LOAD f"], OTHERS),
    (&["FLUSHDB", "LOAD f"], OTHERS),
];

#[test]
fn whatever_a_name_stands_for_after_any_step_of_a_fetch_is_what_the_copy_has() {
    on_prepared_servers(&CHANGES, |server, (lines, expected)| {
        let mut db = server.connect();
        db.run("SELECT 5");
        let dump = db.dump("spare");
        let chunks = scan_dump(&mut db, "spare");
        for step in 0..STEPS {
            let mut db = server.connect();
            begin(&mut db);
            let (lines, dump, chunks) = (*lines, dump.clone(), chunks.clone());
            let (_link, follower) = following(server, move |number| {
                for line in lines.iter().filter(|_| number == step) {
                    match *line {
                        "RESTORE f" => assert_eq!(db.restore("f", &dump), "+OK"),
                        "LOAD f" => load_chunks(&mut db, "f", &chunks),
                        line => drop(db.run(line)),
                    }
                }
            });
            println!("{lines:?}, step {step}");
            eventually("the copy is that of the key", || {
                follower.wait_until_ready(patient(SOON)) && denied(&follower, expected.clone()) == 0
            });
            if lines == ["SWAPDB 0 1"] {
                server.connect().run("SWAPDB 0 1");
            }
        }
    });
}

#[test]
fn items_found_by_chance_while_a_filter_is_fetched_and_after_are_in_the_copy() {
    let (server, mut db) = Server::start().with_client();
    db.run("BF.RESERVE f 0.01 1000000");
    add_items(&mut db, "f", 0..950_000);
    let mut writer = server.connect();
    let by_chance = Arc::new(Mutex::new(0));
    let found = by_chance.clone();
    // After the first chunk: the sub-filter fills, and the table begins.
    let (_link, follower) = following(&server, move |number| {
        if number == 3 {
            *found.lock().expect("no panic") =
                120_000 - add_items(&mut writer, "f", 950_000..1_070_000);
        }
    });
    assert!(follower.wait_until_ready(patient(SOON)));
    assert!(*by_chance.lock().expect("no panic") > 100);
    assert_eq!(denied(&follower, 0..1_070_000), 0);
    let new = add_items(&mut db, "f", 2_000_000..2_100_000);
    assert!(new < 100_000);
    // The last new one comes last.
    let last = (2_100_000..).find(|number| add_items(&mut db, "f", *number..number + 1) == 1);
    let last = item(last.expect("a new one"));
    eventually("all have come", || follower.contains(&last) == Some(true));
    assert_eq!(denied(&follower, 2_000_000..2_100_000), 0);
    assert_eq!(follower.status().fetches, 1);
}

/// A fetch of many chunks, while a journal of few hashes runs over several times.
#[test]
fn a_fetch_that_takes_longer_than_the_journal_holds_ends() {
    let (server, mut db) = prepared().with_client();
    db.run("CONFIG SET bf.max-followed-items 512");
    begin(&mut db);
    let mut next = 600_000;
    // Two of these in a turn are not too many.
    let (_link, follower) = following(&server, move |_| {
        add_items(&mut db, "f", next..next + 100);
        next += 100;
    });
    assert!(follower.wait_until_ready(patient(SOON)), "{:?}", follower.status());
    assert_eq!(denied(&follower, ITEMS), 0);
}

#[test]
fn a_filter_that_changes_faster_than_it_is_followed_is_named_with_what_to_raise() {
    let (server, mut db) = prepared().with_client();
    db.run("CONFIG SET bf.max-followed-items 256");
    begin(&mut db);
    let mut next = 600_000;
    let commands = Arc::new(AtomicUsize::new(0));
    let sent = Arc::clone(&commands);
    let (_link, follower) = following(&server, move |number| {
        sent.store(number, Relaxed);
        add_items(&mut db, "f", next..next + 2_000);
        next += 2_000;
    });
    eventually("it says why", || {
        let error = follower.status().error;
        error.is_some_and(|error| error.to_string().contains("raise bf.max-followed-items"))
    });
    assert!(!follower.is_ready());
    // It pauses for as long as each fetch took, and longer each time.
    let before = commands.load(Relaxed);
    thread::sleep(Duration::from_secs(4));
    let fetches = (commands.load(Relaxed) - before) / STEPS;
    assert!(fetches <= 20, "{fetches} in four seconds");
}
