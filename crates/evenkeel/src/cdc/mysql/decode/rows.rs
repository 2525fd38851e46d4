//! Rows events: the images of rows before and after.

use super::cursor::{Cursor, bit};
use super::header::{Action, RowsKind};
use super::table::{TableMap, logged};
use super::{Damaged, Decoded, inflate, value};
use crate::cdc::source::{Row, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// A rows event without its rows.
#[derive(Clone, Debug)]
pub(in super::super) struct RowsEvent<'a> {
    action: Action,
    width: usize,
    /// Which columns the images have: of updates before and after.
    logged: [&'a [u8]; 2],
    rows: Cow<'a, [u8]>,
}

/// The number of no table: an event that only ends a statement.
const NO_TABLE: u64 = 0xff_ffff;

impl<'a> RowsEvent<'a> {
    /// The number of the event's table. `None`: the event has no rows.
    pub(in super::super) fn table(body: &[u8]) -> Decoded<Option<u64>> {
        Ok(Some(Cursor::new(body).little(6)?).filter(|table| *table != NO_TABLE))
    }

    pub(in super::super) fn decode(kind: RowsKind, body: &'a [u8]) -> Decoded<Self> {
        let mut from = Cursor::new(body);
        from.take(8)?;
        if kind.extended {
            let length = usize::from(from.u16()?);
            from.take(length.checked_sub(2).ok_or_else(|| Damaged::new("a rows event with a header of no length"))?)?;
        }
        let width = from.length()?;
        let bytes = width.div_ceil(8);
        let first = from.take(bytes)?;
        let second = if kind.action == Action::Update { from.take(bytes)? } else { first };
        let rows = if kind.compressed { Cow::Owned(inflate::event(from.rest())?) } else { Cow::Borrowed(from.rest()) };
        Ok(Self { action: kind.action, width, logged: [first, second], rows })
    }

    /// The rows. The columns are those of the table map with the number of this event.
    pub(in super::super) fn rows<'b>(&'b self, table: &'b TableMap) -> Decoded<Rows<'b>> {
        if table.columns.len() != self.width {
            return Err(Damaged(format!("rows of {} columns of a table with {}", self.width, table.columns.len())));
        }
        Ok(Rows { event: self, table, rest: Cursor::new(&self.rows) })
    }
}

/// The rows of an event.
#[derive(Clone, Debug)]
pub(in super::super) struct Rows<'a> {
    event: &'a RowsEvent<'a>,
    table: &'a TableMap,
    rest: Cursor<'a>,
}

/// A row before and after.
pub(in super::super) type Images = (Option<Row>, Option<Row>);

impl Rows<'_> {
    /// The next row.
    pub(in super::super) fn next(&mut self) -> Decoded<Option<Images>> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let left = self.rest.rest().len();
        let images = match self.event.action {
            Action::Write => (None, Some(self.image(0)?)),
            Action::Delete => (Some(self.image(0)?), None),
            Action::Update => (Some(self.image(0)?), Some(self.image(1)?)),
        };
        if self.rest.rest().len() == left {
            return Err(Damaged::new("a row of no bytes"));
        }
        Ok(Some(images))
    }

    fn image(&mut self, which: usize) -> Decoded<Row> {
        let there = self.event.logged[which];
        let nulls = self.rest.take(logged(there, self.event.width).div_ceil(8))?;
        let mut values = Vec::with_capacity(self.event.width);
        let mut place = 0;
        for (n, column) in self.table.columns.iter().enumerate() {
            if !bit(there, n) {
                values.push(None);
                continue;
            }
            let null = bit(nulls, place);
            place += 1;
            let next = if null { Value::Null } else { value::decode(&mut self.rest, column)? };
            values.push(Some(next));
        }
        Ok(Row::new(Arc::clone(&self.table.names), values))
    }
}
