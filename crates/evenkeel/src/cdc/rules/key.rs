//! The key of a change: what columns of a row say, in the form of the keys of caches.

use crate::cdc::source::{Change, Kind, Value};
use evenkeel_link::support::guard;
use std::fmt::Write;

/// The longest key, in bytes: that of its column in the table of parked keys.
const KEY_BYTES_MAX: usize = 512;

/// A column of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) name: String,
    /// Its sixteen bytes are written as a UUID, as the cache key `[u8; 16]` is.
    pub(super) is_uuid: bool,
}

/// Why a change has no key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cdc) enum KeyError {
    /// The log has no image of the row before.
    ImageMissing,
    /// The image has no such column.
    ColumnMissing(String),
    /// The value of this column cannot be a key.
    Unusable(String),
}

impl KeyError {
    /// What is missing, and what to do.
    pub(in crate::cdc) fn text(&self) -> String {
        match self {
            Self::ImageMissing => "the log has no image of the row before; record whole rows \
                              (MySQL: binlog_row_image=FULL; PostgreSQL: ALTER TABLE .. REPLICA IDENTITY FULL)"
                .to_owned(),
            Self::ColumnMissing(name) => format!(
                "the log has no value of column {name:?}; correct the rule, or record whole rows \
                 (MySQL: binlog_row_image=FULL; PostgreSQL: ALTER TABLE .. REPLICA IDENTITY FULL)"
            ),
            Self::Unusable(name) => {
                format!(
                    "the value of column {name:?} cannot be a key: use a number, a text or a UUID of at most 512 bytes"
                )
            }
        }
    }
}

/// The keys of a change: of the row before and of the row after, which differ if the key was changed. A row whose key has a NULL has no
/// key: no entry is stored under it.
pub(super) fn keys_of(columns: &[Column], change: &Change) -> Result<Vec<Vec<u8>>, KeyError> {
    let mut keys = Vec::with_capacity(2);
    let (before, after) = (change.before.as_ref(), change.after.as_ref());
    if matches!(change.kind, Kind::Update | Kind::Delete) && guard("cdc_image_before") {
        let before = before.ok_or(KeyError::ImageMissing)?;
        keys.extend(key_of(columns, |name| before.get(name))?);
    }
    if let Some(after) = after {
        // A column that the row after leaves out has not changed.
        let value = |name: &str| after.get(name).or_else(|| before?.get(name));
        keys.extend(key_of(columns, value)?);
    }
    keys.dedup();
    Ok(keys)
}

fn key_of<'a>(columns: &[Column], value: impl Fn(&str) -> Option<&'a Value>) -> Result<Option<Vec<u8>>, KeyError> {
    let mut key = Vec::new();
    for (place, column) in columns.iter().enumerate() {
        let value = value(&column.name);
        let value = match value {
            None if guard("cdc_absent_is_not_null") => return Err(KeyError::ColumnMissing(column.name.clone())),
            None | Some(Value::Null) => return Ok(None),
            Some(value) => value,
        };
        if place > 0 {
            key.push(b',');
        }
        write(value, column, &mut key)?;
    }
    if key.is_empty() {
        key.push(b'\\');
    }
    if key.len() > KEY_BYTES_MAX {
        return Err(KeyError::Unusable(columns.first().map(|column| column.name.clone()).unwrap_or_default()));
    }
    Ok(Some(key))
}

/// The form in which `cache::CacheKey` writes a value.
fn write(value: &Value, column: &Column, key: &mut Vec<u8>) -> Result<(), KeyError> {
    let bytes = match value {
        Value::Bytes(bytes) if column.is_uuid && bytes.len() == 16 => {
            let mut text = String::with_capacity(36);
            for (at, byte) in bytes.iter().enumerate() {
                if matches!(at, 4 | 6 | 8 | 10) {
                    text.push('-');
                }
                let _ = write!(text, "{byte:02x}");
            }
            text.into_bytes()
        }
        Value::Text(text) if column.is_uuid => text.to_ascii_lowercase().into_bytes(),
        Value::Bool(value) => value.to_string().into_bytes(),
        Value::Int(value) => value.to_string().into_bytes(),
        Value::Unsigned(value) => value.to_string().into_bytes(),
        Value::Text(text) if !column.is_uuid => text.as_bytes().to_vec(),
        Value::Bytes(bytes) if !column.is_uuid => bytes.clone(),
        _ => return Err(KeyError::Unusable(column.name.clone())),
    };
    for byte in bytes {
        if matches!(byte, b',' | b'\\') {
            key.push(b'\\');
        }
        key.push(byte);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cdc::source::{Row, Table};

    fn columns(names: &[&str]) -> Vec<Column> {
        names.iter().map(|name| Column { name: (*name).to_owned(), is_uuid: name.starts_with("uuid") }).collect()
    }

    fn change(kind: Kind, before: Option<Row>, after: Option<Row>) -> Change {
        Change { table: Table { schema: "main".into(), name: "users".into() }, kind, before, after }
    }

    fn row<const N: usize>(values: [(&str, Value); N]) -> Row {
        values.into_iter().collect()
    }

    fn text(value: &str) -> Value {
        Value::Text(value.to_owned())
    }

    // shows: hazard CD2
    #[test]
    fn changed_key_names_both_entries() {
        let (before, after) = (row([("mail", text("a@b"))]), row([("mail", text("c@d"))]));
        let change = change(Kind::Update, Some(before), Some(after));
        assert_eq!(keys_of(&columns(&["mail"]), &change), Ok(vec![b"a@b".to_vec(), b"c@d".to_vec()]));
    }

    // shows: D3
    #[test]
    fn column_left_out_after_has_not_changed() {
        let before = row([("id", Value::Int(7)), ("name", text("Ada"))]);
        let after = row([("name", text("Grace"))]);
        let change = change(Kind::Update, Some(before), Some(after));
        assert_eq!(keys_of(&columns(&["id"]), &change), Ok(vec![b"7".to_vec()]));
    }

    // shows: D3, hazard CD3
    #[test]
    fn absent_column_is_not_null() {
        let columns = columns(&["mail"]);
        let null = row([("mail", Value::Null)]);
        assert_eq!(keys_of(&columns, &change(Kind::Insert, None, Some(null.clone()))), Ok(vec![]));
        let absent = row([("id", Value::Int(1))]);
        let missing = Err(KeyError::ColumnMissing("mail".to_owned()));
        assert_eq!(keys_of(&columns, &change(Kind::Insert, None, Some(absent.clone()))), missing);
        assert_eq!(keys_of(&columns, &change(Kind::Update, Some(absent), Some(null))), missing);
        assert_eq!(keys_of(&columns, &change(Kind::Delete, None, None)), Err(KeyError::ImageMissing));
    }

    // shows: D3
    #[test]
    fn value_that_cannot_be_a_key_is_an_error() {
        let long = row([("id", text(&"k".repeat(KEY_BYTES_MAX + 1)))]);
        for row in [row([("id", Value::Float(1.5))]), long] {
            let change = change(Kind::Insert, None, Some(row));
            assert_eq!(keys_of(&columns(&["id"]), &change), Err(KeyError::Unusable("id".to_owned())));
        }
    }

    #[cfg(feature = "cache")]
    #[test]
    fn keys_are_written_as_those_of_caches() {
        use crate::cache::key_text;
        let check = |names: &[&str], row: Row, expected: String| {
            let keys = keys_of(&columns(names), &change(Kind::Insert, None, Some(row)));
            assert_eq!(keys, Ok(vec![expected.into_bytes()]));
        };
        check(&["id"], row([("id", Value::Int(-7))]), key_text(&-7_i64));
        check(&["id"], row([("id", Value::Unsigned(u64::MAX))]), key_text(&u64::MAX));
        check(&["id"], row([("id", Value::Bool(true))]), key_text(&true));
        check(&["id"], row([("id", text(""))]), key_text(""));
        check(&["id"], row([("id", text("a,b\\"))]), key_text("a,b\\"));
        check(&["id"], row([("id", Value::Bytes(b"a,b".to_vec()))]), key_text(&b"a,b"[..]));
        check(&["uuid"], row([("uuid", Value::Bytes(vec![0x2c; 16]))]), key_text(&[0x2c_u8; 16]));
        let uuid = "2C2C2C2C-2c2c-2c2c-2c2c-2c2c2c2c2c2c";
        check(&["uuid"], row([("uuid", text(uuid))]), key_text(&[0x2c_u8; 16]));
        check(&["a", "b"], row([("b", Value::Int(2)), ("a", text("x,"))]), key_text(&("x,", 2_u8)));
    }
}
