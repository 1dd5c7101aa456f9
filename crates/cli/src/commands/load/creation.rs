//! The parameters of a filter that a load creates.

use crate::error::Error;
use crate::parse;
use clap::Args;
use redis::{cmd, Cmd, Value};
use splitbloom_client::{number_of, value_of};
use splitbloom_client::{Error as FilterError, Family, PartitionedFilter, Retry};
use splitbloom_filter::bloom::sizing::MAX_CAPACITY;
use splitbloom_filter::Seed;
use splitbloom_partition::{capacity_of_each, Partitions};

/// Those of BF.RESERVE without any: the defaults of the module's settings.
const ERROR_RATE: f64 = 0.01;
const CAPACITY: u64 = 100;

/// How to create the filter if it does not exist. Without any of them, the server's settings say.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "If the filter does not exist")]
pub struct CreationArguments {
    /// The items that it is for; it grows beyond that, unless --nonscaling
    #[arg(long, value_name = "N", value_parser = parse::items_of_all)]
    capacity: Option<u64>,
    /// The false-positive rate allowed [default: 0.01]
    #[arg(long, value_name = "RATE", value_parser = parse::error_rate)]
    error: Option<f64>,
    /// It refuses items beyond its capacity
    #[arg(long, requires = "capacity")]
    nonscaling: bool,
    /// It forgets each item after this time, such as 3600, 12h or 7d
    #[arg(long, value_name = "TIME", conflicts_with = "cf", value_parser = parse::seconds)]
    window: Option<u32>,
    /// Into how many slices the window is divided [default: 8]
    #[arg(long, value_name = "N", requires = "window", value_parser = parse::slices)]
    slices: Option<u8>,
    /// Adding an item again starts its time again
    #[arg(long, requires = "window")]
    renew: bool,
    /// Sixteen hexadecimal digits: filters with equal parameters and seed can be merged. Whoever
    /// knows the seed can choose items that collide
    #[arg(long, value_name = "HEX16", value_parser = parse::seed)]
    seed: Option<Seed>,
}

impl CreationArguments {
    fn is_given(&self) -> bool {
        let is_sized = self.capacity.is_some() || self.error.is_some();
        is_sized || self.window.is_some() || self.seed.is_some()
    }

    fn window(&self) -> [(&'static str, Option<u64>); 2] {
        let slices = self.slices.map(u64::from);
        [("Window", self.window.map(u64::from)), ("Slices", slices)]
    }

    /// Creates the filter, or warns if it exists with other parameters. If none are given, the
    /// first item creates it; but each partition must exist, even one without an item. Returns
    /// whether the filter exists afterwards.
    pub fn apply(
        &self,
        filter: &mut PartitionedFilter,
        family: Family,
        exists: bool,
    ) -> Result<bool, Error> {
        if !self.is_given() && (exists || !filter.is_partitioned()) {
            return Ok(exists);
        }
        let mut exists = false;
        let partitions = filter.partitions();
        if self.capacity.is_some_and(|total| capacity_of_each(total, partitions) > MAX_CAPACITY) {
            let text = format!("--capacity: a key has room for {MAX_CAPACITY} items at most");
            return Err(Error::Usage(text));
        }
        let reserve = |key: &[u8]| self.reservation(family, partitions, key);
        for reply in filter.ask_each(Retry::No, reserve) {
            match reply {
                Err(FilterError::Refused(text)) if text.contains("item exists") => exists = true,
                reply => drop(reply?),
            }
        }
        if exists {
            let differences = self.differences(&info(filter, family)?);
            if !differences.is_empty() {
                eprintln!(
                    "splitbloom: warning: the filter exists, with {}",
                    differences.join(", ")
                );
            }
        }
        Ok(true)
    }

    /// The command that creates one of the keys.
    fn reservation(&self, family: Family, partitions: Partitions, key: &[u8]) -> Cmd {
        let capacity = capacity_of_each(self.capacity.unwrap_or(CAPACITY), partitions);
        let mut command = cmd(&family.command("RESERVE"));
        command.arg(key);
        match (family, self.error) {
            (Family::Bloom, rate) => command.arg(rate.unwrap_or(ERROR_RATE)).arg(capacity),
            (Family::Counting, Some(rate)) => command.arg(capacity).arg("ERROR").arg(rate),
            (Family::Counting, None) => command.arg(capacity),
        };
        if self.nonscaling {
            match family {
                Family::Bloom => command.arg("NONSCALING"),
                Family::Counting => command.arg("EXPANSION").arg(0),
            };
        }
        for (name, value) in self.window() {
            if let Some(value) = value {
                command.arg(name.to_uppercase()).arg(value);
            }
        }
        if self.renew {
            command.arg("RENEW");
        }
        if let Some(Seed(seed)) = self.seed {
            command.arg("SEED").arg(format!("{seed:016x}"));
        }
        command
    }

    /// How a filter that exists differs from the one requested.
    fn differences(&self, partitions: &[Value]) -> Vec<String> {
        let Some(first) = partitions.first() else {
            return Vec::new();
        };
        let mut differences = Vec::new();
        if let (Some(wanted), Some(Value::Double(rate))) =
            (self.error, value_of(first, "Error rate"))
        {
            if wanted != *rate {
                differences.push(format!("an error rate of {rate} and not {wanted}"));
            }
        }
        let capacity: u64 = partitions.iter().filter_map(|info| number_of(info, "Capacity")).sum();
        if let Some(wanted) = self.capacity.filter(|wanted| capacity < *wanted) {
            differences.push(format!("a capacity of {capacity} and not {wanted}"));
        }
        let grows = number_of(first, "Expansion rate").unwrap_or(0) > 0;
        if self.is_given() && grows == self.nonscaling {
            differences.push(match grows {
                true => "room to grow, in spite of --nonscaling".into(),
                false => "no room to grow".into(),
            });
        }
        for (name, wanted) in self.window() {
            let value = number_of(first, name);
            let is_asked = wanted.is_some() || (name == "Window" && value.is_some());
            if is_asked && value != wanted {
                let words = |number: Option<u64>| number.map_or("none".into(), |n| n.to_string());
                let (value, wanted) = (words(value), words(wanted));
                differences.push(format!("{} {value} and not {wanted}", name.to_lowercase()));
            }
        }
        differences
    }
}

/// Whether the filter has a window, so that items leave it by themselves.
pub fn forgets(filter: &mut PartitionedFilter) -> Result<bool, Error> {
    let partitions = info(filter, Family::Bloom)?;
    Ok(partitions.iter().any(|info| number_of(info, "Window").is_some()))
}

/// What BF.INFO or CF.INFO says of each key.
fn info(filter: &mut PartitionedFilter, family: Family) -> Result<Vec<Value>, Error> {
    let name = family.command("INFO");
    let replies = filter.ask_each(Retry::Yes, |key| cmd(&name).arg(key).arg("FULL").clone());
    Ok(replies.into_iter().collect::<Result<_, _>>()?)
}
