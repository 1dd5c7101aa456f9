//! A client for one filter over many nodes of a Redis Cluster, over the connections of redis-rs.
//!
//! ```no_run
//! use splitbloom::client::{Growth, PartitionedFilter};
//! use splitbloom::partition::Partitions;
//!
//! # fn main() -> Result<(), splitbloom::client::Error> {
//! let partitions = Partitions::new(64).expect("a power of two");
//! let mut users = PartitionedFilter::connect(&["redis://127.0.0.1:7000"], "users", partitions)?;
//! users.reserve(0.01, 10_000_000, Growth::Times(2))?;
//! users.add("alice")?;
//! assert!(users.exists("alice")?);
//! let answers = users.mexists(&["alice", "bob"]); // in the order of the items
//! # Ok(())
//! # }
//! ```
//!
//! A batch becomes one command for each partition that it touches, in one pipeline for each node. Redirects are followed, and what fails because a
//! node is gone or the cluster is in a failover is asked again for a minute. Adds and questions may be asked twice without harm, but for one
//! thing: an add that was carried out before its answer was lost answers `false` (not new) the second time.
//!
//! ```text
//!   batch   items by partition, answers by item          link     redirects, failures, WAIT
//!   info    BF.INFO summed over the partitions           owners   which node owns which slot
//!   error   what the caller gets to see                  node     one connection
//!                                                        replication  how far the replicas are
//! ```
//!
//! No part of the module: it knows no more of the server than any other client.

mod batch;
mod error;
mod info;
mod link;
mod node;
mod owners;
mod replication;

pub use crate::filter::scalable::Growth;
pub use error::Error;
pub use info::Info;
pub use link::Acknowledged;

use crate::partition::{capacity_of_each, slot_of, Name, Partitions};
use batch::{answer, by_partition, in_order};
use link::{request, Again, Link, Request};
use redis::{Cmd, Value};
use std::time::Duration;

/// What became of an item: for an add whether it was new, for a question whether it is (probably) there.
pub type Answer = Result<bool, Error>;

/// One filter in many keys.
pub struct PartitionedFilter {
    link: Link,
    /// The key of each partition.
    keys: Vec<Vec<u8>>,
    partitions: Partitions,
}

impl PartitionedFilter {
    /// The filter of that name, in a cluster that one of these nodes belongs to.
    ///
    /// # Errors
    /// A `{` in the name; no node answers.
    pub fn connect(
        nodes: &[impl AsRef<str>],
        name: impl AsRef<[u8]>,
        partitions: Partitions,
    ) -> Result<Self, Error> {
        let name = Name::new(name.as_ref()).ok_or(Error::BraceInName)?;
        let nodes: Vec<String> = nodes.iter().map(|node| node.as_ref().to_owned()).collect();
        Ok(Self {
            link: Link::new(&nodes).map_err(Error::Unreachable)?,
            keys: partitions
                .each()
                .map(|partition| name.key(partition))
                .collect(),
            partitions,
        })
    }

    /// How long a command may take in all, with every try; a minute if nothing is said.
    pub fn set_patience(&mut self, patience: Duration) {
        self.link.set_patience(patience);
    }

    /// The key of each partition.
    pub fn keys(&self) -> &[Vec<u8>] {
        &self.keys
    }

    /// Makes the filter: in each partition room for its share of so many items, and for as many more as chance may send there
    /// ([`capacity_of_each`]).
    ///
    /// # Errors
    /// The first refusal; `ERR item exists` where there is a partition already. Those that were made before it stay: [`Self::delete`] takes them
    /// away. It is not asked again after a failure, since what exists then could be of this call or of another.
    pub fn reserve(&mut self, error_rate: f64, items: u64, growth: Growth) -> Result<(), Error> {
        let capacity = capacity_of_each(items, self.partitions);
        let replies = self.of_each_key(Again::No, |key| {
            let mut reserve = command("BF.RESERVE", key);
            reserve.arg(error_rate).arg(capacity);
            match growth {
                Growth::Fixed => reserve.arg("NONSCALING"),
                Growth::Times(factor) => reserve.arg("EXPANSION").arg(factor),
            };
            reserve
        });
        replies.into_iter().try_for_each(|reply| reply.map(drop))
    }

    /// Adds an item; whether it was new.
    pub fn add(&mut self, item: impl AsRef<[u8]>) -> Answer {
        self.of_item("BF.ADD", item.as_ref())
    }

    /// Whether an item is (probably) there.
    pub fn exists(&mut self, item: impl AsRef<[u8]>) -> Answer {
        self.of_item("BF.EXISTS", item.as_ref())
    }

    /// Adds items; for each, in their order, whether it was new.
    ///
    /// A partition that is full and may not grow answers its items until one is refused: that one is [`Error::Refused`], those of the same partition behind
    /// it are [`Error::NotTried`]. Items of other partitions are not concerned.
    pub fn madd(&mut self, items: &[impl AsRef<[u8]>]) -> Vec<Answer> {
        self.of_items("BF.MADD", items)
    }

    /// Whether items are (probably) there, in their order.
    pub fn mexists(&mut self, items: &[impl AsRef<[u8]>]) -> Vec<Answer> {
        self.of_items("BF.MEXISTS", items)
    }

    /// All partitions together.
    ///
    /// # Errors
    /// The first refusal; `ERR not found` where a partition is missing.
    pub fn info(&mut self) -> Result<Info, Error> {
        let mut info = Info::default();
        for reply in self.of_each_key(Again::Yes, |key| command("BF.INFO", key)) {
            info.add(&reply?)?;
        }
        Ok(info)
    }

    /// Takes the filter away, its memory in the background; answers how many partitions there were.
    ///
    /// # Errors
    /// The first refusal. What was deleted before it stays so.
    pub fn delete(&mut self) -> Result<u64, Error> {
        let mut deleted = 0;
        for reply in self.of_each_key(Again::Yes, |key| command("UNLINK", key)) {
            deleted += u64::from(answer(&reply?)?);
        }
        Ok(deleted)
    }

    /// Waits until so many replicas of each node that this client has talked to since the last `wait` have all that the node has: whoever wrote it.
    ///
    /// [`Acknowledged::No`] where that is not known; then add the same items again and wait again. It is so too where a connection was lost on which
    /// something had been written: the node may be gone with it.
    pub fn wait(&mut self, replicas: u32, timeout: Duration) -> Acknowledged {
        self.link.wait(replicas, timeout)
    }

    fn of_item(&mut self, name: &str, item: &[u8]) -> Answer {
        let key = &self.keys[usize::from(self.partitions.of(item))];
        let mut replies = self
            .link
            .ask(Again::Yes, &[on(key, command(name, key).arg(item))]);
        answer(&replies.remove(0)?)
    }

    fn of_items(&mut self, name: &str, items: &[impl AsRef<[u8]>]) -> Vec<Answer> {
        let groups = by_partition(items, self.partitions);
        let requests = groups.iter().map(|group| {
            let key = &self.keys[usize::from(group.partition)];
            on(key, command(name, key).arg(&group.items))
        });
        let replies = self.link.ask(Again::Yes, &requests.collect::<Vec<_>>());
        in_order(&groups, replies)
    }

    fn of_each_key(
        &mut self,
        again: Again,
        make: impl Fn(&[u8]) -> Cmd,
    ) -> Vec<Result<Value, Error>> {
        let requests = self.keys.iter().map(|key| on(key, &make(key)));
        self.link.ask(again, &requests.collect::<Vec<_>>())
    }
}

/// A command on a key.
fn on(key: &[u8], command: &Cmd) -> Request {
    request(slot_of(key), command)
}

fn command(name: &str, key: &[u8]) -> Cmd {
    let mut command = redis::cmd(name);
    command.arg(key);
    command
}
