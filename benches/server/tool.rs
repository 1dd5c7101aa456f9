//! The tool beside the commands that it sends: a list of distinct URLs, 60 bytes on average, loaded
//! into a filter reserved NONSCALING at 1 %, and looked up.
//!
//! *Commands alone* are BF.PACKADD LINES and BF.PACKEXISTS LINES with the same URLs, encoded in
//! memory beforehand: as large as those of the tool, on as many connections, with as many in
//! flight. The time of the tool is that of the whole process, from a file that the system has in
//! memory.

use super::filter::{Family, Filter, Start};
use super::settings::Settings;
use super::workload::FILTER;
use splitbloom_rig::process::cpu_seconds;
use splitbloom_rig::server::Setup;
use splitbloom_rig::statistics::{median, median_ratio};
use splitbloom_rig::table::Table;
use splitbloom_rig::urls::write_url;
use splitbloom_rig::Outcome;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use std::{env, fs, iter};

/// An odd number, so that the median is one of the rounds.
const ROUNDS: usize = 5;
const SIZES: [u64; 2] = [1_000_000, 10_000_000];

// As in the tool.
const COMMAND_BYTES: usize = 64 * 1024;
const CONNECTIONS: usize = 4;
const IN_FLIGHT: usize = 4;

/// What is done with the list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Task {
    Load,
    Check,
}

impl Task {
    const ALL: [Self; 2] = [Self::Load, Self::Check];

    fn command(self) -> &'static str {
        match self {
            Self::Load => "BF.PACKADD",
            Self::Check => "BF.PACKEXISTS",
        }
    }

    /// The words of the tool.
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Load => &["load"],
            Self::Check => &["check", "--count"],
        }
    }
}

/// The rounds of a task.
#[derive(Default)]
struct Rounds {
    alone: Vec<f64>,
    tool: Vec<f64>,
    /// The share of the tool's time in which the server's thread was busy.
    busy: Vec<f64>,
}

pub fn run(settings: &Settings) -> Outcome<()> {
    // Built with the module.
    let tool = match env::var_os("SPLITBLOOM_TOOL") {
        Some(tool) => PathBuf::from(tool),
        None => Setup::ours()?.module.with_file_name("splitbloom"),
    };
    let mut table = Table::new(&[
        "items",
        "task",
        "commands alone, million items/s",
        "tool, million items/s",
        "time relative to commands alone",
        "server busy",
    ]);
    for size in settings.sizes(&SIZES) {
        measure(&tool, size, settings.rounds(ROUNDS), &mut table)?;
    }
    settings.show_alone("tool", &table)
}

fn measure(tool: &Path, size: u64, rounds: usize, table: &mut Table) -> Outcome<()> {
    let mut filter = Filter::start(Setup::ours()?)?;
    eprintln!("{size} items: writing the list ...");
    let list = List::write(size)?;
    for task in Task::ALL {
        let commands = list.commands(task)?;
        let mut figures = Rounds::default();
        for round in 0..rounds {
            eprintln!("{size} items, {}: round {} of {rounds}", task.command(), round + 1);
            let mut turns = [true, false];
            if round % 2 == 1 {
                turns.reverse();
            }
            for is_alone in turns {
                if task == Task::Load {
                    filter.renew(Family::Bloom, Start::Reserved, size)?;
                }
                let before = cpu_seconds(filter.process_id())?;
                let begun = Instant::now();
                let ones = match is_alone {
                    true => send(&commands, filter.port())?,
                    false => list.give(task, tool, filter.port())?,
                };
                let seconds = begun.elapsed().as_secs_f64();
                // At an error rate of 1 %, at most 1 % of the new items are false positives.
                if (ones as f64) < size as f64 * 0.98 {
                    return Err(format!("{ones} of {size} replies were 1").into());
                }
                match is_alone {
                    true => figures.alone.push(seconds),
                    false => {
                        let busy = cpu_seconds(filter.process_id())? - before;
                        figures.tool.push(seconds);
                        figures.busy.push(busy / seconds);
                    }
                }
            }
        }
        let rate = |seconds: &[f64]| format!("{:.2}", size as f64 / median(seconds) / 1e6);
        table.row(&[
            size.to_string(),
            task.words().join(" "),
            rate(&figures.alone),
            rate(&figures.tool),
            format!("{:.2}", median_ratio(&figures.tool, &figures.alone)),
            format!("{:.0} %", median(&figures.busy) * 100.0),
        ]);
    }
    Ok(())
}

/// The URLs in a file.
struct List {
    file: PathBuf,
    size: u64,
}

impl List {
    fn write(size: u64) -> Outcome<Self> {
        let name = format!("splitbloom-urls-{}", std::process::id());
        let list = Self { file: env::temp_dir().join(name), size };
        let mut file = fs::File::create(&list.file)?;
        list.pieces(|piece| Ok(file.write_all(piece)?))?;
        Ok(list)
    }

    /// The URLs, as many at a time as a command has.
    fn pieces(&self, mut take: impl FnMut(&[u8]) -> Outcome<()>) -> Outcome<()> {
        let (mut piece, mut url) = (Vec::new(), Vec::new());
        for number in 0..self.size {
            url.clear();
            write_url(number, &mut url);
            if piece.len() + url.len() > COMMAND_BYTES {
                take(&piece)?;
                piece.clear();
            }
            piece.extend_from_slice(&url);
        }
        take(&piece)
    }

    /// The commands of a task.
    fn commands(&self, task: Task) -> Outcome<Vec<Vec<u8>>> {
        let mut commands = Vec::new();
        self.pieces(|piece| {
            let mut command = Vec::with_capacity(piece.len() + 100);
            write!(command, "*4\r\n")?;
            for word in [task.command(), FILTER, "LINES"] {
                write!(command, "${}\r\n{word}\r\n", word.len())?;
            }
            write!(command, "${}\r\n", piece.len())?;
            command.extend_from_slice(piece);
            command.extend_from_slice(b"\r\n");
            commands.push(command);
            Ok(())
        })?;
        Ok(commands)
    }

    /// The same by the tool.
    fn give(&self, task: Task, tool: &Path, port: u16) -> Outcome<u64> {
        let output = Command::new(tool)
            .args(task.words())
            .arg(FILTER)
            .arg(&self.file)
            .args(["--url", &format!("redis://127.0.0.1:{port}")])
            .output()?;
        let text = String::from_utf8(output.stdout)?;
        // "N items, M new", or the number of those present.
        let words: Vec<&str> = text.split_whitespace().collect();
        let ones = match words.as_slice() {
            [_, "items,", new, "new"] => new,
            [present] => present,
            _ => return Err(format!("{text}{}", String::from_utf8_lossy(&output.stderr)).into()),
        };
        Ok(ones.parse()?)
    }
}

impl Drop for List {
    fn drop(&mut self) {
        fs::remove_file(&self.file).ok();
    }
}

/// Sends commands, some at a time on each connection; returns how many items were new or present.
fn send(commands: &[Vec<u8>], port: u16) -> Outcome<u64> {
    let mut connections = Vec::new();
    for _ in 0..CONNECTIONS {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        connections.push((BufReader::new(stream.try_clone()?), stream, 0));
    }
    let mut ones = 0;
    let turns = commands.chunks(IN_FLIGHT);
    let last = iter::repeat_n([].as_slice(), CONNECTIONS); // only to take the last replies
    for (turn, commands) in turns.chain(last).enumerate() {
        let (replies, stream, in_flight) = &mut connections[turn % CONNECTIONS];
        for _ in 0..*in_flight {
            ones += reply(replies)?;
        }
        *in_flight = commands.len();
        for command in commands {
            stream.write_all(command)?;
        }
    }
    Ok(ones)
}

/// The number that a reply is, or the ones in its bits.
fn reply(from: &mut BufReader<TcpStream>) -> Outcome<u64> {
    let mut line = String::new();
    from.read_line(&mut line)?;
    if let Some(number) = line.strip_prefix(':') {
        return Ok(number.trim_end().parse()?);
    }
    let len = line.strip_prefix('$').ok_or_else(|| format!("unexpected reply: {line}"))?;
    let mut bits = vec![0; len.trim_end().parse::<usize>()? + 2];
    from.read_exact(&mut bits)?;
    bits.truncate(bits.len() - 2);
    Ok(bits.iter().map(|byte| u64::from(byte.count_ones())).sum())
}
