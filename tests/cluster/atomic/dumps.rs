//! A slot migration by dumps, as Redis sends them, of which a link changes bits.

use super::migration::AtomicMove;
use splitbloom_harness::kinds::PLACES;
use splitbloom_harness::samples::dumped;
use splitbloom_harness::trial::Node;
use splitbloom_harness::{eventually, Connection, Family, Link, Server};
use splitbloom_partition::slot_of;

/// The first bytes of a filter's first chunk, which the server's compression leaves as they are:
/// the magic, the version and a byte of the start. The magic alone also comes by chance.
const CHUNK: &[u8] = b"SBF\x01\0";
/// At least this many bytes follow them, in a dump or chunk of a filter with a few items.
const DAMAGED_BYTES: usize = 200;

const ITEMS: u64 = 50;

/// Our kinds of filters, and those read from RedisBloom and valkey-bloom.
const KINDS: usize = 4 + 5;

/// Creates a filter of each kind, with some items.
fn create(db: &mut Connection, key: &str, kind: usize) -> Family {
    let (family, parameters) = match kind {
        0 => (Family::Bloom, "0.01 100"),
        1 => (Family::Bloom, "0.01 500 NONSCALING"),
        2 => (Family::Bloom, "0.01 100 WINDOW 300000000"),
        3 => (Family::Counting, "100"),
        _ => {
            let sample = dumped().nth(kind - 4).expect("as many as there are");
            sample.restore_as(db, key);
            return sample.family;
        }
    };
    family.reserve_with(db, key, parameters);
    family.add_items(db, key, 0..ITEMS);
    family
}

/// A source that sends dumps (Redis), without their checksum: the target moves the slot all the
/// same, and its log names each key that it lacks.
pub fn damage_dumps(source: &Node, target: &Node, server: &Server) {
    let mut from = source.connect();
    let mut filters = Vec::new();
    for number in 0..KINDS * PLACES {
        let key = format!("{{m}}:{number}.");
        let family = create(&mut from, &key, number % KINDS);
        let digest = from.digest(&key);
        filters.push((family, key, digest));
    }
    let mut damaged = 0;
    let link = Link::changing(source.port, |_| (), move |bytes| damage(bytes, &mut damaged));
    let port = link.port();
    from.run(&format!("CONFIG SET cluster-announce-port {port}"));
    let mut to = target.connect();
    eventually("the target knows the source's new port", || {
        let nodes = to.run("CLUSTER NODES").text();
        nodes.contains(&format!(":{port}@"))
    });
    let mut moving = AtomicMove::begin(slot_of(b"{m}"), source, target);
    eventually("the slot has moved", || moving.is_over());
    let log = server.log();
    let mut named = 0;
    for (family, key, digest) in filters {
        if log.contains(&format!("Key \"{key}\"")) {
            named += 1;
        } else {
            assert_eq!(to.digest(&key), digest, "{key}");
            assert_eq!(family.missing_items(&mut to, &key, 0..ITEMS), 0, "{key}");
        }
    }
    assert!(named > KINDS * PLACES / 2, "{named}: {log}");
    assert_eq!(log.matches("== CRITICAL ==").count(), named);
}

/// Changes one bit of each chunk, in each at another place.
fn damage(bytes: &mut [u8], damaged: &mut usize) {
    let starts = bytes.windows(CHUNK.len()).enumerate();
    let starts = starts.filter(|(_, bytes)| *bytes == CHUNK);
    let starts: Vec<usize> = starts.map(|(start, _)| start).collect();
    for start in starts {
        let bit = *damaged / KINDS % PLACES * DAMAGED_BYTES * 8 / PLACES;
        if let Some(byte) = bytes.get_mut(start + bit / 8) {
            *byte ^= 1 << (bit % 8);
        }
        *damaged += 1;
    }
}
