//! `splitbloom migrate`: all filters of a server, to one with splitbloom.

use super::compare::{self, Side};
use crate::connect::TlsArguments;
use crate::error::{Error, Outcome};
use crate::feed::Reading;
use crate::input::{InputArguments, Source};
use crate::progress::bar;
use crate::sketch::{self, Sketch};
use crate::target::{self, OneKey, TopologyArguments};
use crate::transfer::copy;
use clap::Args;
use indicatif::ProgressBar;
use redis::{cmd, from_redis_value, ConnectionInfo};
use splitbloom_client::{Family, Keys, Retry};
use splitbloom_filter::StoredType;
use std::ffi::OsString;
use std::io::{stdout, Write};

/// Copies all filters and sketches of a server with RedisBloom, valkey-bloom or splitbloom to
/// another
///
/// Each key appears when the whole of it is there, and expires when it did. Keys that are there
/// already are left as they are, so an interrupted migration goes on if it is run again. Nothing
/// may be added to a filter while it is copied. A sketch is copied at once, by DUMP and RESTORE.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  splitbloom migrate redis://old:6379 redis://new:6379
  splitbloom migrate redis://old:6379 redis://new:6379 --match 'seen:*' --replace
  splitbloom migrate redis://old:6379 redis://new:6379 --check items.txt

Of a cluster, give one primary after the other as FROM. Exit code 0: every filter and sketch is
there, as it was; 1: some are missing or different.")]
pub struct Arguments {
    /// The server to copy from, as in --url of the other commands: all of its databases, or the one
    /// in the URL
    from: String,
    /// The server to copy to: the same databases, or the one in the URL
    to: String,
    /// Only keys that match, as in SCAN
    #[arg(long = "match", value_name = "PATTERN")]
    pattern: Option<OsString>,
    /// Takes the place of what the keys hold
    #[arg(long, conflicts_with = "check")]
    replace: bool,
    /// Copies nothing: compares how many items each filter has and what each sketch counts, and
    /// looks the items of the files up in each filter
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    input: InputArguments,
    #[command(flatten)]
    topology: TopologyArguments,
    #[command(flatten)]
    tls: TlsArguments,
}

/// What is copied.
#[derive(Clone, Copy)]
enum Kind {
    Filter(StoredType),
    Sketch(Sketch),
}

impl Kind {
    /// All types of keys that are copied, as TYPE names them.
    fn all() -> impl Iterator<Item = (&'static str, Self)> {
        let filters = StoredType::ALL.into_iter().map(|kind| (kind.name(), Self::Filter(kind)));
        filters.chain(Sketch::TYPES.map(|(name, sketch)| (name, Self::Sketch(sketch))))
    }
}

/// What became of a key.
enum Fate {
    Copied,
    /// It is there, with as many items.
    Equal,
    /// It is not, or not as it was; why.
    Not(String),
}

/// Both servers, in one database.
struct Servers {
    from: OneKey,
    to: OneKey,
    infos: [ConnectionInfo; 2],
}

/// How many keys there are of each fate: copied, equal, others.
type Tally = [u64; 3];

/// What was done with these `keys`.
fn say([copied, equal, others]: Tally, keys: &str, is_check: bool) -> String {
    match is_check {
        true => format!("{equal} {keys} are equal, {others} are missing or different"),
        false => format!("{copied} {keys} copied, {equal} there already, {others} not copied"),
    }
}

/// The tallies of filters and of sketches.
#[derive(Default)]
struct Tallies([Tally; 2]);

impl Tallies {
    fn count(&mut self, kind: Kind, fate: &Fate) {
        let of_kind = &mut self.0[usize::from(matches!(kind, Kind::Sketch(_)))];
        of_kind[match fate {
            Fate::Copied => 0,
            Fate::Equal => 1,
            Fate::Not(_) => 2,
        }] += 1;
    }

    fn say(&self, is_check: bool) -> String {
        let [filters, sketches] = self.0;
        let text = say(filters, "filters", is_check);
        match sketches {
            [0, 0, 0] => text,
            _ => format!("{text}; {}", say(sketches, "sketches", is_check)),
        }
    }
}

impl Arguments {
    pub fn run(self) -> Result<Outcome, Error> {
        self.check_files()?;
        let what = if self.check { "checking" } else { "copying" };
        let bar = bar(what, None);
        let mut tallies = Tallies::default();
        let migrated = self.migrate(&bar, &mut tallies);
        bar.finish_and_clear();
        let done = tallies.say(self.check);
        migrated.map_err(|error| error.and(&done))?;
        writeln!(stdout(), "{done}")?;
        Ok(Outcome::of(tallies.0.iter().all(|[.., others]| *others == 0)))
    }

    /// Each filter needs all items.
    fn check_files(&self) -> Result<(), Error> {
        let text = match self.input.files.is_empty() {
            false if !self.check => "files of items are for --check",
            false if self.input.sources()?.contains(&Source::StandardInput) => {
                "standard input can be read only once, and each filter needs the items"
            }
            _ => return Ok(()),
        };
        Err(Error::Usage(text.into()))
    }

    /// Copies or checks every key, and says what became of those that are not there.
    fn migrate(&self, bar: &ProgressBar, tallies: &mut Tallies) -> Result<(), Error> {
        for database in self.databases()? {
            let place = match database {
                Some(number) if number != 0 => format!("database {number}, "),
                _ => String::new(),
            };
            let mut servers = self.open(database)?;
            for (name, kind) in Kind::all() {
                each_key(&mut servers, name, self.pattern.as_ref(), |servers, key| {
                    let fate = self.one(servers, key, kind, bar)?;
                    tallies.count(kind, &fate);
                    if let Fate::Not(why) = fate {
                        let key = String::from_utf8_lossy(key);
                        bar.suspend(|| eprintln!("splitbloom: {place}{key}: {why}"));
                    }
                    let keys: u64 = tallies.0.as_flattened().iter().sum();
                    bar.set_message(format!("{keys} keys"));
                    Ok(())
                })?;
            }
        }
        Ok(())
    }

    /// The databases with keys, or `None` for the one in the URL.
    fn databases(&self) -> Result<Vec<Option<i64>>, Error> {
        match (names_database(&self.from), names_database(&self.to)) {
            (true, _) => return Ok(vec![None]),
            (false, true) => {
                let text = "the second URL names a database, so the first must name one, too";
                return Err(Error::Usage(text.into()));
            }
            (false, false) => {}
        }
        let info = self.tls.info_of_one(&self.from)?;
        let mut server = TopologyArguments { cluster: false }.open_key("", info)?;
        let keyspace = server.ask(Retry::Yes, |_| cmd("INFO").arg("keyspace").take())?;
        let text: String = from_redis_value(keyspace).unwrap_or_default();
        let numbers = text.lines().filter_map(|line| {
            let (number, _) = line.strip_prefix("db")?.split_once(':')?;
            number.parse().ok().map(Some)
        });
        Ok(numbers.collect())
    }

    /// Both servers, in this database or those of their URLs.
    fn open(&self, database: Option<i64>) -> Result<Servers, Error> {
        let info = |url: &str| {
            let info = self.tls.info_of_one(url)?;
            let settings = info.redis_settings().clone();
            Ok::<_, Error>(match database {
                Some(number) => info.set_redis_settings(settings.set_db(number)),
                None => info,
            })
        };
        let infos = [info(&self.from)?, info(&self.to)?];
        let [from, to] = infos.clone();
        Ok(Servers {
            from: TopologyArguments { cluster: false }.open_key("", from)?,
            to: self.topology.open_key("", to)?,
            infos,
        })
    }

    /// Copies or checks a key. Only what concerns all of them is an error.
    fn one(
        &self,
        servers: &mut Servers,
        key: &[u8],
        kind: Kind,
        bar: &ProgressBar,
    ) -> Result<Fate, Error> {
        servers.from.turn_to(key);
        servers.to.turn_to(key);
        let fate = match kind {
            _ if self.replace => Ok(None),
            Kind::Filter(kind) => self.compare(servers, Family::from(kind), key),
            Kind::Sketch(sketch) => compare_sketches(servers, sketch),
        };
        let fate = fate.and_then(|fate| match fate {
            Some(fate) => Ok(fate),
            None if self.check => Ok(Fate::Not("missing".into())),
            None => self.copy(servers, kind, bar).map(|()| Fate::Copied),
        });
        match fate {
            Err(Error::Refused(text) | Error::Contents(text)) => Ok(Fate::Not(text)),
            fate => fate,
        }
    }

    fn copy(&self, servers: &mut Servers, kind: Kind, bar: &ProgressBar) -> Result<(), Error> {
        let Servers { from, to, .. } = servers;
        let incoming = match kind {
            Kind::Filter(_) => copy(from, to, self.replace, bar)?,
            Kind::Sketch(_) => sketch::copy(from, to, self.replace, bar)?,
        };
        incoming.finish(from.milliseconds_to_live()?)
    }

    /// Compares the filter on both servers; `None` if the second server lacks the key.
    fn compare(
        &self,
        servers: &mut Servers,
        family: Family,
        key: &[u8],
    ) -> Result<Option<Fate>, Error> {
        let Some(there) = servers.to.kind()? else {
            return Ok(None);
        };
        if Family::from(there) != family {
            return Ok(Some(Fate::Not("the key holds a filter of the other kind".into())));
        }
        let items = [servers.from.items(family)?, servers.to.items(family)?];
        if items[0] != items[1] {
            let [old, new] = items.map(|items| items.unwrap_or_default());
            let text = format!("the filter exists, with {new} items and not {old}");
            return Ok(Some(Fate::Not(text)));
        }
        if self.input.files.is_empty() {
            return Ok(Some(Fate::Equal));
        }
        let [from, to] = servers.infos.clone();
        let none = TopologyArguments { cluster: false };
        let side = |topology: &TopologyArguments, info| {
            let filter = topology.open(Keys::One(key), info)?;
            let (filter, family, wording) = target::existing(filter, None)?;
            Ok::<_, Error>(Side { filters: vec![filter], family, wording })
        };
        let sides = (side(&none, from)?, side(&self.topology, to)?);
        let reading = Reading::new(None, &self.input, BLOCK_BYTES)?;
        let tally = compare::tally(reading, sides, |_| Ok(()))?;
        Ok(Some(match tally.only {
            [0, 0] => Fate::Equal,
            [old, new] => Fate::Not(format!(
                "{old} items are only in the first filter, {new} only in the second"
            )),
        }))
    }
}

/// Compares the sketch on both servers; `None` if the second server lacks the key.
fn compare_sketches(servers: &mut Servers, sketch: Sketch) -> Result<Option<Fate>, Error> {
    let Servers { from, to, .. } = servers;
    match to.type_name()?.as_str() {
        "none" => return Ok(None),
        name if Sketch::named(name) == Some(sketch) => {}
        name => return Ok(Some(Fate::Not(format!("the key holds another type: {name}")))),
    }
    let is_equal = sketch.contents(from)? == sketch.contents(to)?;
    Ok(Some(match is_equal {
        true => Fate::Equal,
        false => Fate::Not("the sketch exists, with other counts".into()),
    }))
}

/// Bytes of items to look up at a time: some commands, as for one key elsewhere.
const BLOCK_BYTES: usize = 256 * 1024;

/// Keys that the server visits before it serves other clients again.
const KEYS_AT_A_TIME: u32 = 1000;

/// Calls `act` with each key of this type on the first server.
///
/// A server that does not know the type has no such key. Redis replies with none; Valkey 8.1 and
/// later with an error.
fn each_key(
    servers: &mut Servers,
    name: &str,
    pattern: Option<&OsString>,
    mut act: impl FnMut(&mut Servers, &[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut cursor = b"0".to_vec();
    loop {
        let reply = servers.from.ask(Retry::Yes, |_| {
            let mut scan = cmd("SCAN");
            scan.arg(&cursor).arg("TYPE").arg(name);
            if let Some(pattern) = pattern {
                scan.arg("MATCH").arg(pattern.as_encoded_bytes());
            }
            scan.arg("COUNT").arg(KEYS_AT_A_TIME).take()
        });
        let reply = match reply {
            Err(Error::Refused(text)) if text.contains("unknown type name") => return Ok(()),
            reply => reply?,
        };
        let unexpected = |error| Error::Refused(format!("SCAN returned {error}"));
        let keys: Vec<Vec<u8>>;
        (cursor, keys) = from_redis_value(reply).map_err(unexpected)?;
        keys.iter().try_for_each(|key| act(servers, key))?;
        if cursor == b"0" {
            return Ok(());
        }
    }
}

/// Whether a URL has a database: `redis://host/1`, `unix:///path?db=1`.
fn names_database(url: &str) -> bool {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    match scheme {
        "unix" | "redis+unix" | "valkey+unix" => query.split('&').any(|it| it.starts_with("db=")),
        _ => path.split_once('/').is_some_and(|(_, number)| !number.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_may_name_a_database() {
        for url in ["redis://h:1/2", "rediss://:p@h/0", "unix:///s?db=1", "redis+unix:///s?db=1"] {
            assert!(names_database(url), "{url}");
        }
        for url in
            ["redis://h:1", "redis://h:1/", "redis://h?protocol=resp3", "unix:///s", "unix:///db=1"]
        {
            assert!(!names_database(url), "{url}");
        }
    }
}
