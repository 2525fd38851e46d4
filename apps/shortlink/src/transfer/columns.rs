//! [`Columns`]: which field of a line is what.

use super::row::Column;
use anyhow::{Result, bail};

/// What the fields of a line are, from left to right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Columns {
    /// `None`: the field is left out.
    fields: Vec<Option<Column>>,
    /// Names that mean nothing here.
    pub(super) unknown: Vec<String>,
}

impl Columns {
    /// Reads names from a header line, or from `--columns`. Upper and lower case are the same, an empty name skips a field.
    /// `place` begins the sentence if they cannot be used.
    pub(super) fn read<S: AsRef<str>>(names: &[S], place: &str) -> Result<Self> {
        let mut fields = Vec::with_capacity(names.len());
        let mut unknown = Vec::new();
        for name in names {
            let name = name.as_ref().trim();
            let column = Column::named(&name.to_ascii_lowercase());
            if column.is_some() && fields.contains(&column) {
                bail!("{place}: the column {name:?} is named twice");
            }
            if column.is_none() && !name.is_empty() {
                unknown.push(name.to_owned());
            }
            fields.push(column);
        }
        if !fields.contains(&Some(Column::Target)) {
            let names = names.iter().map(|name| shortened(name.as_ref())).collect::<Vec<_>>().join(", ");
            bail!("{place}: no column is called \"target\" (they are: {names}); name the columns with --columns");
        }
        Ok(Self { fields, unknown })
    }

    /// The columns of an export.
    pub(super) fn len(&self) -> usize {
        self.fields.len()
    }

    /// The columns with their fields, those that are left out excepted.
    pub(super) fn pair<'f>(&self, fields: &'f [Vec<u8>]) -> impl Iterator<Item = (Column, &'f [u8])> {
        self.fields.iter().zip(fields).filter_map(|(column, field)| column.map(|column| (column, field.as_slice())))
    }
}

/// A file without a header line has whole addresses for names; a few characters tell which line it was.
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
    fn names_become_columns() {
        let columns = Columns::read(&["cited", " Target ", "", "CODE"], "x").unwrap();
        assert_eq!(columns.fields, [None, Some(Column::Target), None, Some(Column::Code)]);
        assert_eq!(columns.unknown, ["cited"]);
    }

    #[test]
    fn what_cannot_be_used_is_told() {
        let why = Columns::read(&["target", "code", "Target"], "links.tsv, line 1").unwrap_err().to_string();
        assert_eq!(why, "links.tsv, line 1: the column \"Target\" is named twice");
        let why = Columns::read(&["12", "https://example.com/a/rather/long/one"], "links.tsv, line 1")
            .unwrap_err()
            .to_string();
        assert_eq!(
            why,
            "links.tsv, line 1: no column is called \"target\" (they are: 12, https://example.com/a/ra..); name the columns \
             with --columns"
        );
    }
}
