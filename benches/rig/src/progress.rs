//! Progress of a long step: a bar on a terminal, otherwise a line now and then.

use std::io::{stderr, IsTerminal, Write};
use std::time::{Duration, Instant};

/// A bar moves ten times a second; a log gets a line every ten seconds.
const BETWEEN_FRAMES: Duration = Duration::from_millis(100);
const BETWEEN_LINES: Duration = Duration::from_secs(10);
const WIDTH: u64 = 40;

pub struct Progress {
    label: String,
    total: u64,
    done: u64,
    started: Instant,
    shown: Instant,
    is_bar: bool,
}

impl Progress {
    pub fn start(label: &str, total: u64) -> Self {
        Self {
            label: label.to_string(),
            total: total.max(1),
            done: 0,
            started: Instant::now(),
            shown: Instant::now(),
            is_bar: stderr().is_terminal(),
        }
    }

    pub fn advance(&mut self, items: u64) {
        self.done += items;
        let pause = if self.is_bar { BETWEEN_FRAMES } else { BETWEEN_LINES };
        if self.shown.elapsed() < pause {
            return;
        }
        self.shown = Instant::now();
        let seconds = self.started.elapsed().as_secs_f64();
        let left = seconds * (self.total as f64 / self.done as f64 - 1.0);
        let (percent, rate) = (100 * self.done / self.total, self.done as f64 / seconds / 1e6);
        let (label, figures) =
            (&self.label, format!("{percent:>3} %  {rate:.1} M/s, {left:.0} s left"));
        if self.is_bar {
            let filled = (WIDTH * self.done / self.total).min(WIDTH) as usize;
            let bar = "█".repeat(filled) + &"░".repeat(WIDTH as usize - filled);
            eprint!("\r\x1b[K{label:<24}{bar} {figures}");
            stderr().flush().ok();
        } else {
            eprintln!("{label:<24}{figures}");
        }
    }

    /// Erases the bar and prints what the step took.
    pub fn report(self) {
        let (label, total) = (self.label.clone(), self.total);
        let seconds = self.finish().as_secs_f64();
        let speed = total as f64 / seconds / 1e6;
        println!("{label:<24}{total:>8} in {seconds:5.2} s, {speed:.1} million/s");
    }

    /// Erases the bar and returns the elapsed time.
    pub fn finish(self) -> Duration {
        if self.is_bar {
            eprint!("\r\x1b[K");
        }
        self.started.elapsed()
    }
}
