//! What holds for every command, by one table: flags, categories, keys and access to them,
//! documentation; who may call it, and where the server refuses it.

use crate::errors::WRONG_TYPE;
use splitbloom_harness::{Connection, Family, Folder, Options, Reply, Server, Traces};
use std::fs;

/// A command as documented.
struct Row {
    name: &'static str,
    arity: i64,
    flags: &'static str,
    /// How it accesses its first key; empty without a key.
    access: &'static str,
    /// A call that succeeds with all permissions.
    example: &'static str,
}

const fn row(
    name: &'static str,
    arity: i64,
    flags: &'static str,
    access: &'static str,
    example: &'static str,
) -> Row {
    Row { name, arity, flags, access, example }
}

/// Every command of the module: arity, flags, access to the first key, a call.
const TABLE: [Row; 38] = [
    row("bf.reserve", -4, "write denyoom fast", "OW insert", "BF.RESERVE fresh 0.01 100"),
    row("bf.add", 3, "write denyoom fast", "RW insert", "BF.ADD k b"),
    row("bf.madd", -3, "write denyoom", "RW insert", "BF.MADD k c d"),
    row("bf.insert", -4, "write denyoom", "RW insert", "BF.INSERT k ITEMS e f"),
    row("bf.exists", 3, "readonly fast", "RO access", "BF.EXISTS k a"),
    row("bf.mexists", -3, "readonly", "RO access", "BF.MEXISTS k a b"),
    row("bf.packadd", -4, "write denyoom", "RW insert", "BF.PACKADD k LINES g"),
    row("bf.packexists", -4, "readonly", "RO access", "BF.PACKEXISTS k LINES g"),
    row("bf.info", -2, "readonly fast", "RO access", "BF.INFO k"),
    row("bf.card", 2, "readonly fast", "RO access", "BF.CARD k"),
    row("bf.merge", -4, "write denyoom movablekeys", "RW insert", "BF.MERGE k 1 k"),
    row("bf.shrink", -2, "write blocking", "RW update", "BF.SHRINK k"),
    row("bf.load", 3, "write denyoom", "OW insert", "BF.LOAD new x"),
    row("bf.clear", 2, "write fast", "RW delete", "BF.CLEAR k"),
    row("cf.clear", 2, "write fast", "RW delete", "CF.CLEAR c"),
    row("bf.forget", 3, "write fast", "RW delete", "BF.FORGET w 1000000000005"),
    row("bf.debug", 2, "readonly fast", "RO access", "BF.DEBUG k"),
    row("bf.scandump", -3, "readonly", "RO access", "BF.SCANDUMP k 0"),
    row("bf.changes", -3, "readonly blocking", "RO access", "BF.CHANGES k 0"),
    row("bf.loadchunk", 4, "write denyoom", "RW insert", "BF.LOADCHUNK k 1 a"),
    row("bf.keys", -4, "readonly loading stale", "", "BF.KEYS k PARTITIONS 4 ITEMS a"),
    row("cf.reserve", -3, "write denyoom fast", "OW insert", "CF.RESERVE fresh 100"),
    row("cf.add", 3, "write denyoom fast", "RW insert", "CF.ADD c b"),
    row("cf.addnx", 3, "write denyoom fast", "RW insert", "CF.ADDNX c b"),
    row("cf.insert", -4, "write denyoom", "RW insert", "CF.INSERT c ITEMS e f"),
    row("cf.insertnx", -4, "write denyoom", "RW insert", "CF.INSERTNX c ITEMS e f"),
    row("cf.exists", 3, "readonly fast", "RO access", "CF.EXISTS c a"),
    row("cf.mexists", -3, "readonly", "RO access", "CF.MEXISTS c a b"),
    row("cf.count", 3, "readonly fast", "RO access", "CF.COUNT c a"),
    row("cf.del", 3, "write fast", "RW delete", "CF.DEL c a"),
    row("cf.compact", 2, "write", "RW update", "CF.COMPACT c"),
    row("cf.packadd", -4, "write denyoom", "RW insert", "CF.PACKADD c LINES g"),
    row("cf.packdel", -4, "write", "RW delete", "CF.PACKDEL c LINES g"),
    row("cf.packexists", -4, "readonly", "RO access", "CF.PACKEXISTS c LINES g"),
    row("cf.scandump", 3, "readonly", "RO access", "CF.SCANDUMP c 0"),
    row("cf.loadchunk", 4, "write denyoom", "RW insert", "CF.LOADCHUNK c 1 a"),
    row("cf.info", -2, "readonly fast", "RO access", "CF.INFO c"),
    row("cf.debug", 2, "readonly fast", "RO access", "CF.DEBUG c"),
];

impl Row {
    fn has(&self, flag: &str) -> bool {
        self.flags.split(' ').any(|one| one == flag)
    }

    fn writes(&self) -> bool {
        self.has("write")
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
        let fast = self.has("fast").then_some("@fast");
        let blocking = self.has("blocking").then_some("@blocking");
        [kind].into_iter().chain(fast).chain(blocking).collect()
    }

    /// The call, with another key.
    fn on(&self, key: &str) -> String {
        let mut words: Vec<&str> = self.example.split(' ').collect();
        words[1] = key;
        words.join(" ")
    }
}

/// Commands whose replies depend on more than their arguments and the data: on the time, on a
/// random seed, on memory. Lookups are not among them: keys are signalled when filters forget.
const VARYING: &str =
    "bf.add bf.changes bf.debug bf.info bf.insert bf.madd bf.packadd bf.scandump \
                       cf.debug cf.info cf.insertnx cf.scandump";

#[test]
fn the_table_has_every_command_of_the_module() {
    let names = texts(&Server::start().connect().run("COMMAND LIST FILTERBY MODULE bf"));
    assert_eq!(sorted(&TABLE.map(|row| row.name)), sorted(&names));
    assert!(VARYING.split(' ').all(|name| names.contains(&name.to_owned())));
}

#[test]
fn every_command_has_the_flags_categories_and_tips_of_the_contract_and_no_other() {
    let server = Server::start();
    let has_categories = server.dialect().has_module_acl_categories();
    let mut db = server.connect();
    for row in &TABLE {
        let info = command_info(&mut db, row.name);
        assert_eq!(info[1].integer(), row.arity, "{}", row.name);
        let mut flags = texts(&info[2]);
        flags.retain(|flag| flag != "module");
        assert_eq!(sorted(&flags), sorted_words(row.flags), "{}", row.name);
        let categories = texts(&info[6]);
        for category in row.categories().into_iter().filter(|_| has_categories) {
            assert!(categories.contains(&category.to_owned()), "{}: {categories:?}", row.name);
        }
        let varies = VARYING.split(' ').any(|name| name == row.name);
        let tips: &[&str] = if varies { &["nondeterministic_output"] } else { &[] };
        assert_eq!(texts(&info[7]), tips, "{}", row.name);
    }
}

#[test]
fn every_command_has_its_key_first_and_declares_its_access_or_says_that_it_has_none() {
    let (_server, mut db) = Server::start().with_client();
    for row in &TABLE {
        let info = command_info(&mut db, row.name);
        let places = [&info[3], &info[4], &info[5]].map(Reply::integer);
        assert_eq!(places, [i64::from(row.has_key()); 3], "{}", row.name);
        let specs = info[8].elements();
        let words = ["COMMAND", "GETKEYS"].into_iter().chain(row.example.split(' '));
        let keys = db.call(words);
        let [spec, others @ ..] = specs else {
            assert!(!row.has_key(), "{}", row.name);
            assert_eq!(keys.to_string(), "-ERR The command has no key arguments", "{}", row.name);
            continue;
        };
        assert_eq!(others.len(), usize::from(row.reads_other_keys()), "{}", row.name);
        assert_eq!(sorted(&texts(&spec.field("flags"))), sorted_words(row.access), "{}", row.name);
        let place = spec.field("begin_search").field("spec").field("index").integer();
        assert_eq!(place, 1, "{}", row.name);
        assert_eq!(keys.elements().len(), specs.len(), "{}", row.name);
        assert_eq!(keys.elements()[0].text(), row.example.split(' ').nth(1).expect("a key"));
    }
}

/// The keys that the examples name.
fn create_keys(db: &mut Connection) {
    db.run("BF.ADD k a");
    db.run("BF.INSERT w WINDOW 60 ITEMS a");
    db.run("CF.ADD c a");
}

#[test]
fn a_server_at_maxmemory_refuses_just_the_commands_that_may_take_memory() {
    let (_server, mut db) = Server::start().with_client();
    create_keys(&mut db);
    let before = Traces::of(&mut db);
    db.run("CONFIG SET maxmemory 1");
    let (refused, answered): (Vec<_>, Vec<_>) = TABLE.iter().partition(|row| row.has("denyoom"));
    for row in refused {
        assert!(db.ask(row.example).starts_with("-OOM "), "{}", row.example);
    }
    assert_eq!(Traces::of(&mut db), before);
    db.converse(&[("BF.MEXISTS k a z", "[:1, :0]"), ("CF.COUNT c a", ":1")]);
    for row in answered {
        let reply = db.line(row.example);
        assert!(!reply.is_error(), "{}: {reply}", row.example);
    }
}

#[test]
fn a_replica_refuses_just_the_commands_that_write() {
    let primary = Server::start();
    let replica = primary.replica(&[]);
    create_keys(&mut primary.connect());
    primary.wait_for(&replica);
    let mut db = replica.connect();
    for row in &TABLE {
        let reply = db.ask(row.example);
        assert_eq!(reply.starts_with("-READONLY "), row.writes(), "{}: {reply}", row.example);
        assert!(row.writes() || !reply.starts_with('-'), "{}: {reply}", row.example);
    }
    db.converse(&[("BF.MEXISTS k a z", "[:1, :0]"), ("CF.COUNT c a", ":1")]);
}

#[test]
fn every_command_on_a_value_of_another_type_is_an_error_that_changes_nothing() {
    let (_server, mut db) = Server::start().with_client();
    create_keys(&mut db);
    db.run("SET text a");
    let before = Traces::of(&mut db);
    for row in TABLE.iter().filter(|row| row.has_key()) {
        let other = if row.own_category() == "@bloom" { "c" } else { "k" };
        for key in ["text", other] {
            assert_eq!(db.ask(&row.on(key)), format!("-{WRONG_TYPE}"), "{} {key}", row.name);
        }
    }
    // A chunk that fits, too.
    for (family, key) in [(Family::Bloom, "k"), (Family::Counting, "c")] {
        for (iterator, bytes) in family.scan_dump(&mut db, key) {
            let reply = family.load(&mut db, "text", iterator, &bytes);
            assert_eq!(reply, format!("-{WRONG_TYPE}"));
        }
    }
    assert_eq!(Traces::of(&mut db), before);
}

#[test]
fn a_user_of_a_category_can_call_only_its_commands() {
    let server = Server::start();
    let dialect = server.dialect();
    if !dialect.has_module_acl_categories() {
        return;
    }
    let check = |rules: &str, may: &dyn Fn(&Row) -> bool| {
        check_user(&server, &format!("~* {rules}"), "permissions to run", may);
    };
    check("+@read", &|row| !row.writes());
    check("+@write", &Row::writes);
    check("+@fast", &|row| row.has("fast"));
    check("+@blocking", &|row| row.has("blocking"));
    if dialect.has_own_acl_category() {
        for category in ["@bloom", "@cuckoo"] {
            check(&format!("+{category}"), &|row| row.own_category() == category);
            check(&format!("+@all -{category}"), &|row| row.own_category() != category);
        }
    }
}

/// As docs/migrate.md says.
#[test]
fn a_server_starts_with_rules_on_every_category_of_redisbloom_where_modules_have_categories() {
    let categories = ["bloom", "cuckoo", "cms", "topk", "tdigest"];
    let rules = categories.map(|category| format!("+@{category} -@{category} +@{category}"));
    let user = format!("user app on nopass ~* {}", rules.join(" "));
    let folder = Folder::fresh();
    let file = folder.path().join("users.acl");
    fs::write(&file, format!("{user}\n")).expect("the folder takes a file");
    let line = format!("aclfile {}", file.display());
    for setting in [user.as_str(), &line] {
        if !Server::start().dialect().has_own_acl_category() {
            let log = Server::refusal(Options::settings(&[setting]));
            assert!(log.contains("Unknown command or category name"), "{log}");
            continue;
        }
        let (_server, mut app) = Server::configured(&[setting]).with_client();
        app.converse(&[("AUTH app any", "+OK"), ("BF.ADD k a", ":1"), ("CF.ADD c a", ":1")]);
    }
}

#[test]
fn a_user_may_call_just_the_commands_for_which_it_has_access_to_the_key() {
    let server = Server::start();
    let check = |keys: &str, may: &dyn Fn(&Row) -> bool| {
        let may = |row: &Row| !row.has_key() || may(row);
        check_user(&server, &format!("+@all {keys}"), "permissions to access", &may);
    };
    check("%R~*", &|row| !row.writes());
    check("%W~*", &|row| row.writes() && !row.reads_other_keys());
    check("~other:*", &|_| false);
    check("resetkeys", &|_| false);
}

#[test]
fn every_command_is_documented() {
    let (_server, mut db) = Server::start().with_client();
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

/// Checks that a user with these rules may call just these commands, and is refused the others.
fn check_user(server: &Server, rules: &str, refusal: &str, may: &dyn Fn(&Row) -> bool) {
    let mut admin = server.connect();
    admin.run("FLUSHALL");
    create_keys(&mut admin);
    admin.run("ACL DELUSER someone");
    admin.run(&format!("ACL SETUSER someone on nopass +auth {rules}"));
    let mut someone = server.connect();
    someone.run("AUTH someone any");
    for row in &TABLE {
        let reply = someone.ask(row.example);
        let is_refused = reply.starts_with("-NOPERM");
        assert_eq!(is_refused, !may(row), "{rules}: {} returns {reply}", row.example);
        assert!(!is_refused || reply.contains(refusal), "{rules}: {} returns {reply}", row.example);
    }
}

fn command_info(db: &mut Connection, name: &str) -> Vec<Reply> {
    let info = db.line(&format!("COMMAND INFO {name}"));
    info.elements()[0].elements().to_vec()
}

fn texts(strings: &Reply) -> Vec<String> {
    strings.elements().iter().map(Reply::text).collect()
}

fn sorted_words(text: &str) -> Vec<String> {
    sorted(&text.split_whitespace().collect::<Vec<_>>())
}

fn sorted<T: AsRef<str>>(words: &[T]) -> Vec<String> {
    let mut words: Vec<String> = words.iter().map(|word| word.as_ref().to_owned()).collect();
    words.sort();
    words
}
