//! What the server knows about the commands: flags, categories, keys and access to them,
//! documentation.

use splitbloom_harness::{Connection, Options, Reply, Server};
use std::fs;

/// A command as documented.
struct Row {
    name: &'static str,
    arity: i64,
    flags: &'static [&'static str],
    /// How it accesses its first key; empty without a key.
    access: &'static [&'static str],
    /// A call that succeeds with all permissions.
    example: &'static str,
}

/// Every command of the module.
const TABLE: [Row; 38] = [
    Row {
        name: "bf.reserve",
        arity: -4,
        flags: &["write", "denyoom", "fast"],
        access: &["OW", "insert"],
        example: "BF.RESERVE fresh 0.01 100",
    },
    Row {
        name: "bf.add",
        arity: 3,
        flags: &["write", "denyoom", "fast"],
        access: &["RW", "insert"],
        example: "BF.ADD k b",
    },
    Row {
        name: "bf.madd",
        arity: -3,
        flags: &["write", "denyoom"],
        access: &["RW", "insert"],
        example: "BF.MADD k c d",
    },
    Row {
        name: "bf.insert",
        arity: -4,
        flags: &["write", "denyoom"],
        access: &["RW", "insert"],
        example: "BF.INSERT k ITEMS e f",
    },
    Row {
        name: "bf.exists",
        arity: 3,
        flags: &["readonly", "fast"],
        access: &["RO", "access"],
        example: "BF.EXISTS k a",
    },
    Row {
        name: "bf.mexists",
        arity: -3,
        flags: &["readonly"],
        access: &["RO", "access"],
        example: "BF.MEXISTS k a b",
    },
    Row {
        name: "bf.packadd",
        arity: -4,
        flags: &["write", "denyoom"],
        access: &["RW", "insert"],
        example: "BF.PACKADD k LINES g",
    },
    Row {
        name: "bf.packexists",
        arity: -4,
        flags: &["readonly"],
        access: &["RO", "access"],
        example: "BF.PACKEXISTS k LINES g",
    },
    Row {
        name: "bf.info",
        arity: -2,
        flags: &["readonly", "fast"],
        access: &["RO", "access"],
        example: "BF.INFO k",
    },
    Row {
        name: "bf.card",
        arity: 2,
        flags: &["readonly", "fast"],
        access: &["RO", "access"],
        example: "BF.CARD k",
    },
    Row {
        name: "bf.merge",
        arity: -4,
        flags: &["write", "denyoom", "movablekeys"],
        access: &["RW", "insert"],
        example: "BF.MERGE k 1 k",
    },
    Row {
        name: "bf.shrink",
        arity: -2,
        flags: &["write", "blocking"],
        access: &["RW", "update"],
        example: "BF.SHRINK k",
    },
    Row {
        name: "bf.load",
        arity: 3,
        flags: &["write", "denyoom"],
        access: &["OW", "insert"],
        example: "BF.LOAD new x",
    },
    Row {
        name: "bf.clear",
        arity: 2,
        flags: &["write", "fast"],
        access: &["RW", "delete"],
        example: "BF.CLEAR k",
    },
    Row {
        name: "cf.clear",
        arity: 2,
        flags: &["write", "fast"],
        access: &["RW", "delete"],
        example: "CF.CLEAR c",
    },
    Row {
        name: "bf.forget",
        arity: 3,
        flags: &["write", "fast"],
        access: &["RW", "delete"],
        example: "BF.FORGET w 1000000000005",
    },
    Row {
        name: "bf.debug",
        arity: 2,
        flags: &["readonly", "fast"],
        access: &["RO", "access"],
        example: "BF.DEBUG k",
    },
    Row {
        name: "bf.scandump",
        arity: -3,
        flags: &["readonly"],
        access: &["RO", "access"],
        example: "BF.SCANDUMP k 0",
    },
    Row {
        name: "bf.changes",
        arity: -3,
        flags: &["readonly", "blocking"],
        access: &["RO", "access"],
        example: "BF.CHANGES k 0",
    },
    Row {
        name: "bf.loadchunk",
        arity: 4,
        flags: &["write", "denyoom"],
        access: &["RW", "insert"],
        example: "BF.LOADCHUNK k 1 a",
    },
    Row {
        name: "bf.keys",
        arity: -4,
        flags: &["readonly", "loading", "stale"],
        access: &[],
        example: "BF.KEYS k PARTITIONS 4 ITEMS a",
    },
    Row {
        name: "cf.reserve",
        arity: -3,
        flags: &["write", "denyoom", "fast"],
        access: &["OW", "insert"],
        example: "CF.RESERVE fresh 100",
    },
    Row {
        name: "cf.add",
        arity: 3,
        flags: &["write", "denyoom", "fast"],
        access: &["RW", "insert"],
        example: "CF.ADD c b",
    },
    Row {
        name: "cf.addnx",
        arity: 3,
        flags: &["write", "denyoom", "fast"],
        access: &["RW", "insert"],
        example: "CF.ADDNX c b",
    },
    Row {
        name: "cf.insert",
        arity: -4,
        flags: &["write", "denyoom"],
        access: &["RW", "insert"],
        example: "CF.INSERT c ITEMS e f",
    },
    Row {
        name: "cf.insertnx",
        arity: -4,
        flags: &["write", "denyoom"],
        access: &["RW", "insert"],
        example: "CF.INSERTNX c ITEMS e f",
    },
    Row {
        name: "cf.exists",
        arity: 3,
        flags: &["readonly", "fast"],
        access: &["RO", "access"],
        example: "CF.EXISTS c a",
    },
    Row {
        name: "cf.mexists",
        arity: -3,
        flags: &["readonly"],
        access: &["RO", "access"],
        example: "CF.MEXISTS c a b",
    },
    Row {
        name: "cf.count",
        arity: 3,
        flags: &["readonly", "fast"],
        access: &["RO", "access"],
        example: "CF.COUNT c a",
    },
    Row {
        name: "cf.del",
        arity: 3,
        flags: &["write", "fast"],
        access: &["RW", "delete"],
        example: "CF.DEL c a",
    },
    Row {
        name: "cf.compact",
        arity: 2,
        flags: &["write"],
        access: &["RW", "update"],
        example: "CF.COMPACT c",
    },
    Row {
        name: "cf.packadd",
        arity: -4,
        flags: &["write", "denyoom"],
        access: &["RW", "insert"],
        example: "CF.PACKADD c LINES g",
    },
    Row {
        name: "cf.packdel",
        arity: -4,
        flags: &["write"],
        access: &["RW", "delete"],
        example: "CF.PACKDEL c LINES g",
    },
    Row {
        name: "cf.packexists",
        arity: -4,
        flags: &["readonly"],
        access: &["RO", "access"],
        example: "CF.PACKEXISTS c LINES g",
    },
    Row {
        name: "cf.scandump",
        arity: 3,
        flags: &["readonly"],
        access: &["RO", "access"],
        example: "CF.SCANDUMP c 0",
    },
    Row {
        name: "cf.loadchunk",
        arity: 4,
        flags: &["write", "denyoom"],
        access: &["RW", "insert"],
        example: "CF.LOADCHUNK c 1 a",
    },
    Row {
        name: "cf.info",
        arity: -2,
        flags: &["readonly", "fast"],
        access: &["RO", "access"],
        example: "CF.INFO c",
    },
    Row {
        name: "cf.debug",
        arity: 2,
        flags: &["readonly", "fast"],
        access: &["RO", "access"],
        example: "CF.DEBUG c",
    },
];

impl Row {
    fn writes(&self) -> bool {
        self.flags.contains(&"write")
    }

    fn has_key(&self) -> bool {
        !self.access.is_empty()
    }

    /// Whether it also reads keys that follow the first.
    fn reads_other_keys(&self) -> bool {
        self.name == "bf.merge"
    }

    /// The module's own category.
    fn own_category(&self) -> &'static str {
        match self.name.starts_with("bf.") {
            true => "@bloom",
            false => "@cuckoo",
        }
    }

    fn categories(&self) -> Vec<&'static str> {
        let kind = if self.writes() { "@write" } else { "@read" };
        let fast = self.flags.contains(&"fast").then_some("@fast");
        let blocking = self.flags.contains(&"blocking").then_some("@blocking");
        [kind].into_iter().chain(fast).chain(blocking).collect()
    }
}

#[test]
fn the_table_has_every_command_of_the_module() {
    let names = texts(&Server::start().connect().run("COMMAND LIST FILTERBY MODULE bf"));
    assert_eq!(sorted(&TABLE.map(|row| row.name)), sorted(&names));
}

#[test]
fn every_command_has_the_flags_of_the_contract() {
    let server = Server::start();
    let mut db = server.connect();
    for row in &TABLE {
        let info = command_info(&mut db, row.name);
        assert_eq!(info[1].integer(), row.arity, "{}", row.name);
        let mut flags = texts(&info[2]);
        flags.retain(|flag| flag != "module");
        assert_eq!(sorted(&flags), sorted(row.flags), "{}", row.name);
    }
}

#[test]
fn every_command_with_a_key_has_it_first_and_declares_its_access() {
    let server = Server::start();
    let mut db = server.connect();
    for row in TABLE.iter().filter(|row| row.has_key()) {
        let info = command_info(&mut db, row.name);
        assert_eq!([&info[3], &info[4], &info[5]].map(Reply::integer), [1, 1, 1], "{}", row.name);
        let specs = info[8].elements();
        assert_eq!(specs.len(), if row.reads_other_keys() { 2 } else { 1 }, "{}", row.name);
        let spec = &specs[0];
        assert_eq!(sorted(&texts(&spec.field("flags"))), sorted(row.access), "{}", row.name);
        assert_eq!(
            spec.field("begin_search").field("spec").field("index").integer(),
            1,
            "{}",
            row.name
        );
        let example = row.example.split_whitespace();
        let keys = texts(&db.call(["COMMAND", "GETKEYS"].into_iter().chain(example)));
        assert_eq!(keys.len(), specs.len(), "{}", row.name);
        assert_eq!(keys[0], row.example.split_whitespace().nth(1).expect("a key"));
    }
}

#[test]
fn a_command_without_a_key_says_so() {
    let server = Server::start();
    let mut db = server.connect();
    for row in TABLE.iter().filter(|row| !row.has_key()) {
        let info = command_info(&mut db, row.name);
        let places = [&info[3], &info[4], &info[5]].map(Reply::integer);
        assert_eq!(places, [0, 0, 0], "{}", row.name);
        assert!(info[8].elements().is_empty(), "{}: {}", row.name, info[8]);
        let example = row.example.split_whitespace();
        let keys = db.call(["COMMAND", "GETKEYS"].into_iter().chain(example));
        assert_eq!(keys.to_string(), "-ERR The command has no key arguments", "{}", row.name);
    }
}

#[test]
fn every_command_is_in_its_categories_where_the_server_has_them() {
    let server = Server::start();
    if !server.dialect().has_module_acl_categories() {
        return;
    }
    let mut db = server.connect();
    for row in &TABLE {
        let categories = texts(&command_info(&mut db, row.name)[6]);
        for category in row.categories() {
            assert!(categories.contains(&category.to_owned()), "{}: {categories:?}", row.name);
        }
    }
}

#[test]
fn a_user_of_a_category_can_call_only_its_commands() {
    let server = Server::start();
    let dialect = server.dialect();
    if !dialect.has_module_acl_categories() {
        return;
    }
    let mut admin = server.connect();
    let reads = |row: &Row| !row.writes();
    check_calls(&mut admin, &server, "+@read", reads);
    check_calls(&mut admin, &server, "+@write", Row::writes);
    check_calls(&mut admin, &server, "+@fast", |row| row.flags.contains(&"fast"));
    check_calls(&mut admin, &server, "+@blocking", |row| row.flags.contains(&"blocking"));
    if dialect.has_own_acl_category() {
        for category in ["@bloom", "@cuckoo"] {
            let is_in = |row: &Row| row.own_category() == category;
            check_calls(&mut admin, &server, &format!("+{category}"), is_in);
            let rules = format!("+@all -{category}");
            check_calls(&mut admin, &server, &rules, |row| !is_in(row));
        }
    }
}

/// As docs/migrate.md says.
#[test]
fn a_server_starts_with_rules_on_every_category_of_redisbloom_where_modules_have_categories() {
    let categories = ["bloom", "cuckoo", "cms", "topk", "tdigest"];
    let rules = categories.map(|category| format!("+@{category} -@{category} +@{category}"));
    let user = format!("user app on nopass ~* {}", rules.join(" "));
    let folder = std::env::temp_dir().join(format!("splitbloom-rules-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder for the file");
    let file = folder.join("users.acl");
    fs::write(&file, format!("{user}\n")).expect("the folder takes a file");
    let line = format!("aclfile {}", file.display());
    for setting in [user.as_str(), &line] {
        if !Server::start().dialect().has_own_acl_category() {
            let log = Server::refusal(Options::settings(&[setting]));
            assert!(log.contains("Unknown command or category name"), "{log}");
            continue;
        }
        let server = Server::configured(&[setting]);
        let mut app = server.connect();
        app.converse(&[("AUTH app any", "+OK"), ("BF.ADD k a", ":1"), ("CF.ADD c a", ":1")]);
    }
    fs::remove_dir_all(folder).expect("the folder can be removed");
}

/// No module can help it, as docs/migrate.md says.
#[test]
fn a_rule_on_a_command_that_the_server_lacks_stops_the_start_and_is_named() {
    for rule in ["+cms.query", "-topk.add", "+@search"] {
        let user = format!("user app on nopass ~* {rule}");
        let log = Server::refusal(Options::settings(&[&user]));
        assert!(log.contains(rule), "{rule}: {log}");
    }
}

/// So none of its rules on commands has to be removed.
#[test]
fn every_bloom_and_cuckoo_command_of_redisbloom_can_be_named_in_a_rule() {
    const BLOOM: &str = "reserve add madd insert exists mexists scandump loadchunk info card debug";
    const CUCKOO: &str = "reserve add addnx insert insertnx exists mexists count del scandump \
                          loadchunk info compact debug";
    let server = Server::start();
    let mut db = server.connect();
    for (family, names) in [("bf", BLOOM), ("cf", CUCKOO)] {
        for name in names.split_whitespace() {
            db.run(&format!("ACL SETUSER app +{family}.{name}"));
        }
    }
}

#[test]
fn a_user_who_may_only_read_keys_is_refused_every_write() {
    let server = Server::start();
    let mut admin = server.connect();
    check_calls_on_keys(&mut admin, &server, "%R~*", |row| !row.has_key() || !row.writes());
}

#[test]
fn a_user_who_may_only_write_keys_is_refused_every_read() {
    let server = Server::start();
    let mut admin = server.connect();
    let may = |row: &Row| !row.has_key() || row.writes() && !row.reads_other_keys();
    check_calls_on_keys(&mut admin, &server, "%W~*", may);
}

/// As docs/security.md says.
#[test]
fn a_user_who_may_only_write_keys_learns_from_an_add_what_was_present() {
    let server = Server::strict(&[]);
    server.connect().converse(&[
        ("BF.ADD k a", ":1"),
        ("ACL SETUSER adds on nopass +@all %W~*", "+OK"),
        ("AUTH adds any", "+OK"),
        ("BF.ADD k a", ":0"),
        ("BF.ADD k b", ":1"),
        ("BF.MADD k a b c", "[:0, :0, :1]"),
        ("BF.INSERT k NOCREATE ITEMS c d", "[:0, :1]"),
    ]);
}

#[test]
fn a_user_without_access_to_the_key_may_call_only_commands_without_keys() {
    let server = Server::start();
    let mut admin = server.connect();
    for keys in ["~other:*", "resetkeys"] {
        check_calls_on_keys(&mut admin, &server, keys, |row| !row.has_key());
    }
}

#[test]
fn every_command_is_documented() {
    let server = Server::start();
    let mut db = server.connect();
    for row in &TABLE {
        let docs = db.line(&format!("COMMAND DOCS {}", row.name)).field(row.name);
        assert!(!docs.field("summary").text().is_empty(), "{}", row.name);
        assert!(!docs.field("complexity").text().is_empty(), "{}", row.name);
        let arguments = docs.field("arguments");
        if row.has_key() {
            let key = &arguments.elements()[0];
            assert_eq!(key.field("type").text(), "key", "{}", row.name);
            assert_eq!(key.field("key_spec_index").integer(), 0, "{}", row.name);
        }
        let all = arguments.elements().len();
        let fewest = if row.arity < 0 { 1 } else { row.arity as usize - 1 };
        assert!(all >= fewest, "{}: {arguments}", row.name);
    }
}

#[test]
fn the_options_are_documented() {
    let server = Server::start();
    let mut db = server.connect();
    for (name, tokens) in [
        ("bf.reserve", ["EXPANSION", "NONSCALING", "EX"].as_slice()),
        ("bf.insert", &["CAPACITY", "ERROR", "EXPANSION", "NOCREATE", "EX", "ITEMS"]),
        ("bf.info", &["CAPACITY", "SIZE", "FILTERS", "ITEMS", "EXPANSION", "FULL"]),
        ("bf.keys", &["PARTITIONS", "ITEMS"]),
        ("bf.changes", &["COUNT", "BLOCK", "ALSO"]),
        ("cf.reserve", &["BUCKETSIZE", "MAXITERATIONS", "EXPANSION", "ERROR", "EX", "SEED"]),
        ("cf.insert", &["CAPACITY", "EX", "NOCREATE", "ITEMS"]),
        ("cf.insertnx", &["CAPACITY", "EX", "NOCREATE", "ITEMS"]),
        ("cf.info", &["FULL"]),
        ("bf.packadd", &["FIXED", "LINES", "PREFIXED", "BITS", "NOCREATE"]),
        ("bf.packexists", &["FIXED", "LINES", "PREFIXED", "MUSTEXIST"]),
        ("cf.packexists", &["FIXED", "LINES", "PREFIXED", "MUSTEXIST"]),
        ("cf.packadd", &["FIXED", "LINES", "PREFIXED", "BITS", "NOCREATE"]),
        ("cf.packdel", &["FIXED", "LINES", "PREFIXED", "BITS"]),
    ] {
        let docs = db.ask(&format!("COMMAND DOCS {name}"));
        for token in tokens {
            assert!(docs.contains(&format!("$token, ${token}")), "{token} in {docs}");
        }
    }
}

/// Commands whose replies depend on more than their arguments and the data: on the time, on a
/// random seed, on memory. Lookups are not among them: keys are signalled when filters forget.
const VARYING: [&str; 12] = [
    "bf.add",
    "bf.changes",
    "bf.debug",
    "bf.info",
    "bf.insert",
    "bf.madd",
    "bf.packadd",
    "bf.scandump",
    "cf.debug",
    "cf.info",
    "cf.insertnx",
    "cf.scandump",
];

#[test]
fn every_command_has_the_tips_that_are_true_and_no_other() {
    let server = Server::start();
    let mut db = server.connect();
    let names = TABLE.map(|row| row.name);
    assert!(VARYING.iter().all(|name| names.contains(name)));
    for name in names {
        let tips = texts(&command_info(&mut db, name)[7]);
        let expected: &[&str] = match VARYING.contains(&name) {
            true => &["nondeterministic_output"],
            false => &[],
        };
        assert_eq!(tips, expected, "{name}");
    }
}

/// Checks a user who may call some commands on any key.
fn check_calls(
    admin: &mut Connection,
    server: &Server,
    commands: &str,
    may: impl Fn(&Row) -> bool,
) {
    let rules = format!("~* {commands}");
    check_calls_of_user(admin, server, &rules, "permissions to run", may);
}

/// Checks a user who may call every command on some keys.
fn check_calls_on_keys(
    admin: &mut Connection,
    server: &Server,
    keys: &str,
    may: impl Fn(&Row) -> bool,
) {
    let rules = format!("+@all {keys}");
    check_calls_of_user(admin, server, &rules, "permissions to access", may);
}

fn check_calls_of_user(
    admin: &mut Connection,
    server: &Server,
    rules: &str,
    refusal: &str,
    may: impl Fn(&Row) -> bool,
) {
    admin.run("FLUSHALL");
    admin.run("BF.ADD k a");
    admin.run("BF.INSERT w WINDOW 60 ITEMS a");
    admin.run("CF.ADD c a");
    admin.run("ACL DELUSER someone");
    admin.run(&format!("ACL SETUSER someone on nopass +auth {rules}"));
    let mut someone = server.connect();
    someone.run("AUTH someone any");
    for row in &TABLE {
        let reply = someone.ask(row.example);
        if may(row) {
            assert!(!reply.starts_with("-NOPERM"), "{rules}: {} returns {reply}", row.example);
        } else {
            let refused = reply.starts_with("-NOPERM") && reply.contains(refusal);
            assert!(refused, "{rules}: {} returns {reply}", row.example);
        }
    }
}

fn command_info(db: &mut Connection, name: &str) -> Vec<Reply> {
    let info = db.line(&format!("COMMAND INFO {name}"));
    info.elements()[0].elements().to_vec()
}

fn texts(strings: &Reply) -> Vec<String> {
    strings.elements().iter().map(Reply::text).collect()
}

fn sorted<T: AsRef<str>>(words: &[T]) -> Vec<String> {
    let mut words: Vec<String> = words.iter().map(|word| word.as_ref().to_owned()).collect();
    words.sort();
    words
}
