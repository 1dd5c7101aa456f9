//! Fills in the tables of the documents.
//!
//! ```text
//!   <!-- table NAME [; only COLUMN = VALUE] [; columns COLUMN [as NEW NAME] | COLUMN …] -->
//!   … replaced by the table …
//!   <!-- end -->
//! ```

use crate::table::Table;
use crate::Outcome;
use std::fs;
use std::path::Path;

const BEGIN: &str = "<!-- table ";
const END: &str = "<!-- end -->";

/// Replaces every table in a document.
pub fn fill_in(document: &str) -> Outcome<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(document);
    let text = fs::read_to_string(&path)?;
    let mut filled = String::new();
    let mut rest = text.as_str();
    while let Some(start) = rest.find(BEGIN) {
        let (before, from) = rest.split_at(start);
        let unterminated = || format!("{document}: a table without an end marker");
        let (marker, after) = from.split_once('\n').ok_or_else(unterminated)?;
        let end = after.find(END).ok_or_else(unterminated)?;
        let request = marker
            .trim_start_matches(BEGIN)
            .trim_end_matches("-->")
            .trim();
        let table = selected(request).map_err(|error| format!("{document}: {request}: {error}"))?;
        filled += &format!("{before}{marker}\n{}", table.markdown());
        rest = &after[end..];
    }
    filled += rest;
    Ok(fs::write(path, filled)?)
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
