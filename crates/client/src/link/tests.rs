//! Nodes that reply by a script, for states of a cluster that are too brief to provoke.

use crate::{Keys, PartitionedFilter, Retry, Topology};
use redis::{cmd, IntoConnectionInfo as _};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;

/// Starts a node that has all slots, by its own account, and replies to each GET with the next of
/// `replies`. Returns its port.
fn node(replies: Vec<String>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let slots = format!("*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:{port}\r\n");
    thread::spawn(move || {
        let mut replies = replies.into_iter();
        for stream in listener.incoming() {
            let mut client = BufReader::new(stream.expect("a connection"));
            while let Some(command) = next_command(&mut client) {
                let reply = match command.as_str() {
                    "GET" => replies.next().expect("a reply in the script"),
                    "CLUSTER" => slots.clone(),
                    _ => "+OK\r\n".into(),
                };
                client.get_mut().write_all(reply.as_bytes()).expect("a client");
            }
        }
    });
    port
}

/// The name of the next command; `None` at the end of the connection.
fn next_command(client: &mut BufReader<TcpStream>) -> Option<String> {
    let len = number(client, '*')?;
    let words = (0..len).map(|_| {
        let mut word = vec![0; number(client, '$')? + 2];
        client.read_exact(&mut word).ok()?;
        String::from_utf8(word).ok()
    });
    let words: Option<Vec<String>> = words.collect();
    Some(words?.first()?.trim_end().to_owned())
}

fn number(client: &mut BufReader<TcpStream>, mark: char) -> Option<usize> {
    let mut line = String::new();
    client.read_line(&mut line).ok()?;
    line.trim_end().strip_prefix(mark)?.parse().ok()
}

const NOT_FOUND: &str = "-ERR not found\r\n";

/// The replies to a GET that the owner of its slot redirects with ASK to a node which always
/// replies `refusal`. The owner then replies to each further GET with the next of `later`.
fn get_after(refusal: &str, retry: Retry, later: &[&str]) -> String {
    let importing = node(vec![refusal.into(); later.len() + 1]);
    let ask = format!("-ASK 0 127.0.0.1:{importing}\r\n");
    let later = later.iter().map(|reply| reply.replace("ASK", &ask));
    let owner = node([ask.clone()].into_iter().chain(later).collect());
    let owner = format!("redis://127.0.0.1:{owner}");
    let owner = owner.into_connection_info().expect("an address");
    let opened = PartitionedFilter::open(vec![owner], Topology::Cluster, Keys::One(b"key"));
    let mut filter = opened.expect("a node");
    let replies = filter.ask_each(retry, |key| cmd("GET").arg(key).take());
    format!("{replies:?}")
}

#[test]
fn a_refusal_after_asking_is_the_reply_if_it_is_repeated() {
    let reply = get_after(NOT_FOUND, Retry::Yes, &["ASK", "ASK"]);
    assert!(reply.contains("not found"), "{reply}");
}

#[test]
fn a_command_that_found_no_key_after_asking_goes_to_the_owner_again_if_it_may_run_twice() {
    let nothing = ["$-1\r\n", ":0\r\n", "+none\r\n"].map(|reply| (reply, [true, false]));
    let partly = ("*2\r\n-ERR full\r\n:1\r\n", [false; 2]);
    for (reply, goes) in nothing.into_iter().chain([(NOT_FOUND, [true; 2]), partly]) {
        for (retry, goes) in [Retry::Yes, Retry::No].into_iter().zip(goes) {
            let last = get_after(reply, retry, &["+here again\r\n"]);
            assert_eq!(last.contains("here again"), goes, "{reply:?}, {retry:?}: {last}");
        }
    }
}
