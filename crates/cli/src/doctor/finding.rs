//! What was found, how much it matters, and a line of advice.

use crate::error::in_one_line;
use serde_json::{json, Value};

/// How much a finding matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    #[default]
    Ok,
    /// Something could be better, or is not known.
    Advice,
    /// Filters are missing, lost or wrong, or will be.
    Wrong,
}

impl Level {
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Advice => "advice",
            Self::Wrong => "wrong",
        }
    }
}

/// What was found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Finding {
    pub level: Level,
    pub subject: &'static str,
    /// The address of the node; empty if it concerns all of them.
    pub node: String,
    pub found: String,
    /// What to do; empty if nothing.
    pub advice: String,
}

/// The findings of a group, or why it has none.
pub type Findings<'a> = Result<Vec<Finding>, &'a Unknown>;

/// What a server said, or why it is not known.
pub type Answer<T> = Result<T, Unknown>;

/// A command that a server did not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    pub command: String,
    pub refusal: String,
}

impl Finding {
    pub fn ok(found: impl Into<String>) -> Self {
        Self { found: found.into(), ..Self::default() }
    }

    pub fn advice(found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { level: Level::Advice, advice: advice.into(), ..Self::ok(found) }
    }

    pub fn wrong(found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { level: Level::Wrong, ..Self::advice(found, advice) }
    }

    pub fn json(&self) -> Value {
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        json!({
            "level": self.level.name(),
            "subject": self.subject,
            "node": given(&self.node),
            "found": self.found,
            "advice": given(&self.advice),
        })
    }
}

impl From<&Unknown> for Finding {
    fn from(Unknown { command, refusal }: &Unknown) -> Self {
        let advice = match refusal.starts_with("NOPERM") {
            true => format!("allow this user {command}, or log in as another"),
            false => format!("look it up where the server is run: it does not answer {command}"),
        };
        Self::advice(format!("not known: {command}: {refusal}"), advice)
    }
}

/// The findings of a group, with what they are about. Texts of the server may contain anything.
pub fn about(
    subject: &'static str,
    node: &str,
    findings: Findings<'_>,
) -> impl Iterator<Item = Finding> {
    let findings = findings.unwrap_or_else(|unknown| vec![unknown.into()]);
    let node = node.to_owned();
    findings.into_iter().map(move |finding| Finding {
        subject,
        node: node.clone(),
        found: in_one_line(&finding.found),
        advice: in_one_line(&finding.advice),
        ..finding
    })
}
