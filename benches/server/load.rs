//! The load generator: one thread that keeps a few connections busy with pipelined commands.
//!
//! Commands are encoded once; each turn only writes fresh items over the old ones, so a command of 100 items costs the
//! generator some 0.3 µs beside the system calls. Every reply has a length known beforehand, so reading is one `read_exact`.
//! That it is not the bottleneck is seen in the server's processor time ([`crate::accounts`]): where the server is busy
//! all the time, a faster generator would change nothing.

use super::rig::numbers::splitmix64;
use super::rig::Outcome;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Bytes of an item.
pub const ITEM_BYTES: usize = 12;

/// How long a reply is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// Which items are sent.
#[derive(Clone, Copy, Debug)]
pub enum Items {
    /// Numbers from here on, each once.
    From(u64),
    /// Numbers drawn from the `count` from `first` on.
    Among { first: u64, count: u64 },
}

/// A command that is sent again and again.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// The words in front of the items.
    pub head: Vec<String>,
    /// A last word of `head` that alternates from command to command.
    pub alternating: Option<[&'static str; 2]>,
    /// Items behind them.
    pub items: usize,
    /// What the server answers to each command, up to the digits, which must be 0 or 1.
    pub reply: Reply,
}

/// The shape of a reply; every one of a shape has the same length.
#[derive(Clone, Copy, Debug)]
pub enum Reply {
    /// `:0` or `:1`.
    Integer,
    /// An array of such.
    Array(usize),
}

impl Reply {
    fn template(self) -> Vec<u8> {
        match self {
            Self::Integer => b":0\r\n".to_vec(),
            Self::Array(len) => {
                let mut bytes = format!("*{len}\r\n").into_bytes();
                bytes.extend(b":0\r\n".repeat(len));
                bytes
            }
        }
    }
}

/// The item of a number: eight bytes that look random and four of the number itself.
pub fn write_item(number: u64, item: &mut [u8]) {
    let mixed = splitmix64(number);
    item[..8].copy_from_slice(&mixed.to_le_bytes());
    item[8..ITEM_BYTES].copy_from_slice(&(number as u32).to_le_bytes());
}

/// Commands that make the filter anew before it is full, sent in front of the others so that nobody waits for them.
#[derive(Clone, Debug)]
pub struct Renewal {
    /// After so many items.
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

/// One connection: its commands as bytes, where in them the items stand, and the replies to come.
struct Lane {
    stream: TcpStream,
    bytes: Vec<u8>,
    places: Vec<usize>,
    expected: Vec<u8>,
    replies: Vec<u8>,
    /// What the server must have answered before the replies, where a renewal went ahead of the commands.
    renewal: Option<Vec<u8>>,
}

/// What was sent and answered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sent {
    pub commands: u64,
    pub items: u64,
    /// Answers that were 1.
    pub ones: u64,
    pub seconds: f64,
}

/// The load of one pattern on one server.
pub struct Load {
    lanes: Vec<Lane>,
    pattern: Pattern,
    pipeline: usize,
    runs: u64,
    renewal: Option<Renewal>,
}

impl Load {
    /// `connections` to the server, each with `pipeline` commands under way.
    pub fn new(port: u16, connections: usize, pipeline: usize, pattern: Pattern) -> Outcome<Self> {
        let mut bytes = Vec::new();
        let mut places = Vec::new();
        for number in 0..pipeline {
            let mut head = pattern.head.clone();
            head.extend(
                pattern
                    .alternating
                    .map(|words| words[number % 2].to_string()),
            );
            write_head(&mut bytes, &head, pattern.items);
            for _ in 0..pattern.items {
                write!(bytes, "${ITEM_BYTES}\r\n")?;
                places.push(bytes.len());
                bytes.extend([0; ITEM_BYTES]);
                bytes.extend(b"\r\n");
            }
        }
        let expected = pattern.reply.template().repeat(pipeline);
        let lane = || -> Outcome<Lane> {
            let stream = TcpStream::connect(("127.0.0.1", port))?;
            stream.set_nodelay(true)?;
            // A reply shorter than expected, an error, would be waited for without end.
            stream.set_read_timeout(Some(PATIENCE))?;
            Ok(Lane {
                stream,
                bytes: bytes.clone(),
                places: places.clone(),
                replies: vec![0; expected.len()],
                expected: expected.clone(),
                renewal: None,
            })
        };
        Ok(Self {
            lanes: (0..connections).map(|_| lane()).collect::<Outcome<_>>()?,
            pattern,
            pipeline,
            runs: 0,
            renewal: None,
        })
    }

    /// The same, with a filter that is made anew now and then.
    pub fn renewing(mut self, renewal: Renewal) -> Self {
        self.renewal = Some(renewal);
        self
    }

    /// Items that one turn of all connections takes.
    pub fn items_a_turn(&self) -> u64 {
        (self.lanes.len() * self.pipeline * self.pattern.items) as u64
    }

    /// Sends for so long, or until so many items are sent (a whole number of turns), whichever comes first, and waits for the
    /// last reply.
    pub fn run(&mut self, items: Items, time: Duration, at_most: u64) -> Outcome<Sent> {
        self.runs += 1;
        let mut source = Source {
            items,
            drawn: 0,
            run: self.runs << 40,
            since_renewal: 0,
        };
        let turns = at_most / self.items_a_turn().max(1);
        let start = Instant::now();
        let mut sent = Sent::default();
        for lane in &mut self.lanes {
            lane.send(&mut source, self.renewal.as_ref())?;
        }
        let mut turn = 1;
        while turn < turns && start.elapsed() < time {
            for lane in &mut self.lanes {
                sent.ones += lane.receive()?;
                lane.send(&mut source, self.renewal.as_ref())?;
            }
            turn += 1;
        }
        for lane in &mut self.lanes {
            sent.ones += lane.receive()?;
        }
        sent.seconds = start.elapsed().as_secs_f64();
        sent.commands = turn * (self.lanes.len() * self.pipeline) as u64;
        sent.items = sent.commands * self.pattern.items as u64;
        Ok(sent)
    }
}

/// Where the next item comes from. Each run draws other numbers.
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
            // A random number to one below a limit by multiply-shift (Lemire 2019).
            Items::Among { first, count } => {
                let random = splitmix64(self.drawn | self.run);
                first + ((u128::from(random) * u128::from(count)) >> 64) as u64
            }
        }
    }
}

impl Lane {
    fn send(&mut self, source: &mut Source, renewal: Option<&Renewal>) -> Outcome<()> {
        self.renewal = None;
        if let Some(renewal) = renewal.filter(|renewal| source.since_renewal >= renewal.every) {
            source.since_renewal = 0;
            self.stream.write_all(&renewal.bytes())?;
            self.renewal = Some(renewal.replies.clone());
        }
        source.since_renewal += self.places.len() as u64;
        for place in &self.places {
            write_item(source.next(), &mut self.bytes[*place..*place + ITEM_BYTES]);
        }
        Ok(self.stream.write_all(&self.bytes)?)
    }

    /// Reads the replies to all commands under way; how many ones there were.
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
        for (got, expected) in self.replies.iter().zip(&self.expected) {
            // A digit may be 0 or 1 where 0 is expected; all else must be as expected.
            let one = got ^ expected;
            if one > 1 || (one == 1 && *expected != b'0') {
                return Err(unexpected(&self.replies));
            }
            ones += u64::from(one);
        }
        Ok(ones)
    }
}

fn unexpected(reply: &[u8]) -> Box<dyn std::error::Error> {
    format!("an unexpected reply: {}", start_of(reply)).into()
}

fn start_of(reply: &[u8]) -> String {
    String::from_utf8_lossy(&reply[..reply.len().min(200)]).into_owned()
}
