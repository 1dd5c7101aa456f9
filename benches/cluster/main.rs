//! One filter over many nodes: its speed beside one node, the failures it survives, and the latency
//! of other clients while a slot moves.
//!
//! `make bench PARTS=cluster` runs it, on clusters of processes on loopback; `PARTS=cluster/trial`
//! and `cluster/moves` its halves.
//!
//! | variable | default | meaning |
//! |---|---|---|
//! | `ITEMS` | 10000000 | items added in each row of the first table |

mod moves;
mod trials;

use splitbloom_rig::{run_parts, Outcome, Part};

fn main() -> Outcome<()> {
    let parts: [Part; 2] = [("trial", trials::run), ("moves", moves::run)];
    run_parts(&parts, parts.len())
}
