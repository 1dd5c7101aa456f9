//! `splitbloom migrate`, and what the other commands say of filters of another module.

use crate::redisbloom::{self, Filter};
use crate::tool::{tool, url, Folder, Runs};
use splitbloom_harness::samples::{Sample, ALL, CUCKOO, GROWING, OF_VALKEY_BLOOM};
use splitbloom_harness::{Server, Specimens};
use std::process::Command;

fn migrate(from: &str, to: &str, words: &[&str]) -> Command {
    tool(&[&["migrate", from, to], words].concat())
}

/// What a migration prints, of filters alone.
fn counts([copied, there, not]: [usize; 3]) -> String {
    format!("{copied} filters copied, {there} there already, {not} not copied\n")
}

/// Two servers, at an error rate without false positives.
fn exact() -> [Server; 2] {
    [(); 2].map(|()| Server::configured(&["bf.error-rate 0.000001"]))
}

#[test]
fn filters_of_all_kinds_move_from_every_database_with_their_expiry() {
    let (old, new) = (Server::start(), Server::start());
    let (mut from, mut to) = (old.connect(), new.connect());
    Specimens::create(&mut from);
    OF_VALKEY_BLOOM[0].under("came").restore(&mut from);
    from.run("PEXPIRE small 500000000");
    from.run("SELECT 3");
    from.run("BF.ADD there a");
    let filters = Specimens::all().count() + 2;
    let migrate = || migrate(&url(&old), &url(&new), &[]);
    assert_eq!(migrate().prints(), counts([filters, 0, 0]));
    // Of all databases, with what expires.
    assert_eq!(to.digest_of_everything(), from.digest_of_everything());
    let time = to.run("PTTL small").integer();
    assert!((1..=500_000_000).contains(&time), "{time}");
    assert_eq!(to.ask("TTL grown"), ":-1");
    assert_eq!(to.ask("TYPE came"), "+bloomfltr");

    // As after an interruption.
    to.run("DEL small grown");
    assert_eq!(migrate().prints(), counts([2, filters - 2, 0]));
    assert_eq!(to.digest_of_everything(), from.digest_of_everything());
}

#[test]
fn a_database_or_a_pattern_selects_filters() {
    let (old, new) = (Server::start(), Server::start());
    let mut from = old.connect();
    from.run("BF.ADD zero a");
    from.run("SELECT 3");
    from.run("BF.ADD three a");
    from.run("CF.ADD thirty a");
    from.run("SET third text");
    let (old, there) = (url(&old), url(&new));
    migrate(&old, &format!("{there}/1"), &[]).error_with(2, "names a database");
    let run = migrate(&format!("{old}/3"), &format!("{there}/1"), &["--match", "three"]);
    assert_eq!({ run }.prints(), counts([1, 0, 0]));
    let run = migrate(&format!("{old}/3"), &there, &["--match=*y"]);
    assert_eq!({ run }.prints(), counts([1, 0, 0]));
    let mut to = new.connect();
    assert_eq!(to.ask("KEYS *"), "[$thirty]");
    to.run("SELECT 1");
    assert_eq!(to.ask("KEYS *"), "[$three]");
}

#[test]
fn what_is_there_already_is_kept_unless_it_is_to_be_replaced() {
    let [old, new] = exact();
    let (mut from, mut to) = (old.connect(), new.connect());
    from.run("BF.MADD grown a b c");
    from.run("BF.ADD text a");
    from.run("BF.ADD bag a");
    to.run("BF.ADD grown a");
    to.run("SET text hello");
    to.run("CF.ADD bag a");
    let run = migrate(&url(&old), &url(&new), &[]).run();
    run.ends(1, &counts([0, 0, 3]));
    for line in [
        "splitbloom: grown: the filter exists, with 1 items and not 3",
        "splitbloom: text: the key holds no filter: string",
        "splitbloom: bag: the key holds a filter of the other kind",
    ] {
        assert!(run.stderr.lines().any(|other| other == line), "{line}: {run:?}");
    }
    assert_eq!(to.ask("GET text"), "$hello");
    let replaced = migrate(&url(&old), &url(&new), &["--replace"]).prints();
    assert_eq!(replaced, counts([3, 0, 0]));
    assert_eq!(to.digest_of_everything(), from.digest_of_everything());
}

#[test]
fn sketches_of_all_types_move_with_their_expiry_and_a_check_compares_them() {
    let (old, new) = (Server::with_sketches(&[]), Server::with_sketches(&[]));
    let (mut from, mut to) = (old.connect(), new.connect());
    from.run_all([
        "BF.ADD filter a",
        "CMS.INITBYDIM counts 100 3",
        "CMS.INCRBY counts a 5 b 2",
        "CMS.INITBYDIM recent 100 3 WINDOW 86400",
        "CMS.INCRBY recent a 5",
        "TOPK.RESERVE top 3",
        "TOPK.ADD top a a b",
        "TOPK.RESERVE today 3 8 7 0.9 WINDOW 86400",
        "TOPK.ADD today a a b",
        "TDIGEST.CREATE times",
        "TDIGEST.ADD times 1 2 3",
        "PEXPIRE counts 500000000",
    ]);
    let run = |words: &[&str]| migrate(&url(&old), &url(&new), words).run();
    let missing = "0 filters are equal, 1 are missing or different; \
                   0 sketches are equal, 5 are missing or different\n";
    let checked = run(&["--check"]);
    checked.ends(1, missing);
    let copied = "1 filters copied, 0 there already, 0 not copied; \
                  5 sketches copied, 0 there already, 0 not copied\n";
    assert_eq!((run(&[]).code, run(&["--replace"]).stdout.as_str()), (0, copied));
    assert_eq!(to.digest_of_everything(), from.digest_of_everything());
    assert!((1..=500_000_000).contains(&to.run("PTTL counts").integer()));

    to.run_all(["CMS.INCRBY counts a 1", "TOPK.ADD top b", "DEL times", "SET recent text"]);
    for words in [&["--check"][..], &[]] {
        let run = run(words);
        assert_eq!(run.code, 1, "{run:?}");
        for line in [
            "counts: the sketch exists, with other counts",
            "top: the sketch exists, with other counts",
            "recent: the key holds another type: string",
        ] {
            assert!(run.stderr.contains(&format!("splitbloom: {line}\n")), "{line}: {run:?}");
        }
        assert_eq!(words.is_empty(), !run.stderr.contains("times: missing"), "{run:?}");
    }
}

#[test]
fn sketches_that_the_new_server_refuses_are_named_and_counted() {
    let (old, new) = (Server::with_sketches(&[]), Server::start());
    let mut from = old.connect();
    from.run("CMS.INITBYDIM counts 100 3");
    from.run("BF.ADD filter a");
    let run = migrate(&url(&old), &url(&new), &[]).run();
    let copied = "1 filters copied, 0 there already, 0 not copied; \
                  0 sketches copied, 0 there already, 1 not copied\n";
    run.ends(1, copied);
    let line = "splitbloom: counts: ";
    assert!(run.stderr.contains(line) && run.stderr.contains("libsplitsketch.so"), "{run:?}");
}

#[test]
fn a_check_names_what_is_missing_or_different() {
    let [old, new] = exact();
    let work = Folder::new();
    let mut from = old.connect();
    from.run_all(["BF.MADD seen a b c", "CF.ADD bag a", "BF.MADD other a b"]);
    OF_VALKEY_BLOOM[0].under("came").restore(&mut from);
    let items = work.file("items", b"a\nb\nc\nd\n");
    let check = |words: &[&str]| migrate(&url(&old), &url(&new), &[&["--check"], words].concat());
    let run = check(&[&items]).run();
    let none = "0 filters are equal, 4 are missing or different\n";
    run.ends(1, none);
    for key in ["seen", "bag", "other", "came"] {
        assert!(run.stderr.contains(&format!("splitbloom: {key}: missing\n")), "{run:?}");
    }
    assert_eq!(new.connect().ask("DBSIZE"), ":0");

    migrate(&url(&old), &url(&new), &[]).prints();
    let all = "4 filters are equal, 0 are missing or different\n";
    assert_eq!(check(&[]).prints(), all);
    assert_eq!(check(&[&items]).prints(), all);
    let mut to = new.connect();
    to.run_all(["DEL bag other", "BF.MADD other a d", "BF.ADD seen d"]);
    let run = check(&[&items]).run();
    assert_eq!(run.stdout, "1 filters are equal, 3 are missing or different\n", "{run:?}");
    for line in [
        "splitbloom: seen: the filter exists, with 4 items and not 3",
        "splitbloom: bag: missing",
        "splitbloom: other: 1 items are only in the first filter, 1 only in the second",
    ] {
        assert!(run.stderr.lines().any(|other| other == line), "{line}: {run:?}");
    }
    migrate(&url(&old), &url(&new), &[&items]).error_with(2, "--check");
    assert!(check(&["-"]).error(2).contains("standard input"));
}

/// RedisBloom's type of a filter.
fn kind(sample: &Sample) -> &'static str {
    match sample.key {
        "cuckoo" => "MBbloomCF",
        _ => "MBbloom--",
    }
}

#[test]
fn filters_of_redisbloom_and_valkey_bloom_answer_as_they_did_once_they_have_moved() {
    let (new, mut to) = Server::start().with_client();
    let came = OF_VALKEY_BLOOM[0].under("came");
    let mut filters: Vec<Filter> =
        ALL.iter().map(|one| Filter::of(one, kind(one), &mut to)).collect();
    filters.push(Filter::of(&came, "bloomfltr", &mut to));
    filters.push(Filter::empty("empty"));
    filters[0].time_to_live = 500_000_000;
    let old = redisbloom::start(filters);
    assert_eq!(migrate(&old, &url(&new), &[]).prints(), counts([5, 0, 0]));
    let empty = to.run("CF.INFO empty");
    assert_eq!(empty.field("Number of items inserted").integer(), 0);
    assert_eq!(empty.field("Expansion rate").integer(), 1);
    for sample in ALL.iter().chain([&came]) {
        sample.assert_is_what_it_was(&mut to);
    }
    assert!(to.run("PTTL growing").integer() > 400_000_000);
    assert_eq!(to.ask("TTL fixed"), ":-1");
    assert_eq!(migrate(&old, &url(&new), &[]).prints(), counts([0, 5, 0]));
}

#[test]
fn a_filter_that_changes_while_it_is_copied_is_not_there_afterwards() {
    let (new, mut to) = Server::start().with_client();
    let mut changing = Filter::of(&GROWING, "MBbloom--", &mut to);
    changing.items += 1;
    let old = redisbloom::start(vec![changing, Filter::of(&CUCKOO, "MBbloomCF", &mut to)]);
    let run = migrate(&old, &url(&new), &[]).run();
    run.ends(1, &counts([1, 0, 1]));
    let expected = "splitbloom: growing: the filter has changed while it was copied: ";
    assert!(run.stderr.starts_with(expected), "{run:?}");
    assert_eq!(to.ask("KEYS *"), "[$cuckoo]");
}

#[test]
fn commands_name_redisbloom_and_the_way_over() {
    let (new, work) = (Server::start(), Folder::new());
    let mut to = new.connect();
    let came = OF_VALKEY_BLOOM[0].under("came");
    let [one, other] = [GROWING, CUCKOO].map(|one| Filter::of(&one, kind(&one), &mut to));
    let old = redisbloom::start(vec![one, other, Filter::of(&came, "bloomfltr", &mut to)]);
    let run = tool(&["info", "came", "--url", &old]).run();
    assert!(run.code == 0 && run.stderr.contains("the server has valkey-bloom"), "{run:?}");
    let way = "`splitbloom migrate` copies it to a server with splitbloom";
    for (key, items) in [("growing", 297), ("cuckoo", 300)] {
        let run = tool(&["info", key, "--url", &old]).run();
        let line = format!("Number of items inserted  {items}\n");
        assert!(run.code == 0 && run.stdout.starts_with(&line), "{run:?}");
        assert!(run.stderr.contains("RedisBloom") && run.stderr.contains(way), "{}", run.stderr);
        let file = work.path("file");
        let message = tool(&["pull", key, "-o", &file, "--url", &old]).error(6);
        assert!(message.contains("RedisBloom") && message.contains(way), "{message}");
        tool(&["pull", key, "--to", &url(&new), "--url", &old]).prints();
    }
    for sample in [GROWING, CUCKOO] {
        sample.assert_is_what_it_was(&mut to);
    }
    assert!(work.names().is_empty());
}
