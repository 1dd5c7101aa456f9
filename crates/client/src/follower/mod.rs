//! A copy of a server's filter in this process, which follows it: lookups without a network.
//!
//! ```text
//!   worker   a thread: notes the position, fetches the filter, then applies what is new
//!   copy     the filters that the worker writes and everyone else reads
//!   reply    what BF.CHANGES returns
//! ```
//!
//! # What a copy promises
//! An item that was acknowledged to its writer more than [`Follower::staleness`] ago, and is still
//! in the server's filter, is never absent:
//!
//! - Whatever is added after the position is noted is among the changes since it, whether a chunk
//!   of the fetch has it or not, and is applied to the part in which the server has it
//!   ([`Filter::follow`](splitbloom_filter::Filter::follow)).
//! - Each request for a chunk or for changes names the position, so all replies are about one
//!   filter, which has changed by adds only. If it is another filter, the follower begins anew.
//!
//! A copy of a replica's filter promises what the replica has: add the lag of the replica.
//!
//! # Forks
//! A child has the copy and its positions, but no worker. Its first use of the follower starts one,
//! which goes on as after a lost connection. The parent's connection stays open in the child,
//! unused: it belongs to a thread that the child does not have.

mod copy;
#[cfg(test)]
mod protocol_tests;
mod reply;
mod worker;

use crate::link::deadline;
use crate::{Error, Keys, Topology};
use copy::Copy;
use redis::ConnectionInfo;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use worker::Worker;

/// Follows one filter. Dropping it ends its thread, within a second.
///
/// After a `fork` it follows in the child, too: with the copy of the parent, over a connection of
/// its own, from its first use there on.
pub struct Follower {
    copy: Arc<Copy>,
    source: Source,
}

/// What is followed.
#[derive(Clone)]
struct Source {
    servers: Vec<ConnectionInfo>,
    topology: Topology,
    keys: Vec<Vec<u8>>,
}

/// The state of a follower.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Status {
    /// Bytes of memory that the copy takes.
    pub bytes: u64,
    /// How often the filter was fetched as a whole, a partition at a time.
    pub fetches: u64,
    /// New items applied to the copy after it was fetched.
    pub changes: u64,
    /// Why the copy does not follow now, if it does not.
    pub error: Option<Error>,
}

impl Follower {
    /// Begins to follow the filter of `keys`, on a thread that connects, and reconnects, by itself:
    /// first to `servers[0]`. Any primary or replica will do. Settings other than the address
    /// (login, TLS) are those of the first server.
    ///
    /// # Errors
    /// The system has no thread or no memory for it.
    pub fn start(
        servers: Vec<ConnectionInfo>,
        topology: Topology,
        keys: Keys<'_>,
    ) -> io::Result<Self> {
        let copy = Arc::new(Copy::new(keys.partitions())?);
        let source = Source { servers, topology, keys: keys.each() };
        let follower = Self { copy, source };
        follower.start_worker()?;
        Ok(follower)
    }

    fn start_worker(&self) -> io::Result<()> {
        let worker = Worker::new(self.copy.clone(), self.source.clone());
        thread::Builder::new().name("follower".into()).spawn(move || worker.run()).map(drop)
    }

    /// The copy, with a worker in this process.
    #[inline]
    fn copy(&self) -> &Copy {
        if self.copy.is_orphan() {
            self.restart();
        }
        &self.copy
    }

    /// Starts a worker in a child of `fork`.
    #[cold]
    fn restart(&self) {
        // Without a thread the error remains, and the next call tries again.
        if self.copy.adopt() && self.start_worker().is_err() {
            self.copy.abandon();
        }
    }

    /// Ends the follower: drops the copy, and ends the thread within a second.
    pub fn close(&self) {
        self.copy.stop();
    }

    /// Whether the item is (probably) in the filter; `None` as long as there is no copy: before the
    /// first fetch, while a key is missing on the server, and when it is closed.
    #[inline]
    pub fn contains(&self, item: &[u8]) -> Option<bool> {
        self.copy().contains(item)
    }

    /// As [`Self::contains`], for many items, in order; with one partition their cache misses
    /// overlap. The worker may change the copy after each 1024 of them.
    pub fn contains_many(&self, items: &[impl AsRef<[u8]>]) -> Option<Vec<bool>> {
        self.copy().contains_many(items)
    }

    /// Whether there is a copy.
    pub fn is_ready(&self) -> bool {
        self.copy().is_ready()
    }

    /// How long ago the worker last polled and found the copy complete: it may lack items added
    /// since then. `None` if there is no copy. It is a few milliseconds while items are added, up
    /// to half a second while none are, and grows while no server replies.
    pub fn staleness(&self) -> Option<Duration> {
        self.copy().staleness()
    }

    /// Waits until there is a copy, at most for `timeout`. Returns whether there is.
    pub fn wait_until_ready(&self, timeout: Duration) -> bool {
        let deadline = deadline(timeout);
        self.copy().wait_until_ready(deadline)
    }

    /// The state of the follower.
    pub fn status(&self) -> Status {
        self.copy().status()
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.close();
    }
}
