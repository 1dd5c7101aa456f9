//! The tool beside the commands that it sends: a list of distinct URLs, 60 bytes on average, loaded
//! into a filter reserved NONSCALING at 1 %, and looked up.
//!
//! *Commands alone* are BF.PACKADD LINES and BF.PACKEXISTS LINES with the same URLs, encoded in
//! memory beforehand: as large as those of the tool, on as many connections, with as many in
//! flight. The time of the tool is that of the whole process, from a file that the system has in
//! memory.

use super::command::FILTER;
use super::filter::{Adds, Filter, Kind};
use redis::{Client, Connection, Value};
use splitbloom_harness::tool_path;
use splitbloom_rig::{cpu_seconds, order, rounds, write_url, Outcome, Rounds, Settings, Setup};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Instant;
use std::{fs, iter};

/// An odd number, so that the median is one of the rounds.
const ROUNDS: usize = 5;
const SIZES: [u64; 2] = [1_000_000, 10_000_000];

// As in the tool.
const COMMAND_BYTES: usize = 64 * 1024;
/// Bytes of a URL, at most.
const MOST_BYTES: usize = 81;
const CONNECTIONS: usize = 4;
const IN_FLIGHT: usize = 4;

/// What is done with the list: the words of the tool, and the command that it sends.
const TASKS: [(&[&str], &str); 2] =
    [(&["load"], "BF.PACKADD"), (&["check", "--count"], "BF.PACKEXISTS")];

pub fn run(settings: &mut Settings) -> Outcome<()> {
    let count = settings.rounds(ROUNDS)?;
    for size in settings.sizes(&SIZES)? {
        let mut filter = Filter::start(Setup::ours(), Kind::reserved("BF", size), Adds::Fill)?;
        let (url, process) = (filter.server.url(), filter.server.process_id());
        eprintln!("{size} items: writing the list ...");
        let list = filter.server.folder().join("urls");
        let mut file = fs::File::create(&list)?;
        pieces(size).try_for_each(|piece| file.write_all(&piece))?;
        for (words, command) in TASKS {
            let encode = |piece: Vec<u8>| {
                redis::cmd(command).arg(FILTER).arg("LINES").arg(piece).get_packed_command()
            };
            let commands: Vec<Vec<u8>> = pieces(size).map(encode).collect();
            let [mut rates, mut times, mut busy] =
                [(); 3].map(|()| [Rounds::default(), Rounds::default()]);
            for round in rounds(&format!("{size} items, {command}"), count) {
                for turn in order(round, 2) {
                    if words[0] == "load" {
                        filter.renew()?;
                    }
                    let before = cpu_seconds(process)?;
                    let begun = Instant::now();
                    let ones = match turn {
                        0 => send(&commands, &url)?,
                        _ => give(words, &list, &url)?,
                    };
                    let seconds = begun.elapsed().as_secs_f64();
                    // At an error rate of 1 %, at most 1 % of the new items are false positives.
                    if (ones as f64) < size as f64 * 0.98 {
                        return Err(format!("{ones} of {size} replies were 1").into());
                    }
                    times[turn].push(seconds);
                    rates[turn].push(size as f64 / seconds / 1e6);
                    busy[turn].push(100.0 * (cpu_seconds(process)? - before) / seconds);
                }
            }
            settings.table("tool").row(&[
                ("items", &size),
                ("task", &words.join(" ")),
                ("commands alone, million items/s", &rates[0].median(2)),
                ("tool, million items/s", &rates[1].median(2)),
                ("time relative to commands alone", &times[1].relative_to(&times[0])),
                ("server busy", &format!("{} %", busy[1].median(0))),
            ]);
        }
    }
    Ok(())
}

/// The URLs of the list, in pieces of one command each.
fn pieces(size: u64) -> impl Iterator<Item = Vec<u8>> {
    let mut next = 0;
    iter::from_fn(move || {
        let mut piece = Vec::new();
        while next < size && piece.len() + MOST_BYTES <= COMMAND_BYTES {
            write_url(next, &mut piece);
            next += 1;
        }
        Some(piece).filter(|piece| !piece.is_empty())
    })
}

/// Has the tool do it; returns how many items were new or present.
fn give(words: &[&str], file: &Path, url: &str) -> Outcome<u64> {
    let mut tool = Command::new(tool_path());
    let output = tool.args(words).arg(FILTER).arg(file).args(["--url", url]).output()?;
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

/// Sends commands, some at a time on each connection; returns how many items were new or present.
fn send(commands: &[Vec<u8>], url: &str) -> Outcome<u64> {
    let connect = |_| Ok::<_, redis::RedisError>((Client::open(url)?.get_connection()?, 0));
    let mut connections: Vec<(Connection, usize)> =
        (0..CONNECTIONS).map(connect).collect::<Result<_, _>>()?;
    let mut ones = 0;
    let turns = commands.chunks(IN_FLIGHT);
    let last = iter::repeat_n([].as_slice(), CONNECTIONS); // only to take the last replies
    for (turn, commands) in turns.chain(last).enumerate() {
        let (connection, in_flight) = &mut connections[turn % CONNECTIONS];
        for _ in 0..*in_flight {
            ones += match connection.recv_response()? {
                Value::Int(new) => new as u64,
                Value::BulkString(bits) => {
                    bits.iter().map(|byte| u64::from(byte.count_ones())).sum()
                }
                other => return Err(format!("unexpected reply: {other:?}").into()),
            };
        }
        *in_flight = commands.len();
        for command in commands {
            connection.send_packed_command(command)?;
        }
    }
    Ok(ones)
}
