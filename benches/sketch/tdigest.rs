//! t-digests.

use super::duel::{Case, Form, Side};
use redis::{cmd, Connection};
use splitbloom_harness::splitmix64;
use splitbloom_rig::server::Setup;
use splitbloom_rig::table::Table;
use splitbloom_rig::Outcome;
use tdigest::TDigest;

const KEY: &str = "latencies";
const COMPRESSION: u64 = 100;
/// Numbers of a command, and commands of a round.
const BATCHES: (u64, u64) = (3_000, 100);
const SINGLES: (u64, u64) = (30_000, 1);

/// A number of [0, 1).
fn uniform(number: u64) -> f64 {
    (splitmix64(number) >> 11) as f64 / (1u64 << 53) as f64
}

fn exponential(number: u64) -> f64 {
    -(1.0 - uniform(number)).ln()
}

/// As most latencies: a long tail.
fn log_normal(number: u64) -> f64 {
    let (radius, angle) = (uniform(2 * number), uniform(2 * number + 1));
    ((-2.0 * (1.0 - radius).ln()).sqrt() * (std::f64::consts::TAU * angle).cos()).exp()
}

pub fn cases() -> Vec<Case> {
    let mut create = cmd("TDIGEST.CREATE");
    create.arg(KEY).arg("COMPRESSION").arg(COMPRESSION);
    let mut filled = vec![create];
    for first in (0..100_000).step_by(1_000) {
        let mut fill = cmd("TDIGEST.ADD");
        fill.arg(KEY).arg((first..first + 1_000).map(exponential).collect::<Vec<_>>());
        filled.push(fill);
    }
    let mut cases = Vec::new();
    for (batches, how) in [(BATCHES, "batches of 100"), (SINGLES, "one number")] {
        let name = format!("TDIGEST.ADD, {how}");
        let form = Form::plain("TDIGEST.ADD", |words, n| {
            words.arg(exponential(n));
        });
        cases.push(Case::new(&name, filled.clone(), batches, KEY, form));
    }
    let name = "TDIGEST.QUANTILE, five";
    let form = Form::plain("TDIGEST.QUANTILE", |words, n| {
        words.arg([0.01, 0.25, 0.5, 0.9, 0.999][n as usize % 5]);
    });
    cases.push(Case::new(name, filled, (3_000, 5), KEY, form));
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
pub fn errors() -> Outcome<()> {
    let mut ours = Side::start(Setup::ours()?)?;
    let mut peer = Setup::peer()?.map(Side::start).transpose()?;
    let mut table = Table::new(&["numbers", "quantile", "mean error", "peer", "crate tdigest"]);
    type Distribution = (&'static str, fn(u64) -> f64);
    let distributions: [Distribution; 3] =
        [("uniform", uniform), ("exponential", exponential), ("log-normal", log_normal)];
    for (name, draw) in distributions {
        let mut sums = [[0.0; 3]; QUANTILES.len()];
        for stream in 0..STREAMS {
            let numbers: Vec<f64> = (stream * NUMBERS..(stream + 1) * NUMBERS).map(draw).collect();
            let mut sorted = numbers.clone();
            sorted.sort_by(f64::total_cmp);
            let of_peer = peer.as_mut().map(|peer| quantiles(&mut peer.connection, &numbers));
            let each = [
                Some(quantiles(&mut ours.connection, &numbers)?),
                of_peer.transpose()?,
                Some(of_crate(&numbers)),
            ];
            for (side, quantiles) in each.into_iter().enumerate() {
                for (n, quantile) in quantiles.unwrap_or_default().into_iter().enumerate() {
                    let below = sorted.partition_point(|number| *number < quantile) as f64;
                    let error = (below / NUMBERS as f64 - QUANTILES[n]).abs();
                    sums[n][side] += error * 1e6 / STREAMS as f64;
                }
            }
        }
        for (quantile, [ours, of_peer, of_crate]) in QUANTILES.iter().zip(sums) {
            let of_peer = peer.as_ref().map_or_else(String::new, |_| format!("{of_peer:.0}"));
            let [ours, of_crate] = [ours, of_crate].map(|error| format!("{error:.0}"));
            table.row(&[name.to_string(), quantile.to_string(), ours, of_peer, of_crate]);
        }
    }
    println!("\n{}", table.markdown());
    table.save("sketch-tdigest-error")
}

/// The quantiles that a server estimates.
fn quantiles(connection: &mut Connection, numbers: &[f64]) -> Outcome<Vec<f64>> {
    cmd("UNLINK").arg(KEY).query::<()>(connection)?;
    let mut create = cmd("TDIGEST.CREATE");
    create.arg(KEY).arg("COMPRESSION").arg(COMPRESSION).query::<()>(connection)?;
    for numbers in numbers.chunks(1_000) {
        cmd("TDIGEST.ADD").arg(KEY).arg(numbers).query::<()>(connection)?;
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
