//! A replica of a primary that is played by the test: RedisBloom's full copy, then its stream word
//! for word, with commands that failed there or that only it takes.

use super::samples::{rdb_for_all_servers, ALL, CUCKOO, GROWING, RDB};
use crate::harness::{
    commands_in_append_only_file, eventually, missing_items, Family, Options, Server,
};
use crate::replication::assert_no_error_line;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};

/// A primary that sends a file and then whatever the test wants.
pub struct Primary {
    stream: TcpStream,
    sent: usize,
}

impl Primary {
    /// Waits for the replica, and sends it the file.
    pub fn with_replica(replica: &Server, file: &[u8]) -> Primary {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        replica
            .connect()
            .run(&format!("REPLICAOF 127.0.0.1 {port}"));
        let (stream, _) = listener.accept().expect("the replica");
        let mut source = BufReader::new(stream.try_clone().expect("a second handle"));
        let mut primary = Primary { stream, sent: 0 };
        loop {
            let words = crate::harness::Reply::read(&mut source).expect("a command");
            let words: Vec<String> = words.elements().iter().map(|word| word.text()).collect();
            match words[0].to_uppercase().as_str() {
                "PING" => primary.write(b"+PONG\r\n"),
                "PSYNC" => break,
                _ => primary.write(b"+OK\r\n"),
            }
        }
        let identity = "0".repeat(40);
        primary.write(format!("+FULLRESYNC {identity} 0\r\n${}\r\n", file.len()).as_bytes());
        primary.write(file);
        // The replica tells how much it has read; nobody listens.
        std::thread::spawn(move || {
            while source.fill_buf().is_ok_and(|read| !read.is_empty()) {
                let read = source.buffer().len();
                source.consume(read);
            }
        });
        primary
    }

    fn write(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("the replica reads");
    }

    pub fn send<W: AsRef<[u8]>>(&mut self, words: impl IntoIterator<Item = W>) {
        let words: Vec<W> = words.into_iter().collect();
        let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
        for word in &words {
            bytes.extend(format!("${}\r\n", word.as_ref().len()).bytes());
            bytes.extend(word.as_ref());
            bytes.extend(b"\r\n");
        }
        self.sent += bytes.len();
        self.write(&bytes);
    }

    /// Sends commands and waits until the replica has run them.
    pub fn send_all(&mut self, replica: &Server, lines: &[&str]) {
        for line in lines {
            self.send(line.split_whitespace());
        }
        self.wait_for(replica);
    }

    pub fn wait_for(&self, replica: &Server) {
        let mut db = replica.connect();
        eventually("the replica has read everything", || {
            db.info("replication", "slave_repl_offset") == self.sent.to_string()
        });
    }
}

/// What a RedisBloom replicates although it changed nothing, failed, or names things otherwise.
const STREAM: [&str; 24] = [
    "SELECT 0",
    "BF.RESERVE growing 0.01 100",
    "BF.RESERVE made 0.01 100 FOO EXPANSION 4",
    "BF.RESERVE bad 2 100",
    "BF.ADD made a",
    "BF.ADD made a",
    "BF.MADD made a b c",
    "BF.INSERT absent NOCREATE ITEMS a",
    "BF.INSERT short cap 10 err 0.001 nons items a b c",
    "BF.INSERT short what 10 ITEMS a",
    "BF.ADD fixed item:1",
    "BF.ADD fixed acknowledged",
    "BF.LOADCHUNK growing 1 nonsense",
    "BF.LOADCHUNK absent 7 nonsense",
    "SET text 1",
    "BF.ADD text a",
    "CF.RESERVE cuckoo 100",
    "CF.RESERVE counting 100 FOO BUCKETSIZE 4",
    "CF.DEL absent a",
    "CF.DEL counting a",
    "CF.INSERT absent nocreate items a",
    "CF.INSERT counting c 100 i a b",
    "CF.ADDNX counting a",
    "CF.COMPACT absent",
];

#[test]
fn a_replica_follows_a_redisbloom_without_an_error_and_denies_nothing() {
    let replica = Server::start();
    let mut primary = Primary::with_replica(&replica, &rdb_for_all_servers(RDB));
    primary.send_all(&replica, &STREAM);
    let mut db = replica.connect();
    for sample in [GROWING, CUCKOO] {
        sample.assert_is_what_it_was(&mut db);
    }
    db.converse(&[
        ("BF.MEXISTS made a b c d", "[:1, :1, :1, :0]"),
        ("BF.INFO made EXPANSION", "[:4]"),
        ("BF.MEXISTS short a b c d", "[:1, :1, :1, :0]"),
        ("BF.INFO short CAPACITY", "[:10]"),
        ("BF.INFO short EXPANSION", "[_]"),
        ("BF.MEXISTS fixed item:1 acknowledged", "[:1, :1]"),
        ("CF.MEXISTS counting a b", "[:1, :1]"),
        ("CF.COUNT counting a", ":1"),
        ("EXISTS bad absent", ":0"),
    ]);
    assert_no_error_line(&replica);
    assert_eq!(db.info_number("bf", "bf_replays_ignored"), 11);
    // A client still gets errors, and the filter that does not grow is full for it.
    db.run("REPLICAOF NO ONE");
    db.converse(&[
        ("BF.RESERVE growing 0.01 100", "-ERR item exists"),
        ("BF.RESERVE other 0.01 100 FOO", "-ERR syntax error"),
        ("BF.ADD fixed more", "-ERR non scaling filter is full"),
        ("CF.DEL absent a", "-ERR Not found"),
    ]);
}

#[test]
fn a_filter_that_does_not_grow_takes_all_that_its_primary_acknowledged() {
    const ITEMS: u64 = 500;
    let replica = Server::start();
    let mut primary = Primary::with_replica(&replica, &rdb_for_all_servers(RDB));
    primary.send(["BF.RESERVE", "full", "0.25", "20", "NONSCALING"]);
    primary.send(["CF.RESERVE", "counting", "20", "EXPANSION", "0"]);
    for number in 0..ITEMS {
        let item = crate::harness::item(number);
        primary.send([b"BF.ADD".as_slice(), b"full", &item]);
        primary.send([b"BF.MADD".as_slice(), b"fixed", b"x", &item, b"y"]);
        primary.send([b"CF.ADD".as_slice(), b"counting", &item]);
    }
    primary.wait_for(&replica);
    let mut db = replica.connect();
    assert_eq!(missing_items(&mut db, "full", 0..ITEMS), 0);
    assert_eq!(missing_items(&mut db, "fixed", 0..ITEMS), 0);
    let counting = Family::Counting.missing_items(&mut db, "counting", 0..ITEMS);
    assert_eq!(counting, 0);
    assert_no_error_line(&replica);
    db.run("REPLICAOF NO ONE");
    let digests = ["full", "fixed", "counting"].map(|key| db.digest(key));
    db.run("DEBUG RELOAD");
    assert_eq!(
        ["full", "fixed", "counting"].map(|key| db.digest(key)),
        digests
    );
    // A third of the new items here are false positives.
    let replies: Vec<String> = (0..100)
        .map(|n| db.ask(&format!("BF.ADD full new:{n}")))
        .collect();
    assert!(replies.iter().all(|reply| reply != ":1"), "{replies:?}");
    let full = "-ERR non scaling filter is full".to_owned();
    assert!(replies.contains(&full), "{replies:?}");
    assert_eq!(db.ask("CF.ADD counting -"), "-ERR Filter is full");
}

#[test]
fn pieces_in_the_stream_make_the_filters_that_they_made() {
    let replica = Server::start();
    let mut primary = Primary::with_replica(&replica, &empty_file());
    for sample in ALL {
        for (iterator, data) in sample.pieces() {
            primary.send(sample.family.loading(sample.key, iterator, &data));
        }
    }
    primary.wait_for(&replica);
    for sample in ALL {
        sample.assert_is_what_it_was(&mut replica.connect());
    }
    assert_no_error_line(&replica);
}

/// The replica's own log has what took effect, with seeds: it loads to equal filters.
#[test]
fn a_replica_logs_what_it_followed() {
    let mut replica = Server::with(Options::settings(&[
        "appendonly yes",
        "appendfsync no",
        "aof-use-rdb-preamble no",
    ]));
    let mut primary = Primary::with_replica(&replica, &rdb_for_all_servers(RDB));
    let mut db = replica.connect();
    eventually("the log begins anew with the copy", || {
        db.ask("DBSIZE") == ":3" && db.info("persistence", "aof_rewrite_in_progress") == "0"
    });
    primary.send_all(&replica, &STREAM);
    db.run("REPLICAOF NO ONE");
    let keys = ["growing", "fixed", "cuckoo", "made", "short", "counting"];
    let digests = keys.map(|key| db.digest(key));
    let logged = commands_in_append_only_file(&replica);
    assert!(
        logged.iter().any(|line| line.contains(" SEED ")),
        "{logged:#?}"
    );
    replica.restart();
    let mut db = replica.connect();
    for (key, digest) in keys.iter().zip(digests) {
        assert_eq!(db.digest(key), digest, "{key}");
    }
}

/// A file without keys.
fn empty_file() -> Vec<u8> {
    [b"REDIS0009\xff".as_slice(), &[0; 8]].concat()
}
