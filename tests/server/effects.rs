//! What a command replicates, signals, and whether it breaks a WATCH: what took effect, once, and
//! nothing else.

use splitbloom_harness::{commands_in_append_only_file, Connection, Family, Server, APPEND_ONLY};

/// Commands, in order, and what each replicates: `=` itself, nothing, or other commands, which are
/// a transaction if there are several. `{bf}` and `{cf}` are the parameters of a filter that an add
/// creates. Seeds are shown as `…`, and so are the times that the server has given. An empty line
/// deletes all keys.
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
CF.INSERTNX f ITEMS b d a => CF.INSERTNX f ITEMS b d
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
CF.INSERTNX n EX 60 ITEMS a a => CF.RESERVE n {cf}; CF.INSERTNX n ITEMS a a; PEXPIREAT n …
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

/// The events are those of a creation, of an expiry, and the command's own.
#[test]
fn a_command_replicates_signals_and_breaks_a_watch_as_it_took_effect() {
    let (server, mut db) =
        Server::strict(&[&APPEND_ONLY[..], &["notify-keyspace-events KEA"]].concat()).with_client();
    let mut watching = server.connect();
    let mut done = 0;
    for row in EFFECTS.replace("{bf}", BF).replace("{cf}", CF).lines() {
        let Some((command, effects)) = row.split_once("=>") else {
            assert!(row.is_empty() || row.starts_with('#'), "{row}");
            if row.is_empty() {
                db.run("FLUSHALL");
            }
            continue;
        };
        let (command, effects) = (command.trim(), effects.trim());
        let words: Vec<&str> = command.split_whitespace().collect();
        let key = words[1];
        let is_missing = db.ask(&format!("EXISTS {key}")) == ":0";
        watching.run(&format!("WATCH {key}"));
        let mut replicated = Vec::new();
        let told = events_of(&server, |db| replicated = propagated_by(&server, db, command));
        // The sweeper may have a step of its own in between.
        replicated.retain(|command| !command.starts_with("BF.FORGET "));

        let effects: Vec<&str> = match effects {
            "" => Vec::new(),
            "=" => vec![command],
            several => several.split("; ").collect(),
        };
        let expected = match effects.len() {
            0 | 1 => effects.clone(),
            _ => [&["MULTI"], &effects[..], &["EXEC"]].concat(),
        };
        assert_eq!(replicated, expected, "{command}");

        let name = words[0].to_lowercase();
        let own = (!effects.is_empty()).then(|| name.clone());
        let is_new = is_missing && own.is_some();
        let creation = is_new.then(|| format!("{}.reserve", &name[..2]));
        let expires = effects.iter().any(|effect| effect.starts_with("PEXPIREAT"));
        let expiry = expires.then(|| "expire".to_owned());
        let own = own.filter(|own| creation.as_ref() != Some(own));
        let events = [creation, expiry, own].into_iter().flatten();
        let events: Vec<String> = events.map(|event| format!("{event} {key}")).collect();
        assert_eq!(told, events, "{command}");

        watching.run("MULTI");
        watching.run("PING");
        let transaction = if effects.is_empty() { "[+PONG]" } else { "_" };
        assert_eq!(watching.ask("EXEC"), transaction, "{command}");
        done += 1;
    }
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

/// The module's events, and that of an expiry, as `name key`, while an action runs.
pub fn events_of(server: &Server, action: impl FnOnce(&mut Connection)) -> Vec<String> {
    let mut listener = server.connect();
    listener.run("PSUBSCRIBE __keyevent@0__:*");
    let mut db = server.connect();
    action(&mut db);
    db.run("SET end-of-events a");
    let mut events = Vec::new();
    loop {
        let message = listener.receive();
        let channel = message.elements()[2].text();
        let event = channel.strip_prefix("__keyevent@0__:").expect("a channel of events");
        match event {
            "set" => return events,
            event if event.starts_with("bf.") || event.starts_with("cf.") || event == "expire" => {
                events.push(format!("{event} {}", message.elements()[3].text()))
            }
            _ => {}
        }
    }
}

/// What a command adds to the append-only file, without seeds and times.
pub fn propagated_by(server: &Server, db: &mut Connection, command: &str) -> Vec<String> {
    let before = commands_in_append_only_file(server).len();
    db.line(command);
    let new = commands_in_append_only_file(server).split_off(before);
    new.iter().map(|command| without_seed_and_time(command)).collect()
}

/// Shows a seed of sixteen digits and a time of thirteen as `…`: the seed is random, the time is
/// the server's.
fn without_seed_and_time(command: &str) -> String {
    let mut words: Vec<&str> = command.split(' ').collect();
    let is_time = |word: &str| word.len() == 13 && word.bytes().all(|digit| digit.is_ascii_digit());
    let is_seed = |word: &str| word.len() == 16 && word.bytes().all(|it| it.is_ascii_hexdigit());
    for place in 1..words.len() {
        let is_given = match words[place - 1] {
            "AT" => is_time(words[place]),
            "SEED" => is_seed(words[place]),
            _ => words[0] == "PEXPIREAT" && place == 2 && is_time(words[place]),
        };
        if is_given {
            words[place] = "…";
        }
    }
    words.join(" ")
}
