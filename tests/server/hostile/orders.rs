//! LOADCHUNK in every order, from clients that disconnect after a chunk or in the middle of one.

use super::chunks::{large, Large};
use splitbloom_harness::{eventually, Connection, Server};
use std::io::Write;
use std::net::TcpStream;

/// Filters of four chunks: a Bloom filter, and a strict table.
fn of_four_chunks() -> impl Iterator<Item = &'static Large> {
    let both = [&large()[0], &large()[3]].into_iter();
    both.inspect(|large| assert_eq!(large.chunks.len(), 4))
}

#[test]
fn in_any_order_chunks_load_when_due_and_the_filter_can_be_saved_and_loaded() {
    let server = Server::start();
    let mut db = server.connect();
    for Large { family, chunks, .. } in of_four_chunks() {
        family.load_chunks(&mut db, "k", chunks);
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
    for Large { family, chunks, .. } in of_four_chunks() {
        family.load_chunks(&mut db, "k", chunks);
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
