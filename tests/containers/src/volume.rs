//! What lies in the volume outlives the container.

use crate::docker::{docker, own_name};
use crate::items::{add_items, missing_items};
use crate::server::{image, Request, Server};
use redis::cmd;
use testcontainers::core::Mount;
use testcontainers::ImageExt;

const ITEMS: u32 = 20_000;

/// A volume that is gone when the test is.
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

fn everything_is_there(server: &Server) {
    let mut db = server.connect();
    assert_eq!(missing_items(&mut db, "seen", 0..ITEMS), 0);
    // Not everything is taken for present: what came back is the filter, not full bits.
    let strangers = missing_items(&mut db, "seen", ITEMS..2 * ITEMS);
    assert!(strangers as u32 > ITEMS / 100 * 95, "{strangers}");
    let capacity: Vec<u32> = cmd("BF.INFO")
        .arg("seen")
        .arg("CAPACITY")
        .query(&mut db)
        .unwrap();
    assert_eq!(capacity, [ITEMS]);
}

fn fill(server: &Server) {
    let mut db = server.connect();
    let _: () = cmd("BF.RESERVE")
        .arg("seen")
        .arg(0.01)
        .arg(ITEMS)
        .query(&mut db)
        .unwrap();
    add_items(&mut db, "seen", 0..ITEMS);
}

#[test]
fn a_new_container_on_the_same_volume_finds_everything() {
    let volume = Volume::new("stopped");
    let first = Server::start(volume.in_use(image(&[])));
    fill(&first);
    first.stop(); // saves
    drop(first); // and is removed
    let second = Server::start(volume.in_use(image(&[])));
    everything_is_there(&second);
    drop(second); // a volume in use cannot be removed
}

#[test]
fn a_container_that_was_stopped_and_started_finds_everything() {
    let volume = Volume::new("restarted");
    let server = Server::start(volume.in_use(image(&[])));
    fill(&server);
    server.stop();
    server.start_again();
    everything_is_there(&server);
    drop(server);
}

#[test]
fn a_killed_container_has_what_was_in_its_append_only_file() {
    let volume = Volume::new("killed");
    let arguments = ["--appendonly", "yes", "--appendfsync", "always"];
    let first = Server::start(volume.in_use(image(&arguments)));
    fill(&first);
    first.kill();
    drop(first);
    let second = Server::start(volume.in_use(image(&arguments)));
    everything_is_there(&second);
    drop(second);
}
