//! t-digests.

use super::draws::uniform;
use super::duel::{Case, Form, Side, KEY};
use redis::{cmd, Cmd, Connection};
use splitbloom_rig::{in_words, Outcome, Settings};
use tdigest::TDigest;

const COMPRESSION: u64 = 100;

fn exponential(number: u64) -> f64 {
    -(1.0 - uniform(number)).ln()
}

/// As most latencies: a long tail.
fn log_normal(number: u64) -> f64 {
    let (radius, angle) = (uniform(2 * number), uniform(2 * number + 1));
    ((-2.0 * (1.0 - radius).ln()).sqrt() * (std::f64::consts::TAU * angle).cos()).exp()
}

fn create(compression: u64) -> Cmd {
    cmd("TDIGEST.CREATE").arg(KEY).arg("COMPRESSION").arg(compression).take()
}

pub fn cases() -> Vec<Case> {
    let add = Form::plain("TDIGEST.ADD", |words, n| {
        words.arg(exponential(n));
    });
    let quantile = Form::plain("TDIGEST.QUANTILE", |words, n| {
        words.arg([0.01, 0.25, 0.5, 0.9, 0.999][n as usize % 5]);
    });
    let prepare = add.filled(create(COMPRESSION), 100_000);
    let mut cases = Case::all("", &prepare, std::slice::from_ref(&add), "one number");
    for compression in [10_000, 100_000] {
        let prepare = add.filled(create(compression), 100_000);
        let name = format!("TDIGEST.ADD, compression {compression}, one number");
        let forms = [add.clone(), add.clone()];
        cases.push(Case { name, prepare, shape: (30_000, 1), forms });
    }
    let name = "TDIGEST.QUANTILE, five".to_string();
    let forms = [quantile.clone(), quantile];
    cases.push(Case { name, prepare, shape: (3_000, 5), forms });
    cases
}

/// Streams whose errors are averaged, and numbers of each.
const STREAMS: u64 = 10;
const NUMBERS: u64 = 200_000;
/// Numbers that the crate takes at once, as it recommends.
const CRATE_BATCH: usize = 10_000;
const QUANTILES: [f64; 7] = [0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999];

/// How far the ranks of estimated quantiles are from what was requested, in millionths of all
/// numbers: ours, the peer's, and those of the crate `tdigest`.
pub fn errors(settings: &mut Settings) -> Outcome<()> {
    let mut sides = Side::all()?;
    type Distribution = (&'static str, fn(u64) -> f64);
    let distributions: [Distribution; 3] =
        [("uniform", uniform), ("exponential", exponential), ("log-normal", log_normal)];
    for (name, draw) in distributions {
        let mut sums = [[f64::NAN; QUANTILES.len()]; 3];
        for stream in 0..STREAMS {
            let numbers: Vec<f64> = (stream * NUMBERS..(stream + 1) * NUMBERS).map(draw).collect();
            let mut sorted = numbers.clone();
            sorted.sort_by(f64::total_cmp);
            let add = |sums: &mut [f64], estimated: Vec<f64>| {
                for ((sum, quantile), wanted) in sums.iter_mut().zip(estimated).zip(QUANTILES) {
                    let below = sorted.partition_point(|number| *number < quantile) as f64;
                    let error = (below / NUMBERS as f64 - wanted).abs() * 1e6 / STREAMS as f64;
                    *sum = error + if stream == 0 { 0.0 } else { *sum };
                }
            };
            for (side, sums) in sides.iter_mut().zip(&mut sums) {
                add(sums, quantiles(&mut side.connection, &numbers)?);
            }
            add(&mut sums[2], of_crate(&numbers));
        }
        for (n, quantile) in QUANTILES.iter().enumerate() {
            let [ours, peer, other] = sums.map(|sums| in_words(sums[n], 0));
            settings.table("sketch-tdigest-error").row(&[
                ("numbers", &name),
                ("quantile", quantile),
                ("mean error", &ours),
                ("peer", &peer),
                ("crate tdigest", &other),
            ]);
        }
    }
    Ok(())
}

/// The quantiles that a server estimates.
fn quantiles(connection: &mut Connection, numbers: &[f64]) -> Outcome<Vec<f64>> {
    cmd("UNLINK").arg(KEY).exec(connection)?;
    create(COMPRESSION).exec(connection)?;
    for numbers in numbers.chunks(1_000) {
        cmd("TDIGEST.ADD").arg(KEY).arg(numbers).exec(connection)?;
    }
    Ok(cmd("TDIGEST.QUANTILE").arg(KEY).arg(&QUANTILES).query(connection)?)
}

/// Those that the crate estimates.
fn of_crate(numbers: &[f64]) -> Vec<f64> {
    let empty = TDigest::new_with_size(COMPRESSION as usize);
    let digest = numbers
        .chunks(CRATE_BATCH)
        .fold(empty, |digest, numbers| digest.merge_unsorted(numbers.to_vec()));
    let quantile = |q: &f64| digest.estimate_quantile(*q).unwrap_or(f64::NAN);
    QUANTILES.iter().map(quantile).collect()
}
