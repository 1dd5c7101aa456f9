//! What is measured: each command, and the server's own that is its floor.

use super::load::{Pattern, Reply};

/// One command under load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Workload {
    Exists,
    Add,
    MultiExists,
    MultiAdd,
    GetBit,
    SetBit,
    SetHasMembers,
}

/// What one run of a workload showed.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    pub items_a_second: f64,
    pub nanoseconds_in_command: f64,
    /// The share of the time that the server's thread was busy.
    pub server_busy: f64,
}

/// The filter, and the keys of the floor's commands.
pub const FILTER: &str = "filter";
pub const BITS: &str = "bits";
pub const SET: &str = "set";

/// Items of a batch, as issue trackers and clients' documentation use them.
const BATCH: usize = 100;
/// A bit of the small key of GETBIT and SETBIT: 8 KiB, in every cache.
const BIT: &str = "54321";

impl Workload {
    /// The filter's commands; the floor's come beside them.
    pub const ALL: [Self; 4] = [Self::Exists, Self::Add, Self::MultiExists, Self::MultiAdd];

    pub fn name(self) -> &'static str {
        match self {
            Self::Exists => "BF.EXISTS",
            Self::Add => "BF.ADD",
            Self::MultiExists => "BF.MEXISTS",
            Self::MultiAdd => "BF.MADD",
            Self::GetBit => "GETBIT",
            Self::SetBit => "SETBIT",
            Self::SetHasMembers => "SMISMEMBER",
        }
    }

    /// The server's own command of the same form that does the least.
    pub fn floor(self) -> Self {
        match self {
            Self::Exists => Self::GetBit,
            Self::Add => Self::SetBit,
            _ => Self::SetHasMembers,
        }
    }

    pub fn adds(self) -> bool {
        matches!(self, Self::Add | Self::MultiAdd)
    }

    pub fn items_a_command(self) -> usize {
        match self {
            Self::MultiExists | Self::MultiAdd | Self::SetHasMembers => BATCH,
            _ => 1,
        }
    }

    /// Connections that send it: so many that the server is never without work. With 4 of them, single commands left it idle for a
    /// quarter of the time, as all were answered together and then all waited for; and the faster a command, the more it was.
    /// Batches keep it busy on 4, and on more of them more items would be under way than the smallest filter has room for.
    pub fn connections(self) -> usize {
        match self.items_a_command() {
            1 => 16,
            _ => 4,
        }
    }

    /// Commands under way on a connection.
    pub fn pipeline(self) -> usize {
        match self.items_a_command() {
            1 => 32,
            _ => 8,
        }
    }

    pub fn pattern(self) -> Pattern {
        let words: &[&str] = match self {
            Self::GetBit => &["GETBIT", BITS, BIT],
            Self::SetBit => &["SETBIT", BITS, BIT],
            Self::SetHasMembers => &["SMISMEMBER", SET],
            _ => &[self.name(), FILTER],
        };
        let items = match self {
            Self::GetBit | Self::SetBit => 0,
            _ => self.items_a_command(),
        };
        Pattern {
            head: words.iter().map(ToString::to_string).collect(),
            // Every SETBIT changes its bit, as every BF.ADD of a new item changes some.
            alternating: (self == Self::SetBit).then_some(["1", "0"]),
            items,
            reply: match items {
                0 | 1 => Reply::Integer,
                len => Reply::Array(len),
            },
        }
    }
}
