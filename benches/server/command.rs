//! The commands to measure, and the built-in commands that are their baselines.

use splitbloom_rig::load::{Format, Pattern, Reply};

/// A command, and how it is sent.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    pub name: &'static str,
    key: &'static str,
    /// Arguments between the key and the items.
    arguments: &'static [&'static str],
    /// Items per command.
    pub items: usize,
    pub adds: bool,
    reply: Reply,
    /// The fraction of replies that are 1, as far as it is known.
    pub ones: (f64, f64),
}

/// The filter, and the keys of the baseline commands.
pub const FILTER: &str = "filter";
pub const BITS: &str = "bits";
pub const SET: &str = "set";
/// A bit of the small key of GETBIT and SETBIT: 8 KiB, which fits in every cache.
const BIT: &str = "54321";
/// Arguments of packed commands.
const FIXED: &[&str] = &["FIXED", "16"];

/// Items per batch, typical of issue trackers and client documentation.
const BATCH: usize = 100;
/// Items per batch of those who load lists, and their bytes: those of a digest or a UUID.
const BULK: usize = 4096;
const BULK_ITEM_BYTES: usize = 16;
/// Bytes of other items.
const ITEM_BYTES: usize = 12;
/// Cuckoo filters have error rates of their own, which are measured; and a deletion may remove the
/// entry of another item, which is then not found.
const AT_LEAST_HALF: (f64, f64) = (0.5, 1.0);
const ANY: (f64, f64) = (0.0, 1.0);

/// Half of the items looked up are present; the rate of false positives is at most 1 %, and up to
/// half as much again in a filter with bad luck.
const fn lookup(name: &'static str, items: usize) -> Command {
    let reply = if items > 1 { Reply::Array } else { Reply::Integer };
    Command { name, key: FILTER, arguments: &[], items, adds: false, reply, ones: (0.5, 0.5075) }
}

/// Added items are new.
const fn add(name: &'static str, items: usize) -> Command {
    Command { adds: true, ones: (0.985, 1.0), ..lookup(name, items) }
}

pub const EXISTS: Command = lookup("BF.EXISTS", 1);
pub const ADD: Command = add("BF.ADD", 1);
pub const MEXISTS: Command = lookup("BF.MEXISTS", BATCH);
pub const MADD: Command = add("BF.MADD", BATCH);
pub const BULK_EXISTS: Command = lookup("BF.MEXISTS", BULK);
pub const BULK_ADD: Command = add("BF.MADD", BULK);
pub const PACK_EXISTS: Command =
    Command { arguments: FIXED, reply: Reply::Bits, ..lookup("BF.PACKEXISTS", BULK) };
pub const PACK_ADD: Command =
    Command { arguments: FIXED, reply: Reply::Thousands, ..add("BF.PACKADD", BULK) };
pub const CF_ADD: Command = Command { ones: (1.0, 1.0), ..add("CF.ADD", 1) };
pub const CF_EXISTS: Command = Command { ones: AT_LEAST_HALF, ..lookup("CF.EXISTS", 1) };
pub const CF_COUNT: Command = Command { ones: ANY, reply: Reply::Count, ..lookup("CF.COUNT", 1) };
pub const CF_DEL: Command = Command { ones: AT_LEAST_HALF, ..lookup("CF.DEL", 1) };
pub const GETBIT: Command =
    Command { key: BITS, arguments: &[BIT], items: 0, ones: ANY, ..lookup("GETBIT", 1) };
/// Every SETBIT flips its bit, as every BF.ADD of a new item sets some.
pub const SETBIT: Command = Command { name: "SETBIT", ..GETBIT };
pub const SMISMEMBER: Command =
    Command { key: SET, ones: (0.0, 0.0), ..lookup("SMISMEMBER", BATCH) };

impl Command {
    /// Enough connections to keep the server busy. On 4 of them, single-item commands left it idle
    /// for a quarter of the time, since it replied to all and then waited for all; the faster the
    /// command, the longer. Batches keep it busy on 4, and with more the items in flight would
    /// exceed the capacity of the smallest filter.
    pub fn connections(self) -> usize {
        match self.items {
            0 | 1 => 16,
            _ => 4,
        }
    }

    /// Commands in flight per connection.
    pub fn pipeline(self) -> usize {
        match self.items {
            0 | 1 => 32,
            BULK => 1,
            _ => 8,
        }
    }

    /// Items that all connections send before they wait for a reply.
    pub fn items_per_turn(self) -> u64 {
        (self.connections() * self.pipeline() * self.items) as u64
    }

    pub fn pattern(self) -> Pattern {
        let format = Format::Bytes(if self.items == BULK { BULK_ITEM_BYTES } else { ITEM_BYTES });
        Pattern {
            alternating: (self.name == SETBIT.name).then_some(["1", "0"]),
            is_packed: !self.arguments.is_empty() && self.items > 0,
            reply: self.reply,
            ..Pattern::new(&[&[self.name, self.key], self.arguments].concat(), self.items, format)
        }
    }
}
