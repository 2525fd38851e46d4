//! Rows and their values, as a log has them.

use std::sync::Arc;

/// The value of a column.
///
/// Types that have no variant of their own (decimals, dates, times, UUIDs, JSON, enumerations) are [`Text`](Self::Text) in the form in which
/// their database prints them.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// SQL `NULL`.
    Null,
    /// A boolean of PostgreSQL. MySQL and SQLite have none: there it is an [`Int`](Self::Int).
    Bool(bool),
    /// A signed number.
    Int(i64),
    /// An unsigned number of MySQL.
    Unsigned(u64),
    /// A floating-point number.
    Float(f64),
    /// A text.
    Text(String),
    /// Bytes that are no text.
    Bytes(Vec<u8>),
}

/// One image of a row: some of its columns. A column that the log left out is told apart from one that is `NULL`.
///
/// A log leaves out columns of an update that did not change (MySQL's `binlog_row_image=MINIMAL`, large values of PostgreSQL).
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    names: Arc<[Arc<str>]>,
    values: Vec<Option<Value>>,
}

impl Row {
    /// A row whose columns have these names, in this order. `None` is a column that the log left out, as is one beyond the end of `values`;
    /// values beyond the last name are ignored. Rows of one table share `names`.
    #[must_use]
    pub fn new(names: Arc<[Arc<str>]>, values: Vec<Option<Value>>) -> Self {
        Self { names, values }
    }

    /// The value of a column; `None` if the log left it out or the row has no column of this name. Names are compared byte by byte.
    #[must_use]
    pub fn get(&self, column: &str) -> Option<&Value> {
        let place = self.names.iter().position(|name| &**name == column)?;
        self.values.get(place)?.as_ref()
    }

    /// The columns that the log has, with their values.
    pub fn columns(&self) -> impl Iterator<Item = (&str, &Value)> {
        let values = self.names.iter().zip(&self.values);
        values.filter_map(|(name, value)| Some((&**name, value.as_ref()?)))
    }
}

impl<'a> FromIterator<(&'a str, Value)> for Row {
    fn from_iter<I: IntoIterator<Item = (&'a str, Value)>>(columns: I) -> Self {
        let (names, values): (Vec<Arc<str>>, Vec<_>) =
            columns.into_iter().map(|(name, value)| (Arc::from(name), Some(value))).unzip();
        Self { names: names.into(), values }
    }
}
