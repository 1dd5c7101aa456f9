//! The commands to measure, and the built-in command that is the baseline of each.

use super::load::{Pattern, Reply};
use std::ops::RangeInclusive;

/// One command under load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Workload {
    Exists,
    Add,
    MultiExists,
    MultiAdd,
    BulkExists,
    BulkAdd,
    PackExists,
    PackAdd,
    CuckooAdd,
    CuckooExists,
    CuckooCount,
    CuckooDelete,
    GetBit,
    SetBit,
    SetHasMembers,
    Ping,
}

/// The result of one run of a workload.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    pub items_per_second: f64,
    pub nanoseconds_in_command: f64,
    /// The fraction of the time that the server's thread was busy.
    pub server_busy: f64,
}

/// The filter, and the keys of the baseline commands.
pub const FILTER: &str = "filter";
pub const BITS: &str = "bits";
pub const SET: &str = "set";

/// Items per batch, typical of issue trackers and client documentation.
pub const BATCH: usize = 100;
/// Items per batch of those who load lists, and their bytes: those of a digest or a UUID.
const BULK: usize = 4096;
const BULK_ITEM_BYTES: usize = 16;
/// Bytes of other items.
const ITEM_BYTES: usize = 12;
/// A bit of the small key of GETBIT and SETBIT: 8 KiB, which fits in every cache.
const BIT: &str = "54321";

impl Workload {
    /// The commands that run beside a baseline.
    pub const RESERVED: [Self; 4] = [Self::Exists, Self::Add, Self::MultiExists, Self::MultiAdd];

    pub fn name(self) -> &'static str {
        match self {
            Self::Exists => "BF.EXISTS",
            Self::Add => "BF.ADD",
            Self::MultiExists | Self::BulkExists => "BF.MEXISTS",
            Self::MultiAdd | Self::BulkAdd => "BF.MADD",
            Self::PackExists => "BF.PACKEXISTS",
            Self::PackAdd => "BF.PACKADD",
            Self::CuckooAdd => "CF.ADD",
            Self::CuckooExists => "CF.EXISTS",
            Self::CuckooCount => "CF.COUNT",
            Self::CuckooDelete => "CF.DEL",
            Self::GetBit => "GETBIT",
            Self::SetBit => "SETBIT",
            Self::SetHasMembers => "SMISMEMBER",
            Self::Ping => "PING",
        }
    }

    /// The cheapest built-in command of the same shape.
    pub fn baseline(self) -> Self {
        match self {
            Self::Exists => Self::GetBit,
            Self::Add => Self::SetBit,
            _ => Self::SetHasMembers,
        }
    }

    pub fn adds(self) -> bool {
        matches!(self, Self::Add | Self::MultiAdd | Self::BulkAdd | Self::PackAdd)
    }

    /// Whether exactly as many commands as asked for must be sent.
    pub fn must_be_whole(self) -> bool {
        let others = [Self::CuckooAdd, Self::CuckooDelete, Self::Ping];
        self.adds() || others.contains(&self)
    }

    pub fn items_per_command(self) -> usize {
        match self {
            Self::MultiExists | Self::MultiAdd | Self::SetHasMembers => BATCH,
            Self::BulkExists | Self::BulkAdd | Self::PackExists | Self::PackAdd => BULK,
            _ => 1,
        }
    }

    /// Items that all connections send before they wait for a reply.
    pub fn items_per_turn(self) -> u64 {
        (self.connections() * self.pipeline() * self.items_per_command()) as u64
    }

    fn is_packed(self) -> bool {
        matches!(self, Self::PackExists | Self::PackAdd)
    }

    /// Enough connections to keep the server busy. On 4 of them, single-item commands left it idle
    /// for a quarter of the time, since it replied to all and then waited for all; the faster the
    /// command, the longer. Batches keep it busy on 4, and with more the items in flight would
    /// exceed what the smallest filter has room for.
    pub fn connections(self) -> usize {
        match self.items_per_command() {
            1 => 16,
            _ => 4,
        }
    }

    /// Commands in flight per connection.
    pub fn pipeline(self) -> usize {
        match self.items_per_command() {
            1 => 32,
            BULK => 1,
            _ => 8,
        }
    }

    /// The fraction of replies that are 1, as far as it is known. Added items are new; the rate of
    /// false positives is at most 1 %, and up to half as much again in a filter with bad luck. Half
    /// of the items looked up are present.
    pub fn ones(self) -> RangeInclusive<f64> {
        match self {
            Self::Add | Self::MultiAdd | Self::BulkAdd | Self::PackAdd => 0.985..=1.0,
            Self::Exists | Self::MultiExists | Self::BulkExists | Self::PackExists => 0.5..=0.5075,
            Self::CuckooAdd => 1.0..=1.0,
            // Cuckoo filters have error rates of their own, which are measured; and a deletion may
            // remove the entry of another item, which is then not found.
            Self::CuckooExists | Self::CuckooDelete => 0.5..=1.0,
            // All connections flip the same bit.
            Self::CuckooCount | Self::GetBit | Self::SetBit => 0.0..=1.0,
            Self::SetHasMembers | Self::Ping => 0.0..=0.0,
        }
    }

    pub fn pattern(self) -> Pattern {
        let words: &[&str] = match self {
            Self::GetBit => &["GETBIT", BITS, BIT],
            Self::SetBit => &["SETBIT", BITS, BIT],
            Self::SetHasMembers => &["SMISMEMBER", SET],
            Self::Ping => &["PING"],
            Self::PackExists | Self::PackAdd => &[self.name(), FILTER, "FIXED", "16"],
            _ => &[self.name(), FILTER],
        };
        let items = match self {
            Self::GetBit | Self::SetBit | Self::Ping => 0,
            _ => self.items_per_command(),
        };
        Pattern {
            head: words.iter().map(ToString::to_string).collect(),
            // Every SETBIT flips its bit, as every BF.ADD of a new item sets some.
            alternating: (self == Self::SetBit).then_some(["1", "0"]),
            items,
            item_bytes: match items {
                BULK => BULK_ITEM_BYTES,
                _ => ITEM_BYTES,
            },
            is_packed: self.is_packed(),
            reply: match (self, items) {
                (Self::Ping, _) => Reply::Pong,
                (Self::CuckooCount, _) => Reply::Count,
                (Self::PackAdd, _) => Reply::Thousands,
                (Self::PackExists, len) => Reply::Bits(len),
                (_, 0 | 1) => Reply::Integer,
                (_, len) => Reply::Array(len),
            },
        }
    }
}
