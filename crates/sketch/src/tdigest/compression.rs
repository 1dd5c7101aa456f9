//! The compression of a digest, δ: the larger, the more nodes and the more exact.

/// The compression, from 1 to [`Compression::MAX`], or more if another server has saved it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Compression(u32);

impl Compression {
    /// RedisBloom's, if none is requested.
    pub const DEFAULT: Self = Self(100);
    /// The largest of a new digest. A pass over 600 009 nodes takes some 10 ms, in which a server
    /// does nothing else; the paper's measurements end at 1 000.
    pub const MAX: Self = Self(100_000);

    /// The largest of all: RedisBloom counts the capacity in 31 bits.
    pub const MAX_SAVED: Self = Self((i32::MAX as u32 - 10) / 6);

    /// The compression `number` of a new digest; `None` if it is out of range.
    pub fn new(number: u64) -> Option<Self> {
        Self::saved(number).filter(|compression| *compression <= Self::MAX)
    }

    /// The compression `number` of a digest that another server has, which may be beyond the limit
    /// of a new one: memory is allocated only for nodes that are there.
    pub fn saved(number: u64) -> Option<Self> {
        let number = u32::try_from(number).ok()?;
        (1..=Self::MAX_SAVED.0).contains(&number).then_some(Self(number))
    }

    /// The number.
    pub fn get(self) -> u32 {
        self.0
    }

    /// The most nodes that a saved digest has: RedisBloom's `6 δ + 10`.
    pub fn capacity(self) -> usize {
        6 * self.0 as usize + 10
    }

    /// The number of nodes at which a pass precedes the next number, as in RedisBloom.
    pub fn most_nodes(self) -> usize {
        self.capacity() - 1
    }

    /// The most nodes after a pass. Unions of unions, of a weight of 10^14, have up to 67 for δ =
    /// 100, 221 for 500, 25 for 10. Below 10, half the capacity is fewer than they would have:
    /// those passes join more.
    pub fn most_joined(self) -> usize {
        (self.0 as usize + 20).min(self.capacity() / 2)
    }

    /// The most nodes of a union of two digests that have at most `nodes` nodes together. It never
    /// falls when `nodes` rises: a pass leaves fewer nodes, but there may be no pass.
    pub fn most_of_union(self, nodes: usize) -> usize {
        nodes.min(self.most_nodes())
    }
}
