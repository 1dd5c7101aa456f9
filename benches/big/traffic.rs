//! Items by the thousand million: encoded in place, sent over several connections (Unix sockets: what is looked for is the server, not the network),
//! the answers checked.
//!
//! An item is a URL of 34 bytes with sixteen hexadecimal digits in it, a bijective scrambling of its number: different numbers are different
//! URLs. A batch of commands is encoded once; after that only the digits are written anew (16 bytes by table, some 5 ns an item), so that one
//! thread makes more than a server takes.
//!
//! ```text
//!   connection 1  ──batch──►            ──batch──►           one thread goes round: takes the answers of a connection's
//!   connection 2           ──batch──►                        last batch, writes the digits of the next one, sends it;
//!   connection 3                    ──batch──►               meanwhile the server works on those of the others
//! ```

use crate::progress::Progress;
use crate::rig::numbers::splitmix64;
use crate::rig::Outcome;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::ops::Range;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// `https://h01234567.example/89abcdef`.
const URL: [&str; 2] = ["https://h", ".example/"];
const URL_BYTES: usize = 9 + 8 + 9 + 8;
/// Where the second eight digits stand, counted from the first.
const SECOND_DIGITS: usize = 8 + 9;

/// The server takes no longer for a batch, whatever else it does.
const PATIENCE: Duration = Duration::from_secs(120);

/// What is sent, and how much of it at a time.
#[derive(Clone, Copy)]
pub struct Traffic {
    pub command: &'static str,
    pub key: &'static str,
    /// Items in a command; 1 stands for the commands that take one item and do not answer an array.
    pub items: u64,
    /// Commands in a batch: they go out in one write.
    pub commands: u64,
    pub connections: usize,
}

impl Traffic {
    /// `command` with 100 items at a time. Four connections with four commands each are 1600 items, some 0.3 ms of the server's time: enough
    /// to keep it busy while the next batch is made, and the most that a bystander stands behind.
    pub fn of_many(command: &'static str, key: &'static str) -> Self {
        Self {
            command,
            key,
            items: 100,
            commands: 4,
            connections: 4,
        }
    }

    /// The same with one command at a time on each connection, where most items are the first to touch their page: 400 items are as many page
    /// faults, a millisecond of this machine's time.
    pub fn of_many_lightly(command: &'static str, key: &'static str) -> Self {
        Self {
            commands: 1,
            ..Self::of_many(command, key)
        }
    }

    /// `command` with one item at a time. During a snapshot each may copy a page, which takes some 8 µs: 64 of them are half a millisecond.
    pub fn of_one(command: &'static str, key: &'static str) -> Self {
        Self {
            items: 1,
            commands: 16,
            ..Self::of_many(command, key)
        }
    }

    /// Sends the items of all `numbers` and answers how many of them were answered with 1.
    ///
    /// # Errors
    /// Whatever is not an answer of 0 or 1 for each item, in its own words.
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
        let mut lanes: Vec<Lane> = streams.into_iter().map(|s| Lane::new(s, batch())).collect();
        let (mut next, mut ones, mut turn) = (numbers.start, 0, 0);
        while next < numbers.end {
            let lane = &mut lanes[turn % self.connections];
            turn += 1;
            ones += lane.take_answers()?;
            let len = whole.min(numbers.end - next);
            if len < whole {
                lane.batch = Batch::new(self, len);
            }
            lane.send(next)?;
            next += len;
            progress.advance(len);
        }
        for lane in &mut lanes {
            ones += lane.take_answers()?;
        }
        Ok(ones)
    }
}

fn connect(socket: &Path) -> Outcome<UnixStream> {
    let stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// A connection, with the batch that is under way on it.
struct Lane {
    stream: UnixStream,
    batch: Batch,
    answers: Vec<u8>,
    is_waiting: bool,
}

impl Lane {
    fn new(stream: UnixStream, batch: Batch) -> Self {
        Self {
            stream,
            answers: vec![0; batch.answers.len()],
            batch,
            is_waiting: false,
        }
    }

    fn send(&mut self, first: u64) -> Outcome<()> {
        self.batch.number_from(first);
        self.stream.write_all(&self.batch.bytes)?;
        self.is_waiting = true;
        Ok(())
    }

    /// Reads the answers to the batch that is under way, if there is one, and counts the ones.
    fn take_answers(&mut self) -> Outcome<u64> {
        let (mut read, mut ones) = (0, 0);
        while self.is_waiting && read < self.batch.answers.len() {
            let room = &mut self.answers[read..self.batch.answers.len()];
            let len = self.stream.read(room)?;
            let new = &self.answers[read..read + len];
            match self.batch.answers.check(read, new) {
                Some(more) if len > 0 => ones += more,
                _ => return Err(format!("unexpected: {}", String::from_utf8_lossy(new)).into()),
            }
            read += len;
        }
        self.is_waiting = false;
        Ok(ones)
    }
}

/// Commands as bytes, and the bytes that answer them.
struct Batch {
    bytes: Vec<u8>,
    /// Where the digits of each item begin.
    digits: Vec<usize>,
    answers: Answers,
}

impl Batch {
    fn new(traffic: &Traffic, items: u64) -> Self {
        let mut text = String::new();
        let mut digits = Vec::new();
        let mut answers = String::new();
        let mut left = items;
        while left > 0 {
            let len = traffic.items.min(left);
            left -= len;
            let (command, key) = (traffic.command, traffic.key);
            // Writing to a string does not fail.
            let _ = write!(text, "*{}\r\n${}\r\n{command}\r\n", len + 2, command.len());
            let _ = write!(text, "${}\r\n{key}\r\n", key.len());
            if traffic.items > 1 {
                let _ = write!(answers, "*{len}\r\n");
            }
            for _ in 0..len {
                let _ = write!(text, "${URL_BYTES}\r\n{}", URL[0]);
                digits.push(text.len());
                let _ = write!(text, "{:8}{}{:8}\r\n", "", URL[1], "");
                answers.push_str(":0\r\n");
            }
        }
        Self {
            bytes: text.into_bytes(),
            digits,
            answers: Answers::like(&answers),
        }
    }

    /// Writes the items `first`, `first + 1`, … into the batch.
    fn number_from(&mut self, first: u64) {
        for (number, at) in (first..).zip(&self.digits) {
            let pairs = splitmix64(number)
                .to_be_bytes()
                .map(|byte| HEX[byte as usize]);
            let [a, b, c, d, e, f, g, h] = pairs;
            let url = &mut self.bytes[*at..*at + SECOND_DIGITS + 8];
            url[..8].copy_from_slice([a, b, c, d].as_flattened());
            url[SECOND_DIGITS..].copy_from_slice([e, f, g, h].as_flattened());
        }
    }
}

/// The two digits of each byte.
const HEX: [[u8; 2]; 256] = {
    let (digits, mut pairs, mut byte) = (b"0123456789abcdef", [[0; 2]; 256], 0);
    while byte < 256 {
        pairs[byte] = [digits[byte / 16], digits[byte % 16]];
        byte += 1;
    }
    pairs
};

/// What is expected: the answers if all are 0, and which bits of them may differ. `0` and `1` differ in their lowest bit.
struct Answers {
    zeros: Vec<u8>,
    fixed: Vec<u8>,
}

impl Answers {
    fn like(zeros: &str) -> Self {
        let bytes = zeros.as_bytes();
        let is_answer = |at: usize| at > 0 && bytes[at - 1] == b':';
        let mask = |at| if is_answer(at) { !1 } else { !0 };
        Self {
            zeros: bytes.to_vec(),
            fixed: (0..bytes.len()).map(mask).collect(),
        }
    }

    fn len(&self) -> usize {
        self.zeros.len()
    }

    /// Holds `bytes` against what is expected from place `at` on: the number of ones, or nothing if it is something else.
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
