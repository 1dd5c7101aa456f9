//! A primary that is played by a test: it sends a file, and then whatever the test wants.

use crate::{encoded, eventually, Reply, Server};
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
        replica.connect().run(&format!("REPLICAOF 127.0.0.1 {port}"));
        let (stream, _) = listener.accept().expect("the replica");
        let mut source = BufReader::new(stream.try_clone().expect("a second handle"));
        let mut primary = Primary { stream, sent: 0 };
        loop {
            let words = Reply::read(&mut source).expect("a command");
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

    /// Waits for the replica, and sends it a file without keys.
    pub fn with_empty_replica(replica: &Server) -> Primary {
        Primary::with_replica(replica, &[b"REDIS0009\xff".as_slice(), &[0; 8]].concat())
    }

    fn write(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("the replica reads");
    }

    pub fn send<W: AsRef<[u8]>>(&mut self, words: impl IntoIterator<Item = W>) {
        let bytes = encoded(words);
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
