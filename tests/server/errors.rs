//! Every error that a client can get, in tables. No error changes anything.

use splitbloom_harness::{
    add_items, check_errors, load_chunks, now, scan_dump, Dialect, Options, Server, Traces,
};

pub const WRONG_TYPE: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";

/// Filters of both kinds, full ones that cannot grow, some that could be merged or shrunk with a
/// larger limit, some that differ from `a`, and a key of another type.
const SETUP: [&str; 20] = [
    "BF.RESERVE filter 0.000001 100",
    "BF.ADD filter a",
    "BF.INSERT full ERROR 0.000001 CAPACITY 2 NONSCALING ITEMS a b",
    "SET text a",
    "CF.RESERVE counting 100",
    "CF.ADD counting a",
    "CF.RESERVE few 2 EXPANSION 0 ERROR 0.000001",
    "CF.INSERT few ITEMS a b",
    "BF.RESERVE w 0.01 100 WINDOW 60 SEED 0123456789abcdef",
    "BF.ADD w a",
    "BF.RESERVE a 0.01 1000 SEED 0123456789abcdef",
    "BF.ADD a x",
    "BF.RESERVE large 0.01 200000 SEED 0123456789abcdef",
    "BF.MADD large x y z",
    "BF.RESERVE empty 0.01 200000 SEED 0123456789abcdef",
    "BF.RESERVE rate 0.02 2000 SEED fedcba9876543210",
    "BF.RESERVE capacity 0.01 2000 SEED fedcba9876543210",
    "BF.RESERVE fixed 0.01 1000 NONSCALING SEED fedcba9876543210",
    "BF.RESERVE seed 0.01 1000 SEED fedcba9876543210",
    "CONFIG SET bf.max-pack-bytes 1000 bf.max-merge-bytes 65535",
];

/// In the notation of [`check_errors`]. `k` is missing, and `AHEAD` a time that is more than one
/// window ahead. Of other types and numbers of words there is more in `contract.rs`.
const ERRORS: &str = "
ERR wrong number of arguments for 'NAME' command
    BF.RESERVE<| k| k 0.01| k 0.01 100 WINDOW| k 0.01 100 WINDOW 9 SLICES>
    BF.ADD<| k| k a b>
    BF.MADD<| k>
    BF.INSERT<| k| k ITEMS| k NOCREATE ITEMS| k NOCREATE NONSCALING| k CAPACITY 100>
    BF.INSERT k NOCREATE <CAPACITY|ERROR|EXPANSION>
    BF.INSERT filter NOCREATE ITEMS
    BF.EXISTS<| k| k a b>
    BF.MEXISTS<| k>
    BF.CARD<| k a>
    BF.CLEAR<| filter a>
    BF.DEBUG<| filter a>
    BF.FORGET filter
    BF.INFO<| filter CAPACITY SIZE>
    BF.SCANDUMP<| k| k 0 0 0>
    BF.LOADCHUNK<| k 1| k 1 a b>
    BF.KEYS<| k PARTITIONS| k PARTITIONS 4 ITEMS>
    BF.MERGE a<| 1>
    BF.SHRINK<| large CAPACITY| large CAPACITY 1 2>
    BF.CHANGES<| filter| filter 0 COUNT| filter 0 BLOCK| filter 0 ALSO>
    CF.RESERVE<| k>
    CF.RESERVE k 10 <BUCKETSIZE|MAXITERATIONS|EXPANSION|ERROR|SEED>
    <CF.ADD|CF.ADDNX|CF.EXISTS|CF.COUNT|CF.DEL><| k| k a b>
    <CF.INSERT|CF.INSERTNX> k<| ITEMS| NOCREATE ITEMS| NOCREATE CAPACITY| CAPACITY 10>
    CF.MEXISTS k
    CF.INFO<| counting FULL FULL>
    <CF.CLEAR|CF.DEBUG|CF.COMPACT><| counting a>
    CF.SCANDUMP counting<| 0 a>
    CF.LOADCHUNK k 1<| a b>
    <BF.PACKADD|BF.PACKEXISTS> filter <LINES|FIXED 2>
    <CF.PACKADD|CF.PACKDEL|CF.PACKEXISTS> counting <LINES|FIXED 2>

ERR bad error rate
    BF.RESERVE k <abc|nan|-nan|NaN|0.01x|0,01|0x1g|.|∅|␠0.01|0.01␠|0.01␀> 100
    BF.INSERT k ERROR <abc|nan|> ITEMS a
    CF.RESERVE k 10 ERROR <abc|nan>
    # Arguments are checked before the key; so below.
    BF.INSERT filter ERROR nan ITEMS a
    BF.RESERVE text nan 100
ERR error rate must be in the range (0.000000, 1.000000)
    BF.RESERVE k <0|0.0|-0|-0.01|1|1.0|1.5|100|inf|-inf> 100
    BF.INSERT k ERROR <0|1|inf> ITEMS a
    CF.RESERVE k 10 ERROR <0|1|inf>
ERR bad capacity
    BF.RESERVE k 0.01 <abc|1.5|1e3|+1|01|0x10|100x|nan|inf|NONSCALING|∅|␠1|1␠|1␀>
    BF.RESERVE k 0.01 <9223372036854775808|99999999999999999999>
    <BF.INSERT|CF.INSERT> <k|text> CAPACITY <abc|1.5|> ITEMS a
    BF.INSERT filter CAPACITY abc ITEMS a
    CF.RESERVE k <abc|1.5|01|9223372036854775808|BUCKETSIZE 2>
    CF.INSERT counting CAPACITY abc ITEMS a
    BF.SHRINK large CAPACITY x
ERR capacity must be in the range [1, 1099511627776]
    BF.RESERVE <k|filter> 0.01 <0|-1|1099511627777|9223372036854775807|-9223372036854775808>
    BF.INSERT k CAPACITY <0|1099511627777> ITEMS a
    CF.RESERVE <k|text> <0|-1|1099511627777>
    <CF.INSERT|CF.INSERTNX> k CAPACITY <0|-1> ITEMS a
    BF.SHRINK large CAPACITY 0
ERR no expansion
    BF.RESERVE k 0.01 100<| NONSCALING> EXPANSION
ERR bad expansion
    BF.RESERVE k 0.01 100 EXPANSION <abc|1.5|NONSCALING|9223372036854775808|∅|␠2>
    BF.INSERT <k|filter> EXPANSION <abc|1.5|> ITEMS a
    CF.RESERVE k 10 EXPANSION abc
ERR expansion must be in the range [0, 32768]
    BF.RESERVE k 0.01 100 <-1|32769|EXPANSION -1|EXPANSION 32769>
    BF.INSERT k EXPANSION <-1|32769> ITEMS a
    CF.RESERVE k 10 EXPANSION <-1|32769>
ERR Nonscaling filters cannot expand
    BF.RESERVE k 0.01 100 <NONSCALING 2|2 NONSCALING|EXPANSION 1 NONSCALING>
    BF.RESERVE k 0.01 100<| WINDOW 9> NONSCALING EXPANSION 2
ERR bad bucket size
    CF.RESERVE k 10 BUCKETSIZE <abc|1.5>
ERR bucket size must be in the range [1, 255]
    CF.RESERVE k 10 BUCKETSIZE <0|-1|256|33554432>
ERR bad max iterations
    CF.RESERVE k 10 MAXITERATIONS abc
ERR max iterations must be in the range [1, 65535]
    CF.RESERVE k 10 MAXITERATIONS <0|-1|65536>
ERR bad seed
    BF.RESERVE k 0.01 100 SEED<| 0123| 0123456789abcdeg| 0123456789abcdef0| +123456789abcdef>
    CF.RESERVE k 10 SEED <0123|0123456789abcdeg>
ERR bad window
    BF.RESERVE k 0.01 100 WINDOW <x|1.5>
ERR window must be in the range [1, 315360000]
    BF.RESERVE k 0.01 100 WINDOW <0|315360001>
    BF.INSERT k WINDOW 0 ITEMS a
ERR bad slices
    BF.RESERVE k 0.01 100 WINDOW 9 SLICES x
ERR slices must be in the range [2, 14]
    BF.RESERVE k 0.01 100 WINDOW 9 SLICES <1|15>
    BF.INSERT k WINDOW 9 SLICES 1 ITEMS a
ERR a window is missing
    BF.RESERVE k 0.01 100 <SLICES 8|RENEW>
    BF.INSERT w <SLICES 4|RENEW> ITEMS b
    BF.INSERT <k|filter> AT 5 ITEMS a
    BF.PACKADD <k|filter> AT 5 LINES b
    BF.FORGET filter 5
ERR bad time
    BF.INSERT w AT <x|-1|> ITEMS b
    BF.PACKADD w AT x LINES b
    BF.FORGET w x
ERR the time is more than one window ahead of the server's clock
    BF.INSERT w AT 9007199254740991 ITEMS b
    BF.INSERT <w|k WINDOW 60> AT AHEAD ITEMS b
    BF.PACKADD w AT AHEAD LINES b
    BF.FORGET w AHEAD
ERR the time is before 1973: it must be in milliseconds since 1970
    BF.INSERT <w AT 1789000000|w AT 99999999999|k WINDOW 60 AT 0> ITEMS b
    BF.PACKADD w AT 1789000000 LINES b
    BF.FORGET w 1789000000

# Unknown options, and prefixes of options.
ERR syntax error
    BF.RESERVE k 0.01 100 <NONSENSE|NONSCALINGX|NONSCALIN|N|EXPANSIONX 2|E 2|1.5|∅|␠2|NONSCALING␀>
    BF.RESERVE k 0.01 100 WINDOW 9 AT 5
    BF.INSERT k <NONSENSE|NOCREATEX|NONSCALINGX|CAP 100|CAPACITYX 100|N|2|∅> ITEMS a
    BF.INSERT k <ITEM|ITEMS␠|a> b
    CF.RESERVE k 10 <2|BUCKETSIZ 2|BUCKETSIZEX 2|NONSCALING>
    CF.INSERT k <C 10|NOCREATEX|ERROR 0.1> ITEMS a
    CF.INSERT k <ITEM|a> b
    CF.INSERTNX k EXPANSION 2 ITEMS a
    BF.KEYS k <PARTITION 4|PARTITIONSX 4|4 PARTITIONS|PARTITIONS 4 ITEM a>
    PACK <LINE abc|abc LINES|LINES abc BYTES|FIXED 1 abc BITS abc>
    <BF.PACKEXISTS filter|CF.PACKEXISTS counting> LINES a <BITS|NOCREATE>
    CF.PACKDEL counting LINES a NOCREATE
    BF.PACKADD <filter NOCREATE LINES a|filter LINES a AT 5|w LINES b AT 5>
    CF.PACKADD counting AT 5 LINES a
    BF.SHRINK large SIZE 1
    BF.CHANGES filter 0 x
ERR counting filters have no window
    CF.RESERVE k 10 WINDOW 60
    CF.INSERT k WINDOW 60 ITEMS a
ERR bad packing
    PACK FIXED <0|-1|2|4|4294967296|9223372036854775807> abc
    PACK FIXED <0|1> ∅
    PACK LINES ∅
    PACK PREFIXED <∅|abc|␁␀␀␀|␀␀␀␀a|␁␀␀␀a␂␀␀␀b|␁␀␀␀a␡␡␡␡b>
    <BF.PACKADD text|CF.PACKDEL missing> LINES ∅
    BF.PACKADD missing FIXED 2 abc
ERR bad width
    PACK FIXED <9223372036854775808|abc|1.5|∅> abc
ERR packing would exceed bf.max-pack-bytes
    PACK <LINES|FIXED 2> LONG
ERR bad number of partitions
    BF.KEYS k PARTITIONS <abc|1.5|04|9223372036854775808>
ERR partitions must be a power of two in the range [1, 16384]
    BF.KEYS k PARTITIONS <0|-1|3|32768|9223372036854775807>
ERR the name of a partitioned filter must not contain {
    BF.KEYS <{k}|k{> PARTITIONS 4<| ITEMS a>
ERR the keys would take more than 64 MiB
    # 16 384 keys of that name are 128 MiB.
    BF.KEYS NAME PARTITIONS 16384

ERR item exists
    BF.RESERVE <filter|full> 0.01 100
    BF.RESERVE w 0.01 100 WINDOW 9
    CF.RESERVE counting 10
ERR not found
    <BF.INSERT|CF.INSERT> k NOCREATE<| CAPACITY 100> ITEMS a
    CF.INSERTNX k CAPACITY 10 NOCREATE ITEMS a
    <BF|CF>.<CLEAR k|DEBUG k|INFO k|INFO k FULL|SCANDUMP k 0>
    BF.INFO k ITEMS
    CF.COMPACT k
    <BF|CF>.PACKADD k LINES a <NOCREATE|BITS nocreate>
    BF.INSERT k NOCREATE WINDOW 9 AT 5 ITEMS a
    BF.FORGET k 5
    BF.MERGE <a 1 k|k 1 k|k 2 a k>
    BF.SHRINK k
    BF.CHANGES k 0<| BLOCK 0| ALSO 0>
ERR Not found
    CF.DEL k a
ERR non scaling filter is full
    BF.ADD full c
ERR Filter is full
    <CF.ADD few c|CF.ADD few a|CF.ADDNX few c>
WRONGTYPE Operation against a key holding the wrong kind of value
    BF.INSERT <text|counting> NOCREATE ITEMS a
    <CF.INSERT|CF.INSERTNX> <text|filter> NOCREATE ITEMS a
    <BF.INFO text SIZE|CF.INFO filter FULL|CF.INFO text FULL>
    <BF|CF>.PACKADD text LINES a NOCREATE
    BF.FORGET <counting|text> 5
    BF.MERGE <text 1 a|counting 1 a|a 1 text|a 1 counting>
ERR Invalid information value
    BF.INFO <filter|text|k> <NONSENSE|CAP|CAPACITYX|1|∅|CAPACITY␀>
    CF.INFO <counting|text|k> <SIZE|FULLX|NONSENSE>
ERR Second argument must be numeric
    BF.SCANDUMP <filter|k|text> <abc|1.5|9223372036854775808|∅|␠0>
    CF.SCANDUMP <counting|k> abc
    <BF|CF>.LOADCHUNK <k|text> <abc|1.5|∅> a
ERR no such chunk: the filter was replaced, cleared or shrunk since the first one
    BF.SCANDUMP filter 1000
    CF.SCANDUMP counting 1
ERR received bad data
    BF.LOADCHUNK <k|filter> <1|0|2|-1|9223372036854775807> a
    BF.LOADCHUNK k 1 ∅
    CF.LOADCHUNK <k|counting> 1 a

ERR bad number of keys
    BF.MERGE a <x|0|-1|9223372036854775808> a
ERR number of keys does not match the keys given
    BF.MERGE a <2 a|1 a a|9223372036854775807 a>
ERR filters of this kind cannot be merged
    BF.MERGE <a 1 w|w 1 a|k 2 w w>
ERR filters differ in error rate
    BF.MERGE a 1 rate
ERR filters differ in capacity
    BF.MERGE a 1 capacity
ERR filters differ in expansion
    BF.MERGE a 1 fixed
ERR filters differ in seed
    BF.MERGE <a 1|k 2 a> seed
ERR filters to merge would exceed bf.max-merge-bytes
    BF.MERGE empty 1 large
ERR the filter has more items than that capacity
    BF.SHRINK large CAPACITY 2
ERR filters of this kind cannot be shrunk
    BF.SHRINK w
ERR filter to shrink would exceed bf.max-merge-bytes
    BF.SHRINK large

ERR bad position: it must be 0, or one that BF.CHANGES returned
    BF.CHANGES filter <x|00|-1|$|0-0|000000000000000g-0-0>
    BF.CHANGES filter 0000000000000000<|-|-x-0|-1|-01-0|-1-2|-9223372036854775808-0>
    BF.CHANGES filter 0 ALSO <x|0 BLOCK 1>
    BF.SCANDUMP filter 0 <x|00>
ERR bad count
    BF.CHANGES filter 0 COUNT x
ERR count must be in the range [1, 65536]
    BF.CHANGES filter 0 COUNT <0|65537>
ERR bad block
    BF.CHANGES filter 0 BLOCK x
ERR block must be in the range [0, 315360000000]
    BF.CHANGES filter 0 BLOCK <-1|315360000001>
ERR a filter with a window cannot be followed
    BF.CHANGES w 0
";

/// The five commands of packed items, each on a filter of its kind.
const PACK: &str =
    "<BF.PACKADD filter|BF.PACKEXISTS filter|CF.PACKADD counting|CF.PACKDEL counting\
                    |CF.PACKEXISTS counting>";

#[test]
fn every_error_has_its_text_and_changes_nothing() {
    let errors = ERRORS.replace("PACK ", &format!("{PACK} "));
    let errors = errors.replace(" LONG", &format!(" {}", "x".repeat(1001)));
    let errors = errors.replace("AHEAD", &(now() + 70_000).to_string());
    let errors = errors.replace("KEYS NAME", &format!("KEYS {}", "n".repeat(8192)));
    check_errors(Options::default(), &SETUP, &errors);
}

#[test]
fn a_filter_that_is_being_loaded_is_not_merged_shrunk_or_cleared() {
    let (_server, mut db) = Server::start().with_client();
    for key in ["a", "b"] {
        db.run(&format!("BF.RESERVE {key} 0.01 2000000 SEED 0123456789abcdef"));
    }
    add_items(&mut db, "b", 0..100_000);
    let chunks = scan_dump(&mut db, "b");
    assert!(chunks.len() > 1);
    load_chunks(&mut db, "part", &chunks[..1]);
    let before = Traces::of(&mut db);
    for command in [
        "BF.MERGE a 1 part",
        "BF.MERGE part 1 b",
        "BF.MERGE new 2 b part",
        "BF.SHRINK part",
        "BF.CLEAR part",
    ] {
        assert_eq!(db.ask(command), "-ERR filter is being loaded", "{command}");
    }
    assert_eq!(Traces::of(&mut db), before);
    load_chunks(&mut db, "part", &chunks[1..]);
    assert_eq!(db.digest("part"), db.digest("b"));
    assert_eq!(db.ask("BF.CLEAR part"), "+OK");
}

/// As docs/commands.md says.
#[test]
fn a_script_gets_the_error_at_the_end_of_an_array_which_newer_valkeys_raise() {
    let server = Server::start();
    let raises = server.dialect() >= Dialect::Valkey { major: 9, minor: 0 };
    let mut db = server.connect();
    for command in ["'BF.MADD', KEYS[1]", "'BF.INSERT', KEYS[1], 'ITEMS'"] {
        db.run("FLUSHALL");
        db.run("BF.RESERVE three 0.000001 3 NONSCALING");
        let script =
            |call: &str| format!("return redis.{call}({command}, 'a', 'b', 'c', 'd', 'e')");
        let mut eval = |script: &str| db.call(["EVAL", script, "1", "three"]).to_string();
        let [first, again] = match raises {
            true => ["-ERR non scaling filter is full"; 2],
            false => [
                "[:1, :1, :1, -ERR non scaling filter is full]",
                "[:0, :0, :0, -ERR non scaling filter is full]",
            ],
        };
        let reply = eval(&script("call"));
        assert!(reply.starts_with(first), "{reply}");
        let reply = eval(&script("pcall"));
        assert!(reply.starts_with(again), "{reply}");
        // Either way the items before the error are in the filter.
        assert_eq!(db.ask("BF.MEXISTS three a b c d"), "[:1, :1, :1, :0]");
    }
}
