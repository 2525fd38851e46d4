//! Table maps: what the columns of a table were when its rows were logged.

use super::cursor::{Cursor, bit};
use super::metadata::Metadata;
use super::{Damaged, Decoded};
use std::collections::HashMap;
use std::sync::Arc;

/// A table, with what its rows need to be read.
#[derive(Clone, Debug)]
pub(in super::super) struct TableMap {
    pub(in super::super) columns: Vec<Column>,
    /// The names of the columns, which the rows share.
    pub(in super::super) names: Arc<[Arc<str>]>,
}

/// A column.
#[derive(Clone, Debug)]
pub(in super::super) struct Column {
    pub(in super::super) kind: Type,
    pub(in super::super) unsigned: bool,
    pub(in super::super) charset: Charset,
    /// The values of an `ENUM` or `SET`.
    pub(in super::super) values: Vec<String>,
}

/// How a value is stored in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Type {
    /// A whole number of so many bytes.
    Int(usize),
    Float,
    Double,
    Decimal {
        precision: u8,
        scale: u8,
    },
    Year,
    Date,
    OldTime,
    OldDatetime,
    OldTimestamp,
    Time(u8),
    Datetime(u8),
    Timestamp(u8),
    /// So many bytes.
    Bit(usize),
    Enum(usize),
    Set(usize),
    /// A text or bytes, with a length of so many bytes before it; a fixed length is that of `CHAR` and `BINARY`.
    Chars {
        prefix: usize,
        fixed: Option<usize>,
        compressed: bool,
    },
    /// Bytes whatever the character set: geometry, and JSON and vectors of MySQL.
    Bytes(usize),
    Null,
}

/// A character set, as far as it is known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Charset {
    Binary,
    /// `utf8mb4`, `utf8mb3`, `ascii`.
    Utf8,
    /// Windows-1252, with the five codes it lacks as they are.
    Latin1,
    /// Its values are given as bytes.
    Other,
}

impl Charset {
    fn named(name: &str) -> Self {
        match name {
            "binary" => Self::Binary,
            "utf8" | "utf8mb3" | "utf8mb4" | "ascii" => Self::Utf8,
            "latin1" => Self::Latin1,
            _ => Self::Other,
        }
    }
}

/// The character set of each collation of a server.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Charsets(HashMap<u64, Charset>);

impl Charsets {
    /// From pairs of collation and name of the character set.
    pub(in super::super) fn new(pairs: impl IntoIterator<Item = (u64, String)>) -> Self {
        Self(pairs.into_iter().map(|(id, name)| (id, Charset::named(&name))).collect())
    }

    pub(super) fn of(&self, collation: u64) -> Charset {
        self.0.get(&collation).copied().unwrap_or(Charset::Other)
    }
}

/// The beginning of a table map.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Head<'a> {
    pub(in super::super) id: u64,
    pub(in super::super) schema: &'a str,
    pub(in super::super) name: &'a str,
    rest: Cursor<'a>,
}

impl<'a> Head<'a> {
    pub(in super::super) fn decode(body: &'a [u8]) -> Decoded<Self> {
        let mut from = Cursor::new(body);
        let id = from.little(6)?;
        from.u16()?;
        let mut name = || {
            let length = usize::from(from.u8()?);
            let bytes = from.take(length)?;
            from.u8()?;
            std::str::from_utf8(bytes).map_err(|_| Damaged::new("the name of a table is not UTF-8"))
        };
        let (schema, table) = (name()?, name()?);
        Ok(Self { id, schema, name: table, rest: from })
    }
}

impl TableMap {
    /// The columns of the table whose map begins so. `None`: the server logs no names of columns.
    pub(in super::super) fn decode(head: Head<'_>, charsets: &Charsets) -> Decoded<Option<Self>> {
        let mut from = head.rest;
        let count = from.length()?;
        let types = from.take(count)?;
        let length = from.length()?;
        let mut numbers = Cursor::new(from.take(length)?);
        from.take(count.div_ceil(8))?;
        let mut kinds = Vec::with_capacity(count);
        for raw in types {
            kinds.push(Type::decode(*raw, &mut numbers)?);
        }
        if !numbers.is_empty() {
            return Err(Damaged::new("a table map has more type metadata than its columns need"));
        }
        let metadata = Metadata::decode(from, &kinds, charsets)?;
        if metadata.names.is_empty() && count > 0 {
            return Ok(None);
        }
        if metadata.names.len() != count {
            return Err(Damaged(format!("{} names of {count} columns", metadata.names.len())));
        }
        Ok(Some(Self { names: metadata.names.into(), columns: metadata.columns }))
    }
}

/// The form of a rows event and the table agree on which columns are logged.
pub(super) fn logged(map: &[u8], columns: usize) -> usize {
    (0..columns).filter(|n| bit(map, *n)).count()
}

impl Type {
    fn decode(raw: u8, numbers: &mut Cursor<'_>) -> Decoded<Self> {
        let chars = |prefix, compressed| Self::Chars { prefix, fixed: None, compressed };
        Ok(match raw {
            1 => Self::Int(1),
            2 => Self::Int(2),
            3 => Self::Int(4),
            8 => Self::Int(8),
            9 => Self::Int(3),
            4 => sized(numbers, 4, Self::Float)?,
            5 => sized(numbers, 8, Self::Double)?,
            6 => Self::Null,
            7 => Self::OldTimestamp,
            10 | 14 => Self::Date,
            11 => Self::OldTime,
            12 => Self::OldDatetime,
            13 => Self::Year,
            15 | 253 => chars(prefix(numbers.u16()?), false),
            141 => chars(prefix(numbers.u16()?), true),
            16 => {
                let (bits, bytes) = (numbers.u8()?, numbers.u8()?);
                Self::Bit(at_most(usize::from(bytes) + usize::from(bits > 0), 8)?)
            }
            17 => Self::Timestamp(numbers.u8()?),
            18 => Self::Datetime(numbers.u8()?),
            19 => Self::Time(numbers.u8()?),
            140 => chars(at_most(usize::from(numbers.u8()?), 4)?, true),
            249..=252 => chars(at_most(usize::from(numbers.u8()?), 4)?, false),
            242 | 245 | 255 => Self::Bytes(at_most(usize::from(numbers.u8()?), 4)?),
            246 => Self::Decimal { precision: numbers.u8()?, scale: numbers.u8()? },
            254 => Self::string(numbers.u8()?, numbers.u8()?)?,
            other => return Err(Damaged(format!("a column of type {other}"))),
        })
    }

    /// `CHAR`, `BINARY`, `ENUM` and `SET`. Of long `CHAR`s two bits of the length are stored in the type.
    fn string(kind: u8, low: u8) -> Decoded<Self> {
        let (kind, length) = match kind & 0x30 {
            0x30 => (kind, u16::from(low)),
            high => (kind | 0x30, u16::from(low) | u16::from(high ^ 0x30) << 4),
        };
        match kind {
            247 => Ok(Self::Enum(at_most(usize::from(length), 2)?)),
            248 => Ok(Self::Set(at_most(usize::from(length), 8)?)),
            254 => Ok(Self::Chars { prefix: prefix(length), fixed: Some(usize::from(length)), compressed: false }),
            other => Err(Damaged(format!("a string column of type {other}"))),
        }
    }

    /// The sign of the column is in the metadata.
    pub(super) fn is_numeric(self) -> bool {
        matches!(self, Self::Int(_) | Self::Float | Self::Double | Self::Decimal { .. } | Self::Year)
    }

    /// The collation of the column is in the metadata.
    pub(super) fn is_text(self) -> bool {
        matches!(self, Self::Chars { .. })
    }

    pub(super) fn is_choice(self) -> bool {
        matches!(self, Self::Enum(_) | Self::Set(_))
    }
}

fn sized(numbers: &mut Cursor<'_>, size: u8, kind: Type) -> Decoded<Type> {
    match numbers.u8()? {
        found if found == size => Ok(kind),
        found => Err(Damaged(format!("a floating-point number of {found} bytes"))),
    }
}

fn prefix(length: u16) -> usize {
    if length < 256 { 1 } else { 2 }
}

fn at_most(found: usize, limit: usize) -> Decoded<usize> {
    if (1..=limit).contains(&found) { Ok(found) } else { Err(Damaged(format!("a length of {found} bytes"))) }
}
