//! Moves slots from primary to primary with the ordinary protocol of Redis Cluster, as in
//! docs/cluster.md.
//!
//! ```text
//!   target   CLUSTER SETSLOT s IMPORTING source      serves the slot's keys after ASKING
//!   source   CLUSTER SETSLOT s MIGRATING target      replies -ASK for keys that it no longer has
//!   source   MIGRATE target … KEYS k…                DUMP, RESTORE at the target, DEL; both block
//!   target   (offsets)                               until its replica has the keys too
//!   both     CLUSTER SETSLOT s NODE target           from now on the source replies -MOVED
//! ```
//!
//! After that the mover waits until the nodes agree. They decide which of two claims to a slot is
//! newer by an epoch that the target of a move raises above all that it has seen. A target that
//! does not yet know of its neighbour's move may claim its slot with too low an epoch, and lose it
//! to a late message from the source, which has given it up: then each of the two redirects clients
//! to the other, forever. A mover that did not wait ran into this within two thousand moves.
//!
//! Between MIGRATE and the last step the keys exist in one process only: the source has deleted
//! them, and the target's replica may not have them yet. No client acknowledgement covers that,
//! because it came from the source's replica. Killing the target at that moment loses the keys. So
//! a move holds a gate from start to end, and whoever kills a node takes the gate first.
//!
//! A primary without its replica keeps its slots. Its replica may be a dead primary that is
//! starting again: that one follows its successor if it hears that the successor has all of its
//! slots. If one of them is already in another shard, it stays an empty primary, and the successor
//! without replica.

use super::nodes::{agree, into_result, try_owners, Node};
use crate::{eventually, Connection, Random, Reply};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Mutex;
use std::thread::sleep;
use std::time::Duration;

const KEYS_AT_ONCE: usize = 16;
const MIGRATE_TIMEOUT_MILLISECONDS: &str = "60000";
const WAIT_MILLISECONDS: &str = "5";
/// A pause between two moves, so that others can take the gate.
const PAUSE: Duration = Duration::from_millis(2);

/// Moves slots at random until it is told to stop.
pub struct Mover<'a> {
    pub nodes: &'a [Node],
    pub slots: &'a [u16],
    /// How many replicas a primary must have for a slot to move from it or to it.
    pub replicas: usize,
    /// Held while a slot moves.
    pub gate: Mutex<()>,
    pub moves: AtomicU64,
    pub is_over: AtomicBool,
}

impl<'a> Mover<'a> {
    pub fn new(nodes: &'a [Node], slots: &'a [u16], replicas: usize) -> Self {
        let (gate, moves, is_over) = Default::default();
        Self { nodes, slots, replicas, gate, moves, is_over }
    }

    pub fn run(&self, seed: u64) {
        let mut random = Random::seeded(seed);
        while !self.is_over.load(Ordering::Acquire) {
            let slot = *random.pick(self.slots);
            let gate = self.gate.lock().expect("no thread panics with the gate held");
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

    /// Moves a slot to another live primary. If either node is down, or lacks replicas, it returns
    /// an error, and the slot stays.
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
        for end in [&mut from, &mut to] {
            if replicas_online(end)? < self.replicas {
                return Err(io::ErrorKind::NotConnected.into());
            }
        }
        let moved = move_slot(slot, (&source, &mut from), (&target, &mut to));
        if moved.is_err() {
            // Either node is down, or was just promoted.
            for end in [&mut from, &mut to] {
                let _ = end.try_call(["CLUSTER", "SETSLOT", &slot.to_string(), "STABLE"]);
            }
        }
        moved
    }
}

/// Moves a slot with its keys; in the end the target's replica has them too.
pub fn move_slot(
    slot: u16,
    source: (&Node, &mut Connection),
    target: (&Node, &mut Connection),
) -> io::Result<()> {
    let ((source, from), (target, to)) = (source, target);
    into_result(to.try_call(set_slot(slot, "IMPORTING", source))?)?;
    into_result(from.try_call(set_slot(slot, "MIGRATING", target))?)?;
    let (slot_word, port) = (slot.to_string(), target.port.to_string());
    let count = KEYS_AT_ONCE.to_string();
    loop {
        let keys = into_result(from.try_call(["CLUSTER", "GETKEYSINSLOT", &slot_word, &count])?)?;
        if keys.elements().is_empty() {
            break;
        }
        let head = ["MIGRATE", "127.0.0.1", &port, "", "0", MIGRATE_TIMEOUT_MILLISECONDS, "KEYS"];
        let head = head.iter().map(|word| word.as_bytes());
        let keys = keys.elements().iter().map(Reply::bytes);
        into_result(from.try_call(head.chain(keys))?)?;
        wait_for_a_replica(to)?;
    }
    into_result(to.try_call(set_slot(slot, "NODE", target))?)?;
    into_result(from.try_call(set_slot(slot, "NODE", target))?)?;
    Ok(())
}

/// Waits until a replica has caught up with this node. On newer servers WAIT covers only the
/// changes of its own connection, and the keys came over another one; so this compares offsets, and
/// WAIT (for more replicas than exist) makes the replicas report them at once. A node without a
/// replica, which is possible in a cluster that has just lost a node, has nothing to wait for.
fn wait_for_a_replica(db: &mut Connection) -> io::Result<()> {
    let number = |text: &str| text.trim().parse::<u64>().unwrap_or_default();
    let mut wanted = None;
    loop {
        let info = into_result(db.try_call(["INFO", "replication"])?)?.text();
        let mut offsets = info.lines().filter_map(|line| line.strip_prefix("master_repl_offset:"));
        let wanted = *wanted.get_or_insert(offsets.next().map_or(0, number));
        let replicas =
            info.lines().filter(|line| line.starts_with("slave") && line.contains(",offset="));
        let of_replica = |line: &str| {
            line.split(',').find_map(|field| field.strip_prefix("offset=")).map_or(0, number)
        };
        if info.contains("connected_slaves:0")
            || replicas.map(of_replica).any(|offset| offset >= wanted)
        {
            return Ok(());
        }
        into_result(db.try_call(["WAIT", "1000", WAIT_MILLISECONDS])?)?;
    }
}

/// The number of replicas that have synchronized with this node.
fn replicas_online(db: &mut Connection) -> io::Result<usize> {
    let info = into_result(db.try_call(["INFO", "replication"])?)?.text();
    let is_online = |line: &&str| line.starts_with("slave") && line.contains(",state=online,");
    Ok(info.lines().filter(is_online).count())
}

fn set_slot(slot: u16, state: &str, node: &Node) -> [String; 5] {
    let words = ["CLUSTER", "SETSLOT", &slot.to_string(), state, &node.id];
    words.map(str::to_owned)
}
