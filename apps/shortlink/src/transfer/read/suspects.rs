//! [`Suspects`]: finds the codes of links in a column of another name.
//!
//! Such a file has links that were printed and sent. If the column was ignored, each would get a new code, and the printed ones would
//! lead nowhere.

use crate::domain::Code;
use std::collections::{BTreeMap, HashSet};
use url::Url;

/// Rows that are looked at: the first batch, before anything is imported.
const ROWS: usize = super::batches::ROWS_MAX;

/// The ignored columns of a file without codes, and what the first rows have in them.
#[derive(Debug, Default)]
pub(super) struct Suspects {
    rows: usize,
    columns: BTreeMap<String, Values>,
}

#[derive(Debug)]
struct Values {
    seen: HashSet<String>,
    /// Whether all values are codes, each another one.
    are_codes: bool,
    /// Numbers alone are counts more often than codes.
    have_letters: bool,
}

impl Suspects {
    /// Adds a row: the names of its ignored columns with their values.
    pub(super) fn add<'v>(&mut self, row: impl Iterator<Item = (&'v str, &'v str)>) {
        if self.rows == ROWS {
            return;
        }
        self.rows += 1;
        for (name, value) in row.filter(|(_, value)| !value.is_empty()) {
            let new = || Values { seen: HashSet::new(), are_codes: true, have_letters: false };
            let column = self.columns.entry(name.to_owned()).or_insert_with(new);
            let code = code_in(value);
            column.have_letters |= code.contains(|letter: char| letter.is_ascii_alphabetic());
            column.are_codes = column.are_codes && Code::parse(code).is_ok() && column.seen.insert(code.to_owned());
        }
    }

    /// The column that looks like codes.
    pub(super) fn found(&self) -> Option<&str> {
        let mut columns = self.columns.iter();
        columns.find(|(_, values)| values.are_codes && values.have_letters).map(|(name, _)| name.as_str())
    }
}

/// The code of a short link, which is the value itself or the path of a URL.
pub(super) fn code_in(value: &str) -> &str {
    let is_short_url = Url::parse(value).is_ok_and(|url| url.has_host() && url.query().is_none());
    let path = value.split_once("://").and_then(|(_, rest)| rest.split_once('/')).map(|(_, path)| path);
    path.filter(|_| is_short_url).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::{Suspects, code_in};

    fn found(name: &str, values: &[&str]) -> Option<String> {
        let mut suspects = Suspects::default();
        for value in values {
            suspects.add([("target", "x y"), (name, *value)].into_iter());
        }
        suspects.found().map(str::to_owned)
    }

    // shows: hazard S28
    #[test]
    fn columns_of_codes_are_told_from_notes_and_counts() {
        assert_eq!(found("address", &["sale", "aB3", "", "2026-news"]).as_deref(), Some("address"));
        assert_eq!(found("short", &["https://s.example/sale", "https://s.example/aB3"]).as_deref(), Some("short"));
        assert_eq!(found("cited", &["710", "387"]), None);
        assert_eq!(found("team", &["sales", "sales"]), None);
        assert_eq!(found("title", &["Sale", "All about it"]), None);
        assert_eq!(found("site", &["https://s.example/a/b", "https://s.example/"]), None);
        assert_eq!(found("empty", &["", ""]), None);
        assert_eq!(code_in("https://s.example/aB3"), "aB3");
    }
}
