//! One node: its address, and a connection on which several requests may be under way.

use redis::{Client, Connection, ConnectionAddr, ConnectionInfo, RedisResult, Value};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Loopback and data centres answer within a millisecond; a node that is gone may not answer at all.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(1);
/// Longer than a node is busy with one thing: sending a partition of 64 MB away may take it a second (docs/cluster.md).
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Host and port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Address(Arc<(String, u16)>);

impl Address {
    pub fn new(host: &str, port: u16) -> Self {
        Self(Arc::new((host.to_owned(), port)))
    }

    /// From the words of a redirect, `host:port`; a node that does not know its host leaves it empty, and means its own.
    pub fn of_redirect(words: &str, from: &Self) -> Option<Self> {
        let (host, port) = words.rsplit_once(':')?;
        let host = if host.is_empty() { from.host() } else { host };
        Some(Self::new(host, port.parse().ok()?))
    }

    /// From where a caller said that a node is.
    pub fn of(info: &ConnectionInfo) -> Self {
        match info.addr() {
            ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. } => {
                Self::new(host, *port)
            }
            other => Self::new(&other.to_string(), 0),
        }
    }

    pub fn host(&self) -> &str {
        &self.0 .0
    }

    /// How to reach this node, given how another one of the cluster is reached.
    fn like(&self, other: &ConnectionInfo) -> ConnectionInfo {
        let (host, port) = (self.0 .0.clone(), self.0 .1);
        let address = match other.addr().clone() {
            ConnectionAddr::TcpTls {
                insecure,
                tls_params,
                ..
            } => ConnectionAddr::TcpTls {
                host,
                port,
                insecure,
                tls_params,
            },
            _ => ConnectionAddr::Tcp(host, port),
        };
        other.clone().set_addr(address)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.0 .0, self.0 .1)
    }
}

pub(super) struct Node {
    connection: Connection,
    /// Something has been sent since the last `WAIT`.
    pub is_unconfirmed: bool,
}

impl Node {
    pub fn connect(address: &Address, like: &ConnectionInfo) -> RedisResult<Self> {
        let client = Client::open(address.like(like))?;
        let connection = client.get_connection_with_timeout(CONNECTION_TIMEOUT)?;
        connection.set_read_timeout(Some(RESPONSE_TIMEOUT))?;
        connection.set_write_timeout(Some(RESPONSE_TIMEOUT))?;
        Ok(Self {
            connection,
            is_unconfirmed: false,
        })
    }

    pub fn send(&mut self, packed: &[u8]) -> RedisResult<()> {
        self.connection.send_packed_command(packed)
    }

    /// The next reply, whatever it is; an error means that the connection is of no more use.
    pub fn receive(&mut self) -> RedisResult<Value> {
        self.connection.recv_response()
    }
}
