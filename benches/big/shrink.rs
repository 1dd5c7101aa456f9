//! Filters reserved too large: a large one and many small ones made smaller, unions of unequal
//! capacities, and how much of a filter crosses the wire when it is pulled.

use crate::phases::idle;
use crate::session::{command, Phase, Session, ERROR_RATE, FILTER, SOCKET};
use redis::{Connection, Pipeline};
use splitbloom_rig::info;
use splitbloom_rig::server::{Server, Setup};
use splitbloom_rig::table::Table;
use splitbloom_rig::Outcome;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;
use std::{env, fs};

/// A filter is reserved for this many times its items.
const EXCESS: u64 = 100;
const TENANTS: u64 = 100_000;
const ITEMS_OF_A_TENANT: u64 = 1_000;
/// Capacities that are united, and the items of each.
const UNITED: [u64; 3] = [1_000_000, 10_000_000, 100_000_000];
const ITEMS_OF_EACH: u64 = 300_000;
const STRANGERS: u64 = 1_000_000;
const SEED: &str = "0123456789abcdef";
/// Commands of a pipeline, and items of a command.
const PIPELINE: u64 = 100;
const BATCH: u64 = 1_000;

/// What was measured, in words.
pub fn table() -> Table {
    Table::new(&["measured", "before", "after", "seconds", "notes"])
}

/// Shrinks a filter reserved for `items`, which has a hundredth of them, under a probe.
pub fn one(items: u64, stalls: &mut Table, results: &mut Table) -> Outcome<()> {
    let mut session = Session::start("splitbloom", Setup::ours()?, items, stalls)?;
    idle(&mut session)?;
    let run = |session: &mut Session, name, capacity: u64| {
        session.run(name, &[FILTER, &ERROR_RATE.to_string(), &capacity.to_string(), "SEED", SEED])
    };
    run(&mut session, "BF.RESERVE", items)?;
    session.add("filling", items / EXCESS)?;
    let before = session.bytes_of(FILTER)?;
    pull(&mut session, results)?;
    let begun = Instant::now();
    session.phase("SHRINK", |session| {
        let capacity: u64 = command("BF.SHRINK", &[FILTER]).query(&mut session.client)?;
        Ok(Phase::Done(format!("capacity {capacity}")))
    })?;
    let seconds = begun.elapsed().as_secs_f64() - 0.2; // the probe's margins
    let after = session.bytes_of(FILTER)?;
    session.run("UNLINK", &[FILTER])?;
    session.unsent = 0;
    run(&mut session, "BF.RESERVE", items / EXCESS)?;
    session.add("filling", items / EXCESS)?;
    let right = session.bytes_of(FILTER)?;
    let notes = format!(
        "{:.2} GB/s; {:.3} times one reserved for its items",
        before as f64 / seconds / 1e9,
        after as f64 / right as f64
    );
    row(results, &format!("MEMORY USAGE, reserved for {items}"), before, after, seconds, &notes);
    Ok(())
}

/// Pulls the filter with the tool, as it is and shrunk.
fn pull(session: &mut Session, results: &mut Table) -> Outcome<()> {
    let tool = tool()?;
    let file = session.server.folder().join("pulled.sbf");
    let url = format!("redis://127.0.0.1:{}", session.server.port());
    let mut measured = Vec::new();
    for option in [None, Some("--shrink")] {
        let sent = session.info("stats", "total_net_output_bytes")?;
        let begun = Instant::now();
        let mut pull = Command::new(&tool);
        pull.args(["pull", "--url", &url, FILTER, "--output"]).arg(&file).args(option);
        if !pull.status()?.success() {
            return Err("the tool has failed".into());
        }
        let seconds = begun.elapsed().as_secs_f64();
        let sent = session.info("stats", "total_net_output_bytes")? - sent;
        measured.push((sent, seconds, fs::metadata(&file)?.len()));
        fs::remove_file(&file)?;
    }
    let [(sent, time, size), (sent_shrunk, time_shrunk, size_shrunk)] = measured[..] else {
        return Err("two pulls".into());
    };
    let notes = format!("{time:.3} s without --shrink; files of {size} and {size_shrunk} bytes");
    row(results, "bytes on the wire, pull --shrink", sent, sent_shrunk, time_shrunk, &notes);
    Ok(())
}

fn tool() -> Outcome<PathBuf> {
    let module = env::var_os("SPLITBLOOM_MODULE").ok_or("SPLITBLOOM_MODULE must be set")?;
    Ok(PathBuf::from(module).with_file_name("splitbloom"))
}

/// Shrinks many small filters.
pub fn tenants(results: &mut Table) -> Outcome<()> {
    let (_server, mut client) = start()?;
    let capacity = (EXCESS * ITEMS_OF_A_TENANT).to_string();
    in_pipelines(&mut client, TENANTS, |pipeline, tenant| {
        let key = format!("tenant:{tenant}");
        pipeline.cmd("BF.RESERVE").arg(&key).arg(ERROR_RATE).arg(&capacity).ignore();
        let items: Vec<u64> = (0..ITEMS_OF_A_TENANT).collect();
        pipeline.cmd("BF.MADD").arg(&key).arg(items).ignore();
    })?;
    let before = info::number(&mut client, "memory", "used_memory")?;
    let begun = Instant::now();
    in_pipelines(&mut client, TENANTS, |pipeline, tenant| {
        pipeline.cmd("BF.SHRINK").arg(format!("tenant:{tenant}")).ignore();
    })?;
    let seconds = begun.elapsed().as_secs_f64();
    let after = info::number(&mut client, "memory", "used_memory")?;
    let name =
        format!("used_memory, {TENANTS} filters for {capacity}, {ITEMS_OF_A_TENANT} in each");
    row(results, &name, before, after, seconds, "");
    Ok(())
}

/// Unites filters of unequal capacities, and asks for all items and for strangers.
pub fn unions(results: &mut Table) -> Outcome<()> {
    let (server, mut client) = start()?;
    let setup = Setup::ours()?.with("replicaof", &format!("127.0.0.1 {}", server.port()));
    let setup = setup.with("enable-debug-command", "yes");
    let mut replica = Server::start(setup)?;
    let mut other = replica.connect()?;
    for (number, capacity) in UNITED.iter().enumerate() {
        let key = capacity.to_string();
        let reserve = command("BF.RESERVE", &[&key, "0.01", &key, "SEED", SEED]);
        reserve.query::<()>(&mut client)?;
        let first = number as u64 * ITEMS_OF_EACH;
        for from in (first..first + ITEMS_OF_EACH).step_by(BATCH as usize) {
            let items: Vec<u64> = (from..from + BATCH).collect();
            command("BF.MADD", &[&key]).arg(items).query::<()>(&mut client)?;
        }
    }
    let keys = UNITED.map(|capacity| capacity.to_string());
    let begun = Instant::now();
    command("BF.MERGE", &[&keys[0], "2", &keys[1], &keys[2]]).query::<()>(&mut client)?;
    let seconds = begun.elapsed().as_secs_f64();
    let all = UNITED.len() as u64 * ITEMS_OF_EACH;
    let lost = all - found(&mut client, &keys[0], 0..all)?;
    let hits = found(&mut client, &keys[0], 1 << 40..(1 << 40) + STRANGERS)?;
    redis::cmd("WAIT").arg(1).arg(10_000).query::<u64>(&mut client)?;
    let digest = |client: &mut Connection| -> Outcome<Vec<String>> {
        Ok(redis::cmd("DEBUG").arg("DIGEST-VALUE").arg(&keys[0]).query(client)?)
    };
    let are_equal = digest(&mut client)? == digest(&mut other)?;
    let rate = hits as f64 / STRANGERS as f64;
    let error = 1.96 * (rate * (1.0 - rate) / STRANGERS as f64).sqrt();
    let notes = format!(
        "of 10^6, 10^7 and 10^8; {lost} items lost; {:.4} ± {:.4} % false positives; \
         replica equal: {are_equal}",
        rate * 100.0,
        error * 100.0
    );
    row(results, "items, BF.MERGE of unequal capacities", ITEMS_OF_EACH, all, seconds, &notes);
    Ok(())
}

fn found(client: &mut Connection, key: &str, numbers: std::ops::Range<u64>) -> Outcome<u64> {
    let mut found = 0;
    for from in numbers.clone().step_by(BATCH as usize) {
        let items: Vec<u64> = (from..(from + BATCH).min(numbers.end)).collect();
        let answers: Vec<u64> = command("BF.MEXISTS", &[key]).arg(items).query(client)?;
        found += answers.iter().sum::<u64>();
    }
    Ok(found)
}

fn start() -> Outcome<(Server, Connection)> {
    // Of the largest, more bytes are read than the default allows.
    let limit = "1gb";
    let setup = Setup::ours()?.with("unixsocket", SOCKET).with("bf.max-merge-bytes", limit);
    let mut server = Server::start(setup.with("enable-debug-command", "yes"))?;
    let client = server.connect()?;
    Ok((server, client))
}

fn in_pipelines(
    client: &mut Connection,
    number: u64,
    mut add: impl FnMut(&mut Pipeline, u64),
) -> Outcome<()> {
    for first in (0..number).step_by(PIPELINE as usize) {
        let mut pipeline = redis::pipe();
        (first..first + PIPELINE).for_each(|n| add(&mut pipeline, n));
        pipeline.query::<()>(client)?;
    }
    Ok(())
}

fn row(results: &mut Table, name: &str, before: u64, after: u64, seconds: f64, notes: &str) {
    let cells = [
        name.to_string(),
        before.to_string(),
        after.to_string(),
        format!("{seconds:.3}"),
        notes.to_string(),
    ];
    eprintln!("{}", cells.join("  "));
    results.row(&cells);
}
