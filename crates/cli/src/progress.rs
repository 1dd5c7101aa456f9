//! How far a command is, on a terminal: a bar with rate and time left. Elsewhere, silence.

use crate::input::Source;
use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Duration;

const BYTES: &str = "{msg} [{bar:30}] {bytes}/{total_bytes} {binary_bytes_per_sec} {eta} left";
const BYTES_SO_FAR: &str = "{msg} {spinner} {bytes} {binary_bytes_per_sec} {elapsed}";

/// A bar on standard error, of `total` bytes if that is known; it disappears when it is dropped. If
/// standard error is no terminal, it shows nothing. It may be advanced from several threads.
pub fn bar(what: &'static str, total: Option<u64>) -> ProgressBar {
    // Ten times a second, more than people see.
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr_with_hz(10));
    if let Ok(style) = ProgressStyle::with_template(total.map_or(BYTES_SO_FAR, |_| BYTES)) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.set_message(what);
    if !bar.is_hidden() {
        bar.enable_steady_tick(Duration::from_millis(250));
    }
    bar
}

/// A bar of the bytes of these sources.
pub fn of_sources(what: &'static str, sources: &[Source]) -> ProgressBar {
    bar(what, sources.iter().map(Source::bytes).sum())
}

/// Shows how many items are done, if that is known, before the bar.
pub fn show_items(bar: &ProgressBar, items: Option<u64>) {
    if let Some(items) = items.filter(|_| !bar.is_hidden()) {
        bar.set_message(format!("{} items", HumanCount(items)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_can_be_parsed() {
        for template in [BYTES, BYTES_SO_FAR] {
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
        }
    }
}
