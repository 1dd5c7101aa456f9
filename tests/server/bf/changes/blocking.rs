//! BF.CHANGES with BLOCK: followers that wait.

use crate::errors::WRONG_TYPE;
use splitbloom_harness::follower::{changes, position, read, Follower};
use splitbloom_harness::{
    add_items, eventually, item, load_chunks, scan_dump, Connection, Dialect, Reply, Server,
};

/// A client that waits, and its id.
struct Waiting {
    db: Connection,
    id: i64,
}

impl Waiting {
    /// Asks what is new in `f` since a position, and waits until the server holds the question.
    fn since(server: &Server, db: Connection, position: &str) -> Waiting {
        let mut waiting = Waiting { db, id: 0 };
        waiting.id = waiting.db.run("CLIENT ID").integer();
        let before = blocked(server);
        waiting.db.send(format!("BF.CHANGES f {position} BLOCK 0").split(' '));
        eventually("the client waits", || blocked(server) > before);
        waiting
    }

    /// Waits for news from now on, on a connection of its own.
    fn for_news(server: &Server) -> Waiting {
        let now = position(&mut server.connect(), "f");
        Waiting::since(server, server.connect(), &now)
    }

    /// Receives a reply with hashes of new items. Returns how many there are.
    fn receive_news(&mut self) -> usize {
        read(&self.db.receive()).1.expect("news").len()
    }

    /// Receives a reply that says that the filter must be fetched.
    fn must_fetch(&mut self) {
        let (_, hashes) = read(&self.db.receive());
        assert_eq!(hashes, None);
    }
}

fn blocked(server: &Server) -> i64 {
    server.connect().info_number("clients", "blocked_clients")
}

/// Whether the server wakes clients that wait for a key when it is deleted.
fn wakes_of_deletions(server: &Server) -> bool {
    server.dialect() >= Dialect::Redis { major: 7, minor: 2 }
}

#[test]
fn every_command_that_adds_a_new_item_wakes_those_who_wait() {
    let (server, mut db) = Server::start().with_client();
    db.run("BF.RESERVE f 0.000001 100");
    db.run("BF.ADD f a");
    for resp3 in [false, true] {
        for (number, command) in
            ["BF.ADD f x", "BF.MADD f a x", "BF.INSERT f ITEMS a x", "BF.PACKADD f LINES x"]
                .into_iter()
                .enumerate()
        {
            let client = if resp3 { server.connect_resp3() } else { server.connect() };
            let mut follower = Waiting::since(&server, client, &position(&mut db, "f"));
            db.run("BF.ADD f a");
            db.run("BF.EXISTS f b");
            db.run("BF.ADD other b");
            assert_eq!(blocked(&server), 1, "nothing new");
            db.run(&format!("{command}{number}{resp3}"));
            let (next, hashes) = read(&follower.db.receive());
            assert_eq!(hashes.expect("news").len(), 1, "{command}");
            assert_eq!(next, position(&mut db, "f"));
            assert_eq!(follower.db.ask("PING"), "+PONG");
        }
    }
}

#[test]
fn those_who_wait_get_all_of_a_transaction_or_script_at_once() {
    let (server, mut db) = Server::start().with_client();
    db.run("BF.RESERVE f 0.000001 100");
    db.run("BF.ADD f a");
    let mut follower = Waiting::for_news(&server);
    db.run_all(["MULTI", "BF.ADD f b", "BF.ADD f c", "BF.ADD f d", "EXEC"]);
    assert_eq!(follower.receive_news(), 3);
    let mut follower = Waiting::for_news(&server);
    let script = "redis.call('BF.ADD', KEYS[1], 'e') redis.call('BF.ADD', KEYS[1], 'f')";
    db.call(["EVAL", script, "1", "f"]);
    assert_eq!(follower.receive_news(), 2);
}

#[test]
fn a_reply_that_can_be_given_is_given_at_once() {
    let (_server, mut db) = Server::strict(&[]).with_client();
    db.run("BF.ADD f a");
    let (now, none) = changes(&mut db, "f 0 BLOCK 0");
    assert_eq!(none, None);
    db.run("BF.ADD f b");
    let (_, hashes) = changes(&mut db, &format!("f {now} BLOCK 0"));
    assert_eq!(hashes.expect("news").len(), 1);
    let ahead = format!("{}-7-0", &now[..16]);
    assert_eq!(changes(&mut db, &format!("f {ahead} BLOCK 0")).1, None);
    assert_eq!(db.ask("BF.CHANGES missing 0 BLOCK 0"), "-ERR not found");
}

#[test]
fn a_wait_ends_with_null_after_its_time() {
    let server = Server::start();
    for mut db in [server.connect(), server.connect_resp3()] {
        db.run("BF.ADD f a");
        let now = position(&mut db, "f");
        for time in [1, 20] {
            let reply = db.ask(&format!("BF.CHANGES f {now} BLOCK {time}"));
            assert_eq!(reply, "_");
        }
        assert_eq!(changes(&mut db, &format!("f {now}")), (now, Some(vec![])));
    }
}

#[test]
fn client_unblock_ends_a_wait() {
    let (server, mut db) = Server::start().with_client();
    db.run("BF.ADD f a");
    for (how, reply) in
        [("", "_"), ("TIMEOUT", "_"), ("ERROR", "-UNBLOCKED client unblocked via CLIENT UNBLOCK")]
    {
        let mut follower = Waiting::for_news(&server);
        let line = format!("CLIENT UNBLOCK {} {how}", follower.id);
        assert_eq!(db.ask(&line), ":1");
        assert_eq!(follower.db.receive().to_string(), reply);
        assert_eq!(follower.db.ask("PING"), "+PONG");
    }
    let follower = Waiting::for_news(&server);
    db.run(&format!("CLIENT KILL ID {}", follower.id));
    eventually("nobody waits", || blocked(&server) == 0);
}

#[test]
fn a_user_that_loses_a_permission_while_it_waits_gets_no_news() {
    let (server, mut db) = Server::start().with_client();
    db.run("BF.RESERVE f 0.000001 100");
    let text = "User has no permissions to run the 'bf.changes' command, or to access its key";
    for (number, rule) in
        ["-bf.changes", "-@all", "resetkeys", "resetkeys %W~f", "+bf.changes ~f"].iter().enumerate()
    {
        db.run("ACL SETUSER follows on nopass ~f +@all");
        let mut client = server.connect();
        client.run("AUTH follows any");
        let mut follower = Waiting::since(&server, client, &position(&mut db, "f"));
        db.run(&format!("ACL SETUSER follows {rule}"));
        db.run(&format!("BF.ADD f {number}"));
        let reply = follower.db.receive();
        match rule.starts_with('+') {
            true => assert_eq!(read(&reply).1.expect("news").len(), 1, "{rule}"),
            false => assert_eq!(reply.to_string(), format!("-NOPERM {text}"), "{rule}"),
        }
        assert_eq!(blocked(&server), 0);
    }
}

#[test]
fn in_transactions_and_scripts_nobody_waits() {
    let (_server, mut db) = Server::strict(&[]).with_client();
    db.run("BF.ADD f a");
    let now = position(&mut db, "f");
    let line = format!("BF.CHANGES f {now} BLOCK 0");
    db.run("MULTI");
    db.run(&line);
    db.run("BF.ADD f b");
    db.run(&line);
    let replies = db.run("EXEC");
    assert_eq!(replies.elements()[0], Reply::Null);
    assert_eq!(read(&replies.elements()[2]).1.expect("news").len(), 1);

    let now = position(&mut db, "f");
    let script = "return redis.call('BF.CHANGES', KEYS[1], ARGV[1], 'BLOCK', '0')";
    let reply = db.call(["EVAL", script, "1", "f", &now]);
    assert_eq!(reply, Reply::Null);
}

/// What happens to the key `f`, beside a filter `g` with the same parameters; and the error that
/// waiting clients get if the server wakes them, or `None` if they must fetch the filter.
const ENDS: [(&str, Option<&str>); 12] = [
    ("DEL f", Some(GONE)),
    ("UNLINK f", Some(GONE)),
    ("FLUSHALL", Some(GONE)),
    ("FLUSHALL ASYNC", Some(GONE)),
    ("RENAME f h", Some(GONE)),
    ("PEXPIRE f 1", Some(GONE)),
    ("SET f text", Some(WRONG_TYPE)),
    ("BF.MERGE f 1 g", None),
    ("COPY g f REPLACE", None),
    ("COPY g h; RENAME h f", None),
    ("RESTORE f", None),
    ("SELECT 1; BF.ADD f other; SWAPDB 0 1; SELECT 0", None),
];
const GONE: &str = "ERR not found";

#[test]
fn those_who_wait_must_fetch_what_takes_the_key_or_learn_that_there_is_no_filter() {
    let (server, mut db) = Server::start().with_client();
    for (lines, error) in ENDS {
        if error == Some(WRONG_TYPE) && !wakes_of_deletions(&server) {
            continue;
        }
        db.run("FLUSHALL");
        for key in ["f", "g"] {
            db.run(&format!("BF.RESERVE {key} 0.01 1000 SEED 00000000000000aa"));
            db.run(&format!("BF.ADD {key} {key}"));
        }
        let dump = db.dump("f");
        let now = position(&mut db, "f");
        let mut follower = Waiting::since(&server, server.connect(), &now);
        for line in lines.split("; ") {
            match line {
                "RESTORE f" => assert_eq!(db.restore("f", &dump), "+OK"),
                line => drop(db.run(line)),
            }
        }
        match error {
            Some(error) if wakes_of_deletions(&server) => {
                assert_eq!(follower.db.receive().to_string(), format!("-{error}"), "{lines}");
                continue;
            }
            Some(_) => {
                eventually("the key is gone", || db.ask("EXISTS f") == ":0");
                assert_eq!(blocked(&server), 1);
                db.run("BF.ADD f a");
            }
            None => {}
        }
        follower.must_fetch();
        assert_eq!(changes(&mut db, &format!("f {now}")).1, None, "{lines}");
    }
}

#[test]
fn a_chunk_loaded_into_a_filter_must_be_fetched() {
    let (server, mut db) = Server::start().with_client();
    db.run("BF.RESERVE g 0.01 2000000");
    add_items(&mut db, "g", 0..200_000);
    let chunks = scan_dump(&mut db, "g");
    assert!(chunks.len() > 1);
    load_chunks(&mut db, "f", &chunks[..1]);
    for chunk in &chunks[1..] {
        let mut follower = Waiting::for_news(&server);
        load_chunks(&mut db, "f", std::slice::from_ref(chunk));
        follower.must_fetch();
    }
    assert_eq!(db.digest("f"), db.digest("g"));
}

/// Redis 7.0 wakes nobody when it loads a file.
#[test]
fn a_filter_that_the_server_loads_anew_must_be_fetched() {
    let primary = Server::start();
    let replica = primary.replica(&[]);
    let mut db = primary.connect();
    db.run("BF.ADD f a");
    primary.wait_for(&replica);
    let mut follower = Waiting::for_news(&primary);
    let mut follower_of_replica = Waiting::for_news(&replica);
    db.run("DEBUG RELOAD");
    follower.must_fetch();
    // A new history, which only a full synchronization brings to the replica.
    db.run("DEBUG CHANGE-REPL-ID");
    db.run("CLIENT KILL TYPE replica");
    follower_of_replica.must_fetch();
}

#[test]
fn a_thousand_followers_wait_for_one_filter() {
    let (server, mut db) = Server::start().with_client();
    db.run("BF.RESERVE f 0.0001 100000");
    let now = position(&mut db, "f");
    let line = format!("BF.CHANGES f {now} BLOCK 0");
    let mut followers: Vec<_> = (0..1000).map(|_| server.connect()).collect();
    for follower in &mut followers {
        follower.send(line.split_whitespace());
    }
    eventually("all wait", || blocked(&server) == 1000);
    followers.truncate(900); // the others disconnect
    eventually("some are gone", || blocked(&server) == 900);
    let new = add_items(&mut db, "f", 0..1000) as usize;
    for follower in &mut followers {
        let (_, hashes) = read(&follower.receive());
        assert_eq!(hashes.expect("news").len(), new);
    }
    assert_eq!(blocked(&server), 0);
    assert_eq!(db.info("bf", "bf_journals"), "1");
}

/// Null would say that nothing is new.
#[test]
fn a_follower_whose_turn_has_not_come_in_time_gets_its_news_then() {
    let (server, mut db) = Server::start().with_client();
    db.run("BF.RESERVE f 0.000001 1000");
    let now = position(&mut db, "f");
    db.run("BF.ADD f a");
    let mut followers: Vec<_> = (0..200).map(|_| server.connect()).collect();
    for follower in &mut followers {
        follower.send(format!("BF.CHANGES f {now} BLOCK 1").split(' '));
    }
    for follower in &mut followers {
        assert_eq!(read(&follower.receive()).1.expect("news").len(), 1);
    }
}

#[test]
fn a_replica_serves_followers_of_its_own_and_goes_on_when_it_is_promoted() {
    let primary = Server::start();
    let replica = primary.replica(&[]);
    let (mut db, mut there) = (primary.connect(), replica.connect());
    db.run("BF.RESERVE f 0.01 10 EXPANSION 1");
    primary.wait_for(&replica);
    let mut follower = Follower::default();
    follower.catch_up(&mut there, "f", "").expect("a follower");
    let at_primary = position(&mut db, "f");
    assert_eq!(changes(&mut there, &format!("f {at_primary}")).1, None);

    let mut waiting = Waiting::for_news(&replica);
    db.run("BF.ADD f a");
    assert_eq!(waiting.receive_news(), 1);

    let mut waiting = Waiting::for_news(&replica);
    there.run("REPLICAOF NO ONE");
    let new = add_items(&mut there, "f", 0..1000);
    assert!(new > 900);
    assert!(waiting.receive_news() > 0);
    follower.catch_up(&mut there, "f", "").expect("news");
    let missing = (0..1000).filter(|number| !follower.contains(&item(*number)));
    assert_eq!((missing.count(), follower.fetches), (0, 1));
}

#[test]
fn a_primary_that_becomes_a_replica_turns_away_those_who_wait() {
    let (primary, other) = (Server::start(), Server::start());
    let mut db = other.connect();
    db.run("BF.ADD f a");
    let mut follower = Waiting::for_news(&other);
    db.run(&format!("REPLICAOF 127.0.0.1 {}", primary.port()));
    let reply = follower.db.receive();
    assert!(reply.to_string().starts_with("-UNBLOCKED"), "{reply}");
    eventually("nothing is left", || db.info("bf", "bf_journals") == "0");
}
