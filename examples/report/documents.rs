//! The tables inside the documents.
//!
//! ```text
//!   <!-- table NAME [; only COLUMN = VALUE] [; columns COLUMN [as NEW NAME] | COLUMN …] -->
//!   … what stands here is replaced …
//!   <!-- end -->
//! ```

use crate::table::Table;
use crate::Outcome;
use std::fs;
use std::path::Path;

const BEGIN: &str = "<!-- table ";
const END: &str = "<!-- end -->";

/// Replaces every table of a document.
pub fn fill_in(document: &str) -> Outcome<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(document);
    let text = fs::read_to_string(&path)?;
    let mut filled = String::new();
    let mut rest = text.as_str();
    while let Some(start) = rest.find(BEGIN) {
        let (before, from) = rest.split_at(start);
        let unended = || format!("{document}: a table without an end");
        let (marker, behind) = from.split_once('\n').ok_or_else(unended)?;
        let end = behind.find(END).ok_or_else(unended)?;
        let request = marker
            .trim_start_matches(BEGIN)
            .trim_end_matches("-->")
            .trim();
        let table = selected(request).map_err(|error| format!("{document}: {request}: {error}"))?;
        filled += &format!("{before}{marker}\n{}", table.markdown());
        rest = &behind[end..];
    }
    filled += rest;
    Ok(fs::write(path, filled)?)
}

/// The table that a marker asks for.
fn selected(request: &str) -> Outcome<Table> {
    let mut words = request.split(';').map(str::trim);
    let mut table = Table::load(words.next().unwrap_or_default())?;
    for word in words {
        if let Some(condition) = word.strip_prefix("only ") {
            let (column, value) = condition.split_once('=').ok_or("only COLUMN = VALUE")?;
            table = table.only(column.trim(), value.trim())?;
        } else if let Some(columns) = word.strip_prefix("columns ") {
            let columns: Vec<(&str, &str)> = columns
                .split('|')
                .map(|column| column.split_once(" as ").unwrap_or((column, column)))
                .map(|(column, name)| (column.trim(), name.trim()))
                .collect();
            table = table.with_columns(&columns)?;
        } else {
            return Err(format!("unknown: {word}").into());
        }
    }
    Ok(table)
}
