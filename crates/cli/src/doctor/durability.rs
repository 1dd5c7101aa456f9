//! What a crash may lose.

use super::finding::{Finding, Findings};
use super::node::Node;
use crate::report::with_spaces;

const APPEND_ONLY: &str =
    "`CONFIG SET appendonly yes`; once INFO persistence has aof_rewrite_scheduled:0, \
     aof_rewrite_in_progress:0 and aof_last_bgrewrite_status:ok, CONFIG REWRITE: then a crash \
     loses a second at most";

/// Whether the last attempts to save succeeded.
pub fn saving(node: &Node) -> Findings<'_> {
    let info = node.info.as_ref()?;
    let failed = ["rdb_last_bgsave_status", "aof_last_write_status", "aof_last_bgrewrite_status"];
    let failed = failed.into_iter().filter(|name| info.text(name) == "err");
    let advice = "the log says why: the disk may be full, or the folder not writable";
    let mut findings: Vec<Finding> =
        failed.map(|name| Finding::wrong(format!("{name} is err"), advice)).collect();
    if findings.is_empty() {
        findings.push(Finding::ok("no failed attempt to save"));
    }
    Ok(findings)
}

/// How the data are saved, and what a crash of the machine may lose.
pub fn persistence(node: &Node) -> Findings<'_> {
    node.settings.as_ref()?;
    let info = node.info.as_ref().ok();
    let number = |name| info.and_then(|info| info.number(name)).unwrap_or_default();
    let changes = with_spaces(number("rdb_changes_since_last_save"));
    let mut findings = vec![match (node.setting("appendonly"), node.setting("appendfsync")) {
        ("yes", "always") => Finding::ok("append-only file: a crash loses nothing acknowledged"),
        ("yes", "everysec") => Finding::ok("append-only file: a crash loses about a second"),
        ("yes", _) => Finding::advice(
            "append-only file without fsync: a crash loses what the system has not written",
            "`CONFIG SET appendfsync everysec`",
        ),
        _ if node.setting("save").is_empty() => Finding::advice(
            "nothing is saved: a restart without a replica loses every filter",
            APPEND_ONLY,
        ),
        _ => Finding::advice(
            format!("snapshots: a crash loses what came after the last, {changes} changes now"),
            APPEND_ONLY,
        ),
    }];
    let may_save_so = node.setting("forkless-infrastructure-enabled") == "yes";
    if may_save_so && node.setting("bgsave-default-method") == "forkless" {
        findings.push(Finding::ok("snapshots without a fork: writes to a filter wait for its own"));
    }
    // Most of the memory is bits, which do not compress.
    if 2 * number("bf_bytes_held") > number("used_memory")
        && node.setting("rdbcompression") == "yes"
    {
        findings.push(Finding::advice(
            "most of the data are filters, which do not compress, and `rdbcompression` is yes",
            "`CONFIG SET rdbcompression no` saves five times faster",
        ));
    }
    if node.setting("bf.aof-load-damaged") == "yes" {
        findings.push(Finding::advice(
            "`bf.aof-load-damaged` is yes: the next start skips damaged commands",
            "remove the line once the filters that the log names have been filled again",
        ));
    }
    let takes_slots_over = info.is_some_and(|info| info.text("cluster_enabled") == "1");
    if takes_slots_over && node.setting("propagation-error-behavior") == "ignore" {
        findings.push(Finding::advice(
            "if a value is refused while its slot moves here, the key is lost on Redis",
            "`CONFIG SET propagation-error-behavior panic` before slots are moved to this node",
        ));
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::super::node::tests::{silent, with_info, with_settings};
    use super::*;

    fn found(node: &Node) -> Vec<(Level, String)> {
        let findings = persistence(node).expect("settings are known");
        findings.into_iter().map(|finding| (finding.level, finding.found)).collect()
    }

    #[test]
    fn what_a_crash_loses_depends_on_how_the_data_are_saved() {
        for (settings, level, words) in [
            ("appendonly yes,appendfsync always", Level::Ok, "nothing acknowledged"),
            ("appendonly yes,appendfsync everysec", Level::Ok, "about a second"),
            ("appendonly yes,appendfsync no", Level::Advice, "without fsync"),
            ("appendonly no,save 3600 1", Level::Advice, "12345 changes"),
            ("appendonly no,save ", Level::Advice, "loses every filter"),
        ] {
            let info = with_info("rdb_changes_since_last_save:12345").info;
            let node = Node { info, ..with_settings(settings) };
            let words = words.replace("12345", "12 345");
            match found(&node).as_slice() {
                [(found, text)] => assert!(*found == level && text.contains(&words), "{text}"),
                other => panic!("{other:?}"),
            }
        }
        assert!(persistence(&silent()).is_err());
    }

    #[test]
    fn settings_that_harm_filters_are_named() {
        let info = with_info("used_memory:100\nbf_bytes_held:51\ncluster_enabled:1").info;
        let settings = "appendonly yes,appendfsync always,rdbcompression yes,\
            bf.aof-load-damaged yes,propagation-error-behavior ignore,\
            forkless-infrastructure-enabled yes,bgsave-default-method forkless";
        let texts = found(&Node { info, ..with_settings(settings) });
        let words = ["append-only", "fork", "compress", "damaged", "slot moves"];
        assert_eq!(texts.len(), words.len());
        for ((_, text), word) in texts.iter().zip(words) {
            assert!(text.contains(word), "{text}");
        }
    }

    #[test]
    fn a_save_that_failed_is_wrong() {
        let level = |info| saving(&with_info(info)).expect("INFO is known")[0].level;
        assert_eq!(level("rdb_last_bgsave_status:err\naof_last_write_status:ok"), Level::Wrong);
        assert_eq!(level("rdb_last_bgsave_status:ok\naof_last_write_status:err"), Level::Wrong);
        assert_eq!(level("rdb_last_bgsave_status:ok"), Level::Ok);
    }
}
