//! The load generator: one thread keeps a few connections busy with pipelined commands.
//!
//! ```text
//!   connection 1  ──commands──►               ──commands──►    reads the replies to a connection's
//!   connection 2              ──commands──►                    last commands and sends the next,
//!   connection 3                         ──commands──►         while the server has the others
//! ```
//!
//! Commands are encoded once; after that each turn only overwrites their items, so a command of 100
//! items costs the generator some 0.3 µs besides the system calls. The length of every reply is
//! known in advance, so reading is one `read_exact`. The server's CPU time (`process`)
//! shows that the generator is not the bottleneck: if the server is always busy, a faster generator
//! would change nothing.

use crate::Outcome;
use splitbloom_harness::splitmix64;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Timeout for a reply. An error is shorter than the expected reply and would be waited for
/// forever.
const PATIENCE: Duration = Duration::from_secs(10);

/// The items to send.
#[derive(Clone, Copy, Debug)]
pub enum Items {
    /// Consecutive numbers, each once.
    From(u64),
    /// Numbers drawn at random from the `count` starting at `first`.
    Among { first: u64, count: u64 },
}

/// How an item is written. Different numbers give different items.
#[derive(Clone, Copy, Debug)]
pub enum Format {
    /// 8 to 16 bytes: eight that look random, then some of the number itself.
    Bytes(usize),
    /// `https://h01234567.example/89abcdef`, with sixteen digits that look random.
    Url,
}

impl Format {
    /// Where a URL has its digits, eight each.
    const DIGITS: [usize; 2] = [9, 26];

    fn template(self) -> Vec<u8> {
        match self {
            Self::Bytes(len) => vec![0; len],
            Self::Url => b"https://h________.example/________".to_vec(),
        }
    }

    fn write(self, number: u64, item: &mut [u8]) {
        let mixed = splitmix64(number);
        match self {
            Self::Bytes(len) => {
                item[..8].copy_from_slice(&mixed.to_le_bytes());
                item[8..len].copy_from_slice(&number.to_le_bytes()[..len - 8]);
            }
            Self::Url => {
                let [a, b, c, d, e, f, g, h] =
                    mixed.to_be_bytes().map(|byte| HEX[usize::from(byte)]);
                for (at, digits) in Self::DIGITS.into_iter().zip([[a, b, c, d], [e, f, g, h]]) {
                    item[at..at + 8].copy_from_slice(digits.as_flattened());
                }
            }
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

/// A command to send repeatedly.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// The arguments before the items.
    pub head: Vec<String>,
    /// A last argument of `head` that alternates between commands.
    pub alternating: Option<[&'static str; 2]>,
    /// Number of items after them.
    pub items: usize,
    pub format: Format,
    /// Whether one argument holds all items.
    pub is_packed: bool,
    pub reply: Reply,
}

impl Pattern {
    /// These words, and then items with an argument each.
    pub fn new(words: &[&str], items: usize, format: Format) -> Self {
        Self {
            head: words.iter().map(ToString::to_string).collect(),
            alternating: None,
            items,
            format,
            is_packed: false,
            reply: if items > 1 { Reply::Array } else { Reply::Integer },
        }
    }

    /// Appends the command with blank items; `places` gets their offsets.
    fn encode(&self, number: usize, bytes: &mut Vec<u8>, places: &mut Vec<usize>) {
        let mut head = self.head.clone();
        head.extend(self.alternating.map(|words| words[number % 2].to_string()));
        let item = self.format.template();
        let (arguments, items_of_each) = match self.is_packed {
            true => (1, self.items),
            false => (self.items, 1),
        };
        encode_head(&head, arguments, bytes);
        for _ in 0..arguments {
            bytes.extend(format!("${}\r\n", items_of_each * item.len()).bytes());
            for _ in 0..items_of_each {
                places.push(bytes.len());
                bytes.extend(&item);
            }
            bytes.extend(b"\r\n");
        }
    }
}

fn encode_head(words: &[String], items: usize, bytes: &mut Vec<u8>) {
    bytes.extend(format!("*{}\r\n", words.len() + items).bytes());
    for word in words {
        bytes.extend(format!("${}\r\n{word}\r\n", word.len()).bytes());
    }
}

/// The type of a reply; all replies of a type and a number of items have the same length.
#[derive(Clone, Copy, Debug)]
pub enum Reply {
    /// `:0` or `:1`.
    Integer,
    /// An array of such integers.
    Array,
    /// `:0` to `:9`.
    Count,
    /// A number of four digits.
    Thousands,
    /// As many bits as items.
    Bits,
}

impl Reply {
    /// The reply if all its digits and bits are 0.
    fn zeros(self, items: usize) -> Vec<u8> {
        match self {
            Self::Integer | Self::Count => b":0\r\n".to_vec(),
            Self::Array => [format!("*{items}\r\n").as_bytes(), &b":0\r\n".repeat(items)].concat(),
            Self::Thousands => b":0000\r\n".to_vec(),
            Self::Bits => {
                let len = items.div_ceil(8);
                [format!("${len}\r\n").as_bytes(), &vec![0; len], b"\r\n"].concat()
            }
        }
    }

    /// The ones in a reply, or the sum of counts; `None` if this is no such reply.
    fn ones(self, got: &[u8], zeros: &[u8]) -> Option<u64> {
        let limit = match self {
            Self::Integer | Self::Array => 1,
            Self::Count => 9,
            Self::Thousands => {
                let digits = got.strip_prefix(b":")?.strip_suffix(b"\r\n")?;
                return std::str::from_utf8(digits).ok()?.parse().ok();
            }
            Self::Bits => {
                let head = zeros.iter().position(|byte| *byte == b'\n')? + 1;
                let bits = got.strip_prefix(&zeros[..head])?.strip_suffix(b"\r\n")?;
                return Some(bits.iter().map(|byte| u64::from(byte.count_ones())).sum());
            }
        };
        let mut ones = 0;
        for (got, zero) in got.iter().zip(zeros) {
            // A digit may differ where 0 is expected, and then by its value: the lower half of `0`
            // is zero. Every other byte must match.
            let digit = got ^ zero;
            if digit > limit || (digit > 0 && *zero != b'0') {
                return None;
            }
            ones += u64::from(digit);
        }
        Some(ones)
    }
}

/// Commands that recreate the filter before it is full, pipelined ahead of the others so that no
/// client waits for them.
#[derive(Clone, Debug)]
pub struct Renewal {
    /// Renewal interval, in items.
    pub every: u64,
    pub commands: Vec<Vec<String>>,
    pub replies: &'static [u8],
}

/// One connection: its encoded commands, the offsets of their items, and the expected replies.
struct Connection {
    stream: TcpStream,
    bytes: Vec<u8>,
    places: Vec<usize>,
    replies: Vec<u8>,
    /// The replies to a renewal, if one was sent ahead of the commands.
    renewal: &'static [u8],
}

/// Totals of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sent {
    /// Items, or commands if these have none.
    pub items: u64,
    /// Replies that were 1, or the sum of counts.
    pub ones: u64,
    pub seconds: f64,
}

impl Sent {
    pub fn add(&mut self, other: Self) {
        self.items += other.items;
        self.ones += other.ones;
        self.seconds += other.seconds;
    }
}

/// A connection to the server on a port of this machine.
pub fn connect(port: u16) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// The load of one pattern on one server.
pub struct Load {
    port: u16,
    pattern: Pattern,
    /// The reply to a command if all its digits and bits are 0.
    zeros: Vec<u8>,
    connections: Vec<Connection>,
    /// Items that all connections send before they wait for a reply.
    items_per_turn: u64,
    runs: u64,
    renewal: Option<Renewal>,
}

impl Load {
    /// Opens `connections` to the server, each with `pipeline` commands in flight.
    pub fn new(port: u16, connections: usize, pipeline: usize, pattern: &Pattern) -> Outcome<Self> {
        let (mut bytes, mut places) = (Vec::new(), Vec::new());
        (0..pipeline).for_each(|number| pattern.encode(number, &mut bytes, &mut places));
        let zeros = pattern.reply.zeros(pattern.items);
        let connection = |_| -> Outcome<Connection> {
            let (bytes, places) = (bytes.clone(), places.clone());
            let (stream, replies) = (connect(port)?, zeros.repeat(pipeline));
            Ok(Connection { stream, bytes, places, replies, renewal: b"" })
        };
        Ok(Self {
            connections: (0..connections).map(connection).collect::<Outcome<_>>()?,
            items_per_turn: (connections * pipeline * pattern.items.max(1)) as u64,
            port,
            pattern: pattern.clone(),
            zeros,
            runs: 0,
            renewal: None,
        })
    }

    /// Recreates the filter now and then.
    pub fn renewing(mut self, renewal: Renewal) -> Self {
        self.renewal = Some(renewal);
        self
    }

    /// Sends for `time` or until `at_most` items are sent (a whole number of turns), whichever
    /// comes first, and waits for the last reply.
    pub fn run(&mut self, items: Items, time: Duration, at_most: u64) -> Outcome<Sent> {
        self.runs += 1;
        let mut source = Source { items, drawn: 0, run: self.runs << 40, since_renewal: 0 };
        let (turns, start, mut turn) = (at_most / self.items_per_turn, Instant::now(), 0);
        let mut ones = 0;
        while turn < turns && (turn == 0 || start.elapsed() < time) {
            for connection in &mut self.connections {
                if turn > 0 {
                    ones += connection.receive(self.pattern.reply, &self.zeros)?;
                }
                connection.send(&mut source, self.pattern.format, self.renewal.as_ref())?;
            }
            turn += 1;
        }
        for connection in self.connections.iter_mut().filter(|_| turn > 0) {
            ones += connection.receive(self.pattern.reply, &self.zeros)?;
        }
        Ok(Sent { items: turn * self.items_per_turn, ones, seconds: start.elapsed().as_secs_f64() })
    }

    /// Sends `len` items from number `first` on: whole turns, then the other commands, and then one
    /// with the last few items.
    pub fn send(&mut self, first: u64, len: u64) -> Outcome<Sent> {
        let mut sent = self.run(Items::From(first), Duration::MAX, len)?;
        let (left, items) = ((len - sent.items) as usize, self.pattern.items);
        for (commands, items) in [(left / items, items), (1, left % items)] {
            if commands * items > 0 {
                let pattern = Pattern { items, ..self.pattern.clone() };
                let mut rest = Self::new(self.port, 1, commands, &pattern)?;
                let next = Items::From(first + sent.items);
                sent.add(rest.run(next, Duration::MAX, (commands * items) as u64)?);
            }
        }
        Ok(sent)
    }
}

/// The source of items. Each run draws other numbers.
struct Source {
    items: Items,
    drawn: u64,
    run: u64,
    since_renewal: u64,
}

impl Source {
    fn next(&mut self) -> u64 {
        self.drawn += 1;
        match self.items {
            Items::From(first) => first + self.drawn - 1,
            // A random number below a limit by multiply-shift (Lemire 2019).
            Items::Among { first, count } => {
                let random = splitmix64(self.drawn | self.run);
                first + ((u128::from(random) * u128::from(count)) >> 64) as u64
            }
        }
    }
}

impl Connection {
    fn send(
        &mut self,
        source: &mut Source,
        format: Format,
        renewal: Option<&Renewal>,
    ) -> Outcome<()> {
        if let Some(renewal) = renewal.filter(|renewal| source.since_renewal >= renewal.every) {
            source.since_renewal = 0;
            let mut bytes = Vec::new();
            renewal.commands.iter().for_each(|words| encode_head(words, 0, &mut bytes));
            self.stream.write_all(&bytes)?;
            self.renewal = renewal.replies;
        }
        source.since_renewal += self.places.len() as u64;
        for place in &self.places {
            format.write(source.next(), &mut self.bytes[*place..]);
        }
        Ok(self.stream.write_all(&self.bytes)?)
    }

    /// Reads the replies to all commands in flight; returns the sum of their digits.
    fn receive(&mut self, reply: Reply, zeros: &[u8]) -> Outcome<u64> {
        let expected = std::mem::take(&mut self.renewal);
        let mut got = vec![0; expected.len()];
        self.stream.read_exact(&mut got)?;
        if got != expected {
            return Err(unexpected(&got));
        }
        let read = self.stream.read_exact(&mut self.replies);
        read.map_err(|error| format!("{error}: {}", start_of(&self.replies)))?;
        let mut ones = 0;
        for got in self.replies.chunks(zeros.len()) {
            ones += reply.ones(got, zeros).ok_or_else(|| unexpected(&self.replies))?;
        }
        Ok(ones)
    }
}

fn unexpected(reply: &[u8]) -> Box<dyn std::error::Error> {
    format!("unexpected reply: {}", start_of(reply)).into()
}

/// Returns the first error among the replies, or else their first 200 characters.
fn start_of(reply: &[u8]) -> String {
    let text = String::from_utf8_lossy(reply);
    let error = text.lines().find(|line| line.starts_with('-'));
    error.map_or(text.chars().take(200).collect(), str::to_string)
}
