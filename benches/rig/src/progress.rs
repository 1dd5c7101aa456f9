//! Progress of a long step: a line that moves on a terminal, otherwise one now and then.

use std::io::{stderr, IsTerminal};
use std::time::{Duration, Instant};

pub struct Progress {
    label: String,
    total: u64,
    done: u64,
    started: Instant,
    shown: Instant,
    /// Between two lines, and what ends one.
    pause: Duration,
    end: &'static str,
}

impl Progress {
    pub fn start(label: &str, total: u64) -> Self {
        let (pause, end) = match stderr().is_terminal() {
            true => (Duration::from_millis(100), "\r"),
            false => (Duration::from_secs(10), "\n"),
        };
        let now = Instant::now();
        Self { label: label.into(), total, done: 0, started: now, shown: now, pause, end }
    }

    pub fn advance(&mut self, items: u64) {
        self.done += items;
        if self.shown.elapsed() >= self.pause {
            self.shown = Instant::now();
            let Self { label, total, done, end, .. } = self;
            let seconds = self.started.elapsed().as_secs_f64();
            let (percent, rate) = (100 * *done / (*total).max(1), *done as f64 / seconds / 1e6);
            let left = seconds * (*total as f64 / *done as f64 - 1.0);
            eprint!("{label:<24}{percent:>3} %  {rate:.1} M/s, {left:.0} s left    {end}");
        }
    }

    /// Prints what the step took.
    pub fn report(self) {
        let Self { label, total, .. } = self;
        let seconds = self.started.elapsed().as_secs_f64();
        let speed = total as f64 / seconds / 1e6;
        println!("{label:<24}{total:>8} in {seconds:5.2} s, {speed:.1} million/s");
    }
}
