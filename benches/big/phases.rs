//! The life of a filter in phases, each measured by a probe.

use crate::probe::Latencies;
use crate::session::{bytes, command, Session, ADDS, FILTER, LIGHT_ADDS};
use crate::{snapshot, transfer};
use splitbloom_rig::Outcome;
use std::thread;
use std::time::{Duration, Instant};

/// The baseline: latency with the server idle.
const IDLE: Duration = Duration::from_secs(5);
const EXPIRY: Duration = Duration::from_millis(100);
const COPY: &str = "copy";
/// At 9.92 bits per item, a segment of 64 KiB holds 52 851 items; rounded down.
const ITEMS_PER_SEGMENT: u64 = 50_000;

/// A filter's capacity, less the items added after the copy and during the snapshot.
fn full(capacity: u64) -> u64 {
    capacity.saturating_sub(snapshot::ADDS + capacity / ITEMS_PER_SEGMENT)
}

/// Just enough items to touch all pages: 3300 items fill a page of 4 KiB at 9.92 bits per item, and
/// nine per page leave one page in e^9 = 8100 untouched.
fn sparse(capacity: u64) -> u64 {
    (capacity * 9 / 3300).max(1)
}

/// All phases; of a peer, those that any module supports.
pub fn all(session: &mut Session) -> Outcome<()> {
    let (is_ours, capacity) = (session.is_ours(), session.items);
    idle(session)?;
    if !session.phase("RESERVE", Session::reserve)? {
        return Ok(());
    }
    filling(session, if is_ours { full(capacity) } else { sparse(capacity) })?;
    if copy(session)? {
        if is_ours {
            adds_after_copy(session)?;
        }
        delete(session, "UNLINK of the copy", |session| session.run("UNLINK", &[COPY]))?;
    }
    snapshot::under_adds(session, "reserved")?;
    if !is_ours {
        transfer(session)?;
        return delete(session, "UNLINK", |session| session.run("UNLINK", &[FILTER]));
    }
    load(session)?;
    transfer(session)?;
    expiry(session)?;
    rewrite(session)?;
    delete(session, "FLUSHALL ASYNC", |session| session.run("FLUSHALL", &["ASYNC"]))
}

/// A filter that only leaves the server.
pub fn transfer_alone(session: &mut Session) -> Outcome<()> {
    session.reserve()?;
    session.send("touching", sparse(session.items), LIGHT_ADDS)?;
    transfer(session)
}

/// The filter as a whole, and chunk by chunk into a copy.
fn transfer(session: &mut Session) -> Outcome<()> {
    transfer::whole(session)?;
    transfer::in_chunks(session, COPY)
}

/// A filter that grows from the default settings.
pub fn growth(session: &mut Session) -> Outcome<()> {
    session.phase("growth", |session| {
        let started = Instant::now();
        session.send("growing", session.items, LIGHT_ADDS)?;
        let rate = session.items as f64 / started.elapsed().as_secs_f64() / 1e6;
        let bytes = bytes(&mut session.client)? as f64;
        let (gigabytes, bits) = (bytes / 1e9, bytes * 8.0 / session.items as f64);
        Ok(format!("{rate:.2} M/s, {gigabytes:.3} GB, {bits:.1} bits per item"))
    })?;
    snapshot::under_adds(session, "grown")?;
    delete(session, "UNLINK of the grown filter", |session| session.run("UNLINK", &[FILTER]))
}

pub fn idle(session: &mut Session) -> Outcome<()> {
    session.phase("idle", |_| {
        thread::sleep(IDLE);
        Ok("the machine alone".to_string())
    })?;
    Ok(())
}

/// Touches all pages first, with few commands in flight, as nearly every item takes a page fault.
/// Then adds the rest.
fn filling(session: &mut Session, items: u64) -> Outcome<()> {
    let first = sparse(session.items).min(items);
    for (name, items, traffic) in
        [("filling, first touches", first, LIGHT_ADDS), ("filling, the rest", items - first, ADDS)]
    {
        if items > 0 {
            session.phase(name, |session| {
                let started = Instant::now();
                session.send("filling", items, traffic)?;
                let rate = items as f64 / started.elapsed().as_secs_f64() / 1e6;
                let gigabytes = bytes(&mut session.client)? as f64 / 1e9;
                Ok(format!("{items} items, {rate:.2} M/s, {gigabytes:.3} GB"))
            })?;
        }
    }
    Ok(())
}

/// This module's copy shares its bits with the original until one of the two is written to:
/// [`adds_after_copy`] measures that later cost.
fn copy(session: &mut Session) -> Outcome<bool> {
    session.phase("COPY", |session| {
        let copy = command("COPY", &[FILTER, COPY]);
        let seconds = session.time_in("copy", |session| Ok(copy.exec(&mut session.client)?))?;
        Ok(format!("command {:.2} ms", seconds * 1e3))
    })
}

/// About one item per segment of 64 KiB, so that two thirds of the segments are copied.
fn adds_after_copy(session: &mut Session) -> Outcome<()> {
    let items = session.items / ITEMS_PER_SEGMENT;
    session.phase("adds after COPY", |session| {
        session.send("adding", items, LIGHT_ADDS)?;
        Ok(format!("{items} items"))
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
        Ok(format!("{:.3} GB freed", freed as f64 / 1e9))
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
        Ok(format!("fork {fork:.1} ms, {bytes:.3} GB"))
    })?;
    session.set("appendonly", "no")
}

/// Restarts the server on the last saved file. There is nothing to probe until it has loaded.
fn load(session: &mut Session) -> Outcome<()> {
    session.server.restart();
    session.client = session.server.connect()?;
    let log = session.server.log();
    let line = log.lines().rev().find(|line| line.contains("loaded from disk: "));
    let seconds = line.and_then(|line| line.split("loaded from disk: ").nth(1)?.split(' ').next());
    let seconds: f64 = seconds.ok_or("the log does not say how long loading took")?.parse()?;
    let bytes = bytes(&mut session.client)? as f64;
    let rate = format!("{:.2} GB/s", bytes / seconds / 1e9);
    session.row("RDB load", seconds, Latencies::NONE, &rate);
    Ok(())
}
