//! Fills in the tables and figures of the documents.
//!
//! ```text
//!   <!-- table NAME [; only COLUMN = VALUE] [; columns COLUMN [as NEW NAME] | COLUMN …] -->
//!   … replaced by the table …
//!   <!-- end -->
//!
//!   <!-- figure NAME [; only COLUMN = VALUE]; of COLUMN -->… replaced by the figure …<!-- end -->
//! ```
//!
//! The clauses of a figure must leave a single value. It is rounded to one decimal, or to an
//! integer from 100 on.

use crate::table::Table;
use crate::Outcome;
use splitbloom_harness::in_repository;
use std::fs;

/// The documents that have tables or figures.
pub const DOCUMENTS: [&str; 4] =
    ["README.md", "docs/performance.md", "docs/cluster.md", "docs/followers.md"];

const END: &str = "<!-- end -->";

/// Replaces every table and figure in a document.
pub fn fill_in(document: &str) -> Outcome<()> {
    Ok(fs::write(in_repository(document), filled(document)?)?)
}

/// The document with every table and figure replaced.
pub fn filled(document: &str) -> Outcome<String> {
    let text = fs::read_to_string(in_repository(document))?;
    let text = replaced(&text, "<!-- table ", |request| {
        let table = selected(request)?;
        Ok(format!("\n{}", table.markdown()))
    });
    let text = text.and_then(|text| replaced(&text, "<!-- figure ", figure));
    Ok(text.map_err(|error| format!("{document}: {error}"))?)
}

/// Returns the text with what stands between each marker that begins with `begin` and its end
/// replaced by what `value` returns for the rest of the marker.
fn replaced(text: &str, begin: &str, value: impl Fn(&str) -> Outcome<String>) -> Outcome<String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, from)) = rest.split_once(begin) {
        let (request, after) = from.split_once(" -->").ok_or("an unterminated marker")?;
        let end = after.find(END).ok_or("a marker without an end")?;
        let value = value(request).map_err(|error| format!("{request}: {error}"))?;
        filled += &format!("{before}{begin}{request} -->{value}");
        rest = &after[end..];
    }
    Ok(filled + rest)
}

/// The figure that a marker requests.
fn figure(request: &str) -> Outcome<String> {
    let (table, column) = request.split_once("; of ").ok_or("of COLUMN")?;
    let table = selected(table)?;
    let column = table.column(column.trim())?;
    let [row] = table.rows() else {
        return Err(format!("{} rows", table.rows().len()).into());
    };
    let value: f64 = row[column].parse()?;
    let decimals = usize::from(value < 100.0);
    Ok(format!("{value:.decimals$}"))
}

/// The table that a marker requests.
fn selected(request: &str) -> Outcome<Table> {
    let mut clauses = request.split(';').map(str::trim);
    let mut table = Table::load(clauses.next().unwrap_or_default())?;
    for clause in clauses {
        if let Some(condition) = clause.strip_prefix("only ") {
            let (column, value) = condition.split_once('=').ok_or("only COLUMN = VALUE")?;
            table = table.only(column.trim(), value.trim())?;
        } else if let Some(columns) = clause.strip_prefix("columns ") {
            let columns: Vec<(&str, &str)> = columns
                .split('|')
                .map(|column| column.split_once(" as ").unwrap_or((column, column)))
                .map(|(column, name)| (column.trim(), name.trim()))
                .collect();
            table = table.with_columns(&columns)?;
        } else {
            return Err(format!("unknown clause: {clause}").into());
        }
    }
    Ok(table)
}
