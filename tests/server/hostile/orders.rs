//! BF.LOADCHUNK in every order, from clients that are gone after each piece, or in the middle of it.

use crate::harness::{add_items, eventually, scan_dump, Connection, Server};
use std::io::Write;
use std::net::TcpStream;

/// A filter of four pieces, and those.
fn filter_of_four_pieces(db: &mut Connection) -> Vec<(i64, Vec<u8>)> {
    db.run("BF.RESERVE k 0.001 2000000");
    add_items(db, "k", 0..20_000);
    let pieces = scan_dump(db, "k");
    assert_eq!(pieces.len(), 4);
    pieces
}

#[test]
fn in_every_order_the_pieces_that_are_due_are_taken_and_what_came_can_be_saved_and_loaded() {
    let server = Server::start();
    let mut db = server.connect();
    let pieces = filter_of_four_pieces(&mut db);
    let whole = db.digest("k");
    db.run("DEL k");
    for order in orders_of_four() {
        let mut due = 0;
        for place in order {
            let (iterator, bytes) = &pieces[place];
            let taken = server.connect().try_call(command(*iterator, bytes));
            let taken = taken.expect("an answer").to_string() == "+OK";
            assert_eq!(taken, place == due, "{order:?}");
            due += usize::from(taken);
            if taken {
                let digest = db.digest("l");
                db.run("DEBUG RELOAD");
                assert_eq!(db.digest("l"), digest, "{order:?}");
            }
        }
        assert_eq!(db.ask("EXISTS l") == ":1", due > 0);
        if due == pieces.len() {
            assert_eq!(db.digest("l"), whole);
        }
        db.run("DEL l");
    }
}

#[test]
fn a_client_that_is_gone_in_the_middle_of_a_piece_leaves_what_was_there() {
    let server = Server::start();
    let mut db = server.connect();
    let pieces = filter_of_four_pieces(&mut db);
    let whole = db.digest("k");
    for (place, (iterator, bytes)) in pieces.iter().enumerate() {
        let before = digest_of_l(&mut db);
        let command = on_the_wire(&command(*iterator, bytes));
        let clients = connected_clients(&mut db);
        for length in [1, 20, 100, command.len() / 2, command.len() - 1] {
            drop(client_that_sends(&server, &command[..length]));
        }
        eventually("the server knows that they are gone", || {
            connected_clients(&mut db) == clients
        });
        assert_eq!(digest_of_l(&mut db), before, "piece {place}");
        // All of it came: gone before it reads the answer.
        drop(client_that_sends(&server, &command));
        eventually("the piece is taken", || digest_of_l(&mut db) != before);
        let after = digest_of_l(&mut db);
        db.run("SAVE");
        db.run("DEBUG RELOAD");
        assert_eq!(digest_of_l(&mut db), after, "piece {place}");
    }
    assert_eq!(db.digest("l"), whole);
}

fn command(iterator: i64, bytes: &[u8]) -> Vec<Vec<u8>> {
    let iterator = iterator.to_string();
    let words: [&[u8]; 4] = [b"BF.LOADCHUNK", b"l", iterator.as_bytes(), bytes];
    words.map(<[u8]>::to_vec).to_vec()
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

fn client_that_sends(server: &Server, bytes: &[u8]) -> TcpStream {
    let mut client = TcpStream::connect(("127.0.0.1", server.port())).expect("a connection");
    client.write_all(bytes).expect("the server reads");
    client
}

fn connected_clients(db: &mut Connection) -> i64 {
    db.info_number("clients", "connected_clients")
}

/// The digest, or nothing where there is no key.
fn digest_of_l(db: &mut Connection) -> Option<String> {
    (db.ask("EXISTS l") == ":1").then(|| db.digest("l"))
}

/// All twenty-four.
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
