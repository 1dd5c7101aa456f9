//! Followers in children of `fork`.

use super::*;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// Calls `act` in a child, which is killed if it is stuck. Returns whether it came to its end.
#[allow(unsafe_code, reason = "system calls")]
fn in_child(act: impl FnOnce()) -> bool {
    // SAFETY: the child runs only what follows, and leaves without destructors. It allocates and
    // starts threads, which the C library allows.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: without a handler, the signal ends the process.
        unsafe { libc::alarm(2 * patient(SOON).as_secs() as u32) };
        let done = catch_unwind(AssertUnwindSafe(act));
        // SAFETY: ends the process.
        unsafe { libc::_exit(i32::from(done.is_err())) }
    }
    assert!(child > 0);
    let mut status = 0;
    // SAFETY: the status is this frame's.
    let waited = unsafe { libc::waitpid(child, &mut status, 0) };
    waited == child && libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
}

#[test]
fn a_child_of_a_fork_follows_from_where_its_parent_was() {
    let (server, mut db) = Server::start().with_client();
    add_items(&mut db, "f", 0..10_000);
    let follower = ready(server.port(), "f");
    for fork in 0..20 {
        let new = 10_000 + 10 * fork;
        let is_done = in_child(|| {
            assert!(has_all(&follower, 0..10_000));
            assert!(matches!(follower.status().error, Some(Error::Forked) | None));
            let mut db = server.connect();
            add_items(&mut db, "f", new..new + 10);
            eventually("what is new has come", || has_all(&follower, new..new + 10));
            eventually("the error is over", || follower.status().error.is_none());
            assert_eq!(follower.status().fetches, 1);
            // A child of the child.
            assert!(in_child(|| eventually("it follows", || {
                has_all(&follower, 0..new + 10) && follower.status().error.is_none()
            })));
            follower.close();
            assert_eq!(follower.contains(&item(1)), None);
        });
        assert!(is_done, "fork {fork}");
        eventually("the parent follows", || has_all(&follower, 0..new + 10));
    }
    assert_eq!(follower.status().fetches, 1);
}

#[test]
fn a_child_of_a_fork_without_a_server_says_how_old_its_copy_is_and_why() {
    let server = Server::start();
    add_items(&mut server.connect(), "f", 0..1_000);
    let follower = ready(server.port(), "f");
    drop(server);
    let is_done = in_child(|| {
        let before = follower.staleness().expect("a copy");
        assert!(follower.status().error.is_some());
        eventually("the child has asked", || {
            matches!(follower.status().error, Some(Error::Unreachable(_)))
        });
        assert!(has_all(&follower, 0..1_000));
        assert!(follower.staleness().expect("a copy") > before);
    });
    assert!(is_done);
}
