//! One statement for all databases: `?` stands for a value, `{now}` for the database's own time, `{skip locked}` for the words
//! that let claims pass each other, `{values}` and `{if marked}` around the values of a row that is inserted only if its work's mark
//! is there (where a statement can ask that), `{greatest}` and `{least}` for functions of several values.

use super::dialect::{Dialect, Kind};
use super::{Database, Row};
use std::sync::OnceLock;

/// The text of a statement, made once for each database. Keep it in a `static`.
pub(crate) struct Statement {
    source: &'static str,
    ready: [OnceLock<&'static str>; 3],
}

/// A value of a statement.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// A number.
    Int(i64),
    /// A number, or nothing.
    MaybeInt(Option<i64>),
    /// Bytes.
    Bytes(&'a [u8]),
    /// Bytes, or nothing.
    MaybeBytes(Option<&'a [u8]>),
    /// Text.
    Text(&'a str),
    /// Text, or nothing.
    MaybeText(Option<&'a str>),
}

impl Value<'_> {
    /// A count or a time; nothing real is above the largest number of a database.
    pub(crate) fn count(number: u64) -> Self {
        Self::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl Statement {
    /// A statement that is the same everywhere but for the marks.
    pub(crate) const fn new(source: &'static str) -> Self {
        Self { source, ready: [OnceLock::new(), OnceLock::new(), OnceLock::new()] }
    }

    /// How the database of this type wants it.
    pub(crate) fn text<DB: Dialect>(&'static self) -> &'static str {
        self.ready[DB::KIND as usize].get_or_init(|| translate::<DB>(self.source).leak())
    }
}

/// Written once per statement and database, so it may live as long as the program.
fn translate<DB: Dialect>(source: &str) -> String {
    let (greatest, least) = if DB::KIND == Kind::Sqlite { ("MAX", "MIN") } else { ("GREATEST", "LEAST") };
    let text = source.replace("{now}", DB::NOW_MS).replace("{skip locked}", DB::SKIP_LOCKED);
    let text = text.replace("{greatest}", greatest).replace("{least}", least);
    // An `INSERT .. SELECT` without a table is dearer.
    let (before, after) = if DB::IF_MARKED.is_empty() { ("VALUES (", ")") } else { ("SELECT ", DB::IF_MARKED) };
    let text = text.replace("{values}", before).replace("{if marked}", after);
    if DB::KIND != Kind::Postgres {
        return text;
    }
    let mut numbered = String::with_capacity(text.len() + 16);
    let mut number = 0;
    for part in text.split_inclusive('?') {
        match part.strip_suffix('?') {
            Some(before) => {
                number += 1;
                numbered.push_str(before);
                numbered.push('$');
                numbered.push_str(&number.to_string());
            }
            None => numbered.push_str(part),
        }
    }
    numbered
}

/// The most values that a list in a statement may have.
pub(crate) const LIST_MAX: usize = 256;

/// Lists come in few sizes, so that a connection keeps few prepared statements.
const LIST_SIZES: [usize; 3] = [1, 16, LIST_MAX];

/// A statement with a list of values, written `(..)`, at its end.
pub(crate) struct Lists {
    source: &'static str,
    ready: [[OnceLock<&'static str>; 3]; LIST_SIZES.len()],
}

impl Lists {
    /// The list must come after all other values.
    pub(crate) const fn new(source: &'static str) -> Self {
        Self { source, ready: [const { [const { OnceLock::new() }; 3] }; LIST_SIZES.len()] }
    }

    /// Sends it, with at most [`LIST_MAX`] values in the list; the number of rows that it found.
    pub(crate) async fn execute<DB: Database>(
        &'static self,
        connection: &mut DB::Connection,
        before: &[Value<'_>],
        list: &[Value<'_>],
    ) -> Result<u64, sqlx::Error> {
        let Some((size, list)) = padded(list) else { return Ok(0) };
        DB::execute(connection, self.text::<DB>(size), &[before, &list].concat()).await
    }

    /// Sends it, with at most [`LIST_MAX`] values in the list; the rows that it found.
    pub(crate) async fn rows<DB: Database>(
        &'static self,
        connection: &mut DB::Connection,
        before: &[Value<'_>],
        list: &[Value<'_>],
    ) -> Result<Vec<Row<DB>>, sqlx::Error> {
        let Some((size, list)) = padded(list) else { return Ok(Vec::new()) };
        let rows = DB::rows(connection, self.text::<DB>(size), &[before, &list].concat()).await?;
        Ok(rows.into_iter().map(Row).collect())
    }

    fn text<DB: Dialect>(&'static self, size: usize) -> &'static str {
        self.ready[size][DB::KIND as usize].get_or_init(|| {
            let marks = vec!["?"; LIST_SIZES[size]].join(", ");
            translate::<DB>(&self.source.replace("(..)", &format!("({marks})"))).leak()
        })
    }
}

/// A list filled to one of the sizes by repeating its last value, and the place of that size.
fn padded<T: Copy>(values: &[T]) -> Option<(usize, Vec<T>)> {
    let last = *values.last()?;
    let size = LIST_SIZES.iter().position(|size| *size >= values.len())?;
    let mut filled = values.to_vec();
    filled.resize(LIST_SIZES[size], last);
    Some((size, filled))
}

#[cfg(test)]
mod tests {
    use super::padded;

    #[test]
    fn a_list_is_filled_to_one_of_few_sizes() {
        assert_eq!(padded::<u8>(&[]), None);
        assert_eq!(padded(&[7]), Some((0, vec![7])));
        let (size, filled) = padded(&[1, 2, 3]).unwrap_or_default();
        assert_eq!((size, filled.len(), filled[15]), (1, 16, 3));
        assert_eq!(padded(&[0; 257]), None, "too long for one statement");
    }

    #[cfg(feature = "postgres")]
    #[test]
    fn postgres_counts_its_values() {
        use super::Statement;
        static WITH_TWO: Statement = Statement::new("UPDATE t SET a = ? WHERE b = ? AND c < {now}");
        let text = WITH_TWO.text::<sqlx::Postgres>();
        assert!(text.starts_with("UPDATE t SET a = $1 WHERE b = $2 AND c < "), "{text}");
        assert!(!text.contains(['?', '{']), "{text}");
    }
}
