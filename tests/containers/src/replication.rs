//! Two containers on a network of their own.

use crate::docker::own_name;
use crate::items::{add_items, missing_items};
use crate::patience::{wait_for_primary, PATIENCE};
use crate::server::{image, Server};
use redis::cmd;
use testcontainers::ImageExt;

const ITEMS: u32 = 20_000;

#[test]
fn a_replica_in_another_container_has_everything_and_can_take_over() {
    let network = own_name("network");
    let name = own_name("primary");
    let primary = Server::start(image(&[]).with_network(&network).with_container_name(&name));
    let mut db = primary.connect();
    add_items(&mut db, "seen", 0..ITEMS / 2); // sent by the full sync

    let replica = Server::start(image(&["--replicaof", &name, "6379"]).with_network(&network));
    let mut copy = replica.connect();
    wait_for_primary(&mut copy);

    add_items(&mut db, "seen", ITEMS / 2..ITEMS); // replicated command by command
    let acknowledged: u32 =
        cmd("WAIT").arg(1).arg(PATIENCE.as_millis() as u64).query(&mut db).unwrap();
    assert_eq!(acknowledged, 1);
    assert_eq!(missing_items(&mut copy, "seen", 0..ITEMS), 0);

    primary.kill();
    let _: () = cmd("REPLICAOF").arg("NO").arg("ONE").query(&mut copy).unwrap();
    add_items(&mut copy, "seen", ITEMS..ITEMS + 1000);
    assert_eq!(missing_items(&mut copy, "seen", 0..ITEMS + 1000), 0);
}
