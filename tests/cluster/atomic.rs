//! Atomic slot migration by the server, while the filters in the slot change.

mod damage;
mod dumps;
mod import;
mod migration;

pub use migration::AtomicMove;
use splitbloom_harness::trial::Cluster;
use splitbloom_harness::{
    eventually, item, missing_items, Connection, Family, Pace, Reply, Server, Writers,
    OTHER_SETTINGS,
};
use splitbloom_partition::slot_of;
use std::time::Duration;

/// Filters that do not change during the migration.
const QUIET: u64 = 64;
/// The child that copies a slot waits 30 ms after each key, so the quiet filters make a migration
/// take two seconds.
const SAVE_DELAY: &str = "CONFIG SET rdb-key-save-delay 30000";
/// Filters that grow during the migration, each with a writer.
const BUSY: [(Family, &str); 3] = [
    (Family::Bloom, "{m}:busy:0"),
    (Family::Bloom, "{m}:busy:1"),
    (Family::Counting, "{m}:busy:2"),
];
/// Items that each writer adds before the migration, and again after it.
const SOME_ITEMS: u64 = 500;
/// Items of a filter that is created during the migration. Its capacity is 20, so it grows.
const ITEMS_OF_CREATED: u64 = 60;

/// One command at a time: a refused command changes nothing, so the acknowledged items are exactly
/// the added ones, in order.
const PACE: Pace = Pace {
    writers: BUSY.len() as u64,
    items_per_command: 1,
    in_flight: 1,
    pause: Duration::from_millis(1),
    replicas: 0,
};

#[test]
fn slots_migrate_atomically_while_filters_change() {
    let cluster = Cluster::form(2, 1);
    let nodes = cluster.nodes();
    if !AtomicMove::is_known(&mut nodes[0].connect()) {
        println!("skipped: this server has no atomic slot migration");
        return;
    }
    let [source, target] = cluster.owner_and_other("{m}");
    let (source, target, replica) = (&nodes[source], &nodes[target], &nodes[2 + target]);
    let (mut from, mut to) = (source.connect(), target.connect());
    // Neither other defaults nor a limit must affect migrated filters.
    to.run_all(OTHER_SETTINGS.map(|line| format!("CONFIG SET {line}")));
    // The twin gets the same commands in the same order, without a migration.
    let (_server, mut twin) = Server::start().with_client();
    create_filters(&mut from);
    create_filters(&mut twin);
    let mut writers = Writers::start(source.port, &BUSY, PACE);
    add_some(&writers);

    from.run(SAVE_DELAY);
    let before = writers.counts();
    let mut moving = AtomicMove::begin(slot_of(b"{m}"), source, target);
    let mut created = Created::default();
    eventually("the slot has moved", || {
        created.create(&mut from, &mut twin);
        moving.is_over()
    });
    eventually("the source sends clients to the target", || is_moved(&from.line("EXISTS {m}")));
    writers.stop();
    let moved = writers.counts();
    assert!(before.iter().zip(&moved).all(|(before, moved)| before < moved));
    assert!(!created.seeded.is_empty() && !created.by_adds.is_empty());
    repeat(&mut twin, &[0; BUSY.len()], &moved);
    assert_eq!(writers.missing(&mut to, &moved), 0);
    let keys = quiet_and_busy().map(|(_, key)| key);
    for key in keys.chain(created.seeded) {
        assert_eq!(to.digest(&key), twin.digest(&key), "{key}");
    }
    for key in &created.by_adds {
        assert_eq!(missing_items(&mut to, key, 0..ITEMS_OF_CREATED), 0, "{key}");
        let capacity = to.ask(&format!("BF.INFO {key} CAPACITY"));
        assert_eq!(capacity, "[:100]", "{key}: the source's default");
    }
    assert_eq!(to.ask("GET {m}:text"), "$text", "a key of another type");

    // The filters keep growing, and the target's replica has everything.
    to.run("CONFIG SET bf.max-filter-bytes 0");
    writers.resume(target.port, PACE);
    add_some(&writers);
    writers.stop();
    repeat(&mut twin, &moved, &writers.counts());
    for (_, key) in BUSY {
        assert_eq!(to.digest(key), twin.digest(key), "{key}");
    }
    let mut copy = replica.connect();
    eventually("the replica has everything", || {
        copy.digest_of_everything() == to.digest_of_everything()
    });
    eventually("the source has deleted the migrated keys", || from.run("DBSIZE").integer() == 0);
}

fn add_some(writers: &Writers) {
    let aim = writers.slowest() + SOME_ITEMS;
    eventually("items arrive", || writers.slowest() > aim);
}

/// Adds the items that the writers added between these counts.
fn repeat(db: &mut Connection, from: &[u64], to: &[u64]) {
    for (writer, (from, to)) in from.iter().zip(to).enumerate() {
        let numbers = Writers::number(writer, *from)..Writers::number(writer, *to);
        let (family, key) = BUSY[writer];
        family.add_items(db, key, numbers);
    }
}

/// All filters that do not change, some of which are counting filters, and all that do.
fn quiet_and_busy() -> impl Iterator<Item = (Family, String)> {
    let quiet = (0..QUIET).map(|number| {
        let family = match number {
            4..=6 => Family::Counting,
            _ => Family::Bloom,
        };
        (family, format!("{{m}}:quiet:{number}"))
    });
    quiet.chain(BUSY.map(|(family, key)| (family, key.to_owned())))
}

/// Creates the quiet filters, of several kinds, the busy ones, and a key of another type.
fn create_filters(db: &mut Connection) {
    for (number, (family, key)) in quiet_and_busy().enumerate() {
        let (parameters, items) = match number {
            0 => ("0.01 100", 0),
            1 => ("0.01 10000 NONSCALING", 9000),
            2 => ("0.01 10 EXPANSION 1", 1000),
            // Several chunks of 1 MiB.
            3 => ("0.0001 2000000", 100_000),
            4 => ("100", 0),
            5 => ("100 EXPANSION 0", 90),
            6 => ("100 ERROR 0.000000000001", 200_000),
            _ if family == Family::Counting => ("100", 0),
            _ if key.contains("busy") => ("0.001 50", 0),
            _ => ("0.01 100", 1000),
        };
        family.reserve_with(db, &key, &format!("{parameters} SEED {number:016x}"));
        family.add_items(db, &key, 0..items);
    }
    db.run("SET {m}:text text");
}

/// Filters that are created during the migration.
#[derive(Default)]
struct Created {
    /// Created by BF.RESERVE with a seed; the twin has them too.
    seeded: Vec<String>,
    /// Created by BF.MADD.
    by_adds: Vec<String>,
}

impl Created {
    /// Creates one of each kind, unless the slot has moved.
    fn create(&mut self, db: &mut Connection, twin: &mut Connection) {
        let number = self.seeded.len();
        let key = format!("{{m}}:seeded:{number}");
        let reserve = format!("BF.RESERVE {key} 0.01 20 SEED {number:016x}");
        let adds = (0..ITEMS_OF_CREATED).map(|item| format!("BF.ADD {key} {item}"));
        for (done, command) in [reserve].into_iter().chain(adds).enumerate() {
            if is_moved(&db.line(&command)) {
                return;
            }
            twin.run(&command);
            if done == 0 {
                self.seeded.push(key.clone());
            }
        }
        let key = format!("{{m}}:by-adds:{number}");
        let head = [b"BF.MADD".to_vec(), key.clone().into_bytes()];
        if !is_moved(&db.call(head.into_iter().chain((0..ITEMS_OF_CREATED).map(item)))) {
            self.by_adds.push(key);
        }
    }
}

/// Whether the slot has moved. Clients must get no other error.
fn is_moved(reply: &Reply) -> bool {
    if let Reply::Error(text) = reply {
        assert!(text.starts_with("MOVED "), "{text}");
    }
    reply.is_error()
}
