//! A filter as it would go from one server to another: as a whole, and chunk by chunk into another
//! key.

use crate::session::{command, Session, FILTER};
use splitbloom_rig::{median, slow_commands, Outcome};

/// Slow log settings: threshold in microseconds (0 logs every command) and length. A filter of 10^9
/// items is 1262 chunks, and the probe sends a thousand requests a second.
const SLOW: &str = "0";
const KEPT: &str = "100000";

/// Runs DUMP. (Its opposite, RESTORE, takes no more than `proto-max-bulk-len`, 512 MiB.)
pub fn whole(session: &mut Session) -> Outcome<()> {
    session.phase("DUMP", |session| {
        let mut bytes: Vec<u8> = Vec::new();
        let seconds = session.time_in("dump", |session| {
            bytes = command("DUMP", &[FILTER]).query(&mut session.client)?;
            Ok(())
        })?;
        Ok(format!("command {:.1} ms; {:.3} GB", seconds * 1e3, bytes.len() as f64 / 1e9))
    })?;
    Ok(())
}

/// Runs BF.SCANDUMP for each chunk and BF.LOADCHUNK into `copy`. The duration of each step is the
/// server's own, from its slow log: a client also waits for the bytes on the socket.
pub fn in_chunks(session: &mut Session, copy: &str) -> Outcome<()> {
    session.set("slowlog-log-slower-than", SLOW)?;
    session.set("slowlog-max-len", KEPT)?;
    session.run("SLOWLOG", &["RESET"])?;
    session.phase("SCANDUMP", |session| each_chunk(session, "bf.scandump", None))?;
    session.phase("SCANDUMP and LOADCHUNK", |session| {
        each_chunk(session, "bf.loadchunk", Some(copy))
    })?;
    session.set("slowlog-log-slower-than", "-1")
}

/// Dumps each chunk, and loads it into `copy` if given; returns how long steps of `name` took.
fn each_chunk(session: &mut Session, name: &str, copy: Option<&str>) -> Outcome<String> {
    let (mut iterator, mut chunks, mut bytes) = (0_u64, 0, 0);
    loop {
        let mut dump = command("BF.SCANDUMP", &[FILTER]);
        let (next, chunk): (u64, Vec<u8>) = dump.arg(iterator).query(&mut session.client)?;
        if next == 0 {
            break;
        }
        (iterator, chunks, bytes) = (next, chunks + 1, bytes + chunk.len());
        if let Some(copy) = copy {
            let mut load = command("BF.LOADCHUNK", &[copy]);
            load.arg(iterator).arg(chunk).exec(&mut session.client)?;
        }
    }
    let slow = slow_commands(&mut session.client, name)?;
    let steps: Vec<f64> =
        slow.into_values().map(|microseconds| microseconds as f64 / 1e3).collect();
    let (median, max) = (median(&steps), steps.iter().copied().fold(0.0, f64::max));
    let gigabytes = bytes as f64 / 1e9;
    Ok(format!(
        "{name}: median {median:.2} ms, max {max:.2} ms; {chunks} chunks, {gigabytes:.3} GB"
    ))
}
