//! The slow log, which may show seeds, and users.

use super::finding::{Finding, Findings};
use super::node::Node;
use splitbloom_filter::codec::LOGGED_BYTES;

/// Whether the slow log is kept, and whether it shows seeds.
pub fn slow_log(node: &Node) -> Findings<'_> {
    node.settings.as_ref()?;
    let number = |name| node.setting(name).parse::<u64>().ok();
    let most = number("slowlog-max-len").unwrap_or_default();
    let bytes = number("slowlog-entry-max-string-len").unwrap_or_default();
    Ok(vec![match number("slowlog-log-slower-than") {
        _ if bytes > LOGGED_BYTES as u64 => Finding::advice(
            format!("{bytes} bytes of each argument, seeds of filters among them"),
            format!("`CONFIG SET slowlog-entry-max-string-len {LOGGED_BYTES}`, or protect the log"),
        ),
        // Negative: off.
        None => Finding::advice("off", "`CONFIG SET slowlog-log-slower-than 10000` logs 10 ms"),
        Some(_) if most == 0 => Finding::advice("no entries", "`CONFIG SET slowlog-max-len 128`"),
        Some(slower) => {
            let entries = node.slow_log_entries.as_ref()?;
            let seen = if *entries > 0 { " (SLOWLOG GET shows them)" } else { "" };
            Finding::ok(format!("{entries} of {most} entries, from {slower} µs on{seen}"))
        }
    }])
}

/// Whether others may do everything.
pub fn users(node: &Node) -> Findings<'_> {
    let users = node.users.as_ref()?;
    let has = |line: &&String, word| line.split(' ').any(|other| other == word);
    let active: Vec<&String> = users.iter().filter(|line| has(line, "on")).collect();
    let open = active.iter().filter(|line| has(line, "nopass"));
    let open: Vec<&str> = open.filter_map(|line| line.split(' ').nth(1)).collect();
    let all = active.iter().filter(|line| has(line, "+@all")).count();
    let counted = format!("users: {}, with all commands: {all}", active.len());
    let mut findings = vec![match open.as_slice() {
        [] => Finding::ok(counted),
        ["default"] if node.setting("protected-mode") == "yes" => Finding::ok(format!(
            "{counted}; without a password only from its own machine (protected-mode)"
        )),
        open => {
            let open = open.join(", ");
            let mode = match node.setting("protected-mode") {
                "" => "not known",
                mode => mode,
            };
            Finding::advice(
                format!("{counted}; without a password: {open} (protected-mode: {mode})"),
                "set passwords: whoever reaches the port can export filters with their seeds",
            )
        }
    }];
    if node.setting("enable-module-command") == "yes" {
        findings.push(Finding::advice(
            "`enable-module-command` is yes: who may use MODULE LOAD can run any code",
            "remove the line, and load modules with `loadmodule`",
        ));
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::super::node::tests::{silent, with_settings};
    use super::*;

    fn levels(findings: Findings<'_>) -> Vec<Level> {
        findings.expect("known").iter().map(|finding| finding.level).collect()
    }

    #[test]
    fn the_slow_log_should_be_on_and_hide_seeds() {
        let log = |settings: &str| {
            let node = Node { slow_log_entries: Ok(3), ..with_settings(settings) };
            levels(slow_log(&node))
        };
        let on = "slowlog-log-slower-than 10000,slowlog-max-len 128";
        assert_eq!(log(on), [Level::Ok]);
        assert_eq!(log(&format!("{on},slowlog-entry-max-string-len 128")), [Level::Ok]);
        assert_eq!(log(&format!("{on},slowlog-entry-max-string-len 129")), [Level::Advice]);
        assert_eq!(log("slowlog-log-slower-than -1,slowlog-max-len 128"), [Level::Advice]);
        assert_eq!(log("slowlog-log-slower-than 0,slowlog-max-len 0"), [Level::Advice]);
        assert!(slow_log(&silent()).is_err());
    }

    #[test]
    fn users_without_a_password_are_named_unless_they_are_on_this_machine() {
        let of = |lines: &[&str], settings| {
            let users = Ok(lines.iter().map(|line| line.to_string()).collect());
            let node = Node { users, ..with_settings(settings) };
            levels(super::users(&node))
        };
        let open = "user default on nopass ~* &* +@all";
        assert_eq!(of(&[open], "protected-mode yes"), [Level::Ok]);
        assert_eq!(of(&[open], "protected-mode no"), [Level::Advice]);
        assert_eq!(of(&[open, "user b on nopass -@all"], "protected-mode yes"), [Level::Advice]);
        assert_eq!(of(&["user default off nopass", "user b on #12 +@all"], ""), [Level::Ok]);
        let module = "protected-mode yes,enable-module-command yes";
        assert_eq!(of(&[open], module), [Level::Ok, Level::Advice]);
        assert!(users(&silent()).is_err());
    }
}
