//! The contents of the volume outlive the container.

use crate::docker::{docker, own_name};
use crate::items::{add_items, missing_items};
use crate::server::{image, Request, Server};
use redis::cmd;
use testcontainers::core::Mount;
use testcontainers::ImageExt;

const ITEMS: u32 = 20_000;

/// A volume that is removed when the test ends.
struct Volume(String);

impl Volume {
    fn new(of: &str) -> Volume {
        let name = own_name(of);
        docker(&["volume", "create", &name]);
        Volume(name)
    }

    fn in_use(&self, request: Request) -> Request {
        request.with_mount(Mount::volume_mount(&self.0, "/data"))
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        docker(&["volume", "rm", "--force", &self.0]);
    }
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
    let volume = Volume::new("stopped");
    let first = Server::start(volume.in_use(image(&[])));
    fill(&first);
    first.stop(); // saves
    drop(first); // also removes it
    let second = Server::start(volume.in_use(image(&[])));
    assert_everything_is_present(&second);
    drop(second); // a volume in use cannot be removed
}

#[test]
fn a_killed_container_has_everything_in_its_append_only_file() {
    let volume = Volume::new("killed");
    let arguments = ["--appendonly", "yes", "--appendfsync", "always"];
    let first = Server::start(volume.in_use(image(&arguments)));
    fill(&first);
    first.kill();
    drop(first);
    let second = Server::start(volume.in_use(image(&arguments)));
    assert_everything_is_present(&second);
    drop(second);
}
