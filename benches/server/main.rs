//! The server: throughput and time in the command, beside built-in commands and, optionally,
//! another module.
//!
//! | part | measures | tables in docs/performance |
//! |---|---|---|
//! | `reserved` | filters of the right size, beside built-in commands | `server-PEER` |
//! | `growth` | filters grown from the default, beside reserved ones | `growth-PEER` |
//! | | bits per item and false positives of these filters | `growth-sizes-PEER` |
//! | `memory` | bits per item at every moment of growth | `memory-PEER` |
//! | `windows` | filters that forget, beside others and beside eight keys | `windows-PEER` |
//! | `sweep` | the wait of a bystander while items are forgotten | `windows-sweep-PEER` |
//! | `bulk` | packed commands, beside the same batches unpacked | `bulk-PEER` |
//! | `tool` | `splitbloom load` and `check`, beside the commands that they send | `tool` |
//! | `steps` | the slowest single BF.ADD of a growth | `steps-PEER` |
//!
//! Each round measures all contenders in turn, so that a disturbance of the machine affects them
//! all; every other round in reverse order, as the one after the baseline is at a disadvantage
//! (with the same code on both sides, BF.MADD took 55 ns as the second and 49 as the third). The
//! tables have medians over the rounds, and medians of per-round ratios.
//!
//! `make bench PARTS=server` runs it, `PARTS="server/growth server/steps"` these parts. Environment
//! variables:
//!
//! | variable | meaning |
//! |---|---|
//! | `BENCH_SIZES` | items, separated by commas, for all these parts; `memory` takes the largest |
//! | `BENCH_ROUNDS` | rounds |
//! | `BENCH_SAVE` | `yes`: saves the tables of other sizes and rounds than the default ones, too |
//! | `PEER`, `PEER_SERVER` | the other module, and its server if it is not the same |

mod bulk;
mod chance;
mod contender;
mod filter;
mod growth;
mod load;
mod memory;
mod reserved;
mod series;
mod settings;
mod steps;
mod sweep;
mod tool;
mod windows;
mod workload;

use settings::Settings;
use splitbloom_rig::Outcome;

type Part = fn(&Settings) -> Outcome<()>;

fn main() -> Outcome<()> {
    let settings = Settings::from_environment()?;
    let parts: [(&str, Part); 8] = [
        ("reserved", reserved::run),
        ("growth", growth::run),
        ("memory", memory::run),
        ("steps", steps::run),
        ("windows", windows::run),
        ("sweep", sweep::run),
        ("bulk", bulk::run),
        ("tool", tool::run),
    ];
    for (name, run) in parts {
        if settings.runs(name) {
            run(&settings)?;
        }
    }
    Ok(())
}
