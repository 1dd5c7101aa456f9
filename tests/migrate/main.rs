//! A trial of docs/migrate.md with the module that filters come from, on real servers:
//! `make migrate PEER=redisbloom.so`. Without `PEER` it does nothing.
//!
//! | variable        | meaning                                        | default   |
//! |-----------------|------------------------------------------------|-----------|
//! | `FILTERS`       | Bloom filters; a fifth as many cuckoo filters  | 60        |
//! | `SKETCHES`      | count-min sketches, and as many of both others | 60        |
//! | `MOST_CAPACITY` | of a Bloom filter; the first one has it        | 1 000 000 |
//! | `MOST_ITEMS`    | items of a filter, but for the first one       | 200 000   |
//! | `STRANGERS`     | items looked up that were never added          | 20 000    |
//! | `COMMANDS`      | commands that a replica follows                | 100 000   |
//! | `CUTS`          | how often its link is cut meanwhile            | 10        |
//! | `SEED`          | of all that is random                          | 1         |

mod asking;
mod follow;
mod moves;
mod settings;
mod shapes;
mod sketches;
mod ways;
mod words;

use std::env;

/// A number from the environment.
fn number(variable: &str, usual: u64) -> u64 {
    let text = env::var(variable).unwrap_or_default();
    match text.as_str() {
        "" => usual,
        text => text.parse().unwrap_or_else(|_| panic!("{variable} is not a number: {text}")),
    }
}
