//! The recipes' programs while their server fails, and while two of them replace one filter.

use super::recipes::files;
use super::{examples, read, root};
use splitbloom_harness::{eventually, python, Connection, Port, Server};
use std::collections::BTreeSet;
use std::env;
use std::process::{Child, Command, Output, Stdio};

/// The programs that need no package of ours. crates/python/tests/test_recipes.py runs the others.
fn programs() -> Vec<String> {
    let of = |language| {
        let names = files("examples/recipes", language).into_iter();
        names.map(move |name| format!("{name}.{language}"))
    };
    let mut programs: Vec<String> = of("py").chain(of("rs")).collect();
    programs.retain(|program| program != "local.py" && program != "local-guard.py");
    programs
}

/// All programs but cluster.rs, whose client waits a minute for a server that may come back.
fn impatient() -> Vec<String> {
    programs().into_iter().filter(|program| program != "cluster.rs").collect()
}

/// The programs that leave a filter behind.
const BUILDERS: [&str; 6] =
    ["guard.py", "blacklist.py", "blacklist.rs", "cluster.py", "local.rs", "local-guard.rs"];

/// The filters that they leave.
const FILTERS: [&str; 6] = [
    "ids",
    "example:leaked",
    "example:blocked",
    "example:ids",
    "example:ids:{3}",
    "example:addresses",
];

/// What happens to the server, and what ends it.
struct Fault {
    name: &'static str,
    /// Before the host in the address.
    user: &'static str,
    begin: &'static [&'static str],
    end: &'static [&'static str],
}

/// Makes the server a replica of a primary that does not exist.
const DEMOTE: &str = "REPLICAOF 127.0.0.1 1";
const PROMOTE: &str = "REPLICAOF NO ONE";

const FAULTS: [Fault; 4] = [
    Fault {
        name: "OOM",
        user: "",
        begin: &["CONFIG SET maxmemory 1"],
        end: &["CONFIG SET maxmemory 0"],
    },
    Fault { name: "READONLY", user: "", begin: &[DEMOTE], end: &[PROMOTE] },
    Fault {
        name: "MASTERDOWN",
        user: "",
        begin: &["CONFIG SET replica-serve-stale-data no", DEMOTE],
        end: &[PROMOTE, "CONFIG SET replica-serve-stale-data yes"],
    },
    Fault {
        name: "NOPERM",
        user: "app:secret@",
        begin: &["ACL SETUSER app reset on >secret ~* +@connection"],
        end: &[],
    },
];

/// Both protocols, and redis-py's own option.
const OPTIONS: [&str; 4] = [
    "?protocol=2",
    "?protocol=3",
    "?protocol=2&decode_responses=True",
    "?protocol=3&decode_responses=True",
];

/// Runs programs at once, and returns how each ended.
fn run(programs: &[impl AsRef<str>], address: &str) -> Vec<(String, Output)> {
    let names = programs.iter().map(|program| program.as_ref().to_owned());
    let running: Vec<_> = programs.iter().map(|program| spawn(program.as_ref(), address)).collect();
    let outputs = running.into_iter().map(|it| it.wait_with_output().expect("a child"));
    names.zip(outputs).collect()
}

fn spawn(program: &str, address: &str) -> Child {
    let (name, language) = program.split_once('.').expect("an ending");
    let mut command = match language {
        "py" => {
            let mut command = python();
            command.arg(root().join("examples/recipes").join(program));
            command
        }
        _ => Command::new(examples().join(format!("recipe-{name}"))),
    };
    command.arg(address).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap_or_else(|error| panic!("{program}: {error}"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What the program's page says that it prints.
fn promised(program: &str) -> String {
    let (name, language) = program.split_once('.').expect("an ending");
    let page = read(format!("docs/recipes/{name}.md"));
    let command = match language {
        "py" => format!("$ python3 examples/recipes/{program} "),
        _ => format!("$ cargo run --quiet --example recipe-{name} "),
    };
    let lines = page.lines().skip_while(|line| !line.starts_with(&command)).skip(1);
    let lines = lines.take_while(|line| !line.starts_with("$ ") && !line.starts_with("```"));
    lines.map(|line| format!("{line}\n")).collect()
}

/// Whether a program never fails with its server.
fn fails_open(program: &str) -> bool {
    program.starts_with("guard") || program.starts_with("feed")
}

/// Checks what programs print while the server fails. A guard and a feed work as ever; only the
/// number of queries or of repeats differs, which is in the last line. The others may fail, but
/// print nothing that is untrue.
fn check(fault: &str, outputs: &[(String, Output)]) {
    for (program, output) in outputs {
        let (printed, errors) = (text(&output.stdout), text(&output.stderr));
        let promised = promised(program);
        let (answers, _) = promised.trim_end().rsplit_once('\n').unwrap_or_default();
        let is_right = match output.status.success() {
            true if fails_open(program) => printed.starts_with(answers),
            true => printed == promised,
            false => !fails_open(program) && promised.starts_with(&printed),
        };
        assert!(is_right, "{fault}: {program}: {}\n{printed}{errors}", output.status);
    }
}

/// A server with the filters that the programs leave.
fn server_with_filters() -> (Server, String) {
    let server = Server::with_sketches(&["loading-process-events-interval-bytes 1024"]);
    let address = format!("127.0.0.1:{}", server.port());
    for program in BUILDERS {
        let outputs = run(&[program], &format!("redis://{address}"));
        assert_eq!(text(&outputs[0].1.stdout), promised(program));
    }
    (server, address)
}

/// The keys without an expiry.
fn lasting(db: &mut Connection) -> BTreeSet<String> {
    let keys = db.run("KEYS *");
    let mut keys: BTreeSet<String> = keys.elements().iter().map(|key| key.text()).collect();
    keys.retain(|key| db.call(["TTL", key]).integer() == -1);
    keys
}

#[test]
fn no_recipe_denies_what_exists_or_spoils_a_filter_while_its_server_fails() {
    let (server, address) = server_with_filters();
    let mut db = server.connect();
    let filters = |db: &mut Connection| FILTERS.map(|key| db.digest(key));
    let (before, keys) = (filters(&mut db), lasting(&mut db));
    for fault in FAULTS {
        db.run_all(fault.begin);
        let outputs = run(&impatient(), &format!("redis://{}{address}", fault.user));
        db.run_all(fault.end);
        check(fault.name, &outputs);
        assert_eq!(filters(&mut db), before, "{}", fault.name);
        assert!(lasting(&mut db).is_subset(&keys), "{}: {keys:?}", fault.name);
    }
    server.pause();
    let programs = ["guard.py", "guard.rs", "blacklist.py", "feed.py", "feed.rs"];
    let outputs = run(&programs, &format!("redis://{address}"));
    server.resume();
    check("a server that hangs", &outputs);
    let nobody = Port::free().expect("a free port");
    check("no server", &run(&impatient(), &format!("redis://127.0.0.1:{}", nobody.number())));
    assert_eq!(filters(&mut db), before);
}

#[test]
fn no_recipe_denies_what_exists_while_its_server_loads() {
    let (server, address) = server_with_filters();
    let (mut db, mut other) = (server.connect(), server.connect());
    // While it loads, the server waits at each key, and then serves its clients.
    db.run("DEBUG POPULATE 3000 filler 1024");
    db.run("CONFIG SET key-load-delay 50000");
    db.send(["DEBUG", "RELOAD"]);
    eventually("it loads", || other.ask("DBSIZE").starts_with("-LOADING"));
    let outputs = run(&impatient(), &format!("redis://{address}"));
    assert!(other.ask("DBSIZE").starts_with("-LOADING"));
    other.run("CONFIG SET key-load-delay 0");
    assert_eq!(db.receive().to_string(), "+OK");
    check("LOADING", &outputs);
}

#[test]
fn recipes_print_the_same_with_each_protocol_decoded_replies_and_what_a_missing_key_is() {
    let (server, mut db) = Server::with_sketches(&[]).with_client();
    for (options, missing) in OPTIONS.iter().zip(["empty", "error", "error", "empty"]) {
        for program in programs() {
            db.run("FLUSHALL");
            // A tenant that has left has no filter, and is looked up.
            let missing = if program.starts_with("tenants") { "empty" } else { missing };
            db.run(&format!("CONFIG SET bf.missing-key {missing}"));
            let address = format!("redis://127.0.0.1:{}/{options}", server.port());
            let (_, output) = run(&[&program], &address).remove(0);
            let errors = text(&output.stderr);
            assert_eq!(text(&output.stdout), promised(&program), "{program} {options}: {errors}");
        }
    }
}

#[test]
fn a_value_of_another_type_keeps_no_recipe_from_the_right_answer() {
    let server = Server::with_sketches(&[]);
    let mut db = server.connect();
    for key in FILTERS.iter().chain(&["row:42", "absent:42", "{ids}:lock", "example:feed:7"]) {
        db.run(&format!("LPUSH {key} value"));
    }
    for program in programs() {
        let address = format!("redis://127.0.0.1:{}", server.port());
        check("another type", &run(&[program], &address));
    }
}

/// A program that replaces a filter, the filter's key, and a function that returns how many items
/// the filter lacks of those on each of the program's lists.
struct Builder {
    program: &'static str,
    key: &'static str,
    missing: fn(&mut Connection, &str) -> usize,
}

const LISTED: usize = 100_000;

const TWO_AT_ONCE: [Builder; 5] = [
    Builder { program: "guard.py", key: "ids", missing: |db, key| absent(db, key, &products()) },
    Builder { program: "guard.rs", key: "ids", missing: |db, key| absent(db, key, &products()) },
    Builder {
        program: "blacklist.py",
        key: "example:leaked",
        // Digests, which only the program knows. Of 10^5 items one in 10^6 is not counted.
        missing: |db, key| {
            let items = db.line(&format!("BF.CARD {key}")).integer() as usize;
            (LISTED - 10).saturating_sub(items)
        },
    },
    Builder {
        program: "blacklist.rs",
        key: "example:blocked",
        missing: |db, key| {
            let urls = (0..LISTED).map(|n| format!("https://bad.example/{n}"));
            absent(db, key, &urls.collect::<Vec<_>>())
        },
    },
    Builder {
        program: "local.rs",
        key: "example:addresses",
        missing: |db, key| absent(db, key, &["always".into()]),
    },
];

fn products() -> Vec<String> {
    (0..10_000).map(|n| n.to_string()).collect()
}

fn absent(db: &mut Connection, key: &str, items: &[String]) -> usize {
    let words = ["BF.MEXISTS", key].into_iter().chain(items.iter().map(String::as_str));
    let found = db.call(words);
    found.elements().iter().filter(|found| found.integer() == 0).count()
}

/// A trial: two programs replace a filter at once. In every other trial they lose their locks, as
/// if they had been silent for too long.
fn two_at_once(builder: &Builder, loses_locks: bool) {
    let Builder { program, key, missing } = builder;
    let server = Server::start();
    let address = format!("redis://127.0.0.1:{}", server.port());
    let mut running = [spawn(program, &address), spawn(program, &address)];
    let mut db = server.connect();
    let mut left = if loses_locks { 20 } else { 0 };
    eventually("both end", || {
        let exists = db.ask(&format!("EXISTS {key}")) == ":1";
        assert_eq!(if exists { missing(&mut db, key) } else { 0 }, 0, "{program}");
        if left > 0 && db.ask(&format!("DEL {{{key}}}:lock")) == ":1" {
            left -= 1;
        }
        running.iter_mut().all(|it| it.try_wait().expect("a child").is_some())
    });
    for it in running {
        let output = it.wait_with_output().expect("a child");
        assert!(output.status.success(), "{program}: {}", text(&output.stderr));
        let printed = text(&output.stdout);
        assert!(!printed.contains("missed: ") || printed.contains("missed: 0"), "{printed}");
    }
}

#[test]
fn two_programs_that_replace_a_filter_at_once_leave_no_holes_in_it() {
    let trials = env::var("TRIALS").map_or(2, |trials| trials.parse().expect("a number"));
    for builder in &TWO_AT_ONCE {
        (0..trials).for_each(|trial| two_at_once(builder, trial % 2 == 1));
    }
}
