#![doc = include_str!("../README.md")]
//!
//! # How it works
//! A batch becomes one command for each partition that it touches, in one pipeline for each node.
//! The client follows redirects, and for a minute retries what fails because a node is gone or the
//! cluster is in a failover. Retries are harmless, with one exception: an add that was executed but
//! whose reply was lost returns `false` (not new) the second time.
//!
//! ```text
//!   batch   items by partition, answers by item     link         redirects and retries
//!   packed  the same for packed commands            owners       which node owns which slot
//!   info    BF.INFO summed over the partitions      connections  to all nodes; node: to one
//!   error   what the caller sees                    replication  waiting for replicas
//!   follower  a copy in this process           fork         its lock
//! ```
//!
//! A filter of one key, on a server or in a cluster, is a filter with one partition ([`Keys`]).
//!
//! This crate is not part of the module: it is a client like any other.
#![deny(missing_docs)]

mod batch;
mod connections;
mod error;
mod follower;
#[allow(unsafe_code, reason = "registers handlers of `fork`, and is a lock")]
mod fork;
mod info;
mod link;
mod node;
mod owners;
mod packed;
mod replication;

pub use error::Error;
pub use follower::{Follower, Status};
pub use fork::ForkLock;
pub use info::{number_of, value_of, Info};
pub use link::{Retry, Topology};
pub use packed::{Changes, Family, Layout, Refusal, UnderWay, Wording};
pub use redis;
pub use replication::Acknowledged;
pub use splitbloom_filter::Growth;
pub use splitbloom_partition::{Name, Partitions};

use batch::{answer, by_partition, in_order, Group};
use link::{request, transaction, Link, Request};
use redis::{Cmd, ConnectionInfo, IntoConnectionInfo, Value};
use splitbloom_partition::{capacity_of_each, slot_of, SLOTS};
use std::time::Duration;

/// The result for an item: of an add, whether the item was new; of a lookup, whether it is
/// (probably) in the filter.
pub type Answer = Result<bool, Error>;

/// The keys of a filter.
#[derive(Clone, Copy, Debug)]
pub enum Keys<'a> {
    /// One key.
    One(&'a [u8]),
    /// A key for each partition of the filter of this name.
    Partitioned(Name<'a>, Partitions),
}

impl Keys<'_> {
    fn partitions(self) -> Partitions {
        match self {
            Self::One(_) => Partitions::ONE,
            Self::Partitioned(_, partitions) => partitions,
        }
    }

    /// A key that a filter of the same name has if it has more partitions: their number is a power
    /// of two.
    fn above(self) -> Option<Vec<u8>> {
        match self {
            Self::Partitioned(name, partitions) if partitions.count() < SLOTS => {
                Some(name.key(partitions.count()))
            }
            _ => None,
        }
    }

    /// The key of each partition.
    fn each(self) -> Vec<Vec<u8>> {
        match self {
            Self::One(key) => vec![key.to_owned()],
            Self::Partitioned(name, partitions) => {
                partitions.each().map(|partition| name.key(partition)).collect()
            }
        }
    }
}

/// One filter in many keys.
///
/// To a server, a missing key is an empty filter. Here it is an error, because most likely its
/// items were lost: lookups fail, and so do adds, which do not create the key.
pub struct PartitionedFilter {
    link: Link,
    /// The key of each partition.
    keys: Vec<Vec<u8>>,
    /// A key that only a filter of the same name with more partitions has.
    above: Option<Vec<u8>>,
    is_partitioned: bool,
    /// Whether an add to a key that does not exist is an error.
    must_exist: bool,
    partitions: Partitions,
}

impl PartitionedFilter {
    /// The filter `name`, in the cluster of `nodes`, one of which must be reachable. It need not
    /// exist yet.
    ///
    /// # Errors
    /// The name contains `{`, a filter of that name has more partitions, or no node replies.
    pub fn connect(
        nodes: &[impl AsRef<str>],
        name: impl AsRef<[u8]>,
        partitions: Partitions,
    ) -> Result<Self, Error> {
        let name = Name::new(name.as_ref()).ok_or(Error::BraceInName)?;
        let nodes = nodes.iter().map(|node| node.as_ref().into_connection_info());
        let nodes: redis::RedisResult<_> = nodes.collect();
        let nodes = nodes.map_err(Error::Unreachable)?;
        let keys = Keys::Partitioned(name, partitions);
        let mut filter = Self::open(nodes, Topology::Cluster, keys)?;
        let above = filter.above.clone().into_iter().collect();
        filter.verify(above)?;
        Ok(filter)
    }

    /// The filter of `keys`, without a check that they exist: see [`Self::check`]. Settings other
    /// than the address (login, TLS, protocol) are those of the first server.
    ///
    /// # Errors
    /// No server replies, or the first one refuses the login.
    pub fn open(
        servers: Vec<ConnectionInfo>,
        topology: Topology,
        keys: Keys<'_>,
    ) -> Result<Self, Error> {
        Ok(Self {
            link: Link::new(servers, topology).map_err(Error::Unreachable)?,
            keys: keys.each(),
            above: keys.above(),
            is_partitioned: matches!(keys, Keys::Partitioned(..)),
            must_exist: matches!(keys, Keys::Partitioned(..)),
            partitions: keys.partitions(),
        })
    }

    /// The filter of other keys, over the same connections.
    pub fn turn_to(&mut self, keys: Keys<'_>) {
        self.keys = keys.each();
        self.above = keys.above();
        self.is_partitioned = matches!(keys, Keys::Partitioned(..));
        self.must_exist = self.is_partitioned;
        self.partitions = keys.partitions();
    }

    /// Checks that each key exists, and that the stored filter has no more partitions than `self`.
    ///
    /// # Errors
    /// [`Error::Missing`] with all the keys that do not exist, [`Error::MorePartitions`], or the
    /// first refusal.
    pub fn check(&mut self) -> Result<(), Error> {
        let keys = self.keys.iter().chain(&self.above).cloned();
        self.verify(keys.collect())
    }

    /// Checks that `keys` exist, and that `above`, if it is among them, does not.
    fn verify(&mut self, keys: Vec<Vec<u8>>) -> Result<(), Error> {
        let requests = keys.iter().map(|key| on(key, &command("EXISTS", key)));
        let replies = self.link.ask(Retry::Yes, requests.collect());
        let mut missing = Vec::new();
        for (key, reply) in keys.into_iter().zip(replies) {
            match (answer(&reply?)?, self.above.as_ref() == Some(&key)) {
                (true, true) => return Err(Error::MorePartitions(key)),
                (false, false) => missing.push(key),
                _ => {}
            }
        }
        match missing.is_empty() {
            true => Ok(()),
            false => Err(Error::Missing(missing)),
        }
    }

    /// How long a command may take, with all its retries. The default is a minute.
    pub fn set_patience(&mut self, patience: Duration) {
        self.link.set_patience(patience);
    }

    /// The key of each partition.
    pub fn keys(&self) -> &[Vec<u8>] {
        &self.keys
    }

    /// Declares that the filter exists: from now on, a missing key means that its items were lost.
    #[must_use]
    pub fn known_to_exist(mut self) -> Self {
        self.must_exist = true;
        self
    }

    /// Whether its keys are those of partitions; there may be only one partition.
    pub fn is_partitioned(&self) -> bool {
        self.is_partitioned
    }

    /// The number of keys.
    pub fn partitions(&self) -> Partitions {
        self.partitions
    }

    /// Creates the filter. Each partition gets a capacity for its share of `items`, with room for
    /// an uneven distribution ([`capacity_of_each`]).
    ///
    /// # Errors
    /// The first refusal; `ERR item exists` if a partition exists already. Partitions created
    /// before it stay until [`Self::delete`]. This is not retried after a failure, because a
    /// partition that then exists could be from this call or another.
    pub fn reserve(&mut self, error_rate: f64, items: u64, growth: Growth) -> Result<(), Error> {
        let capacity = capacity_of_each(items, self.partitions);
        let replies = self.ask_each(Retry::No, |key| {
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

    /// Adds an item; returns whether it was new.
    pub fn add(&mut self, item: impl AsRef<[u8]>) -> Answer {
        self.madd(&[item]).remove(0)
    }

    /// Whether an item is (probably) in the filter.
    pub fn exists(&mut self, item: impl AsRef<[u8]>) -> Answer {
        self.mexists(&[item]).remove(0)
    }

    /// Adds items; returns for each, in order, whether it was new.
    ///
    /// A full partition that does not grow refuses its first new item with [`Error::Refused`];
    /// later items of the same partition get [`Error::NotTried`]. Other partitions are unaffected.
    pub fn madd(&mut self, items: &[impl AsRef<[u8]>]) -> Vec<Answer> {
        let groups = by_partition(items, self.partitions);
        let keys = self.keys_of(&groups);
        let requests = keys.iter().zip(&groups).map(|(key, group)| {
            // Unlike BF.MADD, it creates no filter.
            let insert = &mut command("BF.INSERT", key);
            on(key, insert.arg("NOCREATE").arg("ITEMS").arg(&group.items))
        });
        let replies = self.link.ask(Retry::Yes, requests.collect());
        let replies = keys.iter().zip(replies).map(|(key, reply)| match reply {
            Err(Error::Refused(text)) if text == NOT_FOUND => {
                Err(Error::Missing(vec![key.clone()]))
            }
            reply => reply,
        });
        in_order(&groups, replies.collect())
    }

    /// Whether items are (probably) in the filter, in order.
    pub fn mexists(&mut self, items: &[impl AsRef<[u8]>]) -> Vec<Answer> {
        let groups = by_partition(items, self.partitions);
        let keys = self.keys_of(&groups);
        let requests = keys.iter().zip(&groups).map(|(key, group)| {
            let look_up = &mut command("BF.MEXISTS", key);
            on(key, look_up.arg(&group.items))
        });
        let requests = requests.chain(existence(&keys)).collect();
        let mut replies = self.link.ask(Retry::Yes, requests);
        let existing = replies.split_off(keys.len());
        for ((key, reply), exists) in keys.iter().zip(&mut replies).zip(existing) {
            let is_no_filter = |error: &Error| error.to_string().starts_with("NOFILTER ");
            if reply.as_ref().err().is_none_or(is_no_filter) {
                must_exist(key, exists).unwrap_or_else(|error| *reply = Err(error));
            }
        }
        in_order(&groups, replies)
    }

    /// Describes all partitions together.
    ///
    /// # Errors
    /// The first refusal; `ERR not found` if a partition is missing.
    pub fn info(&mut self) -> Result<Info, Error> {
        let mut info = Info::default();
        for reply in self.ask_each(Retry::Yes, |key| command("BF.INFO", key)) {
            info.add(&reply?)?;
        }
        Ok(info)
    }

    /// Deletes the filter, freeing its memory in the background; returns the number of partitions
    /// that existed.
    ///
    /// # Errors
    /// The first refusal. Partitions deleted before it stay deleted.
    pub fn delete(&mut self) -> Result<u64, Error> {
        let mut deleted = 0;
        for reply in self.ask_each(Retry::Yes, |key| command("UNLINK", key)) {
            deleted += u64::from(answer(&reply?)?);
        }
        Ok(deleted)
    }

    /// Waits until `replicas` replicas of each node have everything that the node has, whoever
    /// wrote it. Concerns every node to which this client has sent something since that node was
    /// last confirmed.
    ///
    /// Returns [`Acknowledged::No`] if that is not known. If replicas lag, wait again: this returns
    /// Yes once they have caught up. If a connection was lost, or the node gave its slots away,
    /// that cannot be known any more, and this returns No until something is sent again. After a No
    /// it is always right to add the same items again, and wait again.
    pub fn wait(&mut self, replicas: u32, timeout: Duration) -> Acknowledged {
        self.link.connections.wait(replicas, timeout)
    }

    /// The reply of each partition to a command on its key, in order.
    pub fn ask_each(
        &mut self,
        retry: Retry,
        make: impl Fn(&[u8]) -> Cmd,
    ) -> Vec<Result<Value, Error>> {
        let requests = self.keys.iter().map(|key| on(key, &make(key)));
        self.link.ask(retry, requests.collect())
    }

    /// The replies of each partition to the commands of a transaction on its key, in order. The
    /// partition executes all of them together, or none if it refuses to queue one.
    ///
    /// # Errors
    /// The first refusal among the commands of a partition. Those after it may have been executed.
    pub fn transact_each(
        &mut self,
        retry: Retry,
        make: impl Fn(&[u8]) -> Vec<Cmd>,
    ) -> Vec<Result<Vec<Value>, Error>> {
        let requests = self.keys.iter();
        let requests = requests.map(|key| transaction(slot_of(key), &make(key)));
        let replies = self.link.ask(retry, requests.collect());
        replies.into_iter().map(|reply| executed(reply?)).collect()
    }

    /// The key of each group.
    fn keys_of(&self, groups: &[Group<'_>]) -> Vec<Vec<u8>> {
        let key = |group: &Group<'_>| self.keys[usize::from(group.partition)].clone();
        groups.iter().map(key).collect()
    }
}

/// The server's error for a key that must exist and does not.
const NOT_FOUND: &str = "ERR not found";

/// An EXISTS for each key. They are sent after lookups: a node replies in order, so a key that
/// exists then also existed for the lookup.
fn existence(keys: &[Vec<u8>]) -> impl Iterator<Item = Request> + '_ {
    keys.iter().map(|key| on(key, &command("EXISTS", key)))
}

/// Checks that a key exists, given the reply to its EXISTS.
fn must_exist(key: &[u8], exists: Result<Value, Error>) -> Result<(), Error> {
    match answer(&exists?)? {
        true => Ok(()),
        false => Err(Error::Missing(vec![key.to_owned()])),
    }
}

/// The replies of the commands, taken from the reply to EXEC.
fn executed(reply: Value) -> Result<Vec<Value>, Error> {
    let Value::Array(replies) = reply else {
        return Err(Error::Unexpected(format!("{reply:?}")));
    };
    let refusal = replies.iter().find_map(|reply| match reply {
        Value::ServerError(error) => Some(Error::from(error)),
        _ => None,
    });
    refusal.map_or(Ok(replies), Err)
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
