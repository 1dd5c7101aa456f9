//! A table of measurements: printed as Markdown, and saved as tab-separated values for the plots
//! and the documents.

use crate::Outcome;
use splitbloom_harness::in_repository;
use std::fmt::{Display, Write as _};
use std::fs;
use std::path::PathBuf;

#[derive(Default)]
pub struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// The heading of a column, and the value in a row.
pub type Cell<'a> = (&'a str, &'a dyn Display);

impl Table {
    /// Loads a table that [`Table::save`] wrote.
    pub fn load(name: &str) -> Outcome<Self> {
        let text = fs::read_to_string(path_of(name))?;
        let mut lines = text.lines().map(|line| line.split('\t').map(str::to_string).collect());
        let columns = lines.next().ok_or("an empty table")?;
        Ok(Self { columns, rows: lines.collect() })
    }

    /// Begins a row.
    pub fn row(&mut self, cells: &[Cell]) {
        self.rows.push(Vec::new());
        self.add(cells);
    }

    /// Adds cells to the last row. All rows have the columns of the first one.
    pub fn add(&mut self, cells: &[Cell]) {
        let is_first = self.rows.len() == 1;
        let row = self.rows.last_mut().expect("a row has begun");
        for (name, value) in cells {
            if is_first {
                self.columns.push(name.to_string());
            }
            assert_eq!(self.columns.get(row.len()).map(String::as_str), Some(*name));
            row.push(value.to_string());
        }
    }

    pub fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// The index of the column with this name.
    pub fn column(&self, name: &str) -> Outcome<usize> {
        let index = self.columns.iter().position(|column| column == name);
        Ok(index.ok_or_else(|| format!("no column {name}"))?)
    }

    /// Keeps only the rows with this value in this column.
    pub fn only(mut self, column: &str, value: &str) -> Outcome<Self> {
        let column = self.column(column)?;
        self.rows.retain(|row| row[column] == value);
        Ok(self)
    }

    /// Selects columns in this order, and renames each.
    pub fn with_columns(&self, columns: &[(&str, &str)]) -> Outcome<Self> {
        let indices: Vec<usize> =
            columns.iter().map(|(column, _)| self.column(column)).collect::<Outcome<_>>()?;
        let select = |row: &Vec<String>| indices.iter().map(|index| row[*index].clone()).collect();
        Ok(Self {
            columns: columns.iter().map(|(_, name)| name.to_string()).collect(),
            rows: self.rows.iter().map(select).collect(),
        })
    }

    pub fn markdown(&self) -> String {
        let mut text = String::new();
        let rule = vec!["---".to_string(); self.columns.len()];
        for line in [&self.columns, &rule].into_iter().chain(&self.rows) {
            let _ = writeln!(text, "| {} |", line.join(" | "));
        }
        text
    }

    /// Saves it as `docs/performance/NAME.tsv`.
    pub fn save(&self, name: &str) -> Outcome<()> {
        let lines = std::iter::once(&self.columns).chain(&self.rows);
        let lines: Vec<String> = lines.map(|line| line.join("\t") + "\n").collect();
        Ok(fs::write(path_of(name), lines.concat())?)
    }
}

fn path_of(name: &str) -> PathBuf {
    in_repository("docs/performance").join(name).with_extension("tsv")
}
