//! What a command lists: a table for people, and a value for programs.

use crate::output::{Output, foreign, table_or};
use crate::trouble::Rank;
use anyhow::{Result, bail};
use serde_json::Value;

/// A table, and the same as JSON.
pub(crate) struct Listing {
    pub(crate) headings: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<String>>,
    /// How urgent each row is; empty: no row is more urgent than another.
    pub(crate) ranks: Vec<Rank>,
    /// What is printed in place of a table without rows.
    pub(crate) empty: String,
    /// Lines below the table.
    pub(crate) notes: Vec<String>,
    /// What is missing in the table, and why. It hides nothing else, but the command fails.
    pub(crate) rejected: Vec<String>,
    pub(crate) value: Value,
}

impl Listing {
    /// The table without its notes: one line for the headings and one for each row, or the text for a table without rows.
    pub(crate) fn table(&self) -> String {
        self.table_of(&self.rows.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    /// The same with these rows.
    pub(crate) fn table_of(&self, rows: &[&[String]]) -> String {
        let rows: Vec<Vec<String>> = rows.iter().map(|row| row.to_vec()).collect();
        table_or(&self.headings, &rows, &self.empty)
    }

    /// Prints the value with `--json`, otherwise the table and its notes.
    ///
    /// # Errors
    /// Something is missing in the table.
    pub(crate) fn print(&self, output: Output) -> Result<()> {
        let notes: String = self.notes.iter().map(|note| foreign(note) + "\n").collect();
        // That there is none is not known.
        let table = if self.rows.is_empty() && !self.rejected.is_empty() { String::new() } else { self.table() };
        output.print(&self.value, &(table + &notes))?;
        missing(&self.rejected)
    }
}

/// The error of a command that has printed everything but this.
pub(crate) fn missing(rejected: &[impl std::fmt::Display]) -> Result<()> {
    let Some(first) = rejected.first() else { return Ok(()) };
    match rejected.len() - 1 {
        0 => bail!("not shown: {first}"),
        more => bail!("not shown: {first}; and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_of_a_listing_is_one_line() {
        let listing = Listing {
            headings: vec!["LOCK", "FENCE"],
            rows: vec![vec!["a\nb".to_owned(), "7".to_owned()]],
            ranks: Vec::new(),
            empty: "no lock".to_owned(),
            notes: vec!["a note".to_owned()],
            rejected: Vec::new(),
            value: Value::Null,
        };
        assert_eq!(listing.table(), "LOCK  FENCE\na b       7\n");
        assert_eq!(Listing { rows: Vec::new(), ..listing }.table(), "no lock\n");
    }
}
