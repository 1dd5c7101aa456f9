//! Samples that are taken while some work runs, such as the waits of another client.

use crate::Outcome;
use redis::{Connection, RedisResult};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Takes samples, with `pause` between two, while `work` runs. Returns the result of `work`, and
/// the samples in ascending order.
pub fn samples_during<T, S: IntoIterator<Item = f64>>(
    pause: Duration,
    mut sample: impl FnMut() -> RedisResult<S> + Send,
    work: impl FnOnce() -> Outcome<T>,
) -> Outcome<(T, Vec<f64>)> {
    let is_over = AtomicBool::new(false);
    let (done, samples) = thread::scope(|scope| {
        let sampling = scope.spawn(|| {
            let mut samples = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                samples.extend(sample()?);
                thread::sleep(pause);
            }
            RedisResult::Ok(samples)
        });
        let done = work();
        is_over.store(true, Ordering::Relaxed);
        (done, sampling.join().expect("no panic"))
    });
    let (done, mut samples) = (done?, samples?);
    samples.sort_by(f64::total_cmp);
    Ok((done, samples))
}

/// The wait for a PING, in milliseconds.
pub fn ping(client: &mut Connection) -> RedisResult<[f64; 1]> {
    let sent = Instant::now();
    redis::cmd("PING").exec(client)?;
    Ok([sent.elapsed().as_secs_f64() * 1e3])
}
