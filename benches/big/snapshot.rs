//! Memory copied by a snapshot while items are added.
//!
//! The saving child shares its memory with the server. The first write to a page after the fork
//! copies that page, 4 KiB: an item whose bits all lie in one sub-bitmap copies at most one. A
//! filter that grows also writes to what it rearranges.
//!
//! The kernel counts the pages that the child has to itself. Those are not only copies: a page of
//! freed memory that the server's allocator gives back meanwhile is the child's alone afterwards.
//! So nothing freed may be left when the snapshot begins.

use crate::session::{Session, SINGLE_ADDS};
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

/// Runs BGSAVE, first without and then with 200 000 BF.ADD of new items meanwhile, on a filter that
/// is `reserved` or has `grown`.
pub fn under_adds(session: &mut Session, filter: &str) -> Outcome<()> {
    session.run("MEMORY", &["PURGE"])?;
    session.set("rdb-key-save-delay", DELAY)?;
    let mut idle = 0;
    session.phase(&format!("BGSAVE, {filter}"), |session| {
        let saved = save(session, 0)?;
        idle = saved.copied;
        let (copied, time) = (idle as f64 / 1e6, saved.time);
        Ok(format!("fork {:.1} ms, {copied:.1} MB copied, {time:.1} s", saved.fork))
    })?;
    session.phase(&format!("BGSAVE under adds, {filter}"), |session| {
        let saved = save(session, ADDS)?;
        let Saved { adding, fork, copied, time, .. } = saved;
        let per_add = |bytes: u64| format!("{:.2}", bytes as f64 / ADDS as f64 / 1e3);
        let gross = per_add(copied);
        session.settings.table("cow").row(&[
            ("module", &session.module),
            ("filter", &filter),
            ("items", &session.items),
            ("adds", &ADDS),
            ("adding, s", &format!("{adding:.2}")),
            ("copied, MB", &format!("{:.1}", copied as f64 / 1e6)),
            ("copied without adds, MB", &format!("{:.1}", idle as f64 / 1e6)),
            ("KB copied per add", &gross),
            ("KB per add, net", &per_add(copied.saturating_sub(idle))),
            ("fork, ms", &format!("{fork:.1}")),
            ("saving, s", &format!("{time:.1}")),
            ("child outlived the adds", &if saved.was_covered { "yes" } else { "no" }),
        ]);
        Ok(format!("fork {fork:.1} ms, {gross} KB copied per add"))
    })?;
    session.set("rdb-key-save-delay", "0")
}

/// The measurements of a save: times in seconds, the fork in milliseconds.
struct Saved {
    adding: f64,
    /// Whether the child outlived the adds.
    was_covered: bool,
    time: f64,
    fork: f64,
    /// In bytes.
    copied: u64,
}

/// Saves, adds meanwhile, and waits for the save to finish.
fn save(session: &mut Session, adds: u64) -> Outcome<Saved> {
    let started = Instant::now();
    session.run("BGSAVE", &[])?;
    let forked = Instant::now();
    session.send("adding", adds, SINGLE_ADDS)?;
    let adding = forked.elapsed().as_secs_f64();
    let was_covered = session.info("persistence", "rdb_bgsave_in_progress")? == 1;
    while session.info("persistence", "rdb_bgsave_in_progress")? == 1 {
        thread::sleep(PAUSE);
    }
    Ok(Saved {
        adding,
        was_covered,
        time: started.elapsed().as_secs_f64(),
        fork: session.info("stats", "latest_fork_usec")? as f64 / 1e3,
        copied: session.info("persistence", "rdb_last_cow_size")?,
    })
}
