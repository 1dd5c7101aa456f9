//! Memory copied by a snapshot while items are added.
//!
//! The saving child shares its memory with the server. The first write to a page after the fork
//! copies that page, 4 KiB: an item whose bits all lie in one sub-bitmap copies at most one. A
//! filter that grows also writes to what it rearranges.
//!
//! The kernel counts the pages that the child has to itself. Those are not only copies: a page of
//! freed memory that the server's allocator gives back meanwhile is the child's alone afterwards.
//! So nothing freed may be left when the snapshot begins.

use crate::session::{Phase, Session, FILTER};
use crate::traffic::Traffic;
use splitbloom_rig::table::Table;
use splitbloom_rig::Outcome;
use std::thread;
use std::time::{Duration, Instant};

/// Adds during the save.
pub const ADDS: u64 = 200_000;
/// Microseconds that the child sleeps after each key: or a filter of 12 MB would be saved before
/// all items are added.
const DELAY: &str = "2000000";
/// The server checks once a second what its child has copied, and ten times a second whether it has
/// exited.
const PAUSE: Duration = Duration::from_millis(50);

pub fn table() -> Table {
    Table::new(&[
        "module",
        "filter",
        "items",
        "adds",
        "adding, s",
        "copied, MB",
        "copied without adds, MB",
        "KB copied per add",
        "KB per add, net",
        "fork, ms",
        "saving, s",
        "child outlived the adds",
    ])
}

/// Runs BGSAVE, first without and then with 200 000 BF.ADD of new items meanwhile, on a filter that
/// is `reserved` or has `grown`.
pub fn under_adds(session: &mut Session, filter: &str, copied: &mut Table) -> Outcome<()> {
    session.run("MEMORY", &["PURGE"])?;
    session.set("rdb-key-save-delay", DELAY)?;
    let mut idle = 0;
    session.phase(&format!("BGSAVE, {filter}"), |session| {
        let (_, time) = save(session, 0)?;
        idle = session.info("persistence", "rdb_last_cow_size")?;
        Ok(Phase::Done(format!(
            "fork {:.1} ms, {:.1} MB copied, {time:.1} s",
            session.info("stats", "latest_fork_usec")? as f64 / 1e3,
            idle as f64 / 1e6
        )))
    })?;
    session.phase(&format!("BGSAVE under adds, {filter}"), |session| {
        let (adding, saving) = save(session, ADDS)?;
        let fork = session.info("stats", "latest_fork_usec")? as f64 / 1e3;
        let bytes = session.info("persistence", "rdb_last_cow_size")?;
        let per_add = |bytes: u64| bytes as f64 / ADDS as f64 / 1e3;
        let (gross, net) = (per_add(bytes), per_add(bytes.saturating_sub(idle)));
        copied.row(&[
            session.module.clone(),
            filter.to_string(),
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
        Ok(Phase::Done(format!("fork {fork:.1} ms, {gross:.2} KB copied per add")))
    })?;
    session.set("rdb-key-save-delay", "0")
}

struct Adding {
    time: f64,
    was_covered: bool,
}

/// Saves, adds meanwhile, and waits for the save to finish; returns how the adds went and the total
/// time.
fn save(session: &mut Session, adds: u64) -> Outcome<(Adding, f64)> {
    let started = Instant::now();
    session.run("BGSAVE", &[])?;
    let forked = Instant::now();
    session.send("adding", adds, &Traffic::single_items("BF.ADD", FILTER))?;
    let adding = Adding {
        time: forked.elapsed().as_secs_f64(),
        was_covered: session.info("persistence", "rdb_bgsave_in_progress")? == 1,
    };
    while session.info("persistence", "rdb_bgsave_in_progress")? == 1 {
        thread::sleep(PAUSE);
    }
    Ok((adding, started.elapsed().as_secs_f64()))
}
