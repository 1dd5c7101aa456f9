//! What a snapshot costs while items are added.
//!
//! The child that saves shares its memory with the server. The first write to a page after the fork copies the page, 4 KiB: an item whose bits all lie in
//! one sub-bitmap copies at most one.

use crate::rig::table::Table;
use crate::rig::Outcome;
use crate::session::{Done, Session, FILTER};
use crate::traffic::Traffic;
use std::thread;
use std::time::{Duration, Instant};

/// Adds while the child is alive.
pub const ADDS: u64 = 200_000;
/// How long the child is kept alive after a key was written, in microseconds: a filter of 12 MB is saved sooner than 200 000 items are added.
const DELAY: &str = "2000000";
/// The server looks once in a second whether its child reported what was copied, and ten times whether it has ended.
const PAUSE: Duration = Duration::from_millis(50);

pub fn table() -> Table {
    Table::new(&[
        "module",
        "items",
        "adds",
        "seconds of adding",
        "copied, MB",
        "of it without adds, MB",
        "KB copied per add",
        "less those without adds",
        "fork, ms",
        "seconds of saving",
        "child outlived the adds",
    ])
}

/// BGSAVE, and 200 000 BF.ADD of new items while the child writes.
pub fn under_adds(session: &mut Session, copied: &mut Table) -> Outcome<()> {
    session.set("rdb-key-save-delay", DELAY)?;
    let mut idle = 0;
    session.phase("BGSAVE", |session| {
        let (_, time) = save(session, 0)?;
        idle = session.info("persistence", "rdb_last_cow_size")?;
        Ok(Done::Yes(format!(
            "fork {:.1} ms, {:.1} MB copied, {time:.1} s",
            session.info("stats", "latest_fork_usec")? as f64 / 1e3,
            idle as f64 / 1e6
        )))
    })?;
    session.phase("BGSAVE under adds", |session| {
        let (adding, saving) = save(session, ADDS)?;
        let fork = session.info("stats", "latest_fork_usec")? as f64 / 1e3;
        let bytes = session.info("persistence", "rdb_last_cow_size")?;
        let per_add = |bytes: u64| bytes as f64 / ADDS as f64 / 1e3;
        let (gross, net) = (per_add(bytes), per_add(bytes.saturating_sub(idle)));
        copied.row(&[
            session.module.clone(),
            session.items.to_string(),
            ADDS.to_string(),
            format!("{:.2}", adding.time),
            format!("{:.1}", bytes as f64 / 1e6),
            format!("{:.1}", idle as f64 / 1e6),
            format!("{gross:.2}"),
            format!("{net:.2}"),
            format!("{fork:.1}"),
            format!("{saving:.1}"),
            if adding.was_covered { "yes" } else { "no" }.to_string(),
        ]);
        Ok(Done::Yes(format!(
            "fork {fork:.1} ms, {gross:.2} KB copied per add"
        )))
    })?;
    session.set("rdb-key-save-delay", "0")
}

struct Adding {
    time: f64,
    was_covered: bool,
}

/// Saves, adds meanwhile, and waits for the end; answers how the adding went and the time of all.
fn save(session: &mut Session, adds: u64) -> Outcome<(Adding, f64)> {
    let started = Instant::now();
    session.ask("BGSAVE", &[])?;
    let forked = Instant::now();
    session.send("adding", adds, &Traffic::of_one("BF.ADD", FILTER))?;
    let adding = Adding {
        time: forked.elapsed().as_secs_f64(),
        was_covered: session.info("persistence", "rdb_bgsave_in_progress")? == 1,
    };
    while session.info("persistence", "rdb_bgsave_in_progress")? == 1 {
        thread::sleep(PAUSE);
    }
    Ok((adding, started.elapsed().as_secs_f64()))
}
