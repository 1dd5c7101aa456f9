//! The life of a filter, in phases, each under the eyes of a bystander.

use crate::machine::touch_memory;
use crate::rig::table::Table;
use crate::rig::Outcome;
use crate::session::{command, Done, Session, FILTER};
use crate::{snapshot, transfer};
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// A floor: what the bystander sees of the machine alone.
const IDLE: Duration = Duration::from_secs(5);
const EXPIRY: Duration = Duration::from_millis(100);
const COPY: &str = "copy";
/// At 9.92 bits an item a segment of 64 KiB holds 52 851 of them; a round number below.
const ITEMS_A_SEGMENT: u64 = 50_000;

/// How much goes into a filter before it is moved about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// As many items as it is made for, but for those that come after the copy and during the snapshot.
    Full,
    /// So many that all pages are there: at 9.92 bits an item there are 3300 to a page of 4 KiB, and nine items a page leave one page in
    /// e^9 = 8100 untouched.
    Sparse,
}

impl Fill {
    fn of(self, items: u64) -> u64 {
        match self {
            Fill::Full => items.saturating_sub(snapshot::ADDS + items / ITEMS_A_SEGMENT),
            Fill::Sparse => (items * 9 / 3300).max(1),
        }
    }
}

/// All phases that this module has.
pub fn all(session: &mut Session, fill: Fill, copied: &mut Table) -> Outcome<()> {
    idle(session)?;
    session.phase("RESERVE", |session| {
        let items = session.items;
        session.reserve(items, &["NONSCALING"])
    })?;
    filling(session, fill.of(session.items))?;
    copy(session)?;
    adds_after_copy(session)?;
    delete(session, "UNLINK of the copy", |session| {
        session.ask("UNLINK", &[COPY])
    })?;
    snapshot::under_adds(session, copied)?;
    load(session)?;
    transfer::in_pieces(session, COPY)?;
    expiry(session)?;
    rewrite(session)?;
    delete(session, "FLUSHALL ASYNC", |session| {
        session.ask("FLUSHALL", &["ASYNC"])
    })
}

/// What any module can be put through.
pub fn of_a_peer(session: &mut Session, copied: &mut Table) -> Outcome<()> {
    idle(session)?;
    let is_made = session.phase("RESERVE", |session| {
        let items = session.items;
        session.reserve(items, &["NONSCALING"])
    })?;
    if !is_made {
        return Ok(());
    }
    filling(session, Fill::Sparse.of(session.items))?;
    if copy(session)? {
        delete(session, "UNLINK of the copy", |session| {
            session.ask("UNLINK", &[COPY])
        })?;
    }
    snapshot::under_adds(session, copied)?;
    dump(session)?;
    delete(session, "UNLINK", |session| {
        session.ask("UNLINK", &[FILTER])
    })
}

/// A filter that begins small and grows.
pub fn growth(session: &mut Session, first: u64) -> Outcome<()> {
    session.ask("BF.RESERVE", &[FILTER, "0.01", &first.to_string()])?;
    session.phase("growth", |session| {
        session.add_lightly("growing", session.items)?;
        let grown: (String, u64) = command("BF.INFO", &[FILTER, "FILTERS"])
            .query::<Vec<u64>>(&mut session.client)
            .map(|values| (format!("from {first} items"), values[0]))?;
        let bytes = session.bytes_of(FILTER)?;
        let (from, filters) = grown;
        Ok(Done::Yes(format!(
            "{from} to {filters} sub-filters, {:.2} GB",
            bytes as f64 / 1e9
        )))
    })?;
    delete(session, "UNLINK of the grown", |session| {
        session.ask("UNLINK", &[FILTER])
    })
}

fn idle(session: &mut Session) -> Outcome<()> {
    session.phase("idle", |_| {
        thread::sleep(IDLE);
        Ok(Done::Yes("the machine alone".to_string()))
    })?;
    Ok(())
}

/// First so many items that all pages are there, with few under way: nearly each of them waits for the system to give a page. Then
/// the others.
fn filling(session: &mut Session, items: u64) -> Outcome<()> {
    let first = Fill::Sparse.of(session.items).min(items);
    session.phase("filling, first touches", |session| {
        let started = Instant::now();
        session.add_lightly("touching", first)?;
        added(session, first, started)
    })?;
    if items > first {
        session.phase("filling, the rest", |session| {
            let started = Instant::now();
            session.add("filling", items - first)?;
            added(session, items - first, started)
        })?;
    }
    Ok(())
}

fn added(session: &mut Session, items: u64, started: Instant) -> Outcome<Done> {
    let rate = items as f64 / started.elapsed().as_secs_f64() / 1e6;
    let bytes = session.bytes_of(FILTER)? as f64 / 1e9;
    Ok(Done::Yes(format!(
        "{items} items, {rate:.2} M/s, {bytes:.3} GB"
    )))
}

/// This module's copy has its bits in common with the original until one of the two is
/// written to, so what it costs comes later: see [`adds_after_copy`].
fn copy(session: &mut Session) -> Outcome<bool> {
    session.phase("COPY", |session| {
        session.ask("CONFIG", &["RESETSTAT"])?;
        if let Err(error) = command("COPY", &[FILTER, COPY]).query::<()>(&mut session.client) {
            return Ok(Done::Refused(format!("not supported: {error}")));
        }
        let milliseconds = session.time_in("copy")? * 1e3;
        Ok(Done::Yes(format!("command {milliseconds:.2} ms")))
    })
}

/// About as many items as there are segments of 64 KiB, so that two thirds of these are copied. What they can be copied at is said by the machine:
/// into fresh memory.
fn adds_after_copy(session: &mut Session) -> Outcome<()> {
    let items = session.items / ITEMS_A_SEGMENT;
    let fresh = touch_memory(1 << 28) / 1e9;
    session.phase("adds after COPY", |session| {
        session.add_lightly("adding", items)?;
        Ok(Done::Yes(format!(
            "{items} items; this machine writes to fresh memory at {fresh:.2} GB/s"
        )))
    })?;
    Ok(())
}

fn dump(session: &mut Session) -> Outcome<()> {
    session.phase("DUMP", |session| {
        session.ask("CONFIG", &["RESETSTAT"])?;
        if let Err(error) = command("DUMP", &[FILTER]).query::<()>(&mut session.client) {
            return Ok(Done::Refused(format!("not supported: {error}")));
        }
        let milliseconds = session.time_in("dump")? * 1e3;
        Ok(Done::Yes(format!("command {milliseconds:.1} ms")))
    })?;
    Ok(())
}

/// Deletes by a command, until the server's background thread has given the memory back.
fn delete(
    session: &mut Session,
    name: &str,
    delete: impl FnOnce(&mut Session) -> Outcome<()>,
) -> Outcome<()> {
    session.phase(name, |session| {
        let before = session.info("memory", "used_memory")?;
        delete(session)?;
        session.wait_for_zero("memory", "lazyfree_pending_objects")?;
        let freed = before.saturating_sub(session.info("memory", "used_memory")?);
        Ok(Done::Yes(format!("{:.3} GB freed", freed as f64 / 1e9)))
    })?;
    Ok(())
}

/// An expiry is the server's own doing: it may take it to the background thread only if it is told so.
fn expiry(session: &mut Session) -> Outcome<()> {
    session.set("lazyfree-lazy-expire", "yes")?;
    delete(session, "expiry", |session| {
        let expired = session.info("stats", "expired_keys")?;
        let milliseconds = EXPIRY.as_millis().to_string();
        session.ask("PEXPIRE", &[COPY, &milliseconds])?;
        // Nobody asks for the key: the server's own cycle finds it.
        while session.info("stats", "expired_keys")? == expired {
            thread::sleep(EXPIRY / 10);
        }
        Ok(())
    })
}

/// A new append-only file, in commands: with a preamble it would be an RDB file.
fn rewrite(session: &mut Session) -> Outcome<()> {
    session.set("aof-use-rdb-preamble", "no")?;
    session.phase("AOF rewrite", |session| {
        session.set("appendonly", "yes")?; // which begins a rewrite
        session.wait_for_zero("persistence", "aof_rewrite_scheduled")?;
        session.wait_for_zero("persistence", "aof_rewrite_in_progress")?;
        let fork = session.info("stats", "latest_fork_usec")? as f64 / 1e3;
        let bytes = session.info("persistence", "aof_current_size")? as f64 / 1e9;
        Ok(Done::Yes(format!("fork {fork:.1} ms, {bytes:.3} GB")))
    })?;
    session.set("appendonly", "no")
}

/// A new process on the file that was saved last: there is nobody to ask before it has loaded.
fn load(session: &mut Session) -> Outcome<()> {
    session.server.restart()?;
    session.client = session.server.connect()?;
    let log = fs::read_to_string(session.server.folder().join("log"))?;
    let line = log
        .lines()
        .rev()
        .find(|line| line.contains("loaded from disk: "));
    let seconds = line.and_then(|line| line.split("loaded from disk: ").nth(1)?.split(' ').next());
    let seconds: f64 = seconds.ok_or("the log has no time of loading")?.parse()?;
    let bytes = session.bytes_of(FILTER)? as f64;
    let rate = format!("{:.2} GB/s", bytes / seconds / 1e9);
    let time = Duration::from_secs_f64(seconds);
    session.row("RDB load", Some(time), None, &rate);
    Ok(())
}
