//! Filters that other modules wrote, which are slower than ours.

use super::finding::{Answer, Finding, Findings, Unknown};
use super::node::{unknown, Node};
use crate::report::text;
use redis::{cmd, pipe, Connection, RedisError, RedisResult, Value};
use splitbloom_client::Family;
use splitbloom_filter::StoredType;

/// Keys to look at; the server visits them a thousand at a time.
const KEYS: usize = 10_000;
const KEYS_AT_A_TIME: usize = 1_000;

/// Filters to describe, which takes the server up to 2 ms each (docs/operate.md).
const FILTERS: usize = 500;

/// What was found among the first keys of the database.
#[derive(Debug, Default)]
pub struct Keys {
    pub keys: usize,
    /// Whether there are more.
    pub more: bool,
    pub filters: usize,
    /// Filters with an expiry.
    pub expiring: usize,
    /// How many of the filters have been described.
    pub described: usize,
    /// Why one has not.
    pub refusal: Option<Unknown>,
    /// Filters with parts that another module wrote.
    pub foreign: Vec<String>,
}

impl Keys {
    /// Looks at the first keys of the database. Only the module splitbloom can describe a filter
    /// as a part of which others wrote.
    pub fn scan(db: &mut Connection, is_ours: bool) -> Answer<Self> {
        let failed = |error: RedisError| unknown("SCAN", &error);
        let scan = cmd("SCAN").cursor_arg(0).arg("COUNT").arg(KEYS_AT_A_TIME).take();
        let mut all = scan.iter::<Vec<u8>>(db).map_err(failed)?;
        let keys = all.by_ref().take(KEYS).collect::<RedisResult<Vec<_>>>().map_err(failed)?;
        let mut found = Self { keys: keys.len(), more: all.next().is_some(), ..Self::default() };
        for keys in keys.chunks(KEYS_AT_A_TIME) {
            let mut types = pipe();
            for key in keys {
                types.cmd("TYPE").arg(key);
            }
            let types: Vec<String> = types.query(db).map_err(|error| unknown("TYPE", &error))?;
            for (key, name) in keys.iter().zip(&types) {
                if let Some(kind) = StoredType::named(name) {
                    found.filter(db, key, kind, is_ours)?;
                }
            }
        }
        Ok(found)
    }

    fn filter(
        &mut self,
        db: &mut Connection,
        key: &[u8],
        kind: StoredType,
        is_ours: bool,
    ) -> Answer<()> {
        self.filters += 1;
        let time: i64 = cmd("PTTL").arg(key).query(db).map_err(|error| unknown("PTTL", &error))?;
        self.expiring += usize::from(time >= 0);
        if !is_ours || self.described == FILTERS || self.refusal.is_some() {
            return Ok(());
        }
        let name = Family::from(kind).command("INFO");
        match cmd(&name).arg(key).arg("FULL").query::<Value>(db) {
            Err(error) => self.refusal = Some(unknown(&name, &error)),
            Ok(reply) => {
                self.described += 1;
                if is_foreign(&reply) {
                    self.foreign.push(String::from_utf8_lossy(key).into_owned());
                }
            }
        }
        Ok(())
    }
}

/// Whether a field is about parts from another module.
fn is_foreign(info: &Value) -> bool {
    let Value::Map(fields) = info else {
        return false;
    };
    let mut names = fields.iter().map(|(name, _)| text(name));
    names.any(|name| name.ends_with(" from RedisBloom") || name.ends_with(" from valkey-bloom"))
}

/// Filters of other modules among those that were looked at.
pub fn keys(node: &Node) -> Findings<'_> {
    if node.is_replica() {
        return Ok(vec![Finding::ok("those of its primary")]);
    }
    let keys = node.keys.as_ref()?;
    let Keys { filters, described, .. } = keys;
    let of = if keys.more { "of which more exist" } else { "all" };
    let seen = format!("keys: {} ({of}), filters: {filters}, described: {described}", keys.keys);
    let mut findings = vec![match keys.foreign.as_slice() {
        [] => Finding::ok(seen),
        [first, ..] => Finding::advice(
            format!("{seen}, of another module's format: {}, as {first}", keys.foreign.len()),
            "fill new ones when you can: lookups ask each old layer (docs/migrate.md)",
        ),
    }];
    findings.extend(keys.refusal.as_ref().map(Finding::from));
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::super::node::tests::silent;
    use super::*;

    #[test]
    fn how_many_keys_were_looked_at_is_said() {
        let of = |found| keys(&Node { keys: Ok(found), ..silent() }).expect("known");
        let base = || Keys { keys: 10_000, filters: 700, described: 500, ..Keys::default() };
        let text = &of(Keys { more: true, ..base() })[0].found;
        assert_eq!(text, "keys: 10000 (of which more exist), filters: 700, described: 500");
        let findings = of(Keys { foreign: vec!["seen".into()], ..base() });
        assert_eq!(findings[0].level, Level::Advice);
        assert!(findings[0].found.ends_with("format: 1, as seen"));
        let refusal = Some(Unknown { command: "BF.INFO".into(), refusal: "NOPERM".into() });
        let findings = of(Keys { refusal, ..base() });
        assert!(findings[1].found.starts_with("not known: BF.INFO"), "{findings:?}");
        assert!(keys(&silent()).is_err());
    }
}
