//! The life of a filter in phases, each measured by a probe.

use crate::machine::touch_memory;
use crate::session::{command, Phase, Session, FILTER};
use crate::{snapshot, transfer};
use splitbloom_rig::table::Table;
use splitbloom_rig::Outcome;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// The baseline: latency with the server idle.
const IDLE: Duration = Duration::from_secs(5);
const EXPIRY: Duration = Duration::from_millis(100);
const COPY: &str = "copy";
/// At 9.92 bits per item, a segment of 64 KiB holds 52 851 items; rounded down.
const ITEMS_PER_SEGMENT: u64 = 50_000;

/// How far a filter is filled before the other phases.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// To its capacity, less the items added after the copy and during the snapshot.
    Full,
    /// Just enough to touch all pages: 3300 items fill a page of 4 KiB at 9.92 bits per item, and
    /// nine per page leave one page in e^9 = 8100 untouched.
    Sparse,
}

impl Fill {
    fn of(self, items: u64) -> u64 {
        match self {
            Fill::Full => items.saturating_sub(snapshot::ADDS + items / ITEMS_PER_SEGMENT),
            Fill::Sparse => (items * 9 / 3300).max(1),
        }
    }
}

/// All phases of this module.
pub fn all(session: &mut Session, fill: Fill, copied: &mut Table) -> Outcome<()> {
    idle(session)?;
    session.phase("RESERVE", |session| {
        let items = session.items;
        session.reserve(items, &["NONSCALING"])
    })?;
    filling(session, fill.of(session.items))?;
    copy(session)?;
    adds_after_copy(session)?;
    delete(session, "UNLINK of the copy", |session| session.run("UNLINK", &[COPY]))?;
    snapshot::under_adds(session, "reserved", copied)?;
    load(session)?;
    transfer(session)?;
    expiry(session)?;
    rewrite(session)?;
    delete(session, "FLUSHALL ASYNC", |session| session.run("FLUSHALL", &["ASYNC"]))
}

/// The phases that any module supports.
pub fn of_peer(session: &mut Session, copied: &mut Table) -> Outcome<()> {
    idle(session)?;
    let is_created = session.phase("RESERVE", |session| {
        let items = session.items;
        session.reserve(items, &["NONSCALING"])
    })?;
    if !is_created {
        return Ok(());
    }
    filling(session, Fill::Sparse.of(session.items))?;
    if copy(session)? {
        delete(session, "UNLINK of the copy", |session| session.run("UNLINK", &[COPY]))?;
    }
    snapshot::under_adds(session, "reserved", copied)?;
    transfer(session)?;
    delete(session, "UNLINK", |session| session.run("UNLINK", &[FILTER]))
}

/// A filter that only leaves the server.
pub fn transfer_alone(session: &mut Session) -> Outcome<()> {
    session.reserve(session.items, &["NONSCALING"])?;
    session.add_lightly("touching", Fill::Sparse.of(session.items))?;
    transfer(session)
}

/// The filter as a whole, and chunk by chunk into a copy.
fn transfer(session: &mut Session) -> Outcome<()> {
    transfer::whole(session)?;
    transfer::in_chunks(session, COPY)
}

/// A filter that grows from the default settings.
pub fn growth(session: &mut Session, copied: &mut Table) -> Outcome<()> {
    session.phase("growth", |session| {
        let started = Instant::now();
        session.add_lightly("growing", session.items)?;
        let rate = session.items as f64 / started.elapsed().as_secs_f64() / 1e6;
        let bytes = session.bytes_of(FILTER)? as f64;
        Ok(Phase::Done(format!(
            "{rate:.2} M/s, {:.3} GB, {:.1} bits per item",
            bytes / 1e9,
            bytes * 8.0 / session.items as f64
        )))
    })?;
    snapshot::under_adds(session, "grown", copied)?;
    delete(session, "UNLINK of the grown filter", |session| session.run("UNLINK", &[FILTER]))
}

pub fn idle(session: &mut Session) -> Outcome<()> {
    session.phase("idle", |_| {
        thread::sleep(IDLE);
        Ok(Phase::Done("the machine alone".to_string()))
    })?;
    Ok(())
}

/// Touches all pages first, with few commands in flight, as nearly every item takes a page fault.
/// Then adds the rest.
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

fn added(session: &mut Session, items: u64, started: Instant) -> Outcome<Phase> {
    let rate = items as f64 / started.elapsed().as_secs_f64() / 1e6;
    let bytes = session.bytes_of(FILTER)? as f64 / 1e9;
    Ok(Phase::Done(format!("{items} items, {rate:.2} M/s, {bytes:.3} GB")))
}

/// This module's copy shares its bits with the original until one of the two is written to:
/// [`adds_after_copy`] measures that later cost.
fn copy(session: &mut Session) -> Outcome<bool> {
    session.phase("COPY", |session| {
        session.run("CONFIG", &["RESETSTAT"])?;
        if let Err(error) = command("COPY", &[FILTER, COPY]).query::<()>(&mut session.client) {
            return Ok(Phase::Refused(format!("not supported: {error}")));
        }
        let milliseconds = session.time_in("copy")? * 1e3;
        Ok(Phase::Done(format!("command {milliseconds:.2} ms")))
    })
}

/// About one item per segment of 64 KiB, so that two thirds of the segments are copied. The notes
/// compare that with the machine's speed of writing to fresh memory.
fn adds_after_copy(session: &mut Session) -> Outcome<()> {
    let items = session.items / ITEMS_PER_SEGMENT;
    let fresh = touch_memory(1 << 28) / 1e9;
    session.phase("adds after COPY", |session| {
        session.add_lightly("adding", items)?;
        Ok(Phase::Done(format!("{items} items; fresh memory is written at {fresh:.2} GB/s")))
    })?;
    Ok(())
}

/// Deletes with `delete`, and waits until the server's background thread has freed the memory.
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
        Ok(Phase::Done(format!("{:.3} GB freed", freed as f64 / 1e9)))
    })?;
    Ok(())
}

/// The server expires a key itself, and leaves freeing it to the background thread only when so
/// configured.
fn expiry(session: &mut Session) -> Outcome<()> {
    session.set("lazyfree-lazy-expire", "yes")?;
    delete(session, "expiry", |session| {
        let expired = session.info("stats", "expired_keys")?;
        let milliseconds = EXPIRY.as_millis().to_string();
        session.run("PEXPIRE", &[COPY, &milliseconds])?;
        // No client accesses the key: the server's own cycle finds it.
        while session.info("stats", "expired_keys")? == expired {
            thread::sleep(EXPIRY / 10);
        }
        Ok(())
    })
}

/// Rewrites the append-only file as commands; with a preamble it would be an RDB file.
fn rewrite(session: &mut Session) -> Outcome<()> {
    session.set("aof-use-rdb-preamble", "no")?;
    session.phase("AOF rewrite", |session| {
        session.set("appendonly", "yes")?; // starts a rewrite
        session.wait_for_zero("persistence", "aof_rewrite_scheduled")?;
        session.wait_for_zero("persistence", "aof_rewrite_in_progress")?;
        let fork = session.info("stats", "latest_fork_usec")? as f64 / 1e3;
        let bytes = session.info("persistence", "aof_current_size")? as f64 / 1e9;
        Ok(Phase::Done(format!("fork {fork:.1} ms, {bytes:.3} GB")))
    })?;
    session.set("appendonly", "no")
}

/// Restarts the server on the last saved file. There is nothing to probe until it has loaded.
fn load(session: &mut Session) -> Outcome<()> {
    session.server.restart()?;
    session.client = session.server.connect()?;
    let log = fs::read_to_string(session.server.folder().join("log"))?;
    let line = log.lines().rev().find(|line| line.contains("loaded from disk: "));
    let seconds = line.and_then(|line| line.split("loaded from disk: ").nth(1)?.split(' ').next());
    let seconds: f64 = seconds.ok_or("the log does not say how long loading took")?.parse()?;
    let bytes = session.bytes_of(FILTER)? as f64;
    let rate = format!("{:.2} GB/s", bytes / seconds / 1e9);
    let time = Duration::from_secs_f64(seconds);
    session.row("RDB load", Some(time), None, &rate);
    Ok(())
}
