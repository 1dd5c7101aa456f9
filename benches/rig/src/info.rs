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
    let Some(fields) = of_command(client, "commandstats", "cmdstat", command)? else {
        return Ok(0);
    };
    let microseconds = fields.split(',').find_map(|field| field.strip_prefix("usec="));
    Ok(microseconds.ok_or("commandstats has no usec")?.parse()?)
}

/// The percentiles of a command's times that the server is configured to report, in microseconds.
pub fn percentiles(client: &mut Connection, command: &str) -> Outcome<Vec<f64>> {
    let fields = of_command(client, "latencystats", "latency_percentiles_usec", command)?;
    let fields = fields.ok_or_else(|| format!("INFO latencystats has no {command}"))?;
    let values = fields.split(',').filter_map(|field| field.split_once('='));
    values.map(|(_, value)| Ok(value.parse()?)).collect()
}

/// The fields of a command in a section.
fn of_command(
    client: &mut Connection,
    section: &str,
    prefix: &str,
    command: &str,
) -> Outcome<Option<String>> {
    let text: String = redis::cmd("INFO").arg(section).query(client)?;
    // Modules choose the case of their command names.
    let start = format!("{prefix}_{command}:").to_lowercase();
    let found = text.lines().find_map(|line| {
        let line = line.to_lowercase();
        line.strip_prefix(&start).map(str::to_string)
    });
    Ok(found)
}
