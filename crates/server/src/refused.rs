//! Why a module was not loaded.

use super::owner::Owner;

/// Why the module could not be loaded.
#[derive(Debug, PartialEq, Eq)]
pub enum Refused {
    /// The server already has something of this name.
    Taken(String),
    /// The server already has a command of this name, which belongs to this owner.
    Command(String, Owner),
    /// Anything else, in words.
    Bad(String),
}
