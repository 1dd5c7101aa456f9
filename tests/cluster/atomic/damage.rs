//! A bit that changes on its way while a slot moves: the key stays where it was, or the log of the
//! target names it.

use super::dumps::damage_dumps;
use super::import::Import;
use super::migration::AtomicMove;
use splitbloom_harness::kinds::{kinds, PLACES};
use splitbloom_harness::trial::{Cluster, Node};
use splitbloom_harness::{eventually, Server};
use splitbloom_partition::slot_of;

#[test]
fn a_bit_that_changes_while_a_slot_moves_denies_nothing_without_a_word() {
    // The server must not die of what it is sent.
    let cluster = Cluster::configured(2, 0, &["propagation-error-behavior ignore"]);
    let nodes = cluster.nodes();
    let mut db = nodes[0].connect();
    if !AtomicMove::is_known(&mut db) {
        println!("skipped: this server has no atomic slot migration");
        return;
    }
    let [source, target] = cluster.owner_and_other("{m}");
    let (source, target, server) = (&nodes[source], &nodes[target], cluster.server(target));
    if AtomicMove::is_of_commands(&mut db) {
        damage_commands(source, target, server);
    } else {
        damage_dumps(source, target, server);
    }
}

/// A source that sends commands (Valkey): the target does not take a slot if it refuses one of its
/// commands. Damaged values of RedisBloom and valkey-bloom, which have no checksum, may be
/// accepted, but cause almost no false negatives.
fn damage_commands(source: &Node, target: &Node, server: &Server) {
    let kinds = kinds();
    let slot = slot_of(b"{m}");
    let (mut imports, mut refused, mut executed) = (0, Vec::new(), Vec::new());
    for kind in &kinds {
        let before = refused.len();
        for place in 0..PLACES {
            let key = format!("{{m}}:{}:{place}.", kind.name);
            let commands = kind.damaged(place, key.as_bytes());
            let mut import = Import::begin(slot, source, target, imports);
            imports += 1;
            commands.iter().for_each(|command| import.send(command.clone()));
            if import.is_executed() {
                import.break_off();
                executed.push((kind, key, commands));
            } else {
                refused.push(key);
            }
        }
        kind.assert_enough_are_named(refused.len() - before);
    }
    let mut to = target.connect();
    let counted = to.info_number("bf", "bf_replays_refused");
    assert_eq!(counted, refused.len() as i64);
    let log = server.log();
    for key in refused {
        assert!(log.contains(&format!("key \"{key}\"")), "{key}: {log}");
    }
    let moves = to.run("CLUSTER GETSLOTMIGRATIONS");
    let mut states = moves.elements().iter().map(|one| one.field("state").text());
    assert!(states.all(|state| state == "failed"), "{moves}");
    eventually("the target has nothing", || to.ask("DBSIZE") == ":0");

    let mut import = Import::begin(slot, source, target, imports);
    for (_, _, commands) in &executed {
        commands.iter().for_each(|command| import.send(command.clone()));
    }
    assert!(import.is_executed());
    import.finish();
    for (kind, key, _) in executed {
        kind.assert_is_under(&mut to, &key);
    }
}
