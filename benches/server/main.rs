//! The server: throughput and time in the command, beside built-in commands and, optionally,
//! another module.
//!
//! | part | measures | tables in docs/performance |
//! |---|---|---|
//! | `reserved` | filters of the right size, beside built-in commands | `server-PEER` |
//! | `growth` | filters grown from the default, beside reserved ones | `growth-PEER` |
//! | | bits per item and false positives of these filters | `growth-sizes-PEER` |
//! | `memory` | bits per item at every moment of growth | `memory-PEER` |
//! | `steps` | the slowest single BF.ADD of a growth | `steps-PEER` |
//! | `windows` | filters that forget, beside others and beside eight keys | `windows-PEER` |
//! | `sweep` | the wait of a bystander while items are forgotten | `windows-sweep-PEER` |
//! | `bulk` | packed commands, beside the same batches unpacked | `bulk-PEER` |
//! | `tool` | `splitbloom load` and `check`, beside the commands that they send | `tool` |
//!
//! The tables have medians over the rounds, and medians of per-round ratios: see
//! `splitbloom_rig::statistics`.
//!
//! `make bench PARTS=server` runs it, `PARTS="server/growth server/steps"` these parts. Environment
//! variables are those of `splitbloom_rig::settings` (of `BENCH_SIZES`, `memory` takes the
//! largest), `PEER` and `PEER_SERVER`: the other module, and its server if it is not the same.

mod command;
mod filter;
mod matrix;
mod memory;
mod steps;
mod sweep;
mod tool;
mod windows;

use splitbloom_rig::{run_parts, Outcome, Part};

fn main() -> Outcome<()> {
    let parts: [Part; 8] = [
        ("reserved", matrix::reserved),
        ("growth", matrix::growth),
        ("memory", memory::run),
        ("steps", steps::run),
        ("windows", windows::run),
        ("sweep", sweep::run),
        ("bulk", matrix::bulk),
        ("tool", tool::run),
    ];
    run_parts(&parts, parts.len())
}
