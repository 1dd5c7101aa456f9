//! The module as a whole.

use splitbloom_harness::{sketch_module_path, Options, Server};

/// A server with both modules.
pub fn server() -> Server {
    Server::with_sketches(&[])
}

#[test]
fn filters_and_sketches_are_loaded_side_by_side() {
    let (server, mut db) = server().with_client();
    let modules = db.run("MODULE LIST").to_string();
    for name in ["bf", "sketch"] {
        assert!(modules.contains(&format!("${name},")), "{modules}");
    }
    assert_eq!(db.info_number("sketch", "sketch_sketches"), 0);
    let log = server.log();
    let line =
        log.lines().find(|line| line.contains(concat!("splitsketch ", env!("CARGO_PKG_VERSION"))));
    assert!(line.is_some_and(|line| line.contains(" on ")), "{log}");
}

/// Clients that cache replies ask COMMAND INFO. Keys are signalled at the end of a slice.
#[test]
fn lookups_may_be_cached_and_writes_are_refused_at_maxmemory_with_one_exception_each() {
    let (_server, mut db) = server().with_client();
    let names = db.run("COMMAND LIST FILTERBY MODULE sketch");
    let (mut varying, mut without_limit) = (Vec::new(), Vec::new());
    for name in names.elements().iter().map(|name| name.text()) {
        let info = db.run(&format!("COMMAND INFO {name}"));
        let [flags, tips] = [2, 7].map(|field| info.elements()[0].elements()[field].to_string());
        assert_ne!(flags.contains("readonly"), flags.contains("write"), "{name}: {flags}");
        if flags.contains("write") && !flags.contains("denyoom") {
            without_limit.push(name);
        } else if flags.contains("readonly") && tips.contains("nondeterministic_output") {
            varying.push(name);
        }
    }
    assert_eq!(
        (varying.join(" "), without_limit.join(" ")),
        ("tdigest.info".into(), "tdigest.reset".into())
    );
    db.converse(&[
        ("COMMAND GETKEYS CMS.MERGE sum 2 a b WEIGHTS 1 2", "[$sum, $a, $b]"),
        ("COMMAND GETKEYS CMS.INCRBY k a 1", "[$k]"),
    ]);
}

#[test]
fn sketches_are_loaded_alone_and_take_no_arguments() {
    let path = sketch_module_path();
    let path = path.display();
    let alone =
        |line: String| Options { without_module: true, settings: vec![line], ..Options::default() };
    let server = Server::with(alone(format!("loadmodule {path}")));
    assert!(server.connect().run("MODULE LIST").to_string().contains("$sketch,"));
    let log = Server::refusal(alone(format!("loadmodule {path} WORD")));
    assert!(log.contains("splitsketch was not loaded: it takes no arguments"), "{log}");
    let log = Server::refusal(alone(format!("loadmodule {path}\nloadmodule {path}")));
    assert!(log.contains("splitsketch was not loaded: the module name sketch is taken"), "{log}");
}
