//! LOADCHUNK in every order, from clients that disconnect after a chunk or in the middle of one.

use splitbloom_harness::{eventually, Connection, Family, Server};
use std::io::Write;
use std::net::TcpStream;

/// Filters of four chunks: a Bloom filter, and a strict table.
const FOUR_CHUNKS: [(Family, &str, u64); 2] = [
    (Family::Bloom, "0.001 2000000 SEED 0123456789abcdef", 300_000),
    (Family::Counting, "100 ERROR 0.000000000001 SEED 0123456789abcdef", 600_000),
];

/// Creates a filter of four chunks and returns them.
fn filter_of_four_chunks(
    db: &mut Connection,
    (family, parameters, items): (Family, &str, u64),
) -> Vec<(i64, Vec<u8>)> {
    let reserve = family.command("RESERVE");
    db.run(&format!("{reserve} k {parameters}"));
    family.add_items(db, "k", 0..items);
    let chunks = family.scan_dump(db, "k");
    assert_eq!(chunks.len(), 4);
    chunks
}

#[test]
fn in_any_order_chunks_load_when_due_and_the_filter_can_be_saved_and_loaded() {
    let server = Server::start();
    let mut db = server.connect();
    for four_chunks in FOUR_CHUNKS {
        let (family, _, _) = four_chunks;
        let chunks = filter_of_four_chunks(&mut db, four_chunks);
        let whole = db.digest("k");
        db.run("DEL k");
        for order in orders_of_four() {
            let mut due = 0;
            for place in order {
                let (iterator, bytes) = &chunks[place];
                let taken = family.load(&mut server.connect(), "l", *iterator, bytes) == "+OK";
                assert_eq!(taken, place == due, "{order:?}");
                due += usize::from(taken);
                if taken {
                    let digest = db.digest("l");
                    db.run("DEBUG RELOAD");
                    assert_eq!(db.digest("l"), digest, "{order:?}");
                }
            }
            assert_eq!(db.ask("EXISTS l") == ":1", due > 0);
            if due == chunks.len() {
                assert_eq!(db.digest("l"), whole);
            }
            db.run("DEL l");
        }
    }
}

#[test]
fn a_client_that_disconnects_within_a_chunk_changes_nothing() {
    let server = Server::start();
    let mut db = server.connect();
    for four_chunks in FOUR_CHUNKS {
        let (family, _, _) = four_chunks;
        let chunks = filter_of_four_chunks(&mut db, four_chunks);
        let whole = db.digest("k");
        for (place, (iterator, bytes)) in chunks.iter().enumerate() {
            let before = digest_of_l(&mut db);
            let command = on_the_wire(&family.loading("l", *iterator, bytes));
            let clients = connected_clients(&mut db);
            for length in [1, 20, 100, command.len() / 2, command.len() - 1] {
                drop(send_from_new_client(&server, &command[..length]));
            }
            eventually("the server notices that they disconnected", || {
                connected_clients(&mut db) == clients
            });
            assert_eq!(digest_of_l(&mut db), before, "chunk {place}");
            // The chunk arrived in full; the client disconnects before it reads the reply.
            drop(send_from_new_client(&server, &command));
            eventually("the chunk is loaded", || digest_of_l(&mut db) != before);
            let after = digest_of_l(&mut db);
            db.run("SAVE");
            db.run("DEBUG RELOAD");
            assert_eq!(digest_of_l(&mut db), after, "chunk {place}");
        }
        assert_eq!(db.digest("l"), whole);
        db.run("DEL k l");
    }
}

fn on_the_wire(words: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend(format!("${}\r\n", word.len()).bytes());
        bytes.extend(word);
        bytes.extend(b"\r\n");
    }
    bytes
}

fn send_from_new_client(server: &Server, bytes: &[u8]) -> TcpStream {
    let mut client = TcpStream::connect(("127.0.0.1", server.port())).expect("a connection");
    client.write_all(bytes).expect("the server reads it");
    client
}

fn connected_clients(db: &mut Connection) -> i64 {
    db.info_number("clients", "connected_clients")
}

/// The digest, if the key exists.
fn digest_of_l(db: &mut Connection) -> Option<String> {
    (db.ask("EXISTS l") == ":1").then(|| db.digest("l"))
}

/// All 24 of them.
fn orders_of_four() -> Vec<[usize; 4]> {
    let mut orders = Vec::new();
    for number in 0..256 {
        let order = [number / 64, number / 16 % 4, number / 4 % 4, number % 4];
        if (0..4).all(|place| order.contains(&place)) {
            orders.push(order);
        }
    }
    assert_eq!(orders.len(), 24);
    orders
}
