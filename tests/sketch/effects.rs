//! What a command replicates and signals, and whether it breaks a WATCH. What is counted in a
//! window is replicated with its time, and what does not fit is not replicated.

use splitbloom_harness::{check_effects, now, Server, APPEND_ONLY};

/// In the notation of [`check_effects`]; `NOW` is the time of the test.
const EFFECTS: &str = "
CMS.INITBYPROB k 0.001 0.01 => CMS.INITBYDIM k 2000 7
CMS.INITBYPROB w 0.001 0.01 WINDOW 60 => CMS.INITBYDIM w 2000 7 WINDOW 60 SLICES 8
CMS.INITBYDIM k 1 1 =>
CMS.INCRBY k a 1 => =
CMS.INCRBY k b -1 =>
CMS.QUERY k a =>
CMS.INFO k =>
CMS.INCRBY w a 1 b 2 => CMS.INCRBYAT w … a 1 b 2
CMS.MERGE k 1 k => =
CMS.MERGE missing 1 k =>

# Each of a few runs of items that were counted is a command of its own.
CMS.INITBYPROB k 0.001 0.01 CELL_SIZE 1 => CMS.INITBYDIM k 2000 7 CELL_SIZE 1
CMS.INCRBY k a 1 b 256 c 3 d 4 a -2 c -1 \
    => CMS.INCRBY k a 1; CMS.INCRBY k c 3 d 4; CMS.INCRBY k c -1
CMS.INCRBY k a 255 =>
CMS.INCRBY k u 1 b 256 v 1 b 256 w 1 b 256 x 2 b 256 y 3 b 256 \
    => CMS.INCRBY k u 1 v 1 w 1 x 2 y 3
CMS.PACKINCR k BY 253 LINES a␊c␊d␊x => CMS.PACKINCR k BY 253 LINES a␊c␊x␊
CMS.PACKINCR k FIXED 1 abab => CMS.PACKINCR k FIXED 1 abb
CMS.PACKINCR k BY -255 FIXED 1 d =>
# In a window the time advances all the same.
CMS.INITBYDIM w 2000 7 CELL_SIZE 2 WINDOW 3600 \
    => CMS.INITBYDIM w 2000 7 CELL_SIZE 2 WINDOW 3600 SLICES 8
CMS.INCRBYAT w NOW a 65536 b 1 a -1 => CMS.INCRBYAT w … b 1
CMS.INCRBYAT w NOW a 65536 => CMS.INCRBYAT w …
CMS.PACKINCR w AT NOW BY 65535 FIXED 1 aba => CMS.PACKINCR w AT … BY 65535 FIXED 1 a
CMS.PACKINCR w AT NOW BY 65535 FIXED 1 ab => CMS.INCRBYAT w …

TOPK.RESERVE t 2 8 7 0.9 => =
TOPK.RESERVE w 2 8 7 0.9 WINDOW 60 => =
TOPK.RESERVE t 2 =>
TOPK.ADD t a b => =
TOPK.INCRBY t a 3 => =
TOPK.ADD w a => TOPK.ADDAT w … a
TOPK.INCRBY w a 3 => TOPK.INCRBYAT w … a 3
TOPK.QUERY t a =>
TOPK.LIST w =>

TDIGEST.CREATE d => =
TDIGEST.ADD d 1 2 => =
TDIGEST.ADD d 1 x =>
TDIGEST.MERGE m 1 d => =
TDIGEST.QUANTILE d 0.5 =>
TDIGEST.RESET d => =
";

#[test]
fn a_command_replicates_signals_and_breaks_a_watch_as_it_took_effect() {
    let settings = [&APPEND_ONLY[..], &["notify-keyspace-events KEA"]].concat();
    let server = Server::with_sketches(&settings);
    let done = check_effects(&server, &EFFECTS.replace("NOW", &now().to_string()));
    assert!(done > 30, "{done}");
}
