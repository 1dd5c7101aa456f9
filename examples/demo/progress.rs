//! Progress of a step.

use std::io::{stdout, IsTerminal, Write};
use std::time::Instant;

/// A bar on a terminal, and a line at the end.
pub struct Progress<'a> {
    label: &'a str,
    total: usize,
    done: usize,
    started: Instant,
}

impl<'a> Progress<'a> {
    pub fn start(label: &'a str, total: usize) -> Self {
        Progress { label, total, done: 0, started: Instant::now() }
    }

    pub fn advance(&mut self, items: usize) {
        self.done += items;
        if stdout().is_terminal() {
            let filled = 40 * self.done / self.total;
            let bar = "█".repeat(filled) + &"░".repeat(40 - filled);
            let percent = 100 * self.done / self.total;
            print!("\r{:<24}{bar} {percent:>3} %", self.label);
            stdout().flush().ok();
        }
    }

    pub fn finish(self) {
        if stdout().is_terminal() {
            print!("\r\x1b[K"); // erases the bar
        }
        let (label, total) = (self.label, self.total);
        let seconds = self.started.elapsed().as_secs_f64();
        let speed = total as f64 / seconds / 1e6;
        println!("{label:<24}{total:>8} in {seconds:5.2} s, {speed:.1} million/s");
    }
}
