//! Texts of the server's own errors, for commands that must send them in its place.

/// The key holds another type.
pub const WRONG_TYPE: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";
/// The server's refusal of a command that may allocate, before it begins.
pub const OVER_MAXMEMORY: &str = "OOM command not allowed when used memory > 'maxmemory'.";
/// The keys of a command are in several slots of a cluster.
pub const SEVERAL_SLOTS: &str = "CROSSSLOT Keys in request don't hash to the same slot";
/// A key is missing here but may be on another node, because its slot is moving.
pub const SLOT_MOVES: &str = "TRYAGAIN Multiple keys request during rehashing of slot";
/// The server saves the value on another thread: nothing has changed, and the command can be
/// repeated. (The server has no such error; after this code, clients try again.)
pub const KEY_IN_USE: &str = "TRYAGAIN the server is saving the key";
