//! Top-k.

use super::duel::{Case, Form, Side};
use super::zipf::{Items, Zipf};
use redis::{cmd, Connection};
use splitbloom_harness::splitmix64;
use splitbloom_rig::server::Setup;
use splitbloom_rig::table::Table;
use splitbloom_rig::Outcome;
use std::collections::{HashMap, HashSet};

const KEY: &str = "heavy";
const DEPTH: u64 = 7;
/// Items of a command, and commands of a round.
const BATCHES: (u64, u64) = (3_000, 100);
const SINGLES: (u64, u64) = (30_000, 1);

/// An item of a Pareto distribution with exponent 1.1.
fn pareto(number: u64) -> String {
    let uniform = (splitmix64(number) >> 11) as f64 / (1u64 << 53) as f64;
    format!("item:{}", (1.0 - uniform).powf(-1.0 / 1.1).min(1e12) as u64)
}

/// One of a million items, all equally likely.
fn uniform(number: u64) -> String {
    format!("item:{}", splitmix64(number) % 1_000_000)
}

/// One of 2^64 items, all equally likely: none comes twice.
fn different(number: u64) -> String {
    format!("item:{:016x}", splitmix64(number))
}

/// What a case calls its sketch, k and width, and how its items are drawn.
type Sketch = (&'static str, u64, u64, fn(u64) -> String);

pub fn cases() -> Vec<Case> {
    const SKETCHES: [Sketch; 4] = [
        ("k = 100, Pareto 1.1", 100, 2_000, pareto),
        ("k = 1 000, Pareto 1.1", 1_000, 20_000, pareto),
        ("k = 1 000, uniform", 1_000, 20_000, uniform),
        ("k = 1 000, all different", 1_000, 20_000, different),
    ];
    let mut cases = Vec::new();
    for (sketch, k, width, draw) in SKETCHES {
        let mut create = cmd("TOPK.RESERVE");
        create.arg(KEY).arg(k).arg(width).arg(DEPTH).arg(0.9);
        let mut filled = vec![create];
        for first in (0..100_000).step_by(1_000) {
            let mut fill = cmd("TOPK.ADD");
            fill.arg(KEY).arg((first..first + 1_000).map(draw).collect::<Vec<_>>());
            filled.push(fill);
        }
        for (batches, how) in [(BATCHES, "batches of 100"), (SINGLES, "one item")] {
            for command in ["TOPK.ADD", "TOPK.QUERY"] {
                let name = format!("{command}, {sketch}, {how}");
                let form = Form::plain(command, move |words, number| {
                    words.arg(draw(number));
                });
                cases.push(Case::new(&name, filled.clone(), batches, KEY, form));
            }
        }
    }
    cases
}

/// Distinct items, and how many are drawn of them.
const DISTINCT: usize = 1_000_000;
const DRAWS: u64 = 10_000_000;
const K: usize = 100;

/// How many of the k heaviest items are listed, and how far their counts are from the exact ones:
/// both modules with the same k, width, depth and decay, and so the same memory for buckets.
pub fn errors() -> Outcome<()> {
    let mut ours = Side::start(Setup::ours()?)?;
    let mut peer = Setup::peer()?.map(Side::start).transpose()?;
    let mut table = Table::new(&[
        "items",
        "exponent",
        "width",
        "recall",
        "mean error",
        "peer: recall",
        "peer: mean error",
    ]);
    let wide = [0.8, 1.1, 1.2, 1.4].map(|exponent| (Items::Short, exponent, 2_000));
    let narrow = [1.1, 1.2, 1.4].map(|exponent| (Items::Short, exponent, 300));
    let urls = [(Items::Urls, 1.1, 300)];
    for (items, exponent, width) in wide.into_iter().chain(narrow).chain(urls) {
        let zipf = Zipf::new(DISTINCT, exponent);
        let stream = Stream { items, counts: zipf.counts(DRAWS), zipf };
        let found = stream.quality(&mut ours.connection, width)?;
        let of_peer =
            peer.as_mut().map(|peer| stream.quality(&mut peer.connection, width)).transpose()?;
        let [recall, error] = found.map(|number| format!("{number:.4}"));
        let of_peer = of_peer.map(|of_peer| of_peer.map(|number| format!("{number:.4}")));
        let [peer_recall, peer_error] = of_peer.unwrap_or_default();
        table.row(&[
            items.name().to_string(),
            exponent.to_string(),
            width.to_string(),
            recall,
            error,
            peer_recall,
            peer_error,
        ]);
    }
    println!("\n{}", table.markdown());
    table.save("sketch-topk-error")
}

/// What is added, and how often each item is.
struct Stream {
    items: Items,
    zipf: Zipf,
    counts: Vec<u64>,
}

impl Stream {
    /// The share of the k heaviest items that are listed, and the mean relative error of the counts
    /// listed.
    fn quality(&self, connection: &mut Connection, width: u64) -> Outcome<[f64; 2]> {
        const BATCH: u64 = 1_000;
        const PIPELINE: u64 = 50;
        let Self { items, zipf, counts } = self;
        cmd("UNLINK").arg(KEY).query::<()>(connection)?;
        let mut create = cmd("TOPK.RESERVE");
        create.arg(KEY).arg(K).arg(width).arg(DEPTH).arg(0.9).query::<()>(connection)?;
        for first in (0..DRAWS).step_by((BATCH * PIPELINE) as usize) {
            let mut pipeline = redis::pipe();
            for batch in (first..first + BATCH * PIPELINE).step_by(BATCH as usize) {
                let drawn = (batch..batch + BATCH).map(|draw| items.item(zipf.draw(draw)));
                let items: Vec<Vec<u8>> = drawn.collect();
                pipeline.cmd("TOPK.ADD").arg(KEY).arg(items).ignore();
            }
            pipeline.query::<()>(connection)?;
        }
        let mut list = cmd("TOPK.LIST");
        let list: Vec<(Vec<u8>, u64)> = list.arg(KEY).arg("WITHCOUNT").query(connection)?;
        let numbers: HashMap<Vec<u8>, usize> =
            (0..counts.len()).map(|number| (items.item(number), number)).collect();
        let list: Vec<(usize, u64)> =
            list.into_iter().map(|(item, count)| (numbers[&item], count)).collect();
        let mut heaviest: Vec<usize> = (0..counts.len()).collect();
        heaviest.sort_by_key(|item| std::cmp::Reverse(counts[*item]));
        // Whoever has as many as the last of them is as heavy.
        let least = counts[heaviest[K - 1]];
        let listed: HashSet<usize> = list.iter().map(|(item, _)| *item).collect();
        let found = listed.iter().filter(|item| counts[**item] >= least).count();
        let errors = list.iter().map(|(item, count)| {
            let exact = counts[*item] as f64;
            (*count as f64 - exact).abs() / exact
        });
        let error = errors.sum::<f64>() / list.len() as f64;
        Ok([found.min(K) as f64 / K as f64, error])
    }
}
