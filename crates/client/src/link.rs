//! Routes each command to the node that has its key.
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

use super::connections::Connections;
use super::node::{Address, Timeouts, PATIENCE};
use super::owners::Owners;
use super::Error;
use redis::{Cmd, ConnectionInfo, ErrorKind};
use redis::{RedisError, RedisResult, ServerErrorKind, Value};
use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::mem::take;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The end of a `period` that begins now. A longer one than ten years counts as ten years.
pub(super) fn deadline(period: Duration) -> Instant {
    const LONGEST: Duration = Duration::from_secs(315_360_000);
    Instant::now() + period.min(LONGEST)
}

/// The longest pause before a retry. Pauses are random: equal ones could stay in step for ever with
/// a slot that keeps moving.
const PAUSE: Duration = Duration::from_millis(20);

/// Redirects followed without a pause: one if the slot has moved, another if it is moving again.
/// After more, the nodes disagree.
const REDIRECTS: u32 = 2;

/// The number of rounds in which doubtful replies are not accepted.
const DOUBTS: u32 = 2;

/// A command or a transaction, encoded for the wire, and the slot of its keys.
pub(super) struct Request {
    pub slot: u16,
    pub packed: Vec<u8>,
    /// 1; for a transaction, also the replies to MULTI and to each queued command.
    pub replies: usize,
}

/// Whether a command may be sent again if it is not known whether it was executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// The command may be sent again.
    Yes,
    /// An error is returned instead.
    No,
}

/// How the servers are related.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// The first server has all keys. A redirect is an error, and so is READONLY, which does not
    /// say where the primary is.
    OneServer,
    /// A Redis Cluster of which the servers are nodes; or one server that is not part of any.
    Cluster,
}

/// Where a request goes next.
enum Next {
    /// To the owner of its slot.
    Owner,
    /// To the node that the slot is moving to, this once.
    Asking(Address),
}

/// One of the requests that were sent together.
struct Place {
    index: usize,
    /// Whether it comes after `ASKING`.
    is_asking: bool,
    replies: usize,
}

/// Requests that are under way.
struct Round {
    /// The outcome of the requests that could not be sent.
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
    /// A reply after `ASKING` from a node that may lack the key. Such a node executes a command on
    /// a key that it has not received yet: the slot may have moved away since the redirect, and be
    /// on its way back.
    Doubtful(Result<Value, Error>),
    Redirect(Next),
    /// Not executed: the cluster is in a failover, or a node is still loading or cannot be reached.
    Later(RedisError),
    /// No reply; it is not known whether it was executed.
    Lost(RedisError),
}

/// The way to whichever node has a key.
pub(super) struct Link {
    pub connections: Connections,
    topology: Topology,
    owners: Owners,
    patience: Duration,
    /// How often owners were looked up. Each look-up starts with another node, since one that
    /// is cut off has outdated slots.
    look_ups: usize,
}

impl Link {
    pub fn new(seeds: Vec<ConnectionInfo>, topology: Topology) -> RedisResult<Self> {
        let timeouts = match topology {
            Topology::OneServer => Timeouts::OF_ONLY_SERVER,
            Topology::Cluster => Timeouts::OF_NODE,
        };
        Self::with(seeds, topology, timeouts, None)
    }

    /// As [`Self::new`], with other timeouts, and a name for its connections.
    pub fn with(
        seeds: Vec<ConnectionInfo>,
        topology: Topology,
        timeouts: Timeouts,
        name: Option<&'static str>,
    ) -> RedisResult<Self> {
        let mut link = Self {
            connections: Connections::new(seeds, timeouts, name),
            topology,
            owners: Owners::default(),
            patience: PATIENCE,
            look_ups: 0,
        };
        link.look_up_owners()?;
        Ok(link)
    }

    pub fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    /// How to connect to the nodes of the cluster.
    pub fn nodes(&self) -> impl Iterator<Item = ConnectionInfo> + '_ {
        self.owners.nodes().map(|node| self.connections.info_of(node))
    }

    /// The node that owns a slot, as far as this knows.
    pub fn owner(&self, slot: u16) -> Option<Address> {
        self.owners.of(slot).cloned()
    }

    /// Sends requests; returns the replies in order.
    pub fn ask(&mut self, retry: Retry, requests: Vec<Request>) -> Vec<Result<Value, Error>> {
        let sent = self.send_first(requests);
        self.receive_all(retry, sent)
    }

    /// Sends requests. Nothing else may be sent before [`Link::receive_all`], which would mistake
    /// the replies to it for theirs.
    pub fn send_first(&mut self, requests: Vec<Request>) -> Sent {
        self.connections.forget_reported_loss();
        let first = self.send_round(&requests, owners_of(requests.len()));
        Sent { requests, first }
    }

    /// Receives the replies to requests, and sends again what is redirected or may be retried.
    /// Returns the replies in the order of the requests.
    pub fn receive_all(&mut self, retry: Retry, sent: Sent) -> Vec<Result<Value, Error>> {
        let Sent { requests, first } = sent;
        let deadline = deadline(self.patience);
        let mut replies: Vec<Option<Result<Value, Error>>> = Vec::new();
        replies.resize_with(requests.len(), || None);
        let mut round = first;
        let (mut redirects, mut doubts) = (0, 0);
        // The last one of any round: at the deadline it says more than a redirect.
        let mut failure = None;
        loop {
            let (mut has_failed, mut has_doubt) = (false, false);
            let mut open = Vec::new();
            for (index, meaning) in self.receive_round(round) {
                match meaning {
                    Meaning::Final(reply) => replies[index] = Some(reply),
                    Meaning::Doubtful(reply)
                        if doubts < DOUBTS
                            && (retry == Retry::Yes
                                || is_refused(&reply, requests[index].replies)) =>
                    {
                        has_doubt = true;
                        open.push((index, Next::Owner));
                    }
                    Meaning::Doubtful(reply) => replies[index] = Some(reply),
                    Meaning::Redirect(next) => open.push((index, next)),
                    Meaning::Lost(error) if retry == Retry::No => {
                        replies[index] = Some(Err(Error::Unreachable(error)));
                    }
                    Meaning::Lost(error) | Meaning::Later(error) => {
                        (has_failed, failure) = (true, Some(error));
                        open.push((index, Next::Owner));
                    }
                }
            }
            if open.is_empty() {
                break;
            }
            if Instant::now() >= deadline {
                let error =
                    failure.unwrap_or_else(|| self::failure("redirected from node to node"));
                for (index, _) in open.drain(..) {
                    replies[index] = Some(Err(Error::Unreachable(error.clone())));
                }
                break;
            }
            doubts += u32::from(has_doubt);
            redirects += 1;
            if has_failed || redirects > REDIRECTS {
                let share = RandomState::new().hash_one(redirects) % 1024;
                sleep(PAUSE * share as u32 / 1024);
                redirects = 0;
                // If no node replies, the next round finds that out again.
                let _ = self.look_up_owners();
                // An ASK redirect is only valid at once.
                open.iter_mut().for_each(|(_, next)| *next = Next::Owner);
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
                Some(address) => by_node.entry(address).or_default().push(Place {
                    index,
                    is_asking,
                    replies: requests[index].replies,
                }),
                None => failed.push((index, Meaning::Later(failure(NO_OWNER)))),
            }
        }
        let mut sent = Vec::new();
        for (address, places) in by_node {
            let commands = places
                .iter()
                .map(|place| (requests[place.index].packed.as_slice(), place.is_asking));
            // Without a connection nothing was executed. If sending failed, that is unknown.
            let (meaning, result): (fn(RedisError) -> Meaning, _) =
                match self.connections.open(&address) {
                    Ok(()) => (Meaning::Lost, self.connections.send_all(&address, commands)),
                    refused => (Meaning::Later, refused),
                };
            match result {
                Ok(()) => sent.push((address, places)),
                Err(error) => {
                    failed.extend(places.iter().map(|place| (place.index, meaning(error.clone()))))
                }
            }
        }
        Round { failed, sent }
    }

    /// Receives the replies to a round; returns what became of each request.
    fn receive_round(&mut self, round: Round) -> Vec<(usize, Meaning)> {
        let mut meanings = round.failed;
        for (address, places) in round.sent {
            for place in places {
                let meaning = match self.reply(&place, &address) {
                    Ok(value) => self.meaning(value, &address),
                    Err(error) => Meaning::Lost(error),
                };
                let meaning = match meaning {
                    Meaning::Final(reply)
                        if place.is_asking && may_lack_its_key(&reply, place.replies) =>
                    {
                        Meaning::Doubtful(reply)
                    }
                    other => other,
                };
                meanings.push((place.index, meaning));
            }
        }
        meanings
    }

    /// The reply to a request. A transaction is not executed if the server refuses to queue one of
    /// its commands: then the reply is the first refusal, otherwise it is the one to EXEC.
    fn reply(&mut self, place: &Place, from: &Address) -> RedisResult<Value> {
        let (mut refusal, mut is_asking) = (None, place.is_asking);
        for _ in 1..place.replies {
            let queued = self.connections.receive(from, take(&mut is_asking))?;
            if refusal.is_none() && matches!(queued, Value::ServerError(_)) {
                refusal = Some(queued);
            }
        }
        let last = self.connections.receive(from, is_asking)?;
        Ok(refusal.unwrap_or(last))
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

    /// Asks one node after another until one knows the owners of the slots. One server has all of
    /// them, as soon as it can be reached.
    fn look_up_owners(&mut self) -> RedisResult<()> {
        if self.topology == Topology::OneServer {
            let server = self.connections.seeds().next();
            let server = server.ok_or_else(|| failure(NO_OWNER))?;
            let ping = redis::cmd("PING").get_packed_command();
            self.connections.read(&server, &ping)?;
            self.owners = Owners::all(server);
            return Ok(());
        }
        let slots = redis::cmd("CLUSTER").arg("SLOTS").get_packed_command();
        let mut candidates = self.connections.known();
        let others = self.owners.nodes().filter(|node| !candidates.contains(node));
        candidates.extend(others.cloned().collect::<Vec<_>>());
        let first = self.look_ups % candidates.len().max(1);
        candidates.rotate_left(first);
        self.look_ups += 1;
        let mut failure = self::failure(NO_OWNER);
        for address in candidates {
            match self.connections.read(&address, &slots) {
                Ok(reply) => {
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

/// Whether `reply`, to a request with `replies` replies, may mean that the node lacks the key.
fn may_lack_its_key(reply: &Result<Value, Error>, replies: usize) -> bool {
    match reply {
        Ok(Value::Nil | Value::Int(0)) => true,
        Ok(Value::SimpleString(text)) => text == "none", // TYPE
        reply => is_refused(reply, replies),
    }
}

/// Whether nothing was executed of a request with `replies` replies: it was refused, or the first
/// command of its transaction was, without which the others have nothing to act on.
fn is_refused(reply: &Result<Value, Error>, replies: usize) -> bool {
    match reply {
        Err(_) => true,
        Ok(Value::Array(array)) if replies > 1 => {
            matches!(array.first(), Some(Value::ServerError(_)))
        }
        Ok(_) => false,
    }
}

/// `requests` requests, each for the owner of its slot.
fn owners_of(requests: usize) -> Vec<(usize, Next)> {
    (0..requests).map(|index| (index, Next::Owner)).collect()
}

/// Whether this is the reply to CLUSTER SLOTS of a server that is not a node of any cluster.
pub(super) fn is_no_cluster(reply: &Value) -> bool {
    let words = "This instance has cluster support disabled";
    matches!(reply, Value::ServerError(error) if error.details() == Some(words))
}

const NO_OWNER: &str = "no known node owns the slot";

fn failure(what: &'static str) -> RedisError {
    RedisError::from((ErrorKind::Client, what))
}

/// Encodes a command for the wire.
pub(super) fn request(slot: u16, command: &Cmd) -> Request {
    Request { slot, packed: command.get_packed_command(), replies: 1 }
}

/// Encodes a transaction for the wire.
pub(super) fn transaction(slot: u16, commands: &[Cmd]) -> Request {
    let mut packed = redis::cmd("MULTI").get_packed_command();
    for command in commands {
        packed.extend(command.get_packed_command());
    }
    packed.extend(redis::cmd("EXEC").get_packed_command());
    Request { slot, packed, replies: commands.len() + 2 }
}

#[cfg(test)]
mod tests;
