//! A filter from one key to another, piece by piece, as it would go from one server to another.

use crate::rig::statistics::median;
use crate::rig::Outcome;
use crate::session::{command, Done, Session, FILTER};

/// What the server's slow log keeps: commands of this many microseconds and more (all), up to so many of them. A filter of 10^9 items is 1 262 pieces, and
/// the bystander asks a thousand times a second.
const SLOW: &str = "0";
const KEPT: &str = "100000";

/// BF.SCANDUMP of each piece and its BF.LOADCHUNK into `copy`. The duration of a step is the server's own, from its slow log: a bystander waits
/// for the bytes on the socket too, and is asked apart.
pub fn in_pieces(session: &mut Session, copy: &str) -> Outcome<()> {
    session.set("slowlog-log-slower-than", SLOW)?;
    session.set("slowlog-max-len", KEPT)?;
    session.ask("SLOWLOG", &["RESET"])?;
    session.phase("SCANDUMP", |session| {
        let (pieces, bytes) = each_piece(session, |_, _, _| Ok(()))?;
        remark(session, "bf.scandump", pieces, bytes)
    })?;
    session.phase("SCANDUMP and LOADCHUNK", |session| {
        let (pieces, bytes) = each_piece(session, |session, iterator, piece| {
            let mut load = command("BF.LOADCHUNK", &[copy]);
            Ok(load.arg(iterator).arg(piece).query(&mut session.client)?)
        })?;
        remark(session, "bf.loadchunk", pieces, bytes)
    })?;
    session.set("slowlog-log-slower-than", "-1")
}

/// Dumps the filter; answers the number of pieces, their bytes.
fn each_piece(
    session: &mut Session,
    mut load: impl FnMut(&mut Session, u64, &[u8]) -> Outcome<()>,
) -> Outcome<(u64, u64)> {
    let (mut iterator, mut pieces, mut bytes) = (0_u64, 0, 0);
    loop {
        let mut dump = command("BF.SCANDUMP", &[FILTER]);
        let (next, piece): (u64, Vec<u8>) = dump.arg(iterator).query(&mut session.client)?;
        if next == 0 {
            return Ok((pieces, bytes));
        }
        load(session, next, &piece)?;
        (iterator, pieces, bytes) = (next, pieces + 1, bytes + piece.len() as u64);
    }
}

fn remark(session: &mut Session, name: &str, pieces: u64, bytes: u64) -> Outcome<Done> {
    let (median, worst) = steps(session, name)?;
    Ok(Done::Yes(format!(
        "{name}: step {median:.2} ms, worst {worst:.2} ms; {pieces} pieces, {:.3} GB",
        bytes as f64 / 1e9
    )))
}

/// Number, time, microseconds, words, address and name of the client.
type Entry = (u64, u64, u64, Vec<Vec<u8>>, String, String);

/// The median and the worst duration of such commands, in milliseconds, by the slow log.
fn steps(session: &mut Session, name: &str) -> Outcome<(f64, f64)> {
    let entries: Vec<Entry> = command("SLOWLOG", &["GET", "-1"]).query(&mut session.client)?;
    let is_such = |entry: &&Entry| {
        let word = entry.3.first();
        word.is_some_and(|word| word.eq_ignore_ascii_case(name.as_bytes()))
    };
    let such = entries.iter().filter(is_such);
    let steps: Vec<f64> = such.map(|entry| entry.2 as f64 / 1e3).collect();
    Ok((median(&steps), steps.iter().copied().fold(0.0, f64::max)))
}
