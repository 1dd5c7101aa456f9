//! A safe wrapper of the module API of Redis and Valkey, over `redis_module::raw`. It serves any
//! module: names, settings and texts are parameters.
//!
//! ```text
//!   entry       loads the module                         allocator    the heap, and who may use it
//!   command     registers commands                       catch_panic  where panics end
//!   arguments   the arguments of a running command       log          the server's log
//!   context     a running command, event or timer        settings     CONFIG
//!   reply       replies                                  info         INFO
//!   key         keys, opened and closed                  change       keys that commands write
//!   call        the server's functions
//!   data_type   a type of value: save, load, copy, …     failpoints   faults on demand, for tests
//!   text        text on the stack                        clock        the time of day
//!   texts       the server's own errors
//!   timer       calls at a later time                    events       what happens to keys
//!   queue       keys to visit at a later time            location     where a key is
//!   lapse       signals changes that time makes
//!   replay      commands that have run before            thread       which thread runs
//!   cluster     a node and its slots                     saving       saves on other threads
//!   blocking    commands that wait                     dump         what RESTORE takes
//!   packed      commands with packed items               ration       memory beyond `maxmemory`
//!   owner       whose a command is
//! ```
//!
//! Every call into the server is `unsafe`, and each such block says why it is sound. A module on
//! this crate needs no unsafe code of its own.

#![allow(
    unsafe_code,
    reason = "every call into the server is unsafe; what leaves this crate is safe"
)]
#![deny(missing_docs)]

pub mod allocator;
pub mod arguments;
pub mod blocking;
mod call;
pub mod catch_panic;
pub mod change;
pub mod clock;
pub mod cluster;
pub mod command;
pub mod context;
pub mod data_type;
mod dump;
pub mod entry;
pub mod events;
mod failpoint_settings;
mod failpoints;
pub mod info;
pub mod key;
pub mod lapse;
pub mod location;
pub mod log;
mod owner;
pub mod packed;
pub mod queue;
pub mod ration;
mod refused;
pub mod replay;
pub mod reply;
mod saving;
pub mod settings;
pub mod text;
pub mod texts;
pub mod thread;
pub mod timer;
mod values;

#[doc(hidden)]
pub use redis_module::raw;
