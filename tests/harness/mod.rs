//! What every test is built on: a real server of its own, a client that shows replies exactly as
//! they came over the wire, and the checks that each test ends with.
//!
//! Environment variables:
//!
//! | variable | meaning | default |
//! |---|---|---|
//! | `SPLITBLOOM_SERVER` | the server's executable | `redis-server` on PATH |
//! | `SPLITBLOOM_MODULE` | the absolute path of the module | `target/release/libsplitbloom.so` |
//! | `SPLITBLOOM_TOOL` | the tool, for tests/cli | `splitbloom` next to the module |
//! | `SPLITBLOOM_PATIENCE_FACTOR` | a factor for all timeouts | 1 |
//! | `SPLITBLOOM_TRIALS` | what tests against models send | some hundred thousand items |
//! | `PEER` | RedisBloom, to come over from | none: those tests do nothing |
//! | `PEER_SERVER` | the server that it runs on | the one under test |
//! | `SPLITBLOOM_PYTHON` | a Python with redis-py | `python3` on PATH |

#![allow(dead_code, unused_imports)] // no test program uses all of it

mod append_only_file;
mod connection;
mod crc64;
mod dialect;
mod family;
mod items;
mod layers;
mod limits;
mod link;
mod peer;
mod port;
mod primary;
mod process;
mod random;
mod reply;
mod server;
mod specimens;
mod wait;
mod writers;

pub use append_only_file::{commands_in_append_only_file, stopped_server_with_log};
pub use connection::{words, Connection};
pub use crc64::with_fresh_footer;
pub use dialect::Dialect;
pub use family::Family;
pub use items::{absent_item, add_items, count_found, item, missing_items, packed};
pub use layers::layers;
pub use limits::{address_space, limit, resident, Resource};
pub use link::Link;
pub use peer::peer;
pub use port::Port;
pub use primary::Primary;
pub use process::server_path;
pub use random::{trials, Random};
pub use reply::Reply;
pub use server::{module_path, sketch_module_path, Options, Server};
pub use specimens::{delete_items, load_chunks, scan_dump, Fingerprint, Specimen, Specimens};
pub use wait::{eventually, patient};
pub use writers::{Pace, Writers};
