//! The metadata behind a table map (`binlog_row_metadata=FULL`): names, signs, collations, values of enumerations.

use super::cursor::{Cursor, high_bit};
use super::table::{Charset, Charsets, Column, Type};
use super::value::text;
use super::{Damaged, Decoded};
use std::sync::Arc;

pub(super) struct Metadata {
    pub(super) columns: Vec<Column>,
    /// Empty if the server does not log them.
    pub(super) names: Vec<Arc<str>>,
}

impl Metadata {
    pub(super) fn decode(mut from: Cursor<'_>, kinds: &[Type], charsets: &Charsets) -> Decoded<Self> {
        let new = |kind: &Type| Column { kind: *kind, unsigned: false, charset: Charset::Other, values: Vec::new() };
        let mut metadata = Self { columns: kinds.iter().map(new).collect(), names: Vec::new() };
        let mut values = [None, None];
        while !from.is_empty() {
            let field = from.u8()?;
            let length = from.length()?;
            let mut field_bytes = Cursor::new(from.take(length)?);
            match field {
                1 => metadata.signs(field_bytes),
                2 => metadata.default_charset(&mut field_bytes, Type::is_text, charsets)?,
                3 => metadata.charsets(&mut field_bytes, Type::is_text, charsets)?,
                4 => metadata.names(&mut field_bytes)?,
                5 => values[0] = Some(field_bytes),
                6 => values[1] = Some(field_bytes),
                10 => metadata.default_charset(&mut field_bytes, Type::is_choice, charsets)?,
                11 => metadata.charsets(&mut field_bytes, Type::is_choice, charsets)?,
                // Geometry types, primary keys, visibility: no value needs them.
                _ => {}
            }
        }
        // Their character set comes after them.
        let [sets, enums] = values;
        if let Some(mut sets) = sets {
            metadata.values(&mut sets, |kind| matches!(kind, Type::Set(_)))?;
        }
        if let Some(mut enums) = enums {
            metadata.values(&mut enums, |kind| matches!(kind, Type::Enum(_)))?;
        }
        Ok(metadata)
    }

    fn of(&mut self, wanted: impl Fn(Type) -> bool) -> impl Iterator<Item = &mut Column> {
        self.columns.iter_mut().filter(move |column| wanted(column.kind))
    }

    fn signs(&mut self, from: Cursor<'_>) {
        for (n, column) in self.of(Type::is_numeric).enumerate() {
            column.unsigned = high_bit(from.rest(), n);
        }
    }

    fn default_charset(
        &mut self,
        from: &mut Cursor<'_>,
        wanted: impl Fn(Type) -> bool,
        charsets: &Charsets,
    ) -> Decoded<()> {
        let default = charsets.of(from.length()? as u64);
        let mut others = Vec::new();
        while !from.is_empty() {
            others.push((from.length()?, charsets.of(from.length()? as u64)));
        }
        for (n, column) in self.of(wanted).enumerate() {
            column.charset = others.iter().find(|(at, _)| *at == n).map_or(default, |(_, charset)| *charset);
        }
        Ok(())
    }

    fn charsets(&mut self, from: &mut Cursor<'_>, wanted: impl Fn(Type) -> bool, charsets: &Charsets) -> Decoded<()> {
        for column in self.of(wanted) {
            column.charset = charsets.of(from.length()? as u64);
        }
        Ok(())
    }

    fn names(&mut self, from: &mut Cursor<'_>) -> Decoded<()> {
        while !from.is_empty() {
            self.names.push(Arc::from(from.text()?));
        }
        Ok(())
    }

    fn values(&mut self, from: &mut Cursor<'_>, wanted: impl Fn(Type) -> bool) -> Decoded<()> {
        for column in self.of(wanted) {
            for _ in 0..from.length()? {
                let length = from.length()?;
                let bytes = from.take(length)?;
                let value = text(bytes, column.charset)?;
                column.values.push(value.ok_or_else(|| Damaged::new("an ENUM or SET in an unknown character set"))?);
            }
        }
        Ok(())
    }
}
