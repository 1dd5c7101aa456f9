//! Which node owns which slot, as far as the client knows.

use super::node::Address;
use crate::partition::SLOTS;
use redis::Value;

#[derive(Default)]
pub(super) struct Owners(Vec<Option<Address>>);

impl Owners {
    /// From the reply to `CLUSTER SLOTS`: for each range its first and last slot, the primary, the replicas; a node begins with host and port. A
    /// node that does not know its own host leaves it empty, and is at the one that it was `asked` by.
    pub fn parse(reply: &Value, asked: &Address) -> Option<Self> {
        let Value::Array(ranges) = reply else {
            return None;
        };
        let mut owners = vec![None; usize::from(SLOTS)];
        for range in ranges {
            let Value::Array(range) = range else {
                return None;
            };
            let [Value::Int(first), Value::Int(last), Value::Array(primary), ..] = range.as_slice()
            else {
                return None;
            };
            let [host, Value::Int(port), ..] = primary.as_slice() else {
                return None;
            };
            let host = match host {
                Value::BulkString(host) if !host.is_empty() => std::str::from_utf8(host).ok()?,
                _ => asked.host(),
            };
            let owner = Address::new(host, u16::try_from(*port).ok()?);
            let slots = usize::try_from(*first).ok()?..=usize::try_from(*last).ok()?;
            owners.get_mut(slots)?.fill(Some(owner));
        }
        // A node that has left its cluster knows of nobody, which is no answer.
        owners.iter().any(Option::is_some).then_some(Self(owners))
    }

    pub fn of(&self, slot: u16) -> Option<&Address> {
        self.0.get(usize::from(slot))?.as_ref()
    }

    /// What a node has said of one slot.
    pub fn set(&mut self, slot: u16, owner: Address) {
        if let Some(place) = self.0.get_mut(usize::from(slot)) {
            *place = Some(owner);
        }
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
            "*2\r\n*4\r\n:0\r\n:1\r\n*3\r\n$1\r\na\r\n:7\r\n$1\r\ni\r\n*3\r\n$1\r\nb\r\n:8\r\n$1\r\nj\r\n\
             *3\r\n:3\r\n:16383\r\n*3\r\n$0\r\n\r\n:9\r\n$1\r\nk\r\n",
        );
        let mut owners = owners.expect("owners");
        assert_eq!(owners.of(0), Some(&Address::new("a", 7)));
        assert_eq!(owners.of(1), Some(&Address::new("a", 7)));
        assert_eq!(owners.of(2), None);
        assert_eq!(owners.of(3), Some(&Address::new("asked", 9)));
        assert_eq!(owners.of(16_383), Some(&Address::new("asked", 9)));
        assert_eq!(owners.of(16_384), None);
        owners.set(2, Address::new("c", 6));
        assert_eq!(owners.of(2), Some(&Address::new("c", 6)));
    }

    #[test]
    fn what_is_no_list_of_ranges_is_refused() {
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
