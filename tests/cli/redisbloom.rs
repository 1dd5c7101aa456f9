//! A server that answers as one with RedisBloom or valkey-bloom does, from what these wrote.

use splitbloom_harness::samples::{payload, Sample};
use splitbloom_harness::{Connection, Family, Reply};
use std::io::{BufReader, Result, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

/// A filter of another module.
pub struct Filter {
    pub key: &'static str,
    pub kind: &'static str,
    family: Family,
    pieces: Vec<(i64, Vec<u8>)>,
    dump: Vec<u8>,
    /// What INFO says.
    pub items: i64,
    /// In milliseconds; -1 if it does not expire.
    pub time_to_live: i64,
}

impl Filter {
    /// A filter as it was written. Its dump can be restored by the server of `db`.
    pub fn of(sample: &Sample, kind: &'static str, db: &mut Connection) -> Self {
        Self {
            key: sample.key,
            kind,
            family: sample.family,
            pieces: sample.pieces(),
            dump: payload(db, &sample.body()),
            items: sample.inserted,
            time_to_live: -1,
        }
    }

    /// A cuckoo filter without an item, of which RedisBloom returns no pieces.
    pub fn empty(key: &'static str) -> Self {
        Self {
            key,
            kind: "MBbloomCF",
            family: Family::Counting,
            pieces: Vec::new(),
            dump: Vec::new(),
            items: 0,
            time_to_live: -1,
        }
    }
}

/// Starts the server, which lasts as long as the test. Returns its URL.
pub fn start(filters: Vec<Filter>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let filters = Arc::new(filters);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let filters = Arc::clone(&filters);
            thread::spawn(move || serve(stream, &filters));
        }
    });
    format!("redis://{address}")
}

fn serve(mut stream: TcpStream, filters: &[Filter]) -> Result<()> {
    let mut source = BufReader::new(stream.try_clone()?);
    loop {
        let command = Reply::read(&mut source)?;
        let words: Vec<String> = command.elements().iter().map(Reply::text).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        stream.write_all(&answer(&words, filters))?;
    }
}

fn answer(words: &[&str], filters: &[Filter]) -> Vec<u8> {
    match words {
        ["HELLO", ..] => b"%1\r\n+proto\r\n:3\r\n".to_vec(),
        ["PING"] => b"+PONG\r\n".to_vec(),
        ["CLIENT" | "SELECT", ..] => b"+OK\r\n".to_vec(),
        ["INFO", "keyspace"] => bulk(b"# Keyspace\r\ndb0:keys=9,expires=0,avg_ttl=0\r\n"),
        ["SCAN", "0", "TYPE", kind, ..] => {
            let found = filters.iter().filter(|filter| filter.kind == *kind);
            let keys: Vec<Vec<u8>> = found.map(|filter| bulk(filter.key.as_bytes())).collect();
            array(&[bulk(b"0"), array(&keys)])
        }
        [name, key, ..] => match filters.iter().find(|filter| filter.key == *key) {
            Some(filter) => of_filter(name, words, filter),
            None => b"-ERR not found\r\n".to_vec(),
        },
        _ => b"-ERR unknown command\r\n".to_vec(),
    }
}

fn of_filter(name: &str, words: &[&str], filter: &Filter) -> Vec<u8> {
    let ending = name.strip_prefix(&filter.family.command(""));
    match (name, ending, words) {
        ("TYPE", ..) => format!("+{}\r\n", filter.kind).into_bytes(),
        ("PTTL", ..) => format!(":{}\r\n", filter.time_to_live).into_bytes(),
        ("DUMP", ..) => bulk(&filter.dump),
        (_, Some("INFO"), [_, _]) => {
            let fields = [
                ("Number of items inserted", filter.items),
                ("Number of buckets", 512),
                ("Bucket size", 2),
                ("Expansion rate", 1),
                ("Max iterations", 20),
            ];
            let fields = fields.map(|(name, value)| format!("+{name}\r\n:{value}\r\n"));
            format!("*{}\r\n{}", 2 * fields.len(), fields.concat()).into_bytes()
        }
        (_, Some("INFO"), _) => b"-Invalid information value\r\n".to_vec(),
        (_, Some("SCANDUMP"), [_, _, iterator]) if filter.kind != "bloomfltr" => {
            let iterators = filter.pieces.iter().map(|(iterator, _)| *iterator);
            let mut before = std::iter::once(0).chain(iterators);
            let place = before.position(|before| before.to_string() == *iterator);
            match place.and_then(|place| filter.pieces.get(place)) {
                Some((next, piece)) => array(&[format!(":{next}\r\n").into_bytes(), bulk(piece)]),
                None => array(&[b":0\r\n".to_vec(), bulk(b"")]),
            }
        }
        _ => b"-ERR unknown command\r\n".to_vec(),
    }
}

fn bulk(bytes: &[u8]) -> Vec<u8> {
    [format!("${}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

fn array(elements: &[Vec<u8>]) -> Vec<u8> {
    [format!("*{}\r\n", elements.len()).into_bytes(), elements.concat()].concat()
}
