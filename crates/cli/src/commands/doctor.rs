//! `splitbloom doctor`: what a server says of itself, and what to do about it.

use crate::connect::TlsArguments;
use crate::doctor::{findings, Finding, Level, Site};
use crate::error::{Error, Outcome};
use clap::Args;
use serde_json::{json, Value};
use std::fmt::Write as _;
use std::io::{stdout, Write as _};

/// Examines a server with its replicas and its cluster, and gives advice
///
/// Says who has the commands, what a crash may lose, what may be evicted, who may do what, what the
/// modules have counted, and which nodes lack the module or are at another time. Only reads.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  splitbloom doctor redis://127.0.0.1:6379

The other nodes are examined with the same login. Exit code 0: all is well; 1: there is advice, or
something is not known; 2: something is wrong.")]
pub struct Arguments {
    /// The server, as in --url of the other commands; any node of a cluster
    #[arg(env = "REDIS_URL", hide_env_values = true, default_value = "redis://127.0.0.1:6379")]
    url: String,
    /// Prints JSON, with all findings of each node
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    tls: TlsArguments,
}

impl Arguments {
    pub fn run(self) -> Result<Outcome, Error> {
        let site = Site::visit(&self.tls.info_of(&self.url)?)?;
        let all = findings(&site);
        let level = all.iter().map(|finding| finding.level).max().unwrap_or_default();
        let text = match self.json {
            true => {
                let findings: Vec<Value> = all.iter().map(Finding::json).collect();
                format!("{:#}\n", json!({ "level": level.name(), "findings": findings }))
            }
            false => table(&all, &site.nodes[0].address),
        };
        stdout().write_all(text.as_bytes())?;
        Ok(match level {
            Level::Ok => Outcome::Done,
            Level::Advice => Outcome::No,
            Level::Wrong => Outcome::Wrong,
        })
    }
}

/// A line for each finding, and one for its advice. Findings that nodes other than `first` share
/// take one line; those of level ok are left out for these nodes.
fn table(all: &[Finding], first: &str) -> String {
    let mut lines = String::new();
    for (index, finding) in all.iter().enumerate() {
        let Finding { level, subject, node, found, advice } = finding;
        let is_other = !node.is_empty() && node != first;
        let is_same = |other: &&Finding| {
            (other.level, other.subject, &other.advice) == (*level, *subject, advice)
                && !other.node.is_empty()
                && other.node != first
        };
        if is_other && (*level == Level::Ok || all[..index].iter().any(|other| is_same(&other))) {
            continue;
        }
        let more = all[index + 1..].iter().filter(is_same).count();
        let place = match (is_other, more) {
            (false, _) => String::new(),
            (true, 0) => format!("{node}: "),
            (true, more) => format!("{node} (and {more} more): "),
        };
        // Writing to a string never fails.
        let _ = writeln!(lines, "{:<6}  {subject:<11}  {place}{found}", level.name());
        if !advice.is_empty() {
            let _ = writeln!(lines, "{:21}→ {advice}", "");
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_other_nodes_have_in_common_is_one_line() {
        let of = |node: &str, finding: Finding| Finding {
            subject: "memory",
            node: node.into(),
            ..finding
        };
        let all = [
            of("a", Finding::wrong("1 MiB", "less")),
            of("b", Finding::wrong("2 MiB", "less")),
            of("c", Finding::ok("3 MiB")),
            of("d", Finding::wrong("4 MiB", "less")),
            of("e", Finding::wrong("5 MiB", "more")),
            of("", Finding::ok("all")),
        ];
        let lines = "\
wrong   memory       1 MiB
                     → less
wrong   memory       b (and 1 more): 2 MiB
                     → less
wrong   memory       e: 5 MiB
                     → more
ok      memory       all
";
        assert_eq!(table(&all, "a"), lines);
    }
}
