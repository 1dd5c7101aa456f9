//! The load generator: one thread keeps a few connections busy with pipelined commands.
//!
//! Commands are encoded once; after that each turn only overwrites their items, so a command of 100
//! items costs the generator some 0.3 µs besides the system calls. The length of every reply is
//! known in advance, so reading is one `read_exact`. The server's CPU time
//! ([`splitbloom_rig::process`]) shows that the generator is not the bottleneck: if the server is
//! always busy, a faster generator would change nothing.

use splitbloom_harness::splitmix64;
use splitbloom_rig::Outcome;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Timeout for a reply.
const PATIENCE: Duration = Duration::from_secs(10);

/// The items to send.
#[derive(Clone, Copy, Debug)]
pub enum Items {
    /// Consecutive numbers, each once.
    From(u64),
    /// Numbers drawn at random from the `count` starting at `first`.
    Among { first: u64, count: u64 },
}

/// A command to send repeatedly.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// The arguments before the items.
    pub head: Vec<String>,
    /// A last argument of `head` that alternates between commands.
    pub alternating: Option<[&'static str; 2]>,
    /// Number of items after them.
    pub items: usize,
    /// Bytes of an item, 8 to 16.
    pub item_bytes: usize,
    /// Whether one argument holds all items.
    pub is_packed: bool,
    /// The expected reply to each command, except for its digits.
    pub reply: Reply,
}

/// The type of a reply; all replies of a type have the same length.
#[derive(Clone, Copy, Debug)]
pub enum Reply {
    /// `:0` or `:1`.
    Integer,
    /// An array of these.
    Array(usize),
    /// `:0` to `:9`.
    Count,
    /// A number of four digits.
    Thousands,
    /// As many bits.
    Bits(usize),
    Pong,
}

impl Reply {
    fn template(self) -> Vec<u8> {
        match self {
            Self::Integer | Self::Count => b":0\r\n".to_vec(),
            Self::Pong => b"+PONG\r\n".to_vec(),
            Self::Array(len) => {
                let mut bytes = format!("*{len}\r\n").into_bytes();
                bytes.extend(b":0\r\n".repeat(len));
                bytes
            }
            Self::Thousands => b":0000\r\n".to_vec(),
            Self::Bits(len) => {
                let mut bytes = format!("${}\r\n", len.div_ceil(8)).into_bytes();
                bytes.extend(std::iter::repeat_n(0, len.div_ceil(8)));
                bytes.extend(b"\r\n");
                bytes
            }
        }
    }

    /// The ones among the answers, or the sum of counts; `None` if this is no such reply.
    fn ones(self, got: &[u8], expected: &[u8]) -> Option<u64> {
        let limit = match self {
            Self::Integer | Self::Array(_) | Self::Pong => 1,
            Self::Count => 9,
            Self::Thousands => return thousands(got),
            Self::Bits(len) => return bits(got, len.div_ceil(8)),
        };
        let mut ones = 0;
        for (got, expected) in got.iter().zip(expected) {
            // A digit may differ where 0 is expected, and then by its value: the lower half of `0`
            // is zero. Every other byte must match.
            let digit = got ^ expected;
            if digit > limit || (digit > 0 && *expected != b'0') {
                return None;
            }
            ones += u64::from(digit);
        }
        Some(ones)
    }
}

fn thousands(got: &[u8]) -> Option<u64> {
    let digits = got.strip_prefix(b":")?.strip_suffix(b"\r\n")?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// The ones in a string of so many bytes.
fn bits(got: &[u8], bytes: usize) -> Option<u64> {
    let got = got.strip_prefix(format!("${bytes}\r\n").as_bytes())?;
    let bits = got.strip_suffix(b"\r\n")?;
    Some(bits.iter().map(|byte| u64::from(byte.count_ones())).sum())
}

/// The item for a number: eight bytes that look random, then some of the number itself.
pub fn write_item(number: u64, item: &mut [u8]) {
    let (mixed, rest) = item.split_at_mut(8);
    mixed.copy_from_slice(&splitmix64(number).to_le_bytes());
    rest.copy_from_slice(&number.to_le_bytes()[..rest.len()]);
}

/// Commands that recreate the filter before it is full, pipelined ahead of the others so that no
/// client waits for them.
#[derive(Clone, Debug)]
pub struct Renewal {
    /// Renewal interval, in items.
    pub every: u64,
    pub commands: Vec<Vec<String>>,
    pub replies: Vec<u8>,
}

impl Renewal {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for words in &self.commands {
            write_head(&mut bytes, words, 0);
        }
        bytes
    }
}

fn write_head(bytes: &mut Vec<u8>, words: &[String], items: usize) {
    bytes.extend(format!("*{}\r\n", words.len() + items).bytes());
    for word in words {
        bytes.extend(format!("${}\r\n{word}\r\n", word.len()).bytes());
    }
}

/// One connection: its encoded commands, the offsets of their items, and the expected replies.
struct Connection {
    stream: TcpStream,
    bytes: Vec<u8>,
    places: Vec<usize>,
    expected: Vec<u8>,
    replies: Vec<u8>,
    /// The reply to one command.
    reply: Reply,
    item_bytes: usize,
    /// The replies to a renewal, if one was sent ahead of the commands.
    renewal: Option<Vec<u8>>,
}

/// Totals of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sent {
    pub commands: u64,
    pub items: u64,
    /// Replies that were 1, or the sum of counts.
    pub ones: u64,
    pub seconds: f64,
}

/// The load of one pattern on one server.
pub struct Load {
    connections: Vec<Connection>,
    pattern: Pattern,
    pipeline: usize,
    runs: u64,
    renewal: Option<Renewal>,
}

impl Load {
    /// Opens `connections` to the server, each with `pipeline` commands in flight.
    pub fn new(port: u16, connections: usize, pipeline: usize, pattern: Pattern) -> Outcome<Self> {
        let mut bytes = Vec::new();
        let mut places = Vec::new();
        for number in 0..pipeline {
            let mut head = pattern.head.clone();
            head.extend(pattern.alternating.map(|words| words[number % 2].to_string()));
            let (arguments, items_of_each) = match pattern.is_packed {
                true => (1, pattern.items),
                false => (pattern.items, 1),
            };
            write_head(&mut bytes, &head, arguments);
            for _ in 0..arguments {
                write!(bytes, "${}\r\n", items_of_each * pattern.item_bytes)?;
                for _ in 0..items_of_each {
                    places.push(bytes.len());
                    bytes.resize(bytes.len() + pattern.item_bytes, 0);
                }
                bytes.extend(b"\r\n");
            }
        }
        let expected = pattern.reply.template().repeat(pipeline);
        let connection = || -> Outcome<Connection> {
            let stream = TcpStream::connect(("127.0.0.1", port))?;
            stream.set_nodelay(true)?;
            // An error is shorter than the expected reply and would be waited for forever.
            stream.set_read_timeout(Some(PATIENCE))?;
            Ok(Connection {
                stream,
                bytes: bytes.clone(),
                places: places.clone(),
                replies: vec![0; expected.len()],
                expected: expected.clone(),
                reply: pattern.reply,
                item_bytes: pattern.item_bytes,
                renewal: None,
            })
        };
        Ok(Self {
            connections: (0..connections).map(|_| connection()).collect::<Outcome<_>>()?,
            pattern,
            pipeline,
            runs: 0,
            renewal: None,
        })
    }

    /// Recreates the filter now and then.
    pub fn renewing(mut self, renewal: Renewal) -> Self {
        self.renewal = Some(renewal);
        self
    }

    /// Items sent in one turn of all connections.
    pub fn items_per_turn(&self) -> u64 {
        (self.connections.len() * self.pipeline * self.pattern.items) as u64
    }

    /// Sends for `time` or until `at_most` items are sent (a whole number of turns), whichever
    /// comes first, and waits for the last reply.
    pub fn run(&mut self, items: Items, time: Duration, at_most: u64) -> Outcome<Sent> {
        self.runs += 1;
        let mut source = Source { items, drawn: 0, run: self.runs << 40, since_renewal: 0 };
        let turns = at_most / self.items_per_turn().max(1);
        let start = Instant::now();
        let mut sent = Sent::default();
        for connection in &mut self.connections {
            connection.send(&mut source, self.renewal.as_ref())?;
        }
        let mut turn = 1;
        while turn < turns && start.elapsed() < time {
            for connection in &mut self.connections {
                sent.ones += connection.receive()?;
                connection.send(&mut source, self.renewal.as_ref())?;
            }
            turn += 1;
        }
        for connection in &mut self.connections {
            sent.ones += connection.receive()?;
        }
        sent.seconds = start.elapsed().as_secs_f64();
        sent.commands = turn * (self.connections.len() * self.pipeline) as u64;
        sent.items = sent.commands * self.pattern.items as u64;
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
    fn send(&mut self, source: &mut Source, renewal: Option<&Renewal>) -> Outcome<()> {
        self.renewal = None;
        if let Some(renewal) = renewal.filter(|renewal| source.since_renewal >= renewal.every) {
            source.since_renewal = 0;
            self.stream.write_all(&renewal.bytes())?;
            self.renewal = Some(renewal.replies.clone());
        }
        source.since_renewal += self.places.len() as u64;
        for place in &self.places {
            let item = &mut self.bytes[*place..*place + self.item_bytes];
            write_item(source.next(), item);
        }
        Ok(self.stream.write_all(&self.bytes)?)
    }

    /// Reads the replies to all commands in flight; returns the sum of their digits.
    fn receive(&mut self) -> Outcome<u64> {
        if let Some(expected) = self.renewal.take() {
            let mut got = vec![0; expected.len()];
            self.stream.read_exact(&mut got)?;
            if got != expected {
                return Err(unexpected(&got));
            }
        }
        let read = self.stream.read_exact(&mut self.replies);
        read.map_err(|error| format!("{error}: {}", start_of(&self.replies)))?;
        let mut ones = 0;
        let one = self.reply.template().len();
        for (got, expected) in self.replies.chunks(one).zip(self.expected.chunks(one)) {
            let in_reply = self.reply.ones(got, expected);
            ones += in_reply.ok_or_else(|| unexpected(&self.replies))?;
        }
        Ok(ones)
    }
}

fn unexpected(reply: &[u8]) -> Box<dyn std::error::Error> {
    format!("unexpected reply: {}", start_of(reply)).into()
}

/// The first error among the replies, or the start of them.
fn start_of(reply: &[u8]) -> String {
    let text = String::from_utf8_lossy(reply);
    let error = text.lines().find(|line| line.starts_with('-'));
    error.map_or(text.chars().take(200).collect(), str::to_string)
}
