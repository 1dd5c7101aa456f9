//! The contents of the volume outlive the container.

use crate::docker::Own;
use crate::items::{add_items, missing_items};
use crate::server::{image, Request, Server};
use redis::cmd;
use testcontainers::core::Mount;
use testcontainers::ImageExt;

const ITEMS: u32 = 20_000;

/// The image with these arguments, which has its data in the volume.
fn image_on(volume: &Own, arguments: &[&str]) -> Request {
    image(arguments).with_mount(Mount::volume_mount(&volume.name, "/data"))
}

fn assert_everything_is_present(server: &Server) {
    let mut db = server.connect();
    assert_eq!(missing_items(&mut db, "seen", 0..ITEMS), 0);
    // Absent items are absent: the filter is the same, not just full of set bits.
    let absent = missing_items(&mut db, "seen", ITEMS..2 * ITEMS);
    assert!(absent as u32 > ITEMS / 100 * 95, "{absent}");
    let capacity: Vec<u32> = cmd("BF.INFO").arg("seen").arg("CAPACITY").query(&mut db).unwrap();
    assert_eq!(capacity, [ITEMS]);
}

fn fill(server: &Server) {
    let mut db = server.connect();
    let _: () = cmd("BF.RESERVE").arg("seen").arg(0.01).arg(ITEMS).query(&mut db).unwrap();
    add_items(&mut db, "seen", 0..ITEMS);
}

#[test]
fn a_new_container_on_the_same_volume_has_everything() {
    let volume = Own::new("volume");
    let first = Server::start(image_on(&volume, &[]));
    fill(&first);
    first.stop(); // saves
    drop(first); // also removes it
    let second = Server::start(image_on(&volume, &[]));
    assert_everything_is_present(&second);
    drop(second); // a volume in use cannot be removed
}

#[test]
fn a_killed_container_has_everything_in_its_append_only_file() {
    let volume = Own::new("volume");
    let arguments = ["--appendonly", "yes", "--appendfsync", "always"];
    let first = Server::start(image_on(&volume, &arguments));
    fill(&first);
    first.kill();
    drop(first);
    let second = Server::start(image_on(&volume, &arguments));
    assert_everything_is_present(&second);
    drop(second);
}
