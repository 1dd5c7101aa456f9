//! Which node owns which slot, as far as the client knows.

use super::node::{Address, NO_HOST};
use redis::Value;
use splitbloom_partition::SLOTS;
use std::collections::BTreeSet;

#[derive(Default)]
pub(super) struct Owners {
    of_slots: Vec<Option<Address>>,
    /// All nodes with slots, and their replicas: when an owner is gone, these know the next one.
    nodes: BTreeSet<Address>,
}

impl Owners {
    /// One node that owns all slots.
    pub fn all(owner: Address) -> Self {
        Self { of_slots: vec![Some(owner); usize::from(SLOTS)], nodes: BTreeSet::new() }
    }

    /// Parses the reply to `CLUSTER SLOTS`: for each range its first and last slot, the primary,
    /// and the replicas. A node is its host, port and id, and an array of further names and values.
    /// The node `asked` chooses how to name hosts:
    ///
    /// | host | when | the node is at |
    /// |---|---|---|
    /// | a name or an IP address | | that host |
    /// | null | `cluster-preferred-endpoint-type unknown-endpoint` | the host of `asked` |
    /// | empty | the node does not know its own address yet | the host of `asked` |
    /// | `?` | `hostname`, and the node has none | its `ip`, or else the host of `asked` |
    pub fn parse(reply: &Value, asked: &Address) -> Option<Self> {
        let Value::Array(ranges) = reply else {
            return None;
        };
        let (mut of_slots, mut nodes) = (vec![None; usize::from(SLOTS)], BTreeSet::new());
        for range in ranges {
            let Value::Array(range) = range else {
                return None;
            };
            let [Value::Int(first), Value::Int(last), primary, replicas @ ..] = range.as_slice()
            else {
                return None;
            };
            let owner = address(primary, asked)?;
            nodes.insert(owner.clone());
            nodes.extend(replicas.iter().filter_map(|replica| address(replica, asked)));
            let slots = usize::try_from(*first).ok()?..=usize::try_from(*last).ok()?;
            of_slots.get_mut(slots)?.fill(Some(owner));
        }
        // A node that has left its cluster knows no owners.
        of_slots.iter().any(Option::is_some).then_some(Self { of_slots, nodes })
    }

    pub fn of(&self, slot: u16) -> Option<&Address> {
        self.of_slots.get(usize::from(slot))?.as_ref()
    }

    /// The nodes of the cluster, primaries and replicas.
    pub fn nodes(&self) -> impl Iterator<Item = &Address> {
        self.nodes.iter()
    }

    /// Sets the owner of one slot.
    pub fn set(&mut self, slot: u16, owner: Address) {
        if let Some(place) = self.of_slots.get_mut(usize::from(slot)) {
            *place = Some(owner);
        }
    }
}

/// The address of a node in a reply to `CLUSTER SLOTS`.
fn address(node: &Value, asked: &Address) -> Option<Address> {
    let Value::Array(node) = node else {
        return None;
    };
    let [host, Value::Int(port), rest @ ..] = node.as_slice() else {
        return None;
    };
    let host = match text(host)? {
        NO_HOST => ip(rest).unwrap_or(""),
        host => host,
    };
    let host = if host.is_empty() { asked.host() } else { host };
    Some(Address::new(host, u16::try_from(*port).ok()?))
}

/// Whether the node that sent this reply to `CLUSTER NODES` owns any slot. On its own line, slots
/// come after the eighth word; those that are moving are in brackets.
pub(super) fn owns_slots(reply: &Value) -> bool {
    let text = match reply {
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::VerbatimString { text, .. } => text.clone(),
        _ => return false,
    };
    text.lines().any(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let is_itself = words.get(2).is_some_and(|flags| flags.contains("myself"));
        is_itself && words.iter().skip(8).any(|slots| !slots.starts_with('['))
    })
}

/// A text; null is the empty text.
fn text(value: &Value) -> Option<&str> {
    match value {
        Value::Nil => Some(""),
        Value::BulkString(bytes) => std::str::from_utf8(bytes).ok(),
        Value::SimpleString(text) => Some(text),
        _ => None,
    }
}

/// The IP address of a node, in what follows its host and port: its id, and names with values,
/// which are a map in RESP3.
fn ip(rest: &[Value]) -> Option<&str> {
    let is_ip = |name: &Value| text(name) == Some("ip");
    match rest.get(1)? {
        Value::Array(flat) => {
            let pair = flat.chunks_exact(2).find(|pair| is_ip(&pair[0]))?;
            text(&pair[1])
        }
        Value::Map(pairs) => {
            let (_, value) = pairs.iter().find(|(name, _)| is_ip(name))?;
            text(value)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owners(reply: &str) -> Option<Owners> {
        let reply = redis::parse_redis_value(reply.as_bytes()).expect("a reply");
        Owners::parse(&reply, &Address::new("asked", 1))
    }

    #[test]
    fn ranges_name_their_primary_first_and_a_node_without_a_host_is_where_it_was_asked() {
        let owners = owners(
            "*2\r\n*4\r\n:0\r\n:1\r\n*3\r\n$1\r\na\r\n:7\r\n$1\r\ni\r\n\
             *3\r\n$1\r\nb\r\n:8\r\n$1\r\nj\r\n\
             *3\r\n:3\r\n:16383\r\n*3\r\n$0\r\n\r\n:9\r\n$1\r\nk\r\n",
        );
        let mut owners = owners.expect("owners");
        let nodes = [("a", 7), ("asked", 9), ("b", 8)].map(|(host, port)| Address::new(host, port));
        assert!(owners.nodes().eq(&nodes), "replicas, too");
        assert_eq!(owners.of(0), Some(&Address::new("a", 7)));
        assert_eq!(owners.of(1), Some(&Address::new("a", 7)));
        assert_eq!(owners.of(2), None);
        assert_eq!(owners.of(3), Some(&Address::new("asked", 9)));
        assert_eq!(owners.of(16_383), Some(&Address::new("asked", 9)));
        assert_eq!(owners.of(16_384), None);
        owners.set(2, Address::new("c", 6));
        assert_eq!(owners.of(2), Some(&Address::new("c", 6)));
    }

    /// The host of slot 0 if its owner is described as `node`.
    fn host_of(node: &str) -> Option<String> {
        let owners = owners(&format!("*1\r\n*3\r\n:0\r\n:16383\r\n{node}"))?;
        Some(owners.of(0)?.host().to_owned())
    }

    #[test]
    fn a_node_that_has_no_host_name_is_at_its_ip_or_where_it_was_asked() {
        let no_name = "*4\r\n$1\r\n?\r\n:7\r\n$1\r\ni\r\n";
        for (node, host) in [
            (format!("{no_name}*2\r\n$2\r\nip\r\n$8\r\n10.0.0.2\r\n"), "10.0.0.2"),
            (format!("{no_name}%1\r\n$2\r\nip\r\n$8\r\n10.0.0.2\r\n"), "10.0.0.2"),
            (format!("{no_name}*2\r\n$2\r\nip\r\n$0\r\n\r\n"), "asked"),
            (format!("{no_name}*0\r\n"), "asked"),
            ("*2\r\n$1\r\n?\r\n:7\r\n".to_owned(), "asked"),
        ] {
            assert_eq!(host_of(&node).as_deref(), Some(host), "{node:?}");
        }
    }

    /// `unknown-endpoint` says that the IP address is of no use to clients.
    #[test]
    fn a_node_whose_host_is_null_is_where_it_was_asked_whatever_its_ip() {
        let node = "*4\r\n$-1\r\n:7\r\n$1\r\ni\r\n*2\r\n$2\r\nip\r\n$8\r\n10.0.0.2\r\n";
        assert_eq!(host_of(node).as_deref(), Some("asked"));
    }

    #[test]
    fn a_node_owns_slots_if_its_own_line_names_some_that_are_not_moving() {
        let other = "07c3 127.0.0.1:1@2 master - 0 1 1 connected 0-100";
        let own = "e7d1 127.0.0.1:3@4,,shard-id=1 myself,master - 0 1 2 connected";
        for (slots, owns) in [(" 101-200", true), (" 7", true), ("", false), (" [7-<-07c3]", false)]
        {
            let text = format!("{other}\n{own}{slots}\n");
            assert_eq!(owns_slots(&Value::BulkString(text.into())), owns, "{slots}");
        }
        assert!(!owns_slots(&Value::Okay));
    }

    #[test]
    fn anything_but_a_list_of_ranges_is_refused() {
        for reply in [
            ":1\r\n",
            "*0\r\n",
            "*1\r\n:1\r\n",
            "*1\r\n*2\r\n:0\r\n:1\r\n",
            "*1\r\n*3\r\n:0\r\n:16384\r\n*2\r\n$1\r\na\r\n:7\r\n",
            "*1\r\n*3\r\n:-1\r\n:3\r\n*2\r\n$1\r\na\r\n:7\r\n",
            "*1\r\n*3\r\n:5\r\n:3\r\n*2\r\n$1\r\na\r\n:7\r\n",
            "*1\r\n*3\r\n:0\r\n:3\r\n*2\r\n$1\r\na\r\n:70000\r\n",
        ] {
            assert!(owners(reply).is_none(), "{reply:?}");
        }
    }
}
