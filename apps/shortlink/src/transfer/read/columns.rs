//! [`Columns`]: the columns of a table.

use crate::transfer::row::Column;
use anyhow::{Result, bail};

/// The columns of a table, from left to right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Columns {
    /// `None`: the column is ignored.
    fields: Vec<Option<Column>>,
    /// As in the file.
    names: Vec<String>,
}

impl Columns {
    /// Parses the names of a header line or of `--columns`, ignoring case. An empty name skips its column. `place` is the prefix of
    /// error messages.
    pub(super) fn read<S: AsRef<str>>(names: &[S], place: &str) -> Result<Self> {
        let mut fields = Vec::with_capacity(names.len());
        for name in names {
            let name = name.as_ref().trim();
            let column = Column::named(&name.to_ascii_lowercase());
            if column.is_some() && fields.contains(&column) {
                bail!("{place}: duplicate column {name:?}");
            }
            fields.push(column);
        }
        if !fields.contains(&Some(Column::Target)) {
            let names = names.iter().map(|name| shortened(name.as_ref())).collect::<Vec<_>>().join(", ");
            bail!("{place}: no column \"target\" (found: {names}); name the columns with --columns");
        }
        let names = names.iter().map(|name| name.as_ref().trim().to_owned()).collect();
        Ok(Self { fields, names })
    }

    /// Reads the codes from the unknown column `name`. Returns false if there is none.
    pub(super) fn read_codes_from(&mut self, name: &str) -> bool {
        let found = self.names.iter().position(|known| known.eq_ignore_ascii_case(name));
        let Some(column) = found.and_then(|at| self.fields.get_mut(at)).filter(|column| column.is_none()) else {
            return false;
        };
        *column = Some(Column::Code);
        true
    }

    /// Whether a column has the codes of the links.
    pub(super) fn have_codes(&self) -> bool {
        self.fields.iter().flatten().any(|column| matches!(column, Column::Code | Column::Alias))
    }

    /// The names of the ignored columns.
    pub(super) fn unknown(&self) -> Vec<String> {
        let ignored = self.names.iter().zip(&self.fields).filter(|(name, column)| column.is_none() && !name.is_empty());
        ignored.map(|(name, _)| name.clone()).collect()
    }

    /// The number of columns, ignored ones included.
    pub(super) fn len(&self) -> usize {
        self.fields.len()
    }

    /// The columns with their fields, without the ignored ones.
    pub(super) fn pair<'f>(&self, fields: &'f [Vec<u8>]) -> impl Iterator<Item = (Column, &'f [u8])> {
        self.fields.iter().zip(fields).filter_map(|(column, field)| column.map(|column| (column, field.as_slice())))
    }

    /// The names of the ignored columns with their fields.
    pub(super) fn ignored<'f>(&'f self, fields: &'f [Vec<u8>]) -> impl Iterator<Item = (&'f str, &'f [u8])> {
        let named = self.names.iter().zip(&self.fields).zip(fields);
        let ignored = named.filter(|((name, column), _)| column.is_none() && !name.is_empty());
        ignored.map(|((name, _), field)| (name.as_str(), field.as_slice()))
    }
}

/// The beginning of a name: in a file without a header line the names are data, such as long URLs.
fn shortened(name: &str) -> String {
    const SHOWN: usize = 24;
    if name.chars().count() <= SHOWN {
        return name.to_owned();
    }
    name.chars().take(SHOWN).chain("..".chars()).collect()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::Columns;
    use crate::transfer::row::Column;

    #[test]
    fn header_names_are_matched_without_case() {
        let columns = Columns::read(&["cited", " Target ", "", "CODE"], "x").unwrap();
        assert_eq!(columns.fields, [None, Some(Column::Target), None, Some(Column::Code)]);
        assert_eq!(columns.unknown(), ["cited"]);
    }

    #[test]
    fn duplicate_or_missing_target_column_is_refused() {
        let why = Columns::read(&["target", "code", "Target"], "links.tsv, line 1").unwrap_err().to_string();
        assert_eq!(why, "links.tsv, line 1: duplicate column \"Target\"");
        let why = Columns::read(&["12", "https://example.com/a/rather/long/one"], "links.tsv, line 1")
            .unwrap_err()
            .to_string();
        assert_eq!(
            why,
            "links.tsv, line 1: no column \"target\" (found: 12, https://example.com/a/ra..); name the columns with --columns"
        );
    }
}
