//! The server or its saving child is killed during a snapshot or a rewrite of the append-only file.

use crate::times;
use splitbloom_harness::{
    add_items, eventually, missing_items, Connection, Family, Fingerprint, Random, Server,
};
use std::fs;
use std::thread::sleep;
use std::time::Duration;

/// Microseconds that the child waits after each key, so that a kill can hit it halfway.
const DELAY: &str = "CONFIG SET rdb-key-save-delay 50000";
/// The delay where only the child is killed: it must not end first, however busy the machine is.
const LONG_DELAY: &str = "CONFIG SET rdb-key-save-delay 500000";
const KEYS: u64 = 20;
const ITEMS: u64 = 2000;

/// A job of a saving child: the command that starts it, and the INFO fields that report on it.
pub struct Job {
    pub command: &'static str,
    in_progress: &'static str,
    status: &'static str,
    pub settings: &'static [&'static str],
}

pub const SNAPSHOT: Job = Job {
    command: "BGSAVE",
    in_progress: "rdb_bgsave_in_progress",
    status: "rdb_last_bgsave_status",
    settings: &[],
};

const REWRITE: Job = Job {
    command: "BGREWRITEAOF",
    in_progress: "aof_rewrite_in_progress",
    status: "aof_last_bgrewrite_status",
    settings: &["appendonly yes", "appendfsync always", "aof-use-rdb-preamble yes"],
};

pub const JOBS: [Job; 3] = [
    SNAPSHOT,
    REWRITE,
    Job {
        settings: &["appendonly yes", "appendfsync always", "aof-use-rdb-preamble no"],
        ..REWRITE
    },
];

impl Job {
    /// A server with a few filters of both families, all saved to its files.
    fn server(&self) -> Server {
        println!("{} {:?}", self.command, self.settings);
        let (server, mut db) = Server::configured(self.settings).with_client();
        for key in 0..KEYS {
            let (family, key) = (Family::by_turns(key), format!("k{key}"));
            family.reserve(&mut db, &key);
            family.add_items(&mut db, &key, 0..ITEMS);
        }
        assert_eq!(self.run(&mut db), "ok");
        server
    }

    /// Starts the job, and waits. Returns its status.
    pub fn run(&self, db: &mut Connection) -> String {
        db.run(self.command);
        self.end(db)
    }

    /// Waits for the end of the job in progress. Returns its status.
    pub fn end(&self, db: &mut Connection) -> String {
        eventually("the child ends", || db.info("persistence", self.in_progress) == "0");
        db.info("persistence", self.status)
    }

    fn loses_nothing(&self) -> bool {
        !self.settings.is_empty()
    }
}

#[test]
fn a_killed_child_leaves_the_old_file() {
    JOBS.iter().for_each(kill_children);
}

#[test]
fn a_server_killed_during_a_save_starts_with_the_old_file() {
    JOBS.iter().for_each(kill_servers);
}

fn kill_children(job: &Job) {
    let mut server = job.server();
    let mut random = Random::seeded(10);
    let mut kept = ITEMS;
    let mut db = server.connect();
    for _ in 0..times(2, 20) {
        db.run(LONG_DELAY);
        db.run(job.command);
        add_items(&mut db, "k0", kept..kept + 100);
        kept += 100;
        sleep(Duration::from_millis(random.below(300)));
        kill_child_of(server.process());
        assert_eq!(job.end(&mut db), "err");
    }
    // The server keeps running, and the next attempt works.
    assert_eq!(missing_items(&mut db, "k0", 0..kept), 0);
    let digests = digests(&mut db);
    let saved = if job.loses_nothing() { kept } else { ITEMS };
    server.restart();
    let mut db = server.connect();
    assert_eq!(missing_items(&mut db, "k0", 0..saved), 0);
    assert_eq!(digests[1..], self::digests(&mut db)[1..]);
    if job.loses_nothing() {
        assert_eq!(digests[0], self::digests(&mut db)[0]);
    }
    assert_eq!(job.run(&mut db), "ok");
}

fn kill_servers(job: &Job) {
    let mut server = job.server();
    let mut random = Random::seeded(11);
    let mut kept = ITEMS;
    for _ in 0..times(2, 20) {
        let mut db = server.connect();
        let before = Fingerprint::of(&mut db, Family::Counting, "k1", ITEMS);
        db.run(DELAY);
        db.run(job.command);
        add_items(&mut db, "k0", kept..kept + 100);
        sleep(Duration::from_millis(random.below(300)));
        server.restart();
        let mut db = server.connect();
        if job.loses_nothing() {
            kept += 100;
        }
        assert_eq!(missing_items(&mut db, "k0", 0..kept), 0);
        assert_eq!(Fingerprint::of(&mut db, Family::Counting, "k1", ITEMS), before);
        assert_eq!(db.line("DBSIZE").integer() as u64, KEYS);
    }
}

fn digests(db: &mut Connection) -> Vec<String> {
    (0..KEYS).map(|key| db.digest(&format!("k{key}"))).collect()
}

/// Kills the one child that the server has forked.
#[allow(unsafe_code, reason = "a system call")]
fn kill_child_of(process: u32) {
    let parent = format!(" {process} ");
    let is_child = |stat: &str| {
        // "pid (name) state parent …", where the name may contain spaces.
        stat.rsplit_once(')').is_some_and(|(_, rest)| rest[2..].starts_with(&parent))
    };
    let processes = fs::read_dir("/proc").expect("/proc is mounted");
    let children: Vec<i32> = processes
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid: &i32| {
            fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| is_child(&stat))
        })
        .collect();
    assert_eq!(children.len(), 1, "exactly one child is saving");
    // SAFETY: the call accesses no memory; the process is a child of a server that this test
    // started.
    assert_eq!(unsafe { libc::kill(children[0], libc::SIGKILL) }, 0);
}
