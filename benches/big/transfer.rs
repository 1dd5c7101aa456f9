//! A filter as it would go from one server to another: as a whole, and chunk by chunk into another
//! key.

use crate::session::{command, Phase, Session, FILTER};
use splitbloom_rig::statistics::median;
use splitbloom_rig::Outcome;

/// Slow log settings: threshold in microseconds (0 logs every command) and length. A filter of 10^9
/// items is 1262 chunks, and the probe sends a thousand requests a second.
const SLOW: &str = "0";
const KEPT: &str = "100000";

/// Runs DUMP. (Its opposite, RESTORE, takes no more than `proto-max-bulk-len`, 512 MiB.)
pub fn whole(session: &mut Session) -> Outcome<()> {
    session.phase("DUMP", |session| {
        session.run("CONFIG", &["RESETSTAT"])?;
        let bytes: Vec<u8> = command("DUMP", &[FILTER]).query(&mut session.client)?;
        let milliseconds = session.time_in("dump")? * 1e3;
        let gigabytes = bytes.len() as f64 / 1e9;
        Ok(Phase::Done(format!("command {milliseconds:.1} ms; {gigabytes:.3} GB")))
    })?;
    Ok(())
}

/// Runs BF.SCANDUMP for each chunk and BF.LOADCHUNK into `copy`. The duration of each step is the
/// server's own, from its slow log: a client also waits for the bytes on the socket.
pub fn in_chunks(session: &mut Session, copy: &str) -> Outcome<()> {
    session.set("slowlog-log-slower-than", SLOW)?;
    session.set("slowlog-max-len", KEPT)?;
    session.run("SLOWLOG", &["RESET"])?;
    session.phase("SCANDUMP", |session| {
        let (chunks, bytes) = each_chunk(session, |_, _, _| Ok(()))?;
        notes(session, "bf.scandump", chunks, bytes)
    })?;
    session.phase("SCANDUMP and LOADCHUNK", |session| {
        let (chunks, bytes) = each_chunk(session, |session, iterator, chunk| {
            let mut load = command("BF.LOADCHUNK", &[copy]);
            Ok(load.arg(iterator).arg(chunk).query(&mut session.client)?)
        })?;
        notes(session, "bf.loadchunk", chunks, bytes)
    })?;
    session.set("slowlog-log-slower-than", "-1")
}

/// Dumps the filter; returns the number of chunks and their bytes.
fn each_chunk(
    session: &mut Session,
    mut load: impl FnMut(&mut Session, u64, &[u8]) -> Outcome<()>,
) -> Outcome<(u64, u64)> {
    let (mut iterator, mut chunks, mut bytes) = (0_u64, 0, 0);
    loop {
        let mut dump = command("BF.SCANDUMP", &[FILTER]);
        let (next, chunk): (u64, Vec<u8>) = dump.arg(iterator).query(&mut session.client)?;
        if next == 0 {
            return Ok((chunks, bytes));
        }
        load(session, next, &chunk)?;
        (iterator, chunks, bytes) = (next, chunks + 1, bytes + chunk.len() as u64);
    }
}

fn notes(session: &mut Session, name: &str, chunks: u64, bytes: u64) -> Outcome<Phase> {
    let (median, max) = steps(session, name)?;
    Ok(Phase::Done(format!(
        "{name}: median {median:.2} ms, max {max:.2} ms; {chunks} chunks, {:.3} GB",
        bytes as f64 / 1e9
    )))
}

/// Number, time, microseconds, arguments, address and name of the client.
type Entry = (u64, u64, u64, Vec<Vec<u8>>, String, String);

/// The median and maximum duration of a command, in milliseconds, from the slow log.
fn steps(session: &mut Session, name: &str) -> Outcome<(f64, f64)> {
    let entries: Vec<Entry> = command("SLOWLOG", &["GET", "-1"]).query(&mut session.client)?;
    let is_named = |entry: &&Entry| {
        let word = entry.3.first();
        word.is_some_and(|word| word.eq_ignore_ascii_case(name.as_bytes()))
    };
    let named = entries.iter().filter(is_named);
    let steps: Vec<f64> = named.map(|entry| entry.2 as f64 / 1e3).collect();
    Ok((median(&steps), steps.iter().copied().fold(0.0, f64::max)))
}
