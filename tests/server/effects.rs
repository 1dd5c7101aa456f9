//! What a command replicates, signals, and whether it breaks a WATCH: what took effect, once, and
//! nothing else.

use splitbloom_harness::{
    check_effects, commands_in_append_only_file, events_of, Family, Server, APPEND_ONLY,
};

/// In the notation of [`check_effects`]. `{bf}` and `{cf}` are the parameters of a filter that an
/// add creates.
const EFFECTS: &str = "
BF.RESERVE r 0.01 1000 => BF.RESERVE r 0.01 1000 EXPANSION 2 SEED …
BF.RESERVE r 0.01 1000 =>
BF.RESERVE s 0.001 10 nonscaling => BF.RESERVE s 0.001 10 NONSCALING SEED …
BF.RESERVE t 0.001 10 3 => BF.RESERVE t 0.001 10 EXPANSION 3 SEED …
BF.RESERVE u 0.001 10 EXPANSION 0 => BF.RESERVE u 0.001 10 NONSCALING SEED …
BF.ADD k a => BF.RESERVE k {bf}; BF.ADD k a
BF.ADD k a =>
BF.ADD k b => =
BF.MADD k a b =>
BF.MADD k a b c => =
BF.MADD l a b => BF.RESERVE l {bf}; BF.MADD l a b
BF.INSERT k ITEMS a b =>
BF.INSERT k CAPACITY 7 NONSCALING ITEMS a d => =
BF.INSERT i ITEMS a b => BF.RESERVE i {bf}; BF.INSERT i ITEMS a b
BF.INSERT missing NOCREATE ITEMS a =>
BF.PACKADD p FIXED 1 ab => BF.RESERVE p {bf}; BF.PACKADD p FIXED 1 ab
BF.PACKADD p FIXED 1 ab =>
BF.PACKADD p FIXED 1 abc BITS => =
BF.PACKADD p FIXED 1 abcd NOCREATE => =
BF.PACKADD p FIXED 3 bac => =
BF.PACKADD missing FIXED 1 ab NOCREATE =>
BF.PACKADD missing FIXED 2 abc =>
BF.EXISTS k a =>
BF.MEXISTS missing a b =>
BF.PACKEXISTS p FIXED 1 ab =>
BF.CARD k =>
BF.DEBUG k =>
BF.INFO k FULL =>
BF.SCANDUMP k 0 =>
BF.LOADCHUNK k 1 a =>
BF.CHANGES k 0 =>

BF.RESERVE k 0.01 1000000 => BF.RESERVE k 0.01 1000000 EXPANSION 2 SEED …
BF.ADD k a => =
BF.SHRINK k CAPACITY 20000 => BF.SHRINK k CAPACITY 20010
BF.SHRINK k CAPACITY 20000 =>

# Full: what comes before the refused item took effect.
BF.RESERVE n 0.000001 3 NONSCALING => BF.RESERVE n 0.000001 3 NONSCALING SEED …
BF.MADD n a b => =
BF.MADD n a c d e => BF.MADD n a c
BF.MADD n a d =>
BF.ADD n d =>
BF.INSERT l ERROR 0.000001 CAPACITY 2 NONSCALING ITEMS a b c d \
    => BF.RESERVE l 0.000001 2 NONSCALING SEED …; BF.MADD l a b
BF.RESERVE p 0.000001 3 NONSCALING => BF.RESERVE p 0.000001 3 NONSCALING SEED …
BF.PACKADD p FIXED 1 abacdef => BF.PACKADD p FIXED 1 abac
BF.PACKADD p FIXED 1 abacdef =>

BF.RESERVE a 0.01 1000 SEED 0123456789abcdef => BF.RESERVE a 0.01 1000 EXPANSION 2 SEED …
BF.RESERVE b 0.01 1000 SEED 0123456789abcdef => BF.RESERVE b 0.01 1000 EXPANSION 2 SEED …
BF.RESERVE empty 0.01 1000 SEED 0123456789abcdef => BF.RESERVE empty 0.01 1000 EXPANSION 2 SEED …
BF.ADD a x => =
BF.ADD b y => =
BF.MERGE new 2 a b => =
BF.MERGE new 2 a b =>
BF.MERGE new 1 empty =>
BF.MERGE also 1 empty => =
BF.MERGE a 1 b => =
BF.MERGE a 1 missing =>
BF.CLEAR empty =>
BF.CLEAR a => =
BF.CLEAR a =>
BF.CLEAR missing =>

CF.RESERVE r 1000 \
    => CF.RESERVE r 1000 BUCKETSIZE 2 MAXITERATIONS 20 EXPANSION 1 ERROR 0.000001 SEED …
CF.RESERVE r 1000 =>
cf.reserve f 3 error 1e-6 expansion 0 bucketsize 4 maxiterations 500 \
    => CF.RESERVE f 3 BUCKETSIZE 4 MAXITERATIONS 500 EXPANSION 0 ERROR 0.000001 SEED …
CF.CLEAR r =>
CF.ADD k a => CF.RESERVE k {cf}; CF.ADD k a
CF.ADD k a => =
CF.ADDNX k a =>
CF.ADDNX k b => =
CF.INSERT k ITEMS a b => =
CF.INSERTNX k ITEMS a b =>
CF.INSERTNX k NOCREATE ITEMS a c => =
CF.INSERTNX m ITEMS a => CF.RESERVE m {cf}; CF.INSERTNX m ITEMS a
CF.INSERT missing NOCREATE ITEMS a =>
CF.PACKADD p LINES a => CF.RESERVE p {cf}; CF.PACKADD p LINES a
CF.PACKADD p FIXED 1 a => =
CF.PACKADD missing FIXED 1 d NOCREATE =>
CF.DEL k a => =
CF.DEL k z =>
CF.DEL missing a =>
# Three copies fit.
CF.INSERT f CAPACITY 9 ITEMS a b c d => CF.INSERT f ITEMS a b c
CF.INSERT f ITEMS a =>
CF.ADD f a =>
CF.DEL f a => =
CF.INSERTNX f ITEMS b d a => CF.INSERTNX f ITEMS d
CF.INSERTNX f ITEMS a b =>
CF.CLEAR f => =
CF.CLEAR f =>
CF.PACKADD f FIXED 1 abacd BITS => CF.PACKADD f FIXED 1 aba
CF.PACKADD f FIXED 1 d =>
CF.PACKDEL f FIXED 1 xay => =
CF.PACKDEL f FIXED 1 xy =>
CF.PACKDEL missing FIXED 1 xy =>
CF.PACKEXISTS f FIXED 1 ab =>
CF.EXISTS k a =>
CF.MEXISTS k a b =>
CF.COUNT k a =>
CF.INFO k FULL =>
CF.DEBUG k =>
CF.COMPACT k =>
CF.SCANDUMP k 0 =>
CF.LOADCHUNK k 1 a =>
# A counting filter of which all was removed counts that.
CF.ADD c a => CF.RESERVE c {cf}; CF.ADD c a
CF.DEL c a => =
CF.CLEAR c => =
CF.CLEAR c =>

# Filters that expire.
BF.RESERVE r 0.000001 100 EX 60 => BF.RESERVE r {bf}; PEXPIREAT r …
BF.INSERT i EX 60 ITEMS a b => BF.RESERVE i {bf}; BF.MADD i a b; PEXPIREAT i …
BF.INSERT i EX 60 ITEMS c => BF.MADD i c
BF.INSERT l CAPACITY 2 NONSCALING ERROR 0.0001 EX 60 ITEMS a b c d \
    => BF.RESERVE l 0.0001 2 NONSCALING SEED …; BF.MADD l a b; PEXPIREAT l …
CF.RESERVE c 1024 EX 60 => CF.RESERVE c {cf}; PEXPIREAT c …
CF.RESERVE c 5 EX 60 =>
CF.INSERT k EX 60 ITEMS a a => CF.RESERVE k {cf}; CF.INSERT k ITEMS a a; PEXPIREAT k …
CF.INSERT k EX 60 ITEMS b => CF.INSERT k ITEMS b
CF.INSERT k NOCREATE EX 60 ITEMS b => =
CF.INSERTNX n EX 60 ITEMS a a => CF.RESERVE n {cf}; CF.INSERTNX n ITEMS a; PEXPIREAT n …
CF.INSERTNX n EX 60 ITEMS a =>

# Filters that forget: each with its time.
BF.RESERVE r 0.01 9 slices 3 window 60 renew \
    => BF.RESERVE r 0.01 9 EXPANSION 2 WINDOW 60 SLICES 3 RENEW SEED …
BF.RESERVE f 0.0001 2 WINDOW 999 NONSCALING \
    => BF.RESERVE f 0.0001 2 NONSCALING WINDOW 999 SLICES 8 SEED …
BF.RESERVE g 0.0001 2 WINDOW 999 NONSCALING \
    => BF.RESERVE g 0.0001 2 NONSCALING WINDOW 999 SLICES 8 SEED …
BF.INSERT k ERROR 0.000001 WINDOW 500 ITEMS a \
    => BF.RESERVE k 0.000001 100 EXPANSION 2 WINDOW 500 SLICES 8 SEED …; BF.INSERT k AT … ITEMS a
BF.ADD k a =>
BF.ADD k b => BF.INSERT k AT … ITEMS b
BF.MADD k a b =>
BF.MADD k a c b => BF.INSERT k AT … ITEMS a c b
BF.INSERT k AT 100000000005 NOCREATE ITEMS a =>
BF.INSERT k AT 100000000005 ITEMS d => =
BF.PACKADD k LINES b =>
BF.PACKADD k LINES p => BF.PACKADD k AT … LINES p
BF.PACKADD k AT 100000000005 FIXED 1 qa BITS => BF.PACKADD k AT 100000000005 FIXED 1 qa
BF.MADD f a => BF.INSERT f AT … ITEMS a
BF.PACKADD f FIXED 1 abc => BF.PACKADD f AT … FIXED 1 ab
BF.MADD f c =>
BF.MADD g a b c => BF.INSERT g AT … ITEMS a b
BF.INSERT r AT 100000001000 ITEMS a => =
BF.INSERT r AT 100000001000 ITEMS a =>
# Renewed.
BF.INSERT r AT 100000021000 ITEMS a => =
BF.FORGET k 100000000005 =>
BF.EXISTS k a =>
BF.INFO k FULL =>
BF.INSERT k AT 9007199254740991 ITEMS z =>
BF.CLEAR k => =
BF.CLEAR k =>
";

const BF: &str = "0.000001 100 EXPANSION 2 SEED …";
const CF: &str = "1024 BUCKETSIZE 2 MAXITERATIONS 20 EXPANSION 1 ERROR 0.000001 SEED …";

#[test]
fn a_command_replicates_signals_and_breaks_a_watch_as_it_took_effect() {
    let settings = [&APPEND_ONLY[..], &["notify-keyspace-events KEA"]].concat();
    let server = Server::strict(&settings);
    let done = check_effects(&server, &EFFECTS.replace("{bf}", BF).replace("{cf}", CF));
    assert!(done > 130, "{done}");
}

#[test]
fn a_chunk_is_propagated_as_it_came_and_signalled() {
    let (server, mut db) =
        Server::strict(&[&APPEND_ONLY[..], &["notify-keyspace-events KEA"]].concat()).with_client();
    db.run("CF.INSERT cf ITEMS a a b");
    db.run("BF.MADD bf a b");
    for (family, key) in [(Family::Bloom, "bf"), (Family::Counting, "cf")] {
        let chunks = family.scan_dump(&mut db, key);
        let before = commands_in_append_only_file(&server).len();
        let events = events_of(&server, |db| family.load_chunks(db, "loaded", &chunks));
        assert_eq!(events, [format!("{key}.loadchunk loaded")]);
        let load = family.command("LOADCHUNK");
        let logged = commands_in_append_only_file(&server).split_off(before);
        let (command, marker) = (&logged[0], &logged[1..]);
        assert!(command.starts_with(&format!("{load} loaded {} ", chunks[0].0)), "{command}");
        assert_eq!(marker.len(), 1);
        db.run("DEBUG LOADAOF");
        assert_eq!(db.digest("loaded"), db.digest(key));
        db.run("DEL loaded");
    }
}
