//! Filters reserved too large: a large one and many small ones made smaller, and how much of a
//! filter crosses the wire when it is pulled.

use crate::phases::idle;
use crate::session::{bytes, command, Session, ADDS, ERROR_RATE, FILTER};
use splitbloom_harness::tool_path;
use splitbloom_rig::{info, pipelined, Outcome, Server, Settings, Setup};
use std::fs;
use std::process::Command;
use std::time::Instant;

/// A filter is reserved for this many times its items.
const EXCESS: u64 = 100;
const TENANTS: u64 = 100_000;
const ITEMS_OF_A_TENANT: u64 = 1_000;
const SEED: &str = "0123456789abcdef";
/// Commands of a pipeline.
const PIPELINE: usize = 100;

pub fn run(settings: &mut Settings) -> Outcome<()> {
    let items = crate::items(settings)?;
    one(settings, items)?;
    tenants(settings)
}

/// Shrinks a filter reserved for `items`, which has a hundredth of them, under a probe.
fn one(settings: &mut Settings, items: u64) -> Outcome<()> {
    let mut session = Session::start(settings, "stalls", Setup::ours(), items)?;
    idle(&mut session)?;
    let fill = |session: &mut Session, capacity: u64| {
        let words = [FILTER, &ERROR_RATE.to_string(), &capacity.to_string(), "SEED", SEED];
        session.run("BF.RESERVE", &words)?;
        session.unsent = 0;
        session.send("filling", items / EXCESS, ADDS)?;
        bytes(&mut session.client)
    };
    let before = fill(&mut session, items)?;
    pull(&mut session)?;
    let begun = Instant::now();
    session.phase("SHRINK", |session| {
        let capacity: u64 = command("BF.SHRINK", &[FILTER]).query(&mut session.client)?;
        Ok(format!("capacity {capacity}"))
    })?;
    let seconds = begun.elapsed().as_secs_f64() - 0.2; // the probe's margins
    let after = bytes(&mut session.client)?;
    session.run("UNLINK", &[FILTER])?;
    let right = fill(&mut session, items / EXCESS)?;
    let (rate, times) = (before as f64 / seconds / 1e9, after as f64 / right as f64);
    let notes = format!("{rate:.2} GB/s; {times:.3} times one reserved for its items");
    let name = format!("MEMORY USAGE, reserved for {items}");
    row(session.settings, &name, before, after, seconds, &notes);
    Ok(())
}

/// Pulls the filter with the tool, as it is and shrunk.
fn pull(session: &mut Session) -> Outcome<()> {
    let tool = tool_path();
    let file = session.server.folder().join("pulled.sbf");
    let url = session.server.url();
    let mut pull = |option: Option<&str>| -> Outcome<(u64, f64, u64)> {
        let before = session.info("stats", "total_net_output_bytes")?;
        let begun = Instant::now();
        let mut pull = Command::new(&tool);
        pull.args(["pull", "--url", &url, FILTER, "--output"]).arg(&file).args(option);
        if !pull.status()?.success() {
            return Err("the tool has failed".into());
        }
        let seconds = begun.elapsed().as_secs_f64();
        let sent = session.info("stats", "total_net_output_bytes")? - before;
        let size = fs::metadata(&file)?.len();
        fs::remove_file(&file)?;
        Ok((sent, seconds, size))
    };
    let (sent, time, size) = pull(None)?;
    let (sent_shrunk, time_shrunk, size_shrunk) = pull(Some("--shrink"))?;
    let notes = format!("{time:.3} s without --shrink; files of {size} and {size_shrunk} bytes");
    let name = "bytes on the wire, pull --shrink";
    row(session.settings, name, sent, sent_shrunk, time_shrunk, &notes);
    Ok(())
}

/// Shrinks many small filters.
fn tenants(settings: &mut Settings) -> Outcome<()> {
    let server = Server::start(Setup::ours());
    let mut client = server.connect()?;
    let capacity = EXCESS * ITEMS_OF_A_TENANT;
    let items: Vec<u64> = (0..ITEMS_OF_A_TENANT).collect();
    let each = || (0..TENANTS).map(|tenant| format!("tenant:{tenant}"));
    let fill = each().flat_map(|key| {
        let reserve = redis::cmd("BF.RESERVE").arg(&key).arg(ERROR_RATE).arg(capacity).take();
        [reserve, redis::cmd("BF.MADD").arg(&key).arg(&items).take()]
    });
    pipelined(&mut client, PIPELINE, fill)?;
    let before = info::number(&mut client, "memory", "used_memory")?;
    let begun = Instant::now();
    pipelined(&mut client, PIPELINE, each().map(|key| command("BF.SHRINK", &[&key])))?;
    let seconds = begun.elapsed().as_secs_f64();
    let after = info::number(&mut client, "memory", "used_memory")?;
    let name =
        format!("used_memory, {TENANTS} filters for {capacity}, {ITEMS_OF_A_TENANT} in each");
    row(settings, &name, before, after, seconds, "");
    Ok(())
}

fn row(settings: &mut Settings, name: &str, before: u64, after: u64, seconds: f64, notes: &str) {
    eprintln!("{name}: {before}, {after}");
    settings.table("shrink").row(&[
        ("measured", &name),
        ("before", &before),
        ("after", &after),
        ("seconds", &format!("{seconds:.3}")),
        ("notes", &notes),
    ]);
}
