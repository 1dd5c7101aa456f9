//! In a cluster: checks of slots, which the server makes only for keys that it finds by itself.

use super::arguments::Arguments;
use super::call::call;
use super::context::Context;
use redis_module::raw;
use splitbloom_partition::slot_of;
use std::ops::Range;

impl Context {
    /// Whether the server routed the command, by its first key alone: this is a node of a cluster,
    /// and the command comes from a client.
    fn is_routed(&self) -> bool {
        self.has_flag(raw::REDISMODULE_CTX_FLAGS_CLUSTER) && !self.is_replay()
    }

    /// Whether one of the keys that are arguments `others` is in another slot than the first key,
    /// which a cluster does not allow.
    pub fn needs_several_slots(&self, arguments: Arguments<'_>, mut others: Range<usize>) -> bool {
        let slot = slot_of(arguments.bytes(1));
        self.is_routed() && !others.all(|other| slot_of(arguments.bytes(other)) == slot)
    }

    /// Whether a key that is missing here may be on another node, because the slot of `key` is
    /// moving.
    pub fn may_be_elsewhere(&self, key: &[u8]) -> bool {
        self.is_routed() && self.is_moving(slot_of(key))
    }

    /// Whether this node serves the key of the running command: false if the slot is another
    /// node's, or is moving and the key has left. Cost: that of EXISTS in a cluster, where the
    /// server refuses to call a command on a key for which it would redirect the client.
    pub(crate) fn serves_its_key(&self) -> bool {
        let key = self.command.key;
        if key.is_null() || !self.is_routed() {
            return true;
        }
        // The format: one string of the server.
        let (command, format) = (c"EXISTS".as_ptr(), c"s".as_ptr());
        // SAFETY: context and key are live; the argument is that of the format.
        let reply = unsafe { call!(RedisModule_Call(self.raw, command, format, key)) };
        if reply.is_null() {
            return false;
        }
        // SAFETY: freed once, after its last use.
        unsafe { call!(RedisModule_FreeCallReply(reply)) };
        true
    }

    /// Whether `slot` is being moved from this node or to it, key by key. A key in it that is
    /// missing here may then be on the other node. Cost: that of CLUSTER NODES, so not for every
    /// command.
    fn is_moving(&self, slot: u16) -> bool {
        let (command, argument) = (c"CLUSTER".as_ptr(), c"NODES".as_ptr());
        // A text that ends in a zero byte.
        let format = c"c".as_ptr();
        // SAFETY: the context is live; the argument is that of the format.
        let reply = unsafe { call!(RedisModule_Call(self.raw, command, format, argument)) };
        if reply.is_null() {
            return false;
        }
        let mut len = 0;
        // SAFETY: the reply is live; for one that is no string the function returns null.
        let start = unsafe { call!(RedisModule_CallReplyStringPtr(reply, &raw mut len)) };
        let is_moving = !start.is_null() && {
            // SAFETY: the server says that `len` bytes are there; they live as long as the reply.
            let nodes = unsafe { std::slice::from_raw_parts(start.cast(), len) };
            moves(nodes, slot)
        };
        // SAFETY: freed once, after its last use.
        unsafe { call!(RedisModule_FreeCallReply(reply)) };
        is_moving
    }
}

/// Whether the reply to CLUSTER NODES says that this node is moving `slot`: the words of a line are
/// id, address, flags, five more, and then the slots. `[7->-id]` is a slot that moves to another
/// node, `[7-<-id]` one that comes from it.
fn moves(nodes: &[u8], slot: u16) -> bool {
    let ends = [format!("[{slot}->-"), format!("[{slot}-<-")];
    nodes.split(|byte| *byte == b'\n').any(|line| {
        let mut words = line.split(|byte| *byte == b' ');
        let flags = words.nth(2).unwrap_or_default();
        let is_myself = flags.split(|byte| *byte == b',').any(|flag| flag == b"myself");
        is_myself && words.any(|word| ends.iter().any(|end| word.starts_with(end.as_bytes())))
    })
}

#[cfg(test)]
mod tests {
    use super::moves;

    const NODES: &[u8] = b"aa01 127.0.0.1:7001@17001,host master - 0 1 2 connected 5461-16383 \
[8->-dd04]\n\
bb02 127.0.0.1:7000@17000 myself,master - 0 0 1 connected 0-5460 [7->-aa01] [77-<-aa01]\n\
cc03 :0@0 slave,noaddr aa01 0 1 2 disconnected\n";

    #[test]
    fn a_slot_moves_if_the_line_of_this_node_says_so() {
        assert!(moves(NODES, 7) && moves(NODES, 77));
        // Another node's, a longer number, and slots that stay.
        for slot in [8, 777, 0, 5460, 16_383] {
            assert!(!moves(NODES, slot), "{slot}");
        }
        for odd in [b"".as_slice(), b"\n \n", b"myself [7->-a]", b"a b myself"] {
            assert!(!moves(odd, 7));
        }
    }
}
