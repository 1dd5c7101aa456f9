//! The connections to the nodes.
//!
//! redis-rs has a client for clusters, but its pipelines do not follow redirects, lose an array
//! that contains an error, and do not tell which connection a command used, which `WAIT` must know.
//! So this file maps slots to nodes itself:
//!
//! ```text
//!   command ─► slot ─► owner ─► connection      one pipeline for each node, all nodes at once
//!                ▲                  │
//!                └── MOVED, ASK ◄───┘           redirected commands go into the next round
//! ```

use super::node::{Address, Node, Timeouts, PATIENCE};
use super::owners::{owns_slots, Owners};
use super::replication::Replication;
use super::Error;
use redis::{Cmd, ConnectionInfo, ErrorKind};
use redis::{RedisError, RedisResult, ServerErrorKind, Value};
use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The pause before a retry.
const PAUSE: Duration = Duration::from_millis(20);

/// Redirects followed without a pause: one if the slot has moved, another if it is moving again.
/// After more, the nodes disagree.
const REDIRECTS: u32 = 2;

/// More replicas than any node has: a `WAIT` for them lasts for its whole timeout, and makes all of
/// them acknowledge what they have.
const ALL_REPLICAS: u32 = 1000;
const WAIT_MILLISECONDS: u64 = 5;

/// Bytes of a command from which on a write of its own costs less than copying it beside others.
const LARGE: usize = 16 * 1024;

const ASKING: &[u8] = b"*1\r\n$6\r\nASKING\r\n";

/// A command, encoded for the wire, and the slot of its key.
pub(super) struct Request {
    pub slot: u16,
    pub packed: Vec<u8>,
}

/// Whether a command may be sent again if it is not known whether it was executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    Yes,
    No,
}

/// What the servers are to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// The first server has all keys. A redirect is an error, and so is READONLY: nobody says where
    /// the primary is.
    OneServer,
    /// A Redis Cluster of which the servers are nodes; or one server that is not part of any.
    Cluster,
}

/// The result of waiting for replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acknowledged {
    /// Everything sent since the last Yes is on that many replicas of each node it was sent to.
    Yes,
    /// That is not known: replicas lag, or a connection was lost. Waiting again returns Yes once
    /// the replicas have caught up; after a loss it returns No until something is sent again.
    No,
}

/// Where a request goes next.
enum Next {
    /// To the owner of its slot.
    Owner,
    /// To the node that the slot is moving to, this once.
    Asking(Address),
}

/// A request of those that were sent together: its index, and whether it comes after `ASKING`.
type Place = (usize, bool);

/// Requests that are under way.
struct Round {
    /// What is known already of those that could not be sent.
    failed: Vec<(usize, Meaning)>,
    /// The others, in the order in which each node replies to them.
    sent: Vec<(Address, Vec<Place>)>,
}

/// Requests that have been sent for the first time.
pub(super) struct Sent {
    requests: Vec<Request>,
    first: Round,
}

/// What a reply means.
enum Meaning {
    Final(Result<Value, Error>),
    Redirect(Next),
    /// Not executed: the cluster is in a failover, or a node is still loading.
    Later(RedisError),
    /// No reply; it is not known whether it was executed.
    Lost(RedisError),
}

/// Whether a connection was lost with something unconfirmed on it. Nobody can confirm that any
/// more, so `wait` returns No until the caller, to whom it was reported, sends something again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loss {
    None,
    Unreported,
    Reported,
}

pub(super) struct Link {
    /// The nodes that the caller named.
    seeds: Vec<ConnectionInfo>,
    topology: Topology,
    nodes: BTreeMap<Address, Node>,
    owners: Owners,
    patience: Duration,
    /// How often owners were looked up. Each time another node is asked first, since one that is
    /// cut off has outdated slots.
    look_ups: usize,
    loss: Loss,
}

impl Link {
    pub fn new(seeds: Vec<ConnectionInfo>, topology: Topology) -> RedisResult<Self> {
        let mut link = Self {
            seeds,
            topology,
            nodes: BTreeMap::new(),
            owners: Owners::default(),
            patience: PATIENCE,
            look_ups: 0,
            loss: Loss::None,
        };
        link.look_up_owners()?;
        Ok(link)
    }

    pub fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    /// Sends requests; returns the replies in order.
    pub fn ask(&mut self, retry: Retry, requests: Vec<Request>) -> Vec<Result<Value, Error>> {
        let sent = self.send_first(requests);
        self.receive_all(retry, sent)
    }

    /// Sends requests. Nothing else may be sent before [`Link::receive_all`], which would take its
    /// replies for theirs.
    pub fn send_first(&mut self, requests: Vec<Request>) -> Sent {
        if self.loss == Loss::Reported {
            self.loss = Loss::None;
        }
        let first = self.send_round(&requests, owners_of(requests.len()));
        Sent { requests, first }
    }

    /// Receives the replies to requests, and sends again what is redirected or may be retried.
    /// Returns the replies in the order of the requests.
    pub fn receive_all(&mut self, retry: Retry, sent: Sent) -> Vec<Result<Value, Error>> {
        let Sent { requests, first } = sent;
        let deadline = Instant::now() + self.patience;
        let mut replies: Vec<Option<Result<Value, Error>>> = Vec::new();
        replies.resize_with(requests.len(), || None);
        let mut round = first;
        for rounds in 1.. {
            let mut failure = None;
            let mut open = Vec::new();
            for (index, meaning) in self.receive_round(round) {
                match meaning {
                    Meaning::Final(reply) => replies[index] = Some(reply),
                    Meaning::Redirect(next) => open.push((index, next)),
                    Meaning::Lost(error) if retry == Retry::No => {
                        replies[index] = Some(Err(Error::Unreachable(error)));
                    }
                    Meaning::Lost(error) | Meaning::Later(error) => {
                        failure = Some(error);
                        open.push((index, Next::Owner));
                    }
                }
            }
            if open.is_empty() {
                break;
            }
            if Instant::now() > deadline {
                let error =
                    failure.unwrap_or_else(|| self::failure("redirected from node to node"));
                for (index, _) in open.drain(..) {
                    replies[index] = Some(Err(Error::Unreachable(error.clone())));
                }
                break;
            }
            if failure.is_some() || rounds > REDIRECTS {
                sleep(PAUSE);
                // If no node replies, the next round finds that out again.
                let _ = self.look_up_owners();
            }
            round = self.send_round(&requests, open);
        }
        replies.into_iter().flatten().collect()
    }

    /// Sends all open requests.
    fn send_round(&mut self, requests: &[Request], open: Vec<(usize, Next)>) -> Round {
        let mut failed = Vec::new();
        let mut by_node: BTreeMap<Address, Vec<Place>> = BTreeMap::new();
        for (index, next) in open {
            let (address, is_asking) = match next {
                Next::Owner => (self.owners.of(requests[index].slot).cloned(), false),
                Next::Asking(address) => (Some(address), true),
            };
            match address {
                Some(address) => by_node.entry(address).or_default().push((index, is_asking)),
                None => failed.push((index, Meaning::Later(failure(NO_OWNER)))),
            }
        }
        let mut sent = Vec::new();
        for (address, places) in by_node {
            match self.send_all(&address, requests, &places) {
                Ok(()) => sent.push((address, places)),
                Err(error) => failed.extend(
                    places
                        .iter()
                        .map(|(index, _)| (*index, Meaning::Lost(error.clone()))),
                ),
            }
        }
        Round { failed, sent }
    }

    /// Receives the replies to a round; returns what became of each request.
    fn receive_round(&mut self, round: Round) -> Vec<(usize, Meaning)> {
        let mut meanings = round.failed;
        for (address, places) in round.sent {
            for (index, is_asking) in places {
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
            Some(ServerErrorKind::Moved | ServerErrorKind::Ask | ServerErrorKind::ReadOnly)
                if self.topology == Topology::OneServer =>
            {
                Meaning::Final(Err(Error::from(&error)))
            }
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

    /// Waits until `replicas` replicas of each node have everything that the node has, for each
    /// node that was sent something since it was last confirmed.
    ///
    /// `WAIT` alone is not enough: newer servers (Redis 7.2, Valkey) count from the connection's
    /// last command that *changed* something. Adding an item that another client has just added
    /// changes nothing, and `WAIT` returns at once. So this first reads the node's offset, and
    /// compares with it the offsets that the replicas have acknowledged; `WAIT` makes them
    /// acknowledge now instead of once a second.
    pub fn wait(&mut self, replicas: u32, timeout: Duration) -> Acknowledged {
        let deadline = Instant::now() + timeout;
        let unconfirmed = self.nodes.iter().filter(|(_, node)| node.is_unconfirmed);
        let unconfirmed: Vec<Address> = unconfirmed.map(|(address, _)| address.clone()).collect();
        let mut all = true;
        for address in unconfirmed {
            match self.is_on_replicas(&address, replicas, deadline) {
                Ok(true) => {
                    if let Some(node) = self.nodes.get_mut(&address) {
                        node.is_unconfirmed = false;
                    }
                }
                Ok(false) => {
                    all = false;
                    if !self.is_still_an_owner(&address) {
                        self.close(&address);
                    }
                }
                Err(_) => all = false, // and the connection is closed
            }
        }
        match self.loss {
            Loss::None if all => Acknowledged::Yes,
            Loss::None => Acknowledged::No,
            Loss::Unreported | Loss::Reported => {
                self.loss = Loss::Reported;
                Acknowledged::No
            }
        }
    }

    /// Whether a node is a primary with slots of its own. One that is not may never get enough
    /// replicas, and what was sent to it now belongs to another node, or to none.
    fn is_still_an_owner(&mut self, address: &Address) -> bool {
        let nodes = redis::cmd("CLUSTER").arg("NODES").get_packed_command();
        self.call(address, &nodes)
            .is_ok_and(|reply| owns_slots(&reply))
    }

    fn is_on_replicas(
        &mut self,
        address: &Address,
        replicas: u32,
        deadline: Instant,
    ) -> RedisResult<bool> {
        let info = redis::cmd("INFO").arg("replication").get_packed_command();
        let wait_for_all = redis::cmd("WAIT")
            .arg(ALL_REPLICAS)
            .arg(WAIT_MILLISECONDS)
            .get_packed_command();
        let target = Replication::parse(&self.call(address, &info)?).offset;
        let wait = redis::cmd("WAIT")
            .arg(replicas)
            .arg(WAIT_MILLISECONDS)
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
                _ => return Ok(false), // no longer a primary
            }
            if Instant::now() > deadline {
                return Ok(false);
            }
            self.call(address, &wait_for_all)?;
        }
    }

    fn call(&mut self, address: &Address, packed: &[u8]) -> RedisResult<Value> {
        self.send(address, packed)?;
        self.receive(address, false)
    }

    /// Sends requests to a node, in order; some of them after ASKING.
    fn send_all(
        &mut self,
        address: &Address,
        requests: &[Request],
        places: &[Place],
    ) -> RedisResult<()> {
        let mut small = Vec::new();
        for (index, is_asking) in places {
            let packed = &requests[*index].packed;
            small.extend_from_slice(if *is_asking { ASKING } else { &[] });
            if packed.len() < LARGE {
                small.extend_from_slice(packed);
                continue;
            }
            if !small.is_empty() {
                self.send(address, &small)?;
                small.clear();
            }
            self.send(address, packed)?;
        }
        match small.is_empty() {
            true => Ok(()),
            false => self.send(address, &small),
        }
    }

    fn send(&mut self, address: &Address, packed: &[u8]) -> RedisResult<()> {
        let node = match self.nodes.entry(address.clone()) {
            std::collections::btree_map::Entry::Occupied(node) => node.into_mut(),
            std::collections::btree_map::Entry::Vacant(place) => {
                let timeouts = match self.topology {
                    Topology::OneServer => Timeouts::OF_ONLY_SERVER,
                    Topology::Cluster => Timeouts::OF_NODE,
                };
                place.insert(Node::connect(address, &self.seeds[0], timeouts)?)
            }
        };
        node.is_unconfirmed = true;
        let sent = node.send(packed);
        if sent.is_err() {
            self.close(address);
        }
        sent
    }

    /// The next reply of a node, after that to `ASKING` if it was sent.
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
            self.close(address);
        }
        reply
    }

    /// Closes a connection: replies still under way on it could not be told from later ones.
    fn close(&mut self, address: &Address) {
        let gone = self.nodes.remove(address);
        if gone.is_some_and(|node| node.is_unconfirmed) {
            self.loss = Loss::Unreported;
        }
    }

    /// Asks one node after another until one knows the owners of the slots. One server has all of
    /// them, as soon as it can be reached.
    fn look_up_owners(&mut self) -> RedisResult<()> {
        if self.topology == Topology::OneServer {
            let Some(server) = self.seeds.first().map(Address::of) else {
                return Err(failure(NO_OWNER));
            };
            self.call(&server, &redis::cmd("PING").get_packed_command())?;
            self.owners = Owners::all(server);
            return Ok(());
        }
        let packed = redis::cmd("CLUSTER").arg("SLOTS").get_packed_command();
        let seeds = self.seeds.iter().map(Address::of);
        let mut candidates: Vec<Address> = self.nodes.keys().cloned().chain(seeds).collect();
        let first = self.look_ups % candidates.len().max(1);
        candidates.rotate_left(first);
        self.look_ups += 1;
        let mut failure = self::failure(NO_OWNER);
        for address in candidates {
            let was_unconfirmed = self
                .nodes
                .get(&address)
                .is_some_and(|node| node.is_unconfirmed);
            let sent = self.send(&address, &packed);
            match sent.and_then(|()| self.receive(&address, false)) {
                Ok(reply) => {
                    if let Some(node) = self.nodes.get_mut(&address) {
                        node.is_unconfirmed = was_unconfirmed; // a read
                    }
                    let owners = match is_no_cluster(&reply) {
                        true => Some(Owners::all(address.clone())),
                        false => Owners::parse(&reply, &address),
                    };
                    if let Some(owners) = owners {
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

/// So many requests, each for the owner of its slot.
fn owners_of(requests: usize) -> Vec<(usize, Next)> {
    (0..requests).map(|index| (index, Next::Owner)).collect()
}

/// Whether CLUSTER SLOTS was asked of a server that is not a node of any cluster.
fn is_no_cluster(reply: &Value) -> bool {
    let words = "This instance has cluster support disabled";
    matches!(reply, Value::ServerError(error) if error.details() == Some(words))
}

const NO_OWNER: &str = "no known node owns the slot";

fn failure(what: &'static str) -> RedisError {
    RedisError::from((ErrorKind::Client, what))
}

/// Encodes a command for the wire.
pub(super) fn request(slot: u16, command: &Cmd) -> Request {
    Request {
        slot,
        packed: command.get_packed_command(),
    }
}
