//! Top-k.

use super::draws::{uniform, Items, Zipf, SHORT, URLS};
use super::duel::{Case, Form, Side, KEY};
use redis::{cmd, Connection};
use splitbloom_harness::splitmix64;
use splitbloom_rig::{pipelined, Outcome, Settings};
use std::collections::{HashMap, HashSet};

const DEPTH: u64 = 7;

/// An item of a Pareto distribution with exponent 1.1.
fn pareto(number: u64) -> String {
    format!("item:{}", (1.0 - uniform(number)).powf(-1.0 / 1.1).min(1e12) as u64)
}

/// One of a million items, all equally likely.
fn one_of_a_million(number: u64) -> String {
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
        ("k = 1 000, uniform", 1_000, 20_000, one_of_a_million),
        ("k = 1 000, all different", 1_000, 20_000, different),
    ];
    let cases = SKETCHES.into_iter().flat_map(|(sketch, k, width, draw)| {
        let create = cmd("TOPK.RESERVE").arg(KEY).arg(k).arg(width).arg(DEPTH).arg(0.9).take();
        let forms = ["TOPK.ADD", "TOPK.QUERY"].map(|command| {
            Form::plain(command, move |words, number| {
                words.arg(draw(number));
            })
        });
        let filled = forms[0].filled(create, 100_000);
        Case::all(&format!("{sketch}, "), &filled, &forms, "one item")
    });
    cases.collect()
}

/// Distinct items, and how many are drawn of them.
const DISTINCT: usize = 1_000_000;
const DRAWS: u64 = 10_000_000;
const K: usize = 100;

/// How many of the k heaviest items are listed, and how far their counts are from the exact ones:
/// both modules with the same k, width, depth and decay, and so the same memory for buckets.
pub fn errors(settings: &mut Settings) -> Outcome<()> {
    let mut sides = Side::all()?;
    let wide = [0.8, 1.1, 1.2, 1.4].map(|exponent| (SHORT, exponent, 2_000));
    let narrow = [1.1, 1.2, 1.4].map(|exponent| (SHORT, exponent, 300));
    let urls = [(URLS, 1.1, 300)];
    for (items, exponent, width) in wide.into_iter().chain(narrow).chain(urls) {
        let zipf = Zipf::new(DISTINCT, exponent);
        let stream = Stream { items, counts: zipf.counts(DRAWS), zipf };
        let mut found: [[String; 2]; 2] = Default::default();
        for (side, found) in sides.iter_mut().zip(&mut found) {
            let quality = stream.quality(&mut side.connection, width)?;
            *found = quality.map(|number| format!("{number:.4}"));
        }
        let [[recall, error], [peer_recall, peer_error]] = &found;
        settings.table("sketch-topk-error").row(&[
            ("items", &items.0),
            ("exponent", &exponent),
            ("width", &width),
            ("recall", recall),
            ("mean error", error),
            ("peer: recall", peer_recall),
            ("peer: mean error", peer_error),
        ]);
    }
    Ok(())
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
        const PIPELINE: usize = 50;
        let Self { items, zipf, counts } = self;
        cmd("UNLINK").arg(KEY).exec(connection)?;
        cmd("TOPK.RESERVE").arg(KEY).arg(K).arg(width).arg(DEPTH).arg(0.9).exec(connection)?;
        let adds = (0..DRAWS).step_by(BATCH as usize).map(|first| {
            let drawn = (first..first + BATCH).map(|draw| (items.1)(zipf.draw(draw)));
            cmd("TOPK.ADD").arg(KEY).arg(drawn.collect::<Vec<_>>()).take()
        });
        pipelined(connection, PIPELINE, adds)?;
        let list: Vec<(Vec<u8>, u64)> =
            cmd("TOPK.LIST").arg(KEY).arg("WITHCOUNT").query(connection)?;
        let numbers: HashMap<Vec<u8>, usize> =
            (0..counts.len()).map(|number| ((items.1)(number), number)).collect();
        let list: Vec<(usize, u64)> =
            list.into_iter().map(|(item, count)| (numbers[&item], count)).collect();
        let mut heaviest: Vec<usize> = (0..counts.len()).collect();
        heaviest.sort_by_key(|item| std::cmp::Reverse(counts[*item]));
        // An item with the same count as the last of them is as heavy.
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
