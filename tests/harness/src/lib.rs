//! What every test is built on: a real server of its own, a client that shows replies exactly as
//! they came over the wire, and the checks that each test ends with.
//!
//! # The map
//! ```text
//!   server      a server for one test                      process   its process and its folder
//!   peer        one with RedisBloom                        primary   one that a test plays
//!   connection  a client                                   reply     its replies, and a notation
//!   dialect     what a server supports                     port      ports reserved for a server
//!   link        a network link that can be cut             limits    limits on memory and files
//!   writers     threads that count acknowledged items      paths     of what is under test
//!   wait        waiting, with a timeout                    random    seeded numbers
//!
//!   items       items by number                            family    the commands of BF and CF
//!   specimens   one filter of every kind                   layers    a filter of many layers
//!   samples     filters of RedisBloom and valkey-bloom     kinds     all chunks, also damaged
//!   crc64       the footer of a dump                       append_only_file
//!   follower    a copy of a filter in this process         trial     clusters whose slots move
//!   errors      tables of errors                       effects   tables of what commands do
//! ```
//!
//! # Environment variables
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

mod append_only_file;
mod connection;
mod crc64;
mod dialect;
mod effects;
mod errors;
mod family;
pub mod follower;
mod items;
pub mod kinds;
mod layers;
mod limits;
mod link;
mod paths;
mod peer;
mod port;
mod primary;
mod process;
mod random;
mod reply;
pub mod samples;
mod server;
mod specimens;
pub mod trial;
mod wait;
mod writers;

pub use append_only_file::{
    commands_in_append_only_file, server_with_log, stopped_server_with_log,
};
pub use connection::{encoded, words, Connection};
pub use crc64::with_fresh_footer;
pub use dialect::Dialect;
pub use effects::{check_effects, events_of};
pub use errors::{check_errors, Traces};
pub use family::Family;
pub use items::{absent_item, add_items, item, missing_items, packed};
pub use layers::layers;
pub use limits::{address_space, limit, resident, Resource};
pub use link::Link;
pub use paths::{
    in_repository, module_path, python, run_python, server_path, sketch_module_path, tool_path,
};
pub use peer::peer;
pub use port::Port;
pub use primary::Primary;
pub use process::{compile, write_script, Folder, Process};
pub use random::{splitmix64, trials, Random};
pub use reply::Reply;
pub use server::{Options, Server, APPEND_ONLY, OTHER_SETTINGS};
pub use specimens::{delete_items, load_chunks, scan_dump, Fingerprint, Specimen, Specimens};
pub use wait::{eventually, now, patient, SetAtEnd};
pub use writers::{Pace, Writers};
