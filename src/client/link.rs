//! The connections to the nodes, over redis-rs's own.
//!
//! redis-rs has a client for clusters. Its pipelines do not follow redirects, lose an array that has an error among its elements, and do not tell over
//! which connection something went, on which `WAIT` depends. So the slots are looked up here:
//!
//! ```text
//!   command ─► slot ─► owner ─► connection      one pipeline for each node, all nodes at once
//!                ▲                  │
//!                └── MOVED, ASK ◄───┘           what was redirected goes into the next round
//! ```

use super::node::{Address, Node};
use super::owners::Owners;
use super::replication::Replication;
use super::Error;
use redis::{Cmd, ConnectionInfo, ErrorKind, IntoConnectionInfo};
use redis::{RedisError, RedisResult, ServerErrorKind, Value};
use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a command is tried, and a last round of tries more. A failover takes the cluster's node timeout (15 s by default) and some seconds more.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// From a try that failed to the next.
const PAUSE: Duration = Duration::from_millis(20);

/// Rounds that redirects may take at once: one where the slot has moved, another where it is on its way again. More, and the nodes disagree.
const REDIRECTS: u32 = 2;

/// A `WAIT` for so many replicas never ends before its time, and makes all of them acknowledge what they have.
const MORE_THAN_THERE_ARE: u32 = 1000;
const HURRY_MILLISECONDS: u64 = 5;

const ASKING: &[u8] = b"*1\r\n$6\r\nASKING\r\n";

/// A command, as it goes over the wire, and the slot of its key.
pub(super) struct Request {
    pub slot: u16,
    pub packed: Vec<u8>,
}

/// Whether a command may be sent again where it is not known if it was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Again {
    Yes,
    No,
}

/// What came of waiting for replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acknowledged {
    /// All that was written since the last one is on so many replicas of each node that it was written to.
    Yes,
    /// That is not known: replicas lag, or a connection with something unconfirmed was lost.
    No,
}

/// Where a request goes next.
#[derive(Clone)]
enum Next {
    /// To the owner of its slot.
    Owner,
    /// To the node that the slot is on its way to, this once.
    Asking(Address),
}

/// What a reply means.
enum Meaning {
    Final(Result<Value, Error>),
    Redirect(Next),
    /// Not now, and not carried out: the cluster is in a failover, or a node is still loading.
    Later(RedisError),
    /// No reply; whether it was carried out is not known.
    Lost(RedisError),
}

pub(super) struct Link {
    /// The nodes that the caller named.
    seeds: Vec<ConnectionInfo>,
    nodes: BTreeMap<Address, Node>,
    owners: Owners,
    patience: Duration,
    /// How often owners were looked up: each time another node is asked first, since one that is cut off knows what was.
    look_ups: usize,
    /// A connection is gone on which something was unconfirmed.
    has_lost: bool,
}

impl Link {
    pub fn new(nodes: &[String]) -> RedisResult<Self> {
        let infos = nodes
            .iter()
            .map(|node| node.as_str().into_connection_info());
        let mut link = Self {
            seeds: infos.collect::<RedisResult<_>>()?,
            nodes: BTreeMap::new(),
            owners: Owners::default(),
            patience: PATIENCE,
            look_ups: 0,
            has_lost: false,
        };
        link.look_up_owners()?;
        Ok(link)
    }

    pub fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    /// The replies to requests, in their order.
    pub fn ask(&mut self, again: Again, requests: &[Request]) -> Vec<Result<Value, Error>> {
        let deadline = Instant::now() + self.patience;
        let mut replies: Vec<Option<Result<Value, Error>>> = Vec::new();
        replies.resize_with(requests.len(), || None);
        let mut open: Vec<(usize, Next)> = (0..requests.len()).map(|i| (i, Next::Owner)).collect();
        for rounds in 1.. {
            let mut failure = None;
            let mut left = Vec::new();
            for (index, meaning) in self.round(requests, &open) {
                match meaning {
                    Meaning::Final(reply) => replies[index] = Some(reply),
                    Meaning::Redirect(next) => left.push((index, next)),
                    Meaning::Lost(error) if again == Again::No => {
                        replies[index] = Some(Err(Error::Unreachable(error)));
                    }
                    Meaning::Lost(error) | Meaning::Later(error) => {
                        failure = Some(error);
                        left.push((index, Next::Owner));
                    }
                }
            }
            open = left;
            if open.is_empty() {
                break;
            }
            if Instant::now() > deadline {
                let error = failure.unwrap_or_else(|| odd("redirected from node to node"));
                for (index, _) in open.drain(..) {
                    replies[index] = Some(Err(Error::Unreachable(error.clone())));
                }
                break;
            }
            if failure.is_some() || rounds > REDIRECTS {
                sleep(PAUSE);
                // Where no node answers, the next round finds that out again.
                let _ = self.look_up_owners();
            }
        }
        replies.into_iter().flatten().collect()
    }

    /// Sends all that is open, and tells what came of each.
    fn round(&mut self, requests: &[Request], open: &[(usize, Next)]) -> Vec<(usize, Meaning)> {
        let mut meanings = Vec::with_capacity(open.len());
        let mut by_node: BTreeMap<Address, Vec<(usize, bool)>> = BTreeMap::new();
        for (index, next) in open {
            let (address, is_asking) = match next {
                Next::Owner => (self.owners.of(requests[*index].slot).cloned(), false),
                Next::Asking(address) => (Some(address.clone()), true),
            };
            match address {
                Some(address) => by_node
                    .entry(address)
                    .or_default()
                    .push((*index, is_asking)),
                None => meanings.push((*index, Meaning::Later(odd(NO_OWNER)))),
            }
        }
        let mut sent = Vec::new();
        for (address, indices) in by_node {
            let mut packed = Vec::new();
            for (index, is_asking) in &indices {
                packed.extend_from_slice(if *is_asking { ASKING } else { &[] });
                packed.extend_from_slice(&requests[*index].packed);
            }
            match self.send(&address, &packed) {
                Ok(()) => sent.push((address, indices)),
                Err(error) => meanings.extend(
                    indices
                        .iter()
                        .map(|(index, _)| (*index, Meaning::Lost(error.clone()))),
                ),
            }
        }
        for (address, indices) in sent {
            for (index, is_asking) in indices {
                let meaning = match self.receive(&address, is_asking) {
                    Ok(value) => self.meaning(value, &address),
                    Err(error) => Meaning::Lost(error),
                };
                meanings.push((index, meaning));
            }
        }
        meanings
    }

    fn meaning(&mut self, value: Value, from: &Address) -> Meaning {
        let Value::ServerError(error) = value else {
            return Meaning::Final(Ok(value));
        };
        match error.kind() {
            Some(ServerErrorKind::Moved | ServerErrorKind::Ask) => {
                let redirect = RedisError::from(error.clone());
                let words = redirect.redirect_node();
                let to = words.and_then(|(words, _)| Address::of_redirect(words, from));
                match (to, words, error.kind()) {
                    (Some(to), Some((_, slot)), Some(ServerErrorKind::Moved)) => {
                        self.owners.set(slot, to);
                        Meaning::Redirect(Next::Owner)
                    }
                    (Some(to), ..) => Meaning::Redirect(Next::Asking(to)),
                    (None, ..) => Meaning::Later(redirect),
                }
            }
            Some(
                ServerErrorKind::TryAgain
                | ServerErrorKind::ClusterDown
                | ServerErrorKind::MasterDown
                | ServerErrorKind::ReadOnly
                | ServerErrorKind::BusyLoading,
            ) => Meaning::Later(error.into()),
            _ => Meaning::Final(Err(Error::from(&error))),
        }
    }

    /// Waits until so many replicas of each node have all that the node has, if something was sent to it since the last `wait`.
    ///
    /// `WAIT` alone would not do: newer servers (Redis 7.2, Valkey) let it count from the last command of its connection that *changed* something. An item that
    /// another client has just added changes nothing when it is added here, and `WAIT` would answer at once. So the node's offset is taken first, and
    /// the offsets that its replicas have acknowledged are held against it; `WAIT` makes them acknowledge now instead of once a second.
    pub fn wait(&mut self, replicas: u32, timeout: Duration) -> Acknowledged {
        let deadline = Instant::now() + timeout;
        let unconfirmed = self.nodes.iter().filter(|(_, node)| node.is_unconfirmed);
        let unconfirmed: Vec<Address> = unconfirmed.map(|(address, _)| address.clone()).collect();
        let mut all = true;
        for address in unconfirmed {
            all &= self
                .is_on_replicas(&address, replicas, deadline)
                .unwrap_or(false);
            if let Some(node) = self.nodes.get_mut(&address) {
                node.is_unconfirmed = false;
            }
        }
        // Also one that was lost just now; and once it is said, the caller knows.
        match all && !std::mem::take(&mut self.has_lost) {
            true => Acknowledged::Yes,
            false => Acknowledged::No,
        }
    }

    fn is_on_replicas(
        &mut self,
        address: &Address,
        replicas: u32,
        deadline: Instant,
    ) -> RedisResult<bool> {
        let info = redis::cmd("INFO").arg("replication").get_packed_command();
        let hurry = redis::cmd("WAIT")
            .arg(MORE_THAN_THERE_ARE)
            .arg(HURRY_MILLISECONDS)
            .get_packed_command();
        let target = Replication::parse(&self.call(address, &info)?).offset;
        let wait = redis::cmd("WAIT")
            .arg(replicas)
            .arg(HURRY_MILLISECONDS)
            .get_packed_command();
        self.call(address, &wait)?;
        loop {
            let seen = Replication::parse(&self.call(address, &info)?);
            match target {
                Some(target) if seen.offset.is_some() => {
                    if seen
                        .replicas
                        .iter()
                        .filter(|offset| **offset >= target)
                        .count()
                        >= replicas as usize
                    {
                        return Ok(true);
                    }
                }
                _ => return Ok(false), // it is no primary any more
            }
            if Instant::now() > deadline {
                return Ok(false);
            }
            self.call(address, &hurry)?;
        }
    }

    fn call(&mut self, address: &Address, packed: &[u8]) -> RedisResult<Value> {
        self.send(address, packed)?;
        self.receive(address, false)
    }

    fn send(&mut self, address: &Address, packed: &[u8]) -> RedisResult<()> {
        let node = match self.nodes.entry(address.clone()) {
            std::collections::btree_map::Entry::Occupied(node) => node.into_mut(),
            std::collections::btree_map::Entry::Vacant(place) => {
                place.insert(Node::connect(address, &self.seeds[0])?)
            }
        };
        node.is_unconfirmed = true;
        let sent = node.send(packed);
        if sent.is_err() {
            self.give_up(address);
        }
        sent
    }

    /// The next reply of a node, behind that to `ASKING` where there was one.
    fn receive(&mut self, address: &Address, is_asking: bool) -> RedisResult<Value> {
        let Some(node) = self.nodes.get_mut(address) else {
            return Err(std::io::Error::from(std::io::ErrorKind::NotConnected).into());
        };
        let asking = if is_asking {
            node.receive()
        } else {
            Ok(Value::Okay)
        };
        let reply = asking.and_then(|_| node.receive());
        if reply.is_err() {
            self.give_up(address);
        }
        reply
    }

    /// Closes a connection: what else is under way on it will not be told from what comes later.
    fn give_up(&mut self, address: &Address) {
        let gone = self.nodes.remove(address);
        self.has_lost |= gone.is_some_and(|node| node.is_unconfirmed);
    }

    /// Asks one node after the other until one knows who owns what.
    fn look_up_owners(&mut self) -> RedisResult<()> {
        let packed = redis::cmd("CLUSTER").arg("SLOTS").get_packed_command();
        let seeds = self.seeds.iter().map(Address::of);
        let mut candidates: Vec<Address> = self.nodes.keys().cloned().chain(seeds).collect();
        let first = self.look_ups % candidates.len().max(1);
        candidates.rotate_left(first);
        self.look_ups += 1;
        let mut failure = odd(NO_OWNER);
        for address in candidates {
            let was_unconfirmed = self
                .nodes
                .get(&address)
                .is_some_and(|node| node.is_unconfirmed);
            let sent = self.send(&address, &packed);
            match sent.and_then(|()| self.receive(&address, false)) {
                Ok(reply) => {
                    if let Some(node) = self.nodes.get_mut(&address) {
                        node.is_unconfirmed = was_unconfirmed; // this has written nothing
                    }
                    if let Some(owners) = Owners::parse(&reply, &address) {
                        self.owners = owners;
                        return Ok(());
                    }
                }
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }
}

const NO_OWNER: &str = "no node is known that owns the slot";

fn odd(what: &'static str) -> RedisError {
    RedisError::from((ErrorKind::Client, what))
}

/// A command as it goes over the wire.
pub(super) fn request(slot: u16, command: &Cmd) -> Request {
    Request {
        slot,
        packed: command.get_packed_command(),
    }
}
