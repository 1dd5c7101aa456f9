//! Why a module was not loaded.

/// Why the module could not be loaded.
#[derive(Debug, PartialEq, Eq)]
pub enum Refused {
    /// The server already has something of this name.
    Taken(String),
    /// Anything else, in words.
    Bad(String),
}
