//! Moves slots from primary to primary, with the ordinary protocol of Redis Cluster.
//!
//! ```text
//!   target   CLUSTER SETSLOT s IMPORTING source      takes the slot's keys from those who say ASKING
//!   source   CLUSTER SETSLOT s MIGRATING target      answers -ASK for keys that it no longer has
//!   source   MIGRATE target … KEYS k…                DUMP, RESTORE at the target, DEL: both stand still meanwhile
//!   target   (offsets)                               until its replica has the keys too
//!   both     CLUSTER SETSLOT s NODE target           from now on the source answers -MOVED
//! ```
//!
//! And then nothing until the nodes agree. Which of two claims to a slot is the newer one, they tell by an epoch that the target of a move raises above all that it
//! has heard of. A target that has not yet heard of its neighbour's move may claim its slot with too low an epoch, and lose it to a belated message of
//! the source, which has given it up: then each of the two sends clients to the other, for ever. A mover that did not wait came to that
//! within two thousand moves.
//!
//! Between the MIGRATE and the end of that the keys are on one process only: the source has deleted them, and the target's replica may not have
//! them yet. No acknowledgement of a client covers that: it came from the source's replica. Who kills the target just then
//! loses them. So a move holds a gate from beginning to end, and who kills a node takes the gate before.

use super::nodes::{agree, good, try_owners, Node};
use crate::harness::{eventually, Connection, Random, Reply};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Mutex;
use std::thread::sleep;
use std::time::Duration;

const KEYS_AT_ONCE: usize = 16;
const MIGRATE_TIMEOUT_MILLISECONDS: &str = "60000";
const WAIT_MILLISECONDS: &str = "5";
/// Between two moves, so that others get at the gate.
const PAUSE: Duration = Duration::from_millis(2);

/// Moves slots at random until it is told to stop.
pub struct Mover<'a> {
    pub nodes: &'a [Node],
    pub slots: &'a [u16],
    /// Held while a slot is on its way.
    pub gate: &'a Mutex<()>,
    pub moves: &'a AtomicU64,
    pub is_over: &'a AtomicBool,
}

impl Mover<'_> {
    pub fn run(&self, seed: u64) {
        let mut random = Random::seeded(seed);
        while !self.is_over.load(Ordering::Acquire) {
            let slot = *random.pick(self.slots);
            let gate = self.gate.lock().expect("nobody panics at the gate");
            if self.move_somewhere(slot, &mut random).is_ok() {
                self.moves.fetch_add(1, Ordering::AcqRel);
            }
            eventually("the nodes agree", || {
                agree(self.nodes) || self.is_over.load(Ordering::Acquire)
            });
            drop(gate);
            sleep(PAUSE);
        }
    }

    /// To another primary that is there. An error where one of the two is not, and then the slot stays.
    fn move_somewhere(&self, slot: u16, random: &mut Random) -> io::Result<()> {
        let asked = random.pick(self.nodes);
        let owners = try_owners(&mut asked.try_connect()?)?;
        let source = owners[usize::from(slot)].clone();
        let source = source.ok_or(io::ErrorKind::NotFound)?;
        let mut targets: Vec<Node> = owners.into_iter().flatten().collect();
        targets.dedup();
        targets.retain(|node| *node != source);
        targets.sort_by_key(|node| node.port);
        targets.dedup();
        let target = random.pick(&targets).clone();
        let (mut from, mut to) = (source.try_connect()?, target.try_connect()?);
        let moved = move_slot(slot, (&source, &mut from), (&target, &mut to));
        if moved.is_err() {
            // One of the two is gone, or was just promoted.
            for end in [&mut from, &mut to] {
                let _ = end.try_call(["CLUSTER", "SETSLOT", &slot.to_string(), "STABLE"]);
            }
        }
        moved
    }
}

/// Moves a slot with its keys; the target's replica has them at the end.
pub fn move_slot(
    slot: u16,
    source: (&Node, &mut Connection),
    target: (&Node, &mut Connection),
) -> io::Result<()> {
    let ((source, from), (target, to)) = (source, target);
    good(to.try_call(set_slot(slot, "IMPORTING", source))?)?;
    good(from.try_call(set_slot(slot, "MIGRATING", target))?)?;
    let (slot_word, port) = (slot.to_string(), target.port.to_string());
    let count = KEYS_AT_ONCE.to_string();
    loop {
        let keys = good(from.try_call(["CLUSTER", "GETKEYSINSLOT", &slot_word, &count])?)?;
        if keys.elements().is_empty() {
            break;
        }
        let head = [
            "MIGRATE",
            "127.0.0.1",
            &port,
            "",
            "0",
            MIGRATE_TIMEOUT_MILLISECONDS,
            "KEYS",
        ];
        let head = head.iter().map(|word| word.as_bytes());
        let keys = keys.elements().iter().map(Reply::bytes);
        good(from.try_call(head.chain(keys))?)?;
        wait_for_a_replica(to)?;
    }
    good(to.try_call(set_slot(slot, "NODE", target))?)?;
    good(from.try_call(set_slot(slot, "NODE", target))?)?;
    Ok(())
}

/// Returns when a replica has all that this node has. Newer servers let WAIT count only what its own connection has changed, and the keys came over another one;
/// so the offsets are compared, and WAIT (for more replicas than there are) makes them be told at once. Where the node has no replica, which a cluster
/// that has just lost a node may come to, there is none to wait for.
fn wait_for_a_replica(db: &mut Connection) -> io::Result<()> {
    let number = |text: &str| text.trim().parse::<u64>().unwrap_or_default();
    let mut wanted = None;
    loop {
        let info = good(db.try_call(["INFO", "replication"])?)?.text();
        let mut offsets = info
            .lines()
            .filter_map(|line| line.strip_prefix("master_repl_offset:"));
        let wanted = *wanted.get_or_insert(offsets.next().map_or(0, number));
        let replicas = info
            .lines()
            .filter(|line| line.starts_with("slave") && line.contains(",offset="));
        let of_replica = |line: &str| {
            line.split(',')
                .find_map(|field| field.strip_prefix("offset="))
                .map_or(0, number)
        };
        if info.contains("connected_slaves:0")
            || replicas.map(of_replica).any(|offset| offset >= wanted)
        {
            return Ok(());
        }
        good(db.try_call(["WAIT", "1000", WAIT_MILLISECONDS])?)?;
    }
}

fn set_slot(slot: u16, state: &str, node: &Node) -> [String; 5] {
    let words = ["CLUSTER", "SETSLOT", &slot.to_string(), state, &node.id];
    words.map(str::to_owned)
}
