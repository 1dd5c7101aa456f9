//! The types of the server under which filters are kept. A server writes the name of a type into
//! every file and every dump, so the names are part of the format.

/// A type of the server whose values are filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredType {
    /// Bloom filters: RedisBloom's name, because this module replaces RedisBloom.
    Bloom,
    /// Counting filters: RedisBloom's name for cuckoo filters, for the same reason.
    Counting,
    /// Bloom filters from valkey-bloom. A value that comes under this name keeps it, because a
    /// module cannot give it another.
    ValkeyBloom,
}

impl StoredType {
    /// Whoever looks for filters must look for all of them.
    pub const ALL: [Self; 3] = [Self::Bloom, Self::Counting, Self::ValkeyBloom];

    /// The name that TYPE returns.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bloom => "MBbloom--",
            Self::Counting => "MBbloomCF",
            Self::ValkeyBloom => "bloomfltr",
        }
    }

    /// The type of that name; `None` if its values are no filters.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}
