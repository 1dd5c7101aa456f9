//! What every test stands on: a real server of its own, a client that shows replies exactly as they
//! came over the wire, and the questions that each test ends with.
//!
//! The surroundings can be chosen by environment variables:
//!
//! | variable            | meaning                                  | default                           |
//! |---------------------|------------------------------------------|-----------------------------------|
//! | `SPLITBLOOM_SERVER` | the server's executable                  | `redis-server` on the path        |
//! | `SPLITBLOOM_MODULE` | the module, an absolute path             | `target/release/libsplitbloom.so` |
//! | `SPLITBLOOM_PATIENCE_FACTOR` | how many times longer a test waits | 1                           |
//! | `SPLITBLOOM_PYTHON` | a Python that can import redis-py        | `python3` on the path             |

#![allow(dead_code, unused_imports)] // each test program uses its part

mod append_only_file;
mod connection;
mod crc64;
mod dialect;
mod items;
mod limits;
mod link;
mod process;
mod random;
mod reply;
mod server;
mod specimens;
mod wait;
mod writers;

pub use append_only_file::commands_in_append_only_file;
pub use connection::{words, Connection};
pub use crc64::with_fresh_footer;
pub use dialect::Dialect;
pub use items::{add_items, count_found, item, missing_items, stranger};
pub use limits::{address_space, limit, resident, Limited};
pub use link::Link;
pub use random::Random;
pub use reply::Reply;
pub use server::{module_path, Options, Server};
pub use specimens::{load_pieces, scan_dump, Portrait, Specimens};
pub use wait::{eventually, patient};
pub use writers::{Pace, Writers};
