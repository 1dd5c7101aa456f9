//! Every error that a client of a sketch can get, in a table: RedisBloom's, in its order, where it
//! has one. No error changes anything.

use splitbloom_harness::{check_errors, Options};

const SETUP: [&str; 13] = [
    "SET text a",
    "CMS.INITBYDIM k 5 2",
    "CMS.INITBYDIM other 6 2",
    "CMS.INITBYDIM high 5 2",
    "CMS.INCRBY high a 4000000000",
    "CMS.INITBYDIM bytes 5 2 CELL_SIZE 1",
    "CMS.INCRBY bytes a 200 b 3",
    "CMS.INITBYDIM recent 5 2 WINDOW 9",
    "TOPK.RESERVE top 2 2000 3 0.9",
    "TOPK.RESERVE today 2 WINDOW 60",
    "TDIGEST.CREATE small COMPRESSION 10",
    "TDIGEST.CREATE large",
    "TDIGEST.ADD large 4 1 3 1.5 -7 1e9",
];

/// In the notation of [`check_errors`].
const ERRORS: &str = "
ERR wrong number of arguments for 'NAME' command
    CMS.INITBYDIM n <5|5 2 3|9 2 CELL_SIZE|9 2 CELL_SIZE 1 WINDOW|5 2 WINDOW>
    CMS.INCRBY k a<| 1 b>
    CMS.INCRBYAT recent 1789000000000 a
    CMS.QUERY k
    CMS.INFO k n
    CMS.PACKINCR k <FIXED 2|AT 5>
    TOPK.RESERVE n 2 8
    TOPK.INCRBY top a<| 1 b>
WRONGTYPE Operation against a key holding the wrong kind of value
    CMS.<QUERY text a|INCRBY text a 1|INFO text|MERGE text 1 n|PACKINCR text LINES a>
    CMS.MERGE k 2 text k WEIGHTS 1 x
    TOPK.<ADD text a|COUNT text a|INFO text>
    TDIGEST.<CREATE text|ADD text 1|MERGE text 1 large>
ERR bad time
    CMS.PACKINCR k AT x LINES a
    CMS.INCRBYAT recent x a 1
    TOPK.ADDAT top x a
ERR the time is before 1973: it must be in milliseconds since 1970
    CMS.INCRBYAT recent 1789000000 a 1
    TOPK.ADDAT today 1700000000 a
ERR the time is more than one window ahead of the server's clock
    CMS.INCRBYAT recent 9007199254740991 a 1
    TOPK.INCRBYAT today 9000000000000 a 1
ERR window must be in the range [1, 315360000]
    <CMS.INITBYDIM n 5 2|TOPK.RESERVE n 2> WINDOW 0
ERR bad window
    CMS.INITBYDIM n 5 2 WINDOW x
ERR slices must be in the range [2, 14]
    <CMS.INITBYPROB n 0.1 0.1|TOPK.RESERVE n 2> WINDOW 9 SLICES 1

CMS: key already exists
    CMS.INITBYDIM <k 5 2|text x 2>
    CMS.INITBYPROB k 0.1 0.1
CMS: invalid width
    CMS.INITBYDIM n <0 x|-1 2|05 2>
CMS: invalid depth
    CMS.INITBYDIM n 5 <0|x>
CMS: invalid depth: it must be in the range [1, 1024]
    CMS.INITBYDIM n 5 1025
CMS: invalid init arguments: width times depth times the cell size must be in the range \
    [1, 536805376]
    CMS.INITBYDIM n <67100673 2|9223372036854775807 2|67100673 1 CELL_SIZE 8>
CMS: invalid init arguments: width times depth times the cell size times one more than the slices \
    must be in the range [1, 536674304]
    CMS.INITBYDIM n 134201344 1 WINDOW 60 SLICES 14
CMS: invalid overestimation value
    CMS.INITBYPROB n <0 0.1|1 0.1|nan x>
CMS: invalid prob value
    CMS.INITBYPROB n 0.1 <1|x>
CMS: CELL_SIZE must be 1, 2, 4 or 8
    <CMS.INITBYDIM n 9 2|CMS.INITBYPROB n 0.1 0.1> CELL_SIZE <3|0|-1|x>
CMS: unknown argument
    CMS.INITBYDIM n 9 2 <SIZE_OF_CELL 1|CELL_SIZE 1 CELL_SIZE 1>
CMS: key does not exist
    CMS.<INCRBY n a x|QUERY n a|INFO n|MERGE n x text|PACKINCR n LINES a|MERGE k 2 n other>
CMS: Cannot parse number
    CMS.INCRBY k a 1 b <x|1.5|9223372036854775808|-9223372036854775809>
CMS: invalid increment
    CMS.INCRBY k a 1 b -9223372036854775808
CMS: the sketch has no window
    CMS.INCRBYAT k 1789000000000 a 1
    CMS.PACKINCR k AT 1789000000000 LINES a
ERR syntax error
    CMS.PACKINCR k <LINE a|LINES a BITS>
ERR bad width
    CMS.PACKINCR k FIXED x a
ERR bad packing
    CMS.PACKINCR k <FIXED 0 a|FIXED 2 abc|PREFIXED abc>
CMS: invalid numkeys
    CMS.MERGE k x k
CMS: Number of keys must be positive
    CMS.MERGE k <0|-1> k
CMS: wrong number of keys
    CMS.MERGE k <2 k|9223372036854775807 k|1 k k>
CMS: wrong number of keys/weights
    CMS.MERGE k <1 k WEIGHTS|2 k k WEIGHTS 1>
CMS: invalid weight value
    CMS.MERGE k 1 k WEIGHTS x
CMS: width/depth is not equal
    CMS.MERGE <k 2 other n|other 1 bytes>
CMS: cell size is not equal
    CMS.MERGE k 1 bytes
CMS: MERGE overflow
    CMS.MERGE high 1 high WEIGHTS <2|-1>
    CMS.MERGE bytes <2 bytes bytes|1 bytes WEIGHTS -1>
CMS: sketches with a window cannot be merged
    CMS.MERGE <recent 1 k|k 1 recent>

TopK: key already exists
    TOPK.RESERVE <text|top> 2
TopK: invalid k
    TOPK.RESERVE n <x|0>
TopK: invalid k: it must be in the range [1, 1048576]
    TOPK.RESERVE n 1048577
TopK: invalid width
    TOPK.RESERVE n 2 0 7 0.9
TopK: invalid width: width times depth must be in the range [1, 33554432]
    TOPK.RESERVE n 2 4294967295 256 0.9
TopK: invalid depth
    TOPK.RESERVE n 2 8 x 0.9
TopK: invalid depth: it must be in the range [1, 256]
    TOPK.RESERVE n 2 8 257 0.9
TopK: invalid decay value. must be '<= 1' & '> 0'
    TOPK.RESERVE n 2 8 7 <0|nan>
TopK: invalid window: width times depth times one more than the slices must be at most 33554432
    TOPK.RESERVE n 1 16777216 1 0.9 WINDOW 60 SLICES 2
TopK: invalid window: k times two more than depth times the square of one more than the slices \
    must be at most 4194304
    TOPK.RESERVE n <1048576 WINDOW 60 SLICES 2|5754 WINDOW 60>
TopK: key does not exist
    TOPK.<ADD n a|INCRBY n a 1|QUERY n a|LIST n>
WITHCOUNT keyword expected
    TOPK.LIST top x
TopK: the sketch has no window
    TOPK.ADDAT top 1700000000000 a

ERR T-Digest: key already exists
    TDIGEST.CREATE large
ERR T-Digest: wrong keyword
    TDIGEST.CREATE n SIZE 5
    TDIGEST.MERGE large 1 small x OVERRIDE
ERR T-Digest: compression parameter needs to be a positive integer
    TDIGEST.CREATE n COMPRESSION 0
ERR T-Digest: error parsing compression parameter
    TDIGEST.CREATE n COMPRESSION x
ERR T-Digest: key does not exist
    TDIGEST.<ADD n 1|MERGE large 1 n|RESET n|INFO n>
ERR T-Digest: error parsing val parameter
    TDIGEST.ADD large 1 <x|nan>
ERR T-Digest: val parameter needs to be a finite number
    TDIGEST.ADD large 1 inf
ERR T-Digest: quantile should be in [0,1]
    TDIGEST.QUANTILE large 1.1
ERR T-Digest: error parsing quantile
    TDIGEST.QUANTILE large x
ERR T-Digest: error parsing cdf
    TDIGEST.CDF large x
ERR T-Digest: error parsing value
    TDIGEST.RANK large x
ERR T-Digest: rank needs to be non negative
    TDIGEST.BYRANK large -1
ERR T-Digest: error parsing rank
    TDIGEST.BYRANK large x
ERR T-Digest: low_cut_percentile and high_cut_percentile should be in [0,1]
    TDIGEST.TRIMMED_MEAN large 2 0.5
ERR T-Digest: numkeys needs to be a positive integer
    TDIGEST.MERGE large 0 small
ERR T-Digest: error parsing numkeys
    TDIGEST.MERGE large x small
";

#[test]
fn every_error_has_its_text_and_changes_nothing() {
    let options = Options { with_sketches: true, ..Options::default() };
    check_errors(options, &SETUP, ERRORS);
}
