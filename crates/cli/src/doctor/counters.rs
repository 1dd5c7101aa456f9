//! What the modules and the server count, and should not.

use super::finding::{Finding, Findings, Level};
use super::node::Node;
use crate::report::with_spaces;

const DIFFERS: &str = "this server lacks changes: see the log, then copy the filters it names";
const BUG: &str = "a bug: report the line in the log, and copy the replicas in full";
const DAMAGED: &str = "the log names each key, and says why";
const CHOSEN: &str = "somebody may know a seed and choose items: create the filter anew";

/// A sweep that waits longer than this is late. Sweeps take at most a tenth of the server's time,
/// and many filters whose slices end at once may wait for seconds.
const MOST_LAG_MSEC: u64 = 60_000;
const LATE: &str = "forgotten items keep their memory: the server is busy or paused";

/// Counters that should be 0: how bad it is if they are not, and what to do.
const ZEROS: [(&str, Level, &str); 9] = [
    ("bf_replays_refused", Level::Wrong, DIFFERS),
    ("sketch_replays_refused", Level::Wrong, DIFFERS),
    ("unexpected_error_replies", Level::Wrong, DIFFERS),
    ("bf_caught_panics", Level::Wrong, BUG),
    ("sketch_caught_panics", Level::Wrong, BUG),
    ("bf_values_refused", Level::Advice, DAMAGED),
    ("sketch_values_refused", Level::Advice, DAMAGED),
    ("bf_fill_guard_closings", Level::Advice, CHOSEN),
    ("bf_replays_ignored", Level::Advice, "compare the filters with the primary's"),
];

/// What INFO counts.
pub fn counters(node: &Node) -> Findings<'_> {
    let info = node.info.as_ref()?;
    let number = |name| with_spaces(info.number(name).unwrap_or_default());
    let counted = ZEROS.iter().filter(|(name, ..)| info.number(name).unwrap_or_default() > 0);
    let mut findings: Vec<Finding> = counted
        .map(|(name, level, advice)| Finding {
            level: *level,
            ..Finding::advice(format!("{name} is {}", number(name)), *advice)
        })
        .collect();
    if info.number("bf_journals").is_some() {
        let (filters, journals) = (number("bf_filters"), number("bf_journals"));
        let (bytes, slowest) = (number("bf_journal_bytes"), number("bf_sweep_slowest_usec"));
        let (waiting, lag) = (number("bf_sweeps_waiting"), number("bf_sweep_lag_msec"));
        let found = format!(
            "filters: {filters}, journals: {journals} ({bytes} bytes), waiting for a sweep: \
             {waiting} (overdue by {lag} ms), slowest step: {slowest} µs"
        );
        findings.push(match info.number("bf_sweep_lag_msec").unwrap_or_default() > MOST_LAG_MSEC {
            false => Finding::ok(found),
            true => Finding::advice(found, LATE),
        });
    } else if findings.is_empty() {
        findings.push(Finding::ok("none of splitbloom"));
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::super::node::tests::{silent, with_info};
    use super::*;

    #[test]
    fn what_should_not_happen_is_counted_by_name() {
        let levels = |info: &str| -> Vec<Level> {
            let findings = counters(&with_info(info)).expect("INFO is known");
            findings.iter().map(|finding| finding.level).collect()
        };
        let good: String = ZEROS.iter().map(|(name, ..)| format!("{name}:0\n")).collect();
        assert_eq!(levels(&good), [Level::Ok]);
        assert_eq!(levels(&format!("{good}bf_journals:2")), [Level::Ok]);
        let late = format!("{good}bf_journals:2\nbf_sweep_lag_msec:");
        assert_eq!(levels(&format!("{late}60000")), [Level::Ok]);
        assert_eq!(levels(&format!("{late}60001")), [Level::Advice]);
        for (name, level) in [
            ("bf_replays_refused", Level::Wrong),
            ("sketch_replays_refused", Level::Wrong),
            ("unexpected_error_replies", Level::Wrong),
            ("bf_caught_panics", Level::Wrong),
            ("sketch_caught_panics", Level::Wrong),
            ("bf_values_refused", Level::Advice),
            ("sketch_values_refused", Level::Advice),
            ("bf_fill_guard_closings", Level::Advice),
            ("bf_replays_ignored", Level::Advice),
        ] {
            let info = good.replace(&format!("{name}:0"), &format!("{name}:1"));
            assert_eq!(levels(&info), [level], "{name}");
        }
        assert!(counters(&silent()).is_err());
    }
}
