//! The server made safe. This layer knows no filter: what it offers would serve any module.
//!
//! ```text
//!   context    a running command: its arguments, replication, notifications      allocator  the heap
//!   reply      replies                                                            guard      where panics end
//!   key        keys, opened and closed                                            log        the server's log
//!   command    registering commands                                               settings   CONFIG
//!   data_type  registering a type of value: save, load, copy, defragment …        info       INFO
//!   injection  panics on demand, in builds for tests only
//! ```
//!
//! All that calls into the server is `unsafe`; every such block says why it may. What leaves this layer is safe to use.

pub mod allocator;
mod call;
pub mod command;
pub mod context;
pub mod data_type;
pub mod guard;
pub mod info;
pub mod injection;
pub mod key;
pub mod log;
pub mod reply;
pub mod settings;
