//! The server of the URL, and all that it leads to.

use super::node::Node;
use crate::error::Error;
use redis::{Client, Connection, ConnectionAddr, ConnectionInfo, RedisResult};
use std::collections::BTreeSet;
use std::time::Duration;

/// A server that is gone may never answer; one on another continent takes less.
const PATIENCE: Duration = Duration::from_secs(5);

/// All servers that were examined.
#[derive(Debug)]
pub struct Site {
    /// The first is that of the URL.
    pub nodes: Vec<Node>,
    /// The address of each that could not be examined, and why.
    pub silent: Vec<(String, String)>,
}

impl Site {
    /// Examines the server of these settings, and with the same login all that it leads to.
    ///
    /// # Errors
    /// The first server cannot be reached, or refuses the login.
    pub fn visit(first: &ConnectionInfo) -> Result<Self, Error> {
        let address = first.addr().to_string();
        let node = Node::ask(address.clone(), &mut connect(first.clone())?);
        let mut waiting = node.neighbours();
        let mut seen = BTreeSet::from([address]);
        // A server may have several addresses.
        let mut identities = BTreeSet::from([node.identity()]);
        let mut site = Self { nodes: vec![node], silent: Vec::new() };
        while let Some(address) = waiting.pop() {
            if !seen.insert(address.clone()) {
                continue;
            }
            match at(first, &address).and_then(connect) {
                Err(error) => site.silent.push((address, Error::from(error).to_string())),
                Ok(mut db) => {
                    let node = Node::ask(address, &mut db);
                    if identities.insert(node.identity()) {
                        waiting.extend(node.neighbours());
                        site.nodes.push(node);
                    }
                }
            }
        }
        site.nodes[1..].sort_by(|one, other| one.address.cmp(&other.address));
        Ok(site)
    }
}

fn connect(info: ConnectionInfo) -> RedisResult<Connection> {
    let connection = Client::open(info)?.get_connection_with_timeout(PATIENCE)?;
    connection.set_read_timeout(Some(PATIENCE))?;
    Ok(connection)
}

/// The settings for `address`, `host:port`, given those of a server that led there.
fn at(other: &ConnectionInfo, address: &str) -> RedisResult<ConnectionInfo> {
    let parsed = address.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
    let (host, port) = parsed.ok_or((redis::ErrorKind::InvalidClientConfig, "no address"))?;
    let host = host.to_owned();
    let address = match other.addr().clone() {
        ConnectionAddr::TcpTls { insecure, tls_params, .. } => {
            ConnectionAddr::TcpTls { host, port, insecure, tls_params }
        }
        _ => ConnectionAddr::Tcp(host, port),
    };
    Ok(other.clone().set_addr(address))
}
