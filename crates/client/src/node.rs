//! One node: its address, and a connection with several requests under way.

use redis::{Client, Connection, ConnectionAddr, ConnectionInfo, RedisResult, Value};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How long a command is retried; the last round may begin just before. A failover takes the
/// cluster's node timeout (15 s by default) and a few seconds.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// How long to wait for a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timeouts {
    pub connection: Duration,
    pub response: Duration,
}

impl Timeouts {
    /// For one of many nodes. Data centres reply within a millisecond, and a node that is gone may
    /// never reply; but a single command may keep one busy: migrating a partition of 64 MB takes up
    /// to a second (docs/cluster.md).
    pub const OF_NODE: Self =
        Self { connection: Duration::from_secs(1), response: Duration::from_secs(5) };
    /// For a single server, which has no replacement; it may be on another continent, behind TLS.
    pub const OF_ONLY_SERVER: Self =
        Self { connection: Duration::from_secs(5), response: PATIENCE };
}

/// What a node without a hostname sends as its host if `cluster-preferred-endpoint-type` is
/// `hostname`.
pub(super) const NO_HOST: &str = "?";

/// Host and port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Address(Arc<(String, u16)>);

impl Address {
    pub fn new(host: &str, port: u16) -> Self {
        Self(Arc::new((host.to_owned(), port)))
    }

    /// Parses a redirect's `host:port`. An empty host, or [`NO_HOST`], means the host that sent the
    /// redirect. Where that is wrong, redirects go in circles, and the caller sends CLUSTER SLOTS,
    /// which says more (`owners`).
    pub fn of_redirect(words: &str, from: &Self) -> Option<Self> {
        let (host, port) = words.rsplit_once(':')?;
        let host = match host {
            "" | NO_HOST => from.host(),
            host => host,
        };
        Some(Self::new(host, port.parse().ok()?))
    }

    /// The address in a caller's connection settings.
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

    /// The settings to connect to this node, given those of another node of the cluster.
    pub fn like(&self, other: &ConnectionInfo) -> ConnectionInfo {
        if *self == Self::of(other) {
            return other.clone(); // the address may be a Unix socket
        }
        let (host, port) = (self.0 .0.clone(), self.0 .1);
        let address = match other.addr().clone() {
            ConnectionAddr::TcpTls { insecure, tls_params, .. } => {
                ConnectionAddr::TcpTls { host, port, insecure, tls_params }
            }
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
    /// Whether something has been sent that the replicas may not have yet.
    pub is_unconfirmed: bool,
}

impl Node {
    /// A connection, which the server lists under `name` if the user may name it.
    pub fn connect(
        address: &Address,
        like: &ConnectionInfo,
        timeouts: Timeouts,
        name: Option<&str>,
    ) -> RedisResult<Self> {
        let client = Client::open(address.like(like))?;
        let connection = client.get_connection_with_timeout(timeouts.connection)?;
        connection.set_read_timeout(Some(timeouts.response))?;
        connection.set_write_timeout(Some(timeouts.response))?;
        let mut node = Self { connection, is_unconfirmed: false };
        if let Some(name) = name {
            node.send(&redis::cmd("CLIENT").arg("SETNAME").arg(name).get_packed_command())?;
            node.receive()?; // OK or a refusal
        }
        Ok(node)
    }

    pub fn send(&mut self, packed: &[u8]) -> RedisResult<()> {
        self.connection.send_packed_command(packed)
    }

    /// The next reply, whatever it is; after an error the connection cannot be used any more.
    pub fn receive(&mut self) -> RedisResult<Value> {
        self.connection.recv_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_without_a_host_leads_to_the_host_that_sent_it() {
        let from = Address::new("asked", 1);
        for (words, host, port) in [
            ("10.0.0.2:7001", "10.0.0.2", 7001),
            ("::1:7001", "::1", 7001),
            (":7001", "asked", 7001),
            ("?:7001", "asked", 7001),
        ] {
            let to = Address::of_redirect(words, &from);
            assert_eq!(to, Some(Address::new(host, port)), "{words}");
        }
        for words in ["", "nowhere", "host:", "host:port", "host:70000"] {
            assert_eq!(Address::of_redirect(words, &from), None, "{words}");
        }
    }
}
