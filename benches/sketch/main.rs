//! The sketches in a server: time in the command beside another module's, and how far estimates are
//! from exact ones.
//!
//! | part | measures | tables in docs/performance |
//! |---|---|---|
//! | `cms` | CMS.INCRBY and QUERY, on a sketch in the cache and one of 56 MB | `sketch-cms-PEER` |
//! | `packed` | CMS.PACKINCR next to CMS.INCRBY | `sketch-packed-PEER` |
//! | `cms-error` | errors of count-min sketches on Zipf-distributed items | `sketch-cms-error` |
//! | `topk` | TOPK.ADD and TOPK.QUERY, of skewed items and of uniform ones | `sketch-topk-PEER` |
//! | `topk-error` | recall and errors of lists on Zipf-distributed items | `sketch-topk-error` |
//! | `tdigest` | TDIGEST.ADD and TDIGEST.QUANTILE | `sketch-tdigest-PEER` |
//! | `tdigest-error` | errors of quantiles, next to a crate's | `sketch-tdigest-error` |
//!
//! Each round sends the same commands to both servers, one after the other; every other round the
//! peer comes first. The time is the server's own count of microseconds in the command. The tables
//! have medians over the rounds, and medians of per-round ratios.
//!
//! `make bench PARTS=sketch` runs it, `PARTS="sketch/cms sketch/topk"` these parts. Environment
//! variables:
//!
//! | variable | meaning |
//! |---|---|
//! | `BENCH_ROUNDS` | rounds |
//! | `PEER`, `PEER_SERVER` | the other module, and its server if it is not the same |

mod cms;
mod draws;
mod duel;
mod tdigest;
mod topk;

use splitbloom_rig::{run_parts, Outcome, Part};

fn main() -> Outcome<()> {
    let parts: [Part; 7] = [
        ("cms", |settings| duel::run(settings, "sketch-cms", &cms::cases())),
        ("packed", |settings| duel::run(settings, "sketch-packed", &cms::packed())),
        ("cms-error", cms::errors),
        ("topk", |settings| duel::run(settings, "sketch-topk", &topk::cases())),
        ("topk-error", topk::errors),
        ("tdigest", |settings| duel::run(settings, "sketch-tdigest", &tdigest::cases())),
        ("tdigest-error", tdigest::errors),
    ];
    run_parts(&parts, parts.len())
}
