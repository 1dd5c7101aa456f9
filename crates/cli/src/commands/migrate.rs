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

/// What became of a key.
enum Fate {
    Copied,
    /// It is on the second server already, with as many items.
    Equal,
    /// It was not copied, is missing or differs; the reason.
    Not(String),
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

    fn migrate(&self, bar: &ProgressBar, tallies: &mut Tallies) -> Result<(), Error> {
        for database in self.databases()? {
            let mut servers = self.open(database, bar)?;
            for kind in StoredType::ALL {
                servers.migrate(kind.name(), Kind::Filter(kind), tallies)?;
            }
            for (name, sketch) in Sketch::TYPES {
                servers.migrate(name, Kind::Sketch(sketch), tallies)?;
            }
        }
        Ok(())
    }

    /// The databases with keys, or `None` for the one in the URL.
    fn databases(&self) -> Result<Vec<Option<i64>>, Error> {
        if names_database(&self.from) {
            return Ok(vec![None]);
        }
        if names_database(&self.to) {
            let text = "the second URL names a database, so the first must name one, too";
            return Err(Error::Usage(text.into()));
        }
        let info = self.tls.info_of_one(&self.from)?;
        let mut server = TopologyArguments::default().open_key("", info)?;
        let keyspace = server.ask(Retry::Yes, |_| cmd("INFO").arg("keyspace").take())?;
        let text: String = from_redis_value(keyspace).unwrap_or_default();
        let numbers = text.lines().filter_map(|line| {
            let (number, _) = line.strip_prefix("db")?.split_once(':')?;
            number.parse().ok().map(Some)
        });
        Ok(numbers.collect())
    }

    /// Both servers, in this database or those of their URLs.
    fn open<'a>(
        &'a self,
        database: Option<i64>,
        bar: &'a ProgressBar,
    ) -> Result<Servers<'a>, Error> {
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
            arguments: self,
            bar,
            from: TopologyArguments::default().open_key("", from)?,
            to: self.topology.open_key("", to)?,
            infos,
            place: match database {
                Some(number) if number != 0 => format!("database {number}, "),
                _ => String::new(),
            },
        })
    }
}

/// Both servers, in one database.
struct Servers<'a> {
    arguments: &'a Arguments,
    bar: &'a ProgressBar,
    from: OneKey,
    to: OneKey,
    infos: [ConnectionInfo; 2],
    /// What messages say of the database.
    place: String,
}

impl Servers<'_> {
    /// Copies or checks every key of a type, and prints the reason for each [`Fate::Not`].
    fn migrate(&mut self, name: &str, kind: Kind, tallies: &mut Tallies) -> Result<(), Error> {
        let mut cursor = b"0".to_vec();
        loop {
            let keys;
            (cursor, keys) = self.scan(name, &cursor)?;
            for key in &keys {
                let fate = self.one(key, kind)?;
                tallies.count(kind, &fate);
                if let Fate::Not(why) = fate {
                    let (place, key) = (&self.place, String::from_utf8_lossy(key));
                    self.bar.suspend(|| eprintln!("splitbloom: {place}{key}: {why}"));
                }
                let keys: u64 = tallies.0.as_flattened().iter().sum();
                self.bar.set_message(format!("{keys} keys"));
            }
            if cursor == b"0" {
                return Ok(());
            }
        }
    }

    /// Returns the cursor of the next keys, and some keys of a type on the first server.
    ///
    /// A server that does not know the type has no such key. Redis then returns no keys; Valkey 8.1
    /// and later return an error.
    fn scan(&mut self, name: &str, cursor: &[u8]) -> Result<(Vec<u8>, Vec<Vec<u8>>), Error> {
        let pattern = self.arguments.pattern.as_ref();
        let reply = self.from.ask(Retry::Yes, |_| {
            let mut scan = cmd("SCAN");
            scan.arg(cursor).arg("TYPE").arg(name);
            if let Some(pattern) = pattern {
                scan.arg("MATCH").arg(pattern.as_encoded_bytes());
            }
            scan.arg("COUNT").arg(KEYS_AT_A_TIME).take()
        });
        match reply {
            Err(Error::Refused(text)) if text.contains("unknown type name") => {
                Ok((b"0".to_vec(), Vec::new()))
            }
            reply => from_redis_value(reply?)
                .map_err(|error| Error::Refused(format!("SCAN returned {error}"))),
        }
    }

    /// Copies or checks a key. Returns only errors that concern all keys.
    fn one(&mut self, key: &[u8], kind: Kind) -> Result<Fate, Error> {
        self.from.turn_to(key);
        self.to.turn_to(key);
        let is_there = match kind {
            _ if self.arguments.replace => Ok(false),
            Kind::Filter(kind) => self.compare(Family::from(kind), key),
            Kind::Sketch(sketch) => self.compare_sketches(sketch),
        };
        let fate = is_there.and_then(|is_there| match is_there {
            true => Ok(Fate::Equal),
            false if self.arguments.check => Ok(Fate::Not("missing".into())),
            false => self.copy(kind).map(|()| Fate::Copied),
        });
        match fate {
            Err(Error::Refused(text) | Error::Contents(text)) => Ok(Fate::Not(text)),
            fate => fate,
        }
    }

    fn copy(&mut self, kind: Kind) -> Result<(), Error> {
        let (from, to, replace) = (&mut self.from, &mut self.to, self.arguments.replace);
        let incoming = match kind {
            Kind::Filter(_) => copy(from, to, replace, self.bar)?,
            Kind::Sketch(_) => sketch::copy(from, to, replace, self.bar)?,
        };
        incoming.finish(from.milliseconds_to_live()?)
    }

    /// Whether the filter is on the second server as well.
    ///
    /// # Errors
    /// `Contents` if it differs.
    fn compare(&mut self, family: Family, key: &[u8]) -> Result<bool, Error> {
        let Some(there) = self.to.kind()? else {
            return Ok(false);
        };
        if Family::from(there) != family {
            return Err(Error::Contents("the key holds a filter of the other kind".into()));
        }
        let items = [self.from.items(family)?, self.to.items(family)?];
        if items[0] != items[1] {
            let [old, new] = items.map(|items| items.unwrap_or_default());
            let text = format!("the filter exists, with {new} items and not {old}");
            return Err(Error::Contents(text));
        }
        if self.arguments.input.files.is_empty() {
            return Ok(true);
        }
        let side = |topology: &TopologyArguments, info: &ConnectionInfo| {
            let filter = topology.open(Keys::One(key), info.clone())?;
            let (filter, family, wording) = target::existing(filter, None)?;
            Ok::<_, Error>(Side { filters: vec![filter], family, wording })
        };
        let old = side(&TopologyArguments::default(), &self.infos[0])?;
        let new = side(&self.arguments.topology, &self.infos[1])?;
        let reading = Reading::new(None, &self.arguments.input, BLOCK_BYTES)?;
        match compare::tally(reading, (old, new), |_| Ok(()))?.only {
            [0, 0] => Ok(true),
            [old, new] => Err(Error::Contents(format!(
                "{old} items are only in the first filter, {new} only in the second"
            ))),
        }
    }

    /// Whether the sketch is on the second server as well.
    ///
    /// # Errors
    /// `Contents` if it differs.
    fn compare_sketches(&mut self, sketch: Sketch) -> Result<bool, Error> {
        match self.to.type_name()?.as_str() {
            "none" => Ok(false),
            name if Sketch::named(name) != Some(sketch) => {
                Err(Error::Contents(format!("the key holds another type: {name}")))
            }
            _ if sketch.contents(&mut self.from)? != sketch.contents(&mut self.to)? => {
                Err(Error::Contents("the sketch exists, with other counts".into()))
            }
            _ => Ok(true),
        }
    }
}

/// Bytes of items to look up at a time: some commands, as for one key elsewhere.
const BLOCK_BYTES: usize = 256 * 1024;

/// Keys that the server visits before it serves other clients again.
const KEYS_AT_A_TIME: u32 = 1000;

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
