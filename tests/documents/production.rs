//! docs/production.md: a server starts with the configuration of the page, as it stands there but
//! for ports, folders and the path of the module; the doctor finds nothing to improve, and each
//! user may do what the page says, and nothing else.

use super::{blocks, read};
use splitbloom_client::{Follower, Keys, Topology};
use splitbloom_harness::{
    eventually, module_path, patient, server_path, tool_path, Connection, Folder, Port, Process,
};
use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;
use std::{fs, thread};

/// More than a full synchronization takes, which begins after five seconds.
const SOON: Duration = Duration::from_secs(60);

/// Who may look up, and add.
const READERS: &str = "reader writer";

/// The users of the page, other than the administrator.
const USERS: [&str; 5] = ["reader", "writer", "follower", "monitor", "replica"];

/// Commands, and which of these users may send them. The administrator may send all.
const COMMANDS: [(&str, &str); 24] = [
    ("PING", "reader writer follower replica"),
    ("BF.EXISTS seen:k a", READERS),
    ("BF.MEXISTS seen:k a b", READERS),
    ("BF.PACKEXISTS seen:k FIXED 1 a", READERS),
    ("CF.EXISTS seen:c a", READERS),
    ("CF.MEXISTS seen:c a b", READERS),
    ("CF.PACKEXISTS seen:c FIXED 1 a", READERS),
    ("BF.ADD seen:k a", "writer"),
    ("BF.MADD seen:k a b", "writer"),
    ("BF.PACKADD seen:k FIXED 1 a", "writer"),
    ("CF.ADDNX seen:c a", "writer"),
    ("BF.CHANGES seen:k 0", "follower"),
    ("BF.SCANDUMP seen:k 0", "follower"),
    ("INFO bf", "monitor"),
    ("SMEMBERS splitbloom:watched", "monitor"),
    ("BF.INFO seen:k FULL", "monitor"),
    ("SMEMBERS names", ""),
    ("BF.EXISTS other a", ""),
    ("BF.ADD other a", ""),
    ("BF.RESERVE seen:new 0.01 100", ""),
    ("CF.DEL seen:c a", ""),
    ("CONFIG SET maxmemory 2gb", ""),
    ("DUMP seen:k", ""),
    ("ACL LIST", ""),
];

/// A running process of the server under test, or a sentinel.
struct Site {
    process: Process,
    folder: Folder,
    port: Port,
}

impl Site {
    /// A server with the configuration of the page, and these lines after it.
    fn server(lines: &str) -> Site {
        let port = Port::free().expect("a free port");
        let text = block("Both servers", 0) + lines;
        let mut site = Site::start(&text, port);
        site.wait_until_it_answers();
        site
    }

    /// Starts the process with this text, in a folder of its own and on this port.
    fn start(text: &str, port: Port) -> Site {
        let folder = Folder::fresh();
        let lines = text.lines().map(|line| match line.split_once(' ') {
            Some(("port", _)) => format!("port {}\n", port.number()),
            Some(("dir", _)) => format!("dir {}\n", folder.path().display()),
            Some(("loadmodule", _)) => format!("loadmodule {}\n", module_path().display()),
            _ => format!("{line}\n"),
        });
        fs::write(folder.configuration(), lines.collect::<String>()).expect("a file");
        let mode = text.contains("\nsentinel monitor ").then_some("--sentinel");
        let process = Process::launch(&server_path(), &folder, mode);
        Site { process, folder, port }
    }

    /// Kills the process, and starts it with the same files.
    fn restart(&mut self) {
        self.process.kill();
        self.process = Process::launch(&server_path(), &self.folder, None);
        self.wait_until_it_answers();
    }

    /// Waits until the server has loaded its data.
    fn wait_until_it_answers(&mut self) {
        eventually("the server answers", || {
            assert!(!self.has_ended(), "it does not start:\n{}", self.folder.log());
            let db = self.try_login("admin", "admin-password");
            db.is_some_and(|mut db| db.ask("DBSIZE").starts_with(':'))
        });
    }

    fn has_ended(&mut self) -> bool {
        self.process.end().is_some()
    }

    fn try_login(&self, user: &str, password: &str) -> Option<Connection> {
        let mut db = Connection::open(self.port.number()).ok()?;
        let reply = db.try_call(["AUTH", user, password]).ok()?;
        (reply.to_string() == "+OK").then_some(db)
    }

    /// A connection of this user.
    fn login(&self, user: &str) -> Connection {
        let db = self.try_login(user, &format!("{user}-password"));
        db.unwrap_or_else(|| panic!("{user} cannot log in:\n{}", self.folder.log()))
    }

    /// Whether it is a replica in sync with its primary. A sentinel that changes the role of a
    /// server ends all connections.
    fn follows(&self) -> bool {
        let db = self.try_login("admin", "admin-password");
        let info = db.and_then(|mut db| db.try_call(["INFO", "replication"]).ok());
        info.is_some_and(|info| info.text().contains("master_link_status:up"))
    }

    /// What the doctor finds as the administrator. It must be all well.
    fn assert_well(&self) {
        let mut doctor = Command::new(tool_path());
        let port = self.port.number();
        let url = format!("redis://admin:admin-password@127.0.0.1:{port}");
        let run = doctor.args(["doctor", &url, "--json"]).output().expect("the tool");
        let json = String::from_utf8_lossy(&run.stdout);
        assert_eq!(run.status.code(), Some(0), "{json}");
        let report: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        let findings = report["findings"].as_array().expect("findings");
        assert!(findings.len() > 10, "{json}");
        assert!(findings.iter().all(|finding| finding["level"] == "ok"), "{json}");
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if thread::panicking() {
            let (port, log) = (self.port.number(), self.folder.log());
            eprintln!("the log of the server on port {port}:\n{log}");
        }
    }
}

/// A block of the page: block `number`, counted from 0, of the section `heading`.
fn block(heading: &str, number: usize) -> String {
    let found = blocks::of(&read("docs/production.md"))
        .into_iter()
        .filter(|block| block.heading == heading);
    found.map(|block| block.text).nth(number).expect("a block of the section")
}

fn is_valkey() -> bool {
    let version = Command::new(server_path()).arg("--version").output().expect("the server");
    version.stdout.starts_with(b"Valkey")
}

/// An administrator's filters, and those of others.
fn fill(site: &Site) {
    site.login("admin").run_all([
        "BF.RESERVE seen:k 0.01 100",
        "CF.RESERVE seen:c 100",
        "CF.ADD seen:c a",
        "BF.RESERVE other 0.01 100",
        "SADD names alice",
        "SADD splitbloom:watched seen:k",
    ]);
}

#[test]
fn the_doctor_finds_nothing_to_improve_before_and_after_the_server_rewrote_its_file() {
    let mut site = Site::server("");
    let mut db = site.login("admin");
    // The default user is off, and an add that creates a filter is a transaction in the file.
    site.login("writer").run("BF.ADD seen:k a");
    site.assert_well();
    db.run("CONFIG REWRITE");
    thread::sleep(Duration::from_millis(1100)); // appendfsync everysec
    site.restart();
    site.assert_well();
    let mut reader = site.login("reader");
    assert_eq!(reader.ask("BF.EXISTS seen:k a"), ":1");
    assert_eq!(reader.ask("BF.EXISTS seen:missing a"), "-NOFILTER no such filter");
}

#[test]
fn each_user_of_the_page_may_do_just_what_it_says() {
    let site = Site::server("");
    fill(&site);
    let mut db = Connection::open(site.port.number()).expect("a connection");
    assert!(db.ask("PING").starts_with("-NOAUTH"), "no command without a login");
    assert!(db.ask("AUTH any").starts_with("-WRONGPASS"), "no login as the default user");
    for user in USERS {
        let mut db = site.login(user);
        for (command, users) in COMMANDS {
            let reply = db.ask(command);
            let is_allowed = users.split(' ').any(|other| other == user);
            assert_eq!(!reply.starts_with("-NOPERM"), is_allowed, "{user}: {command}: {reply}");
            assert!(!is_allowed || !reply.starts_with('-'), "{user}: {command}: {reply}");
        }
    }
    let mut admin = site.login("admin");
    for (command, _) in COMMANDS {
        assert!(!admin.ask(command).starts_with('-'), "{command}");
    }
}

#[test]
fn the_monitor_may_run_the_script_of_the_exporter() {
    let site = Site::server("");
    fill(&site);
    let script = read("packaging/monitoring/splitbloom.lua");
    let reply = site.login("monitor").call(["EVAL", &script, "0"]);
    let names: BTreeSet<String> = reply.elements().iter().map(|word| word.text()).collect();
    for name in ["bf_lookups", "bf_filter_present:seen:k", "bf_filter_items:seen:k"] {
        assert!(names.contains(name), "{name}: {reply}");
    }
}

#[test]
fn the_follower_keeps_a_copy_of_a_server_and_of_a_node() {
    for is_node in [false, true] {
        let site = match is_node {
            false => Site::server(""),
            true => node(),
        };
        site.login("writer").run("BF.ADD seen:k a");
        let topology = if is_node { Topology::Cluster } else { Topology::OneServer };
        let url = format!("redis://follower:follower-password@127.0.0.1:{}", site.port.number());
        let server = redis::IntoConnectionInfo::into_connection_info(url).expect("a URL");
        let follower = Follower::start(vec![server], topology, Keys::One(b"seen:k"));
        let follower = follower.expect("a thread");
        assert!(follower.wait_until_ready(patient(SOON)), "{:?}", follower.status());
        site.login("writer").run("BF.ADD seen:k b");
        eventually("the copy has what was added", || follower.contains(b"b") == Some(true));
        let clients = site.login("admin").run("CLIENT LIST").text();
        assert!(clients.contains(" name=splitbloom-follower "), "{clients}");
    }
}

/// A cluster of one node.
fn node() -> Site {
    let bus = Port::free().expect("a free port");
    let mut lines = block("A cluster", 0) + &format!("cluster-port {}\n", bus.number());
    if !is_valkey() {
        lines += &block("A cluster", 1);
    }
    let site = Site::server(&lines);
    let mut db = site.login("admin");
    db.run("CLUSTER ADDSLOTSRANGE 0 16383");
    eventually("it is a cluster", || db.run("CLUSTER INFO").text().contains("cluster_state:ok"));
    site
}

#[test]
fn the_doctor_finds_nothing_to_improve_in_a_cluster() {
    let site = node();
    site.login("writer").run("BF.ADD seen:k a");
    site.assert_well();
}

#[test]
fn sentinel_promotes_the_replica_and_the_old_primary_follows_it() {
    let lines = block("Sentinel", 0);
    let primary = Site::server(&lines);
    let follow = format!("replicaof 127.0.0.1 {}\n", primary.port.number());
    let replica = Site::server(&(lines + &follow));
    primary.login("writer").run("BF.ADD seen:k a");
    eventually("the replica follows", || replica.follows());
    primary.assert_well();

    let text = block("Sentinel", 1).replace("6379 2", &format!("{} 2", primary.port.number()));
    let port = Port::free().expect("a free port");
    let sentinel = Site::start(&text, port);
    let mut watcher = None;
    eventually("the sentinel answers", || {
        watcher = sentinel.try_login("default", "sentinels-password");
        watcher.is_some()
    });
    let mut watcher = watcher.expect("a connection");
    let knows = |db: &mut Connection| db.info("sentinel", "master0").contains("slaves=1");
    eventually("it knows the replica", || knows(&mut watcher));
    eventually("it may promote the replica", || watcher.ask("SENTINEL FAILOVER filters") == "+OK");
    eventually("the old primary follows", || !replica.follows() && primary.follows());
    assert_eq!(replica.login("reader").ask("BF.EXISTS seen:k a"), ":1");
    for site in [&primary, &replica] {
        assert_eq!(site.login("admin").ask("ACL LOG"), "[]", "nothing was refused");
    }
}

#[test]
fn a_replica_that_lacks_an_item_exits_and_copies_everything_when_it_starts_again() {
    let primary = Site::server("");
    let follow = format!("replicaof 127.0.0.1 {}\n", primary.port.number());
    let mut replica = Site::server(&follow);
    eventually("the replica follows", || replica.follows());
    let read_only = "CONFIG SET replica-read-only";
    let lines = [&format!("{read_only} no"), "SET seen:k text", &format!("{read_only} yes")];
    replica.login("admin").run_all(lines);
    primary.login("writer").run("BF.ADD seen:k a");
    eventually("the replica exits", || replica.has_ended());
    assert!(replica.folder.log().contains("refused bf.reserve from the replication stream"));
    replica.restart();
    eventually("the replica follows again", || replica.follows());
    assert_eq!(replica.login("reader").ask("BF.EXISTS seen:k a"), ":1");
}

#[test]
fn every_line_of_the_page_has_a_row_with_a_reason_and_a_link() {
    let page = read("docs/production.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once(" | "));
    let explained: Vec<&str> =
        rows.filter(|(_, why)| why.contains("](")).map(|(names, _)| names).collect();
    for block in blocks::of(&page) {
        let lines = block.text.lines().filter(|line| !line.is_empty());
        for line in lines {
            let count = if line.starts_with("sentinel ") { 2 } else { 1 };
            let name = line.split(' ').take(count).collect::<Vec<_>>().join(" ");
            let name = if name.starts_with("lazyfree-lazy-") { "lazyfree-lazy-…" } else { &name };
            let is_named = |names: &&str| names.split('`').any(|word| word == name);
            assert!(explained.iter().any(is_named), "{name} has no reason with a link");
        }
    }
}
