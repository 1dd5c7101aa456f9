//! The connections to the nodes, opened when something is first sent.

use super::node::{Address, Node, Timeouts};
use redis::{ConnectionInfo, RedisResult, Value};
use std::collections::btree_map::Entry;
use std::collections::BTreeMap;
use std::io;

/// A command of this many bytes is cheaper to write by itself than to copy into a shared buffer.
const LARGE: usize = 16 * 1024;

const ASKING: &[u8] = b"*1\r\n$6\r\nASKING\r\n";

/// Whether a connection was lost before everything sent on it was confirmed. No server can confirm
/// that any more, so the loss is reported until the caller sends something again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loss {
    None,
    Unreported,
    Reported,
}

/// A connection to each node that is in use.
pub(super) struct Connections {
    /// The nodes that the caller named. Settings other than the address are those of the first.
    seeds: Vec<ConnectionInfo>,
    timeouts: Timeouts,
    name: Option<&'static str>,
    nodes: BTreeMap<Address, Node>,
    loss: Loss,
}

impl Connections {
    pub fn new(seeds: Vec<ConnectionInfo>, timeouts: Timeouts, name: Option<&'static str>) -> Self {
        Self { seeds, timeouts, name, nodes: BTreeMap::new(), loss: Loss::None }
    }

    /// The nodes that the caller named.
    pub fn seeds(&self) -> impl Iterator<Item = Address> + '_ {
        self.seeds.iter().map(Address::of)
    }

    /// How to connect to a node.
    pub fn info_of(&self, address: &Address) -> ConnectionInfo {
        address.like(&self.seeds[0])
    }

    /// The nodes with a connection, and those that the caller named.
    pub fn known(&self) -> Vec<Address> {
        self.nodes.keys().cloned().chain(self.seeds()).collect()
    }

    /// Sends encoded commands to a node, in order. `ASKING` precedes each whose flag is true.
    pub fn send_all<'a>(
        &mut self,
        address: &Address,
        commands: impl Iterator<Item = (&'a [u8], bool)>,
    ) -> RedisResult<()> {
        let mut small = Vec::new();
        for (packed, is_asking) in commands {
            small.extend_from_slice(if is_asking { ASKING } else { &[] });
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

    /// Connects to a node if there is no connection yet. After an error nothing was sent.
    pub fn open(&mut self, address: &Address) -> RedisResult<()> {
        self.opened(address).map(|_| ())
    }

    fn opened(&mut self, address: &Address) -> RedisResult<&mut Node> {
        match self.nodes.entry(address.clone()) {
            Entry::Occupied(node) => Ok(node.into_mut()),
            Entry::Vacant(place) => {
                let node = Node::connect(address, &self.seeds[0], self.timeouts, self.name)?;
                Ok(place.insert(node))
            }
        }
    }

    fn send(&mut self, address: &Address, packed: &[u8]) -> RedisResult<()> {
        self.opened(address)?.is_unconfirmed = true;
        self.write(address, packed)
    }

    fn write(&mut self, address: &Address, packed: &[u8]) -> RedisResult<()> {
        let sent = self.opened(address)?.send(packed);
        if sent.is_err() {
            self.close(address);
        }
        sent
    }

    /// Receives the next reply of a node. If `is_asking`, first reads the reply to `ASKING`.
    pub fn receive(&mut self, address: &Address, is_asking: bool) -> RedisResult<Value> {
        let Some(node) = self.nodes.get_mut(address) else {
            return Err(io::Error::from(io::ErrorKind::NotConnected).into());
        };
        let asking = if is_asking { node.receive() } else { Ok(Value::Okay) };
        let reply = asking.and_then(|_| node.receive());
        if reply.is_err() {
            self.close(address);
        }
        reply
    }

    /// Sends one command and returns its reply.
    pub fn call(&mut self, address: &Address, packed: &[u8]) -> RedisResult<Value> {
        self.send(address, packed)?;
        self.receive(address, false)
    }

    /// As [`Self::call`], for a command that changes nothing, so replicas need not confirm it.
    pub fn read(&mut self, address: &Address, packed: &[u8]) -> RedisResult<Value> {
        self.write(address, packed)?;
        self.receive(address, false)
    }

    /// Closes a connection: replies still under way would be taken for those to later commands.
    pub fn close(&mut self, address: &Address) {
        let gone = self.nodes.remove(address);
        if gone.is_some_and(|node| node.is_unconfirmed) {
            self.loss = Loss::Unreported;
        }
    }

    /// The nodes that were sent something since they were last confirmed.
    pub fn unconfirmed(&self) -> Vec<Address> {
        let nodes = self.nodes.iter().filter(|(_, node)| node.is_unconfirmed);
        nodes.map(|(address, _)| address.clone()).collect()
    }

    /// Notes that the replicas have everything that this node has.
    pub fn confirm(&mut self, address: &Address) {
        if let Some(node) = self.nodes.get_mut(address) {
            node.is_unconfirmed = false;
        }
    }

    /// Returns whether a connection was lost unconfirmed, and notes that the caller knows.
    pub fn report_loss(&mut self) -> bool {
        let is_lost = self.loss != Loss::None;
        if is_lost {
            self.loss = Loss::Reported;
        }
        is_lost
    }

    /// Forgets a loss that was reported, because the caller sends something again.
    pub fn forget_reported_loss(&mut self) {
        if self.loss == Loss::Reported {
            self.loss = Loss::None;
        }
    }
}
