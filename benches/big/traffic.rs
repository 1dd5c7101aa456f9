//! A load generator for billions of items: encodes them in place, sends them over several
//! connections (Unix sockets, as the server is measured and not the network) and checks the
//! replies.
//!
//! An item is a URL of 34 bytes with sixteen hexadecimal digits, a bijective scrambling of its
//! number: different numbers give different URLs. A batch of commands is encoded once; after that
//! only the digits are overwritten (16 bytes by table lookup, some 5 ns per item), so one thread
//! outpaces the server.
//!
//! ```text
//!   connection 1  ──batch──►            ──batch──►           one thread: reads the replies to a
//!   connection 2           ──batch──►                        connection's last batch, writes the
//!   connection 3                    ──batch──►               next and sends it, while the server
//!                                                                works on the others
//! ```

use splitbloom_harness::splitmix64;
use splitbloom_rig::progress::Progress;
use splitbloom_rig::Outcome;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::ops::Range;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// `https://h01234567.example/89abcdef`.
const URL: [&str; 2] = ["https://h", ".example/"];
const URL_BYTES: usize = 9 + 8 + 9 + 8;
/// Offset of the second eight digits from the first.
const SECOND_DIGITS: usize = 8 + 9;

/// The server never takes longer than this for a batch.
const PATIENCE: Duration = Duration::from_secs(120);

/// What is sent, and how much at a time.
#[derive(Clone, Copy)]
pub struct Traffic {
    pub command: &'static str,
    pub key: &'static str,
    /// Items per command; 1 selects commands that take one item and do not return an array.
    pub items: u64,
    /// Commands per batch, sent in one write.
    pub commands: u64,
    pub connections: usize,
}

impl Traffic {
    /// `command` with 100 items each. Four connections with four commands each have 1600 items in
    /// flight, some 0.3 ms of server time: enough to keep the server busy while the next batch is
    /// encoded, and the most that other clients queue behind.
    pub fn batches(command: &'static str, key: &'static str) -> Self {
        Self { command, key, items: 100, commands: 4, connections: 4 }
    }

    /// The same with one command at a time on each connection, for when most items are the first to
    /// touch their page: 400 items are as many page faults, a millisecond on this machine.
    pub fn light_batches(command: &'static str, key: &'static str) -> Self {
        Self { commands: 1, ..Self::batches(command, key) }
    }

    /// `command` with one item each. During a snapshot each may copy a page, which takes some 8 µs:
    /// 64 of them take half a millisecond.
    pub fn single_items(command: &'static str, key: &'static str) -> Self {
        Self { items: 1, commands: 16, ..Self::batches(command, key) }
    }

    /// Sends the items with the given numbers and returns how many replies were 1.
    ///
    /// # Errors
    /// Any reply other than 0 or 1 per item, quoted.
    pub fn send(
        &self,
        socket: &Path,
        numbers: Range<u64>,
        progress: &mut Progress,
    ) -> Outcome<u64> {
        let streams = (0..self.connections).map(|_| connect(socket));
        let streams = streams.collect::<Outcome<Vec<_>>>()?;
        let whole = self.items * self.commands;
        let batch = || Batch::new(self, whole);
        let mut connections: Vec<Connection> =
            streams.into_iter().map(|s| Connection::new(s, batch())).collect();
        let (mut next, mut ones, mut turn) = (numbers.start, 0, 0);
        while next < numbers.end {
            let connection = &mut connections[turn % self.connections];
            turn += 1;
            ones += connection.take_replies()?;
            let len = whole.min(numbers.end - next);
            if len < whole {
                connection.batch = Batch::new(self, len);
            }
            connection.send(next)?;
            next += len;
            progress.advance(len);
        }
        for connection in &mut connections {
            ones += connection.take_replies()?;
        }
        Ok(ones)
    }
}

fn connect(socket: &Path) -> Outcome<UnixStream> {
    let stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// A connection and the batch in flight on it.
struct Connection {
    stream: UnixStream,
    batch: Batch,
    replies: Vec<u8>,
    is_waiting: bool,
}

impl Connection {
    fn new(stream: UnixStream, batch: Batch) -> Self {
        Self { stream, replies: vec![0; batch.replies.len()], batch, is_waiting: false }
    }

    fn send(&mut self, first: u64) -> Outcome<()> {
        self.batch.number_from(first);
        self.stream.write_all(&self.batch.bytes)?;
        self.is_waiting = true;
        Ok(())
    }

    /// Reads the replies to the batch in flight, if any, and counts the ones.
    fn take_replies(&mut self) -> Outcome<u64> {
        let (mut read, mut ones) = (0, 0);
        while self.is_waiting && read < self.batch.replies.len() {
            let room = &mut self.replies[read..self.batch.replies.len()];
            let len = self.stream.read(room)?;
            let new = &self.replies[read..read + len];
            match self.batch.replies.check(read, new) {
                Some(more) if len > 0 => ones += more,
                _ => return Err(format!("bad reply: {}", String::from_utf8_lossy(new)).into()),
            }
            read += len;
        }
        self.is_waiting = false;
        Ok(ones)
    }
}

/// Encoded commands, and the replies expected to them.
struct Batch {
    bytes: Vec<u8>,
    /// Offset of the digits of each item.
    digits: Vec<usize>,
    replies: Replies,
}

impl Batch {
    fn new(traffic: &Traffic, items: u64) -> Self {
        let mut text = String::new();
        let mut digits = Vec::new();
        let mut replies = String::new();
        let mut left = items;
        while left > 0 {
            let len = traffic.items.min(left);
            left -= len;
            let (command, key) = (traffic.command, traffic.key);
            // Writing to a string does not fail.
            let _ = write!(text, "*{}\r\n${}\r\n{command}\r\n", len + 2, command.len());
            let _ = write!(text, "${}\r\n{key}\r\n", key.len());
            if traffic.items > 1 {
                let _ = write!(replies, "*{len}\r\n");
            }
            for _ in 0..len {
                let _ = write!(text, "${URL_BYTES}\r\n{}", URL[0]);
                digits.push(text.len());
                let _ = write!(text, "{:8}{}{:8}\r\n", "", URL[1], "");
                replies.push_str(":0\r\n");
            }
        }
        Self { bytes: text.into_bytes(), digits, replies: Replies::like(&replies) }
    }

    /// Writes items `first`, `first + 1`, … into the batch.
    fn number_from(&mut self, first: u64) {
        for (number, at) in (first..).zip(&self.digits) {
            let pairs = splitmix64(number).to_be_bytes().map(|byte| HEX[byte as usize]);
            let [a, b, c, d, e, f, g, h] = pairs;
            let url = &mut self.bytes[*at..*at + SECOND_DIGITS + 8];
            url[..8].copy_from_slice([a, b, c, d].as_flattened());
            url[SECOND_DIGITS..].copy_from_slice([e, f, g, h].as_flattened());
        }
    }
}

/// The two hexadecimal digits of each byte.
const HEX: [[u8; 2]; 256] = {
    let (digits, mut pairs, mut byte) = (b"0123456789abcdef", [[0; 2]; 256], 0);
    while byte < 256 {
        pairs[byte] = [digits[byte / 16], digits[byte % 16]];
        byte += 1;
    }
    pairs
};

/// The expected replies if all are 0, and a mask of the bits that must match: `0` and `1` differ in
/// their lowest bit.
struct Replies {
    zeros: Vec<u8>,
    fixed: Vec<u8>,
}

impl Replies {
    fn like(zeros: &str) -> Self {
        let bytes = zeros.as_bytes();
        let is_digit = |at: usize| at > 0 && bytes[at - 1] == b':';
        let mask = |at| if is_digit(at) { !1 } else { !0 };
        Self { zeros: bytes.to_vec(), fixed: (0..bytes.len()).map(mask).collect() }
    }

    fn len(&self) -> usize {
        self.zeros.len()
    }

    /// Compares `bytes` with the replies expected at offset `at`: returns the number of ones, or
    /// `None` if they differ otherwise.
    fn check(&self, at: usize, bytes: &[u8]) -> Option<u64> {
        let end = at + bytes.len();
        let expected = self.zeros[at..end].iter().zip(&self.fixed[at..end]);
        let (mut wrong, mut ones) = (0, 0);
        for (byte, (zero, fixed)) in bytes.iter().zip(expected) {
            wrong |= (byte ^ zero) & fixed;
            ones += u64::from(byte ^ zero);
        }
        (wrong == 0).then_some(ones)
    }
}
