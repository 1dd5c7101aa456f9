//! A client that shows the test exactly what is on the wire.

use crate::{eventually, patient, Reply};
use std::io::{BufReader, Result, Write};
use std::net::TcpStream;
use std::time::Duration;

/// If a reply takes longer than this, the server hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// Requests sent before a reply is read: enough to keep the server busy, few enough for the replies
/// to fit in the socket's buffer.
const REQUESTS_IN_FLIGHT: usize = 32;

pub struct Connection {
    source: BufReader<TcpStream>,
    sink: TcpStream,
}

impl Connection {
    pub fn open(port: u16) -> Result<Connection> {
        let sink = TcpStream::connect(("127.0.0.1", port))?;
        sink.set_nodelay(true)?;
        sink.set_read_timeout(Some(patient(PATIENCE)))?;
        Ok(Connection { source: BufReader::new(sink.try_clone()?), sink })
    }

    /// The reply to a command whose arguments contain no spaces, in the notation of [`Reply`].
    pub fn ask(&mut self, line: &str) -> String {
        self.line(line).to_string()
    }

    /// The reply to a command whose arguments contain no spaces.
    pub fn line(&mut self, line: &str) -> Reply {
        self.call(line.split_whitespace())
    }

    /// The reply to a command with any arguments.
    pub fn call<W: AsRef<[u8]>>(&mut self, command: impl IntoIterator<Item = W>) -> Reply {
        self.send(command);
        self.receive()
    }

    /// Runs a command that must not fail, to set up a test.
    pub fn run(&mut self, line: &str) -> Reply {
        let reply = self.line(line);
        assert!(!reply.is_error(), "{line}: {reply}");
        reply
    }

    /// Runs commands that must not fail, in order.
    pub fn run_all(&mut self, lines: impl IntoIterator<Item = impl AsRef<str>>) {
        lines.into_iter().for_each(|line| drop(self.run(line.as_ref())));
    }

    /// Sends commands and checks their replies.
    pub fn converse(&mut self, lines: &[(&str, &str)]) {
        for (command, reply) in lines {
            assert_eq!(self.ask(command), *reply, "{command}");
        }
    }

    /// The replies to many commands, several of which are in flight at a time.
    pub fn pipeline(&mut self, commands: impl IntoIterator<Item = Vec<Vec<u8>>>) -> Vec<Reply> {
        let mut replies = Vec::new();
        let mut in_flight = 0;
        for command in commands {
            self.send(command);
            in_flight += 1;
            if in_flight == REQUESTS_IN_FLIGHT {
                replies.push(self.receive());
                in_flight -= 1;
            }
        }
        replies.extend((0..in_flight).map(|_| self.receive()));
        replies
    }

    pub fn send<W: AsRef<[u8]>>(&mut self, command: impl IntoIterator<Item = W>) {
        self.try_send(command).expect("the server accepts the command");
    }

    pub fn receive(&mut self) -> Reply {
        Reply::read(&mut self.source).expect("the server replies")
    }

    /// Like [`Connection::call`], for a server that may be down.
    pub fn try_call<W: AsRef<[u8]>>(
        &mut self,
        command: impl IntoIterator<Item = W>,
    ) -> Result<Reply> {
        self.try_send(command)?;
        Reply::read(&mut self.source)
    }

    /// Like [`Connection::receive`], for a server that may be down.
    pub fn try_receive(&mut self) -> Result<Reply> {
        Reply::read(&mut self.source)
    }

    /// Like [`Connection::send`], for a server that may be down.
    pub fn try_send<W: AsRef<[u8]>>(&mut self, command: impl IntoIterator<Item = W>) -> Result<()> {
        self.sink.write_all(&encoded(command))
    }

    /// One field of the server's INFO.
    pub fn info(&mut self, section: &str, name: &str) -> String {
        let text = self.run(&format!("INFO {section}")).text();
        let found = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        found.unwrap_or_else(|| panic!("no {name} in INFO {section}:\n{text}")).to_owned()
    }

    pub fn info_number(&mut self, section: &str, name: &str) -> i64 {
        let text = self.info(section, name);
        text.parse().unwrap_or_else(|_| panic!("{name} is not a number: {text}"))
    }

    /// The memory of all filters, from INFO.
    pub fn bytes_held(&mut self) -> i64 {
        self.info_number("bf", "bf_bytes_held")
    }

    /// The server's memory once its buffers are empty: those for replicas and files, which do not
    /// count towards `maxmemory`, and what connections read last, which the server frees a second
    /// later: room beyond a limit that was set before. (INFO's number for connections is up to a
    /// second old.)
    pub fn memory_at_rest(&mut self) -> i64 {
        eventually("the server's buffers are empty", || {
            let clients = self.run("CLIENT LIST TYPE normal").text();
            let each = clients.split(' ').filter_map(|word| word.strip_prefix("tot-mem="));
            let held: i64 = each.map(|bytes| bytes.parse::<i64>().expect("a number")).sum();
            held.max(self.info_number("memory", "mem_not_counted_for_evict")) < 1 << 20
        });
        self.info_number("memory", "used_memory")
    }

    /// What DUMP returns.
    pub fn dump(&mut self, key: &str) -> Vec<u8> {
        self.call(["DUMP", key]).bytes().to_vec()
    }

    /// The reply to a RESTORE, which may replace a value.
    pub fn restore(&mut self, key: &str, payload: &[u8]) -> String {
        self.call([b"RESTORE", key.as_bytes(), b"0", payload, b"REPLACE"]).to_string()
    }

    /// Rewrites the append-only file, and waits for the end.
    pub fn rewrite_append_only_file(&mut self) {
        self.run("BGREWRITEAOF");
        eventually("the rewrite ends", || {
            self.info("persistence", "aof_rewrite_in_progress") == "0"
                && self.info("persistence", "aof_rewrite_scheduled") == "0"
        });
        assert_eq!(self.info("persistence", "aof_last_bgrewrite_status"), "ok");
    }

    /// The digest of a value. Equal values have equal digests on every server.
    pub fn digest(&mut self, key: &str) -> String {
        self.call(["DEBUG", "DIGEST-VALUE", key]).elements()[0].text()
    }

    /// The digest of all keys of the server.
    pub fn digest_of_everything(&mut self) -> String {
        self.run("DEBUG DIGEST").text()
    }
}

/// A line as a command for [`Connection::pipeline`].
pub fn words(line: &str) -> Vec<Vec<u8>> {
    line.split_whitespace().map(|word| word.as_bytes().to_vec()).collect()
}

/// A command as clients send it, and as append-only files have it.
pub fn encoded<W: AsRef<[u8]>>(command: impl IntoIterator<Item = W>) -> Vec<u8> {
    let words: Vec<W> = command.into_iter().collect();
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words.iter().map(AsRef::as_ref) {
        bytes.extend(format!("${}\r\n", word.len()).bytes());
        bytes.extend(word);
        bytes.extend(b"\r\n");
    }
    bytes
}
