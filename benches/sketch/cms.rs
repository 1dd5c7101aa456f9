//! Count-min sketches.

use super::draws::{Items, Zipf, SHORT, URLS};
use super::duel::{Case, Form, Side, KEY};
use redis::{cmd, Cmd, Connection};
use splitbloom_harness::splitmix64;
use splitbloom_rig::{Outcome, Settings};

/// A sketch in the second-level cache, of 56 KB, and one of 56 MB.
const SIZES: [(&str, u64, u64); 2] = [("small", 2_000, 10_000), ("large", 2_000_000, 10_000_000)];
const DEPTH: u64 = 7;
/// Commands of a round, and packed items of a command.
const PACKS: (u64, u64) = (100, 4_096);
/// Bytes of an item that is packed.
const WIDTH: usize = 16;

/// An item out of `distinct`, all equally likely.
fn item(number: u64, distinct: u64) -> String {
    format!("item:{}", splitmix64(number) % distinct)
}

/// The same item, padded to [`WIDTH`] bytes.
fn wide_item(number: u64, distinct: u64) -> String {
    format!("{:>WIDTH$}", item(number, distinct))
}

pub fn cases() -> Vec<Case> {
    let cases = SIZES.iter().flat_map(|(size, width, distinct)| {
        let query = Form::plain("CMS.QUERY", move |words, number| {
            words.arg(item(number, *distinct));
        });
        let forms = [increments(item, *distinct), query];
        Case::all(&format!("{size}, "), &filled(*width, *distinct), &forms, "one item")
    });
    cases.collect()
}

/// Packed increments next to plain ones, 16 bytes an item. The peer has no packed ones: it counts
/// the same items with CMS.INCRBY.
pub fn packed() -> Vec<Case> {
    let cases = SIZES.iter().flat_map(|(size, width, distinct)| {
        let plain = increments(wide_item, *distinct);
        let packed = Form::whole("CMS.PACKINCR", move |words, items| {
            let items: String = items.map(|number| wide_item(number, *distinct)).collect();
            words.arg("FIXED").arg(WIDTH).arg(items);
        });
        [plain.clone(), packed].map(|form| Case {
            name: format!("{}, {size}, batches of 4 096", form.command),
            prepare: filled(*width, *distinct),
            shape: PACKS,
            forms: [form, plain.clone()],
        })
    });
    cases.collect()
}

/// The commands that create a sketch, and count as many items as fill its counters.
fn filled(width: u64, distinct: u64) -> Vec<Cmd> {
    let create = cmd("CMS.INITBYDIM").arg(KEY).arg(width).arg(DEPTH).take();
    increments(item, distinct).filled(create, distinct / 10)
}

fn increments(item: fn(u64, u64) -> String, distinct: u64) -> Form {
    Form::plain("CMS.INCRBY", move |words, number| {
        words.arg(item(number, distinct)).arg(1);
    })
}

/// Distinct items, and how many are drawn of them.
const DISTINCT: usize = 1_000_000;
const DRAWS: u64 = 10_000_000;
/// The bounds that the sketch is created for.
const ERROR: f64 = 0.001;
const PROBABILITY: f64 = 0.01;

/// Errors on Zipf-distributed items: of the estimates of all distinct items, in units of the error
/// that the sketch is created for.
pub fn errors(settings: &mut Settings) -> Outcome<()> {
    let mut sides = Side::all()?;
    for (items, exponent) in [(SHORT, 0.8), (SHORT, 1.1), (SHORT, 1.4), (URLS, 1.1)] {
        let counts = Zipf::new(DISTINCT, exponent).counts(DRAWS);
        let of_each = sides.iter_mut().map(|side| estimates(&mut side.connection, items, &counts));
        let of_each: Vec<Vec<u64>> = of_each.collect::<Outcome<_>>()?;
        assert!(of_each.windows(2).all(|pair| pair[0] == pair[1]));
        let bound = ERROR * DRAWS as f64;
        let excess = of_each[0].iter().zip(&counts);
        let mut excess: Vec<f64> =
            excess.map(|(estimate, count)| (estimate - count) as f64 / bound).collect();
        excess.sort_by(f64::total_cmp);
        let above = excess.iter().filter(|excess| **excess > 1.0).count() as f64;
        let four = |error: f64| format!("{error:.4}");
        settings.table("sketch-cms-error").row(&[
            ("items", &items.0),
            ("exponent", &exponent),
            ("mean error / bound", &four(excess.iter().sum::<f64>() / excess.len() as f64)),
            ("99th percentile / bound", &four(excess[excess.len() * 99 / 100])),
            ("largest / bound", &four(excess[excess.len() - 1])),
            ("share above the bound", &format!("{:.6}", above / excess.len() as f64)),
            ("allowed", &PROBABILITY),
        ]);
    }
    Ok(())
}

/// Counts all items, and returns the estimate of each. An item's increments come at once: the
/// counters are sums, so their order and size do not matter.
fn estimates(connection: &mut Connection, items: Items, counts: &[u64]) -> Outcome<Vec<u64>> {
    const BATCH: usize = 1_000;
    cmd("UNLINK").arg(KEY).exec(connection)?;
    cmd("CMS.INITBYPROB").arg(KEY).arg(ERROR).arg(PROBABILITY).exec(connection)?;
    for (first, counts) in (0..).step_by(BATCH).zip(counts.chunks(BATCH)) {
        let mut add = cmd("CMS.INCRBY");
        add.arg(KEY);
        for (number, count) in (first..).zip(counts) {
            add.arg((items.1)(number)).arg(count);
        }
        add.exec(connection)?;
    }
    let mut estimates = Vec::with_capacity(counts.len());
    for first in (0..counts.len()).step_by(BATCH) {
        let mut ask = cmd("CMS.QUERY");
        ask.arg(KEY);
        for number in first..(first + BATCH).min(counts.len()) {
            ask.arg((items.1)(number));
        }
        estimates.extend(ask.query::<Vec<u64>>(connection)?);
    }
    Ok(estimates)
}
