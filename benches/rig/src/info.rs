//! Fields of a server's INFO.

use crate::Outcome;
use redis::Connection;

/// A number from one section. (All sections together take the server half a millisecond.)
pub fn number(client: &mut Connection, section: &str, name: &str) -> Outcome<u64> {
    let text: String = redis::cmd("INFO").arg(section).query(client)?;
    let mut fields = text.lines().filter_map(|line| line.split_once(':'));
    let found = fields.find(|(field, _)| *field == name);
    let (_, value) = found.ok_or_else(|| format!("INFO {section} has no {name}"))?;
    Ok(value.trim().parse()?)
}

/// Microseconds the server has spent executing a command, excluding the network; 0 if it was never
/// called.
pub fn microseconds_in(client: &mut Connection, command: &str) -> Outcome<u64> {
    let text: String = redis::cmd("INFO").arg("commandstats").query(client)?;
    // Modules choose the case of their command names.
    let start = format!("cmdstat_{}:", command.to_lowercase());
    let mut lines = text.lines().map(str::to_lowercase);
    let Some(line) = lines.find(|line| line.starts_with(&start)) else {
        return Ok(0);
    };
    let mut fields = line[start.len()..].split(',');
    let microseconds = fields.find_map(|field| field.strip_prefix("usec="));
    Ok(microseconds.ok_or("commandstats has no usec")?.parse()?)
}

/// The percentiles of a command's times that the server is configured to report, in microseconds.
pub fn percentiles(client: &mut Connection, command: &str) -> Outcome<Vec<f64>> {
    let text: String = redis::cmd("INFO").arg("latencystats").query(client)?;
    let start = format!("latency_percentiles_usec_{}:", command.to_lowercase());
    let mut lines = text.lines().map(str::to_lowercase);
    let line = lines.find(|line| line.starts_with(&start));
    let line = line.ok_or_else(|| format!("INFO latencystats has no {command}"))?;
    let value = |field: &str| -> Outcome<f64> {
        let (_, value) = field.split_once('=').ok_or("a percentile without a value")?;
        Ok(value.parse()?)
    };
    line[start.len()..].split(',').map(value).collect()
}
