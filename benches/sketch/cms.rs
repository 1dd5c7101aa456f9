//! Count-min sketches.

use super::duel::{Case, Form, Side};
use super::zipf::{Items, Zipf};
use redis::{cmd, Cmd, Connection};
use splitbloom_harness::splitmix64;
use splitbloom_rig::server::Setup;
use splitbloom_rig::table::Table;
use splitbloom_rig::Outcome;

const KEY: &str = "counts";
/// A sketch in the second-level cache, of 56 KB, and one of 56 MB.
const SIZES: [(&str, u64, u64); 2] = [("small", 2_000, 10_000), ("large", 2_000_000, 10_000_000)];
const DEPTH: u64 = 7;
/// Items of a command, and commands of a round.
const BATCHES: (u64, u64) = (3_000, 100);
const SINGLES: (u64, u64) = (30_000, 1);
const PACKS: (u64, u64) = (100, 4_096);
/// Bytes of an item that is packed.
const WIDTH: usize = 16;

/// An item out of `distinct`, all equally likely.
fn item(number: u64, distinct: u64) -> String {
    format!("item:{}", splitmix64(number) % distinct)
}

/// The same, of [`WIDTH`] bytes.
fn wide_item(number: u64, distinct: u64) -> String {
    format!("{:>WIDTH$}", item(number, distinct))
}

pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (size, width, distinct) in SIZES {
        for (batches, how) in [(BATCHES, "batches of 100"), (SINGLES, "one item")] {
            let filled = filled(width, distinct);
            let query = Form::plain("CMS.QUERY", move |words, number| {
                words.arg(item(number, distinct));
            });
            for form in [plain(distinct), query] {
                let name = format!("{}, {size}, {how}", form.command);
                cases.push(Case::new(&name, filled.clone(), batches, KEY, form));
            }
        }
    }
    cases
}

/// Packed increments next to plain ones, 16 bytes an item. The peer has no packed ones: it counts
/// the same items with CMS.INCRBY.
pub fn packed() -> Vec<Case> {
    let mut cases = Vec::new();
    for (size, width, distinct) in SIZES {
        let filled = filled(width, distinct);
        let name = |command: &str| format!("{command}, {size}, batches of 4 096");
        let case = |name: &str, form| Case::new(name, filled.clone(), PACKS, KEY, form);
        let plain = || {
            Form::plain("CMS.INCRBY", move |words, number| {
                words.arg(wide_item(number, distinct)).arg(1);
            })
        };
        let packed = Form::whole("CMS.PACKINCR", move |words, items| {
            let items: String = items.map(|number| wide_item(number, distinct)).collect();
            words.arg("FIXED").arg(WIDTH).arg(items);
        });
        cases.push(case(&name("CMS.INCRBY"), plain()));
        cases.push(case(&name("CMS.PACKINCR"), packed).with_peer(plain()));
    }
    cases
}

/// Creates a sketch, and counts as many items as fill the counters.
fn filled(width: u64, distinct: u64) -> Vec<Cmd> {
    let mut create = cmd("CMS.INITBYDIM");
    create.arg(KEY).arg(width).arg(DEPTH);
    let mut filled = vec![create];
    for first in (0..distinct / 10).step_by(1_000) {
        let mut fill = cmd("CMS.INCRBY");
        fill.arg(KEY);
        (first..first + 1_000).for_each(|n| increment(&mut fill, n, distinct));
        filled.push(fill);
    }
    filled
}

fn plain(distinct: u64) -> Form {
    Form::plain("CMS.INCRBY", move |words, number| increment(words, number, distinct))
}

fn increment(words: &mut Cmd, number: u64, distinct: u64) {
    words.arg(item(number, distinct)).arg(1);
}

/// Distinct items, and how many are drawn of them.
const DISTINCT: usize = 1_000_000;
const DRAWS: u64 = 10_000_000;
/// The bounds that the sketch is created for.
const ERROR: f64 = 0.001;
const PROBABILITY: f64 = 0.01;

/// Errors on Zipf-distributed items: of the estimates of all distinct items, in units of the error
/// that the sketch is created for.
pub fn errors() -> Outcome<()> {
    let mut ours = Side::start(Setup::ours()?)?;
    let mut peer = Setup::peer()?.map(Side::start).transpose()?;
    let mut table = Table::new(&[
        "items",
        "exponent",
        "mean error / bound",
        "99th percentile / bound",
        "largest / bound",
        "share above the bound",
        "allowed",
    ]);
    for (items, exponent) in
        [(Items::Short, 0.8), (Items::Short, 1.1), (Items::Short, 1.4), (Items::Urls, 1.1)]
    {
        let counts = Zipf::new(DISTINCT, exponent).counts(DRAWS);
        let estimates = estimates(&mut ours.connection, items, &counts)?;
        if let Some(peer) = &mut peer {
            assert_eq!(self::estimates(&mut peer.connection, items, &counts)?, estimates);
        }
        let bound = ERROR * DRAWS as f64;
        let excess = estimates.iter().zip(&counts);
        let mut excess: Vec<f64> =
            excess.map(|(estimate, count)| (estimate - count) as f64 / bound).collect();
        excess.sort_by(f64::total_cmp);
        let above = excess.iter().filter(|excess| **excess > 1.0).count();
        table.row(&[
            items.name().to_string(),
            exponent.to_string(),
            format!("{:.4}", excess.iter().sum::<f64>() / excess.len() as f64),
            format!("{:.4}", excess[excess.len() * 99 / 100]),
            format!("{:.4}", excess[excess.len() - 1]),
            format!("{:.6}", above as f64 / excess.len() as f64),
            PROBABILITY.to_string(),
        ]);
    }
    println!("\n{}", table.markdown());
    table.save("sketch-cms-error")
}

/// Counts all items, and returns the estimate of each. An item's increments come at once: the
/// counters are sums, so their order and size do not matter.
fn estimates(connection: &mut Connection, items: Items, counts: &[u64]) -> Outcome<Vec<u64>> {
    const BATCH: usize = 1_000;
    cmd("UNLINK").arg(KEY).query::<()>(connection)?;
    cmd("CMS.INITBYPROB").arg(KEY).arg(ERROR).arg(PROBABILITY).query::<()>(connection)?;
    for (first, counts) in (0..).step_by(BATCH).zip(counts.chunks(BATCH)) {
        let mut add = cmd("CMS.INCRBY");
        add.arg(KEY);
        for (number, count) in (first..).zip(counts) {
            add.arg(items.item(number)).arg(count);
        }
        add.query::<()>(connection)?;
    }
    let mut estimates = Vec::with_capacity(counts.len());
    for first in (0..counts.len()).step_by(BATCH) {
        let mut ask = cmd("CMS.QUERY");
        ask.arg(KEY);
        for number in first..(first + BATCH).min(counts.len()) {
            ask.arg(items.item(number));
        }
        estimates.extend(ask.query::<Vec<u64>>(connection)?);
    }
    Ok(estimates)
}
