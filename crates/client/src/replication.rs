//! How far the replicas are, and waiting for them.

use super::connections::Connections;
use super::link::{deadline, is_no_cluster};
use super::node::Address;
use super::owners::owns_slots;
use redis::{RedisResult, Value};
use std::time::{Duration, Instant};

/// More replicas than any node has: a `WAIT` for them lasts for its whole timeout, and makes all of
/// them acknowledge what they have.
const ALL_REPLICAS: u32 = 1000;
const WAIT_MILLISECONDS: u64 = 5;

/// The result of waiting for replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acknowledged {
    /// Everything sent since the last Yes is on that many replicas of each node it was sent to.
    Yes,
    /// That is not known: replicas lag, or a connection was lost. Waiting again returns Yes once
    /// the replicas have caught up; after a loss it returns No until something is sent again.
    No,
}

impl Connections {
    /// Waits until `replicas` replicas of each node have everything that the node has, for each
    /// node that was sent something since it was last confirmed.
    ///
    /// `WAIT` alone is not enough: newer servers (Redis 7.2, Valkey) count from the connection's
    /// last command that *changed* something. Adding an item that another client has just added
    /// changes nothing, and `WAIT` returns at once. So this first reads the node's offset, and
    /// compares with it the offsets that the replicas have acknowledged; `WAIT` makes them
    /// acknowledge now instead of once a second.
    pub fn wait(&mut self, replicas: u32, timeout: Duration) -> Acknowledged {
        let deadline = deadline(timeout);
        let mut all = true;
        for address in self.unconfirmed() {
            match self.is_on_replicas(&address, replicas, deadline) {
                Ok(true) => self.confirm(&address),
                Ok(false) => {
                    all = false;
                    if !self.is_still_an_owner(&address) {
                        self.close(&address);
                    }
                }
                Err(_) => all = false, // and the connection is closed
            }
        }
        let is_lost = self.report_loss();
        match all && !is_lost {
            true => Acknowledged::Yes,
            false => Acknowledged::No,
        }
    }

    /// Whether a node is a primary with slots of its own, or is not in a cluster. Any other node
    /// may never get enough replicas, and what was sent to it now belongs to another node, or to
    /// none.
    fn is_still_an_owner(&mut self, address: &Address) -> bool {
        let nodes = redis::cmd("CLUSTER").arg("NODES").get_packed_command();
        let reply = self.call(address, &nodes);
        reply.is_ok_and(|reply| owns_slots(&reply) || is_no_cluster(&reply))
    }

    fn is_on_replicas(
        &mut self,
        address: &Address,
        replicas: u32,
        deadline: Instant,
    ) -> RedisResult<bool> {
        let info = redis::cmd("INFO").arg("replication").get_packed_command();
        let wait_for_all =
            redis::cmd("WAIT").arg(ALL_REPLICAS).arg(WAIT_MILLISECONDS).get_packed_command();
        let target = Replication::parse(&self.call(address, &info)?).offset;
        let wait = redis::cmd("WAIT").arg(replicas).arg(WAIT_MILLISECONDS).get_packed_command();
        self.call(address, &wait)?;
        loop {
            let seen = Replication::parse(&self.call(address, &info)?);
            match target {
                Some(target) if seen.offset.is_some() => {
                    if seen.replicas.iter().filter(|offset| **offset >= target).count()
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
}

/// The replication offsets of a primary and its replicas, from its `INFO replication`.
#[derive(Debug, Default, PartialEq)]
struct Replication {
    /// The primary's own; `None` if the node is not a primary.
    offset: Option<u64>,
    /// What each replica has acknowledged.
    replicas: Vec<u64>,
}

impl Replication {
    fn parse(reply: &Value) -> Self {
        let text = match reply {
            Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Value::VerbatimString { text, .. } => text.clone(),
            _ => return Self::default(),
        };
        let mut replication = Self::default();
        let is_primary = text.lines().any(|line| line == "role:master");
        for line in text.lines().filter(|_| is_primary) {
            if let Some(offset) = line.strip_prefix("master_repl_offset:") {
                replication.offset = offset.parse().ok();
            } else if line.starts_with("slave") && line.contains(",state=online,") {
                let mut fields = line.split(',');
                let offset = fields.find_map(|field| field.strip_prefix("offset="));
                replication.replicas.extend(offset.and_then(|offset| offset.parse::<u64>().ok()));
            }
        }
        replication
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(lines: &str) -> Replication {
        Replication::parse(&Value::BulkString(lines.replace('\n', "\r\n").into_bytes()))
    }

    #[test]
    fn a_primary_names_its_offset_and_those_of_its_replicas() {
        let info = "# Replication\nrole:master\nconnected_slaves:2\n\
                    slave0:ip=127.0.0.1,port=1,state=online,offset=90,lag=0\n\
                    slave1:ip=127.0.0.1,port=2,state=wait_bgsave,offset=0,lag=0\n\
                    master_repl_offset:100\n";
        assert_eq!(parsed(info), Replication { offset: Some(100), replicas: vec![90] });
    }

    #[test]
    fn a_replica_has_no_offsets() {
        let info = "role:slave\nmaster_repl_offset:100\n";
        assert_eq!(parsed(info), Replication::default());
        assert_eq!(Replication::parse(&Value::Okay), Replication::default());
    }
}
