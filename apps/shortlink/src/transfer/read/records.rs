//! [`Records`]: parses a file into rows, valid and invalid, with the position after each.

use super::columns::Columns;
use super::csv::{self, CsvFault};
use super::lines::{LINE_BYTES_MAX, Line, Lines};
use super::position::Position;
use crate::transfer::Format;
use crate::transfer::row::{AliasValue, Column, PartialRow, TransferRow};
use anyhow::{Context, Result};
use serde_json::{Map, Value};
use std::collections::VecDeque;
use std::io::BufRead;

/// The UTF-8 byte order mark, which spreadsheet programs write.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Unknown field names that are reported; a JSON Lines file may have any number of them.
const UNKNOWN_MAX: usize = 20;

/// One row of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The number of its (first) line.
    pub line: u64,
    /// Its offset, and the offset of the next record.
    pub span: (u64, u64),
    /// The row, or why the record is invalid.
    pub row: Result<TransferRow, String>,
}

/// Parses a file into rows. Blank lines and lines that begin with `#` are skipped.
pub struct Records<R> {
    lines: Lines<R>,
    /// Lines that were read and turned out not to belong to the previous record.
    ahead: VecDeque<Line>,
    format: Format,
    /// For TSV and CSV.
    columns: Option<Columns>,
    header: Option<(u64, u64)>,
    position: Position,
    /// Unknown field names, without duplicates.
    unknown: Vec<String>,
}

impl<R: BufRead> Records<R> {
    /// Starts reading `input`, whose name in error messages is `name`. `columns` are the column names of a file without a header
    /// line.
    ///
    /// # Errors
    /// The header line or `columns` are invalid, or the input cannot be read.
    pub fn new(input: R, format: Format, columns: Option<&[String]>, name: &str) -> Result<Self> {
        let mut records = Self {
            lines: Lines::new(input),
            ahead: VecDeque::new(),
            format,
            columns: None,
            header: None,
            position: Position::default(),
            unknown: Vec::new(),
        };
        if format != Format::JsonLines {
            let columns = match columns {
                Some(names) => Columns::read(names, "--columns")?,
                None => records.read_header(name)?,
            };
            records.unknown.clone_from(&columns.unknown);
            records.columns = Some(columns);
        }
        Ok(records)
    }

    /// The span of the header line.
    pub(in crate::transfer) fn header(&self) -> Option<(u64, u64)> {
        self.header
    }

    /// The position after the last record.
    #[must_use]
    pub fn position(&self) -> &Position {
        &self.position
    }

    /// The unknown field names found so far.
    pub(super) fn unknown(&self) -> &[String] {
        &self.unknown
    }

    /// Skips to `position`. Returns whether the file is unchanged up to there.
    ///
    /// # Errors
    /// The input cannot be read.
    pub fn skip_to(&mut self, position: &Position) -> std::io::Result<bool> {
        while self.position.offset < position.offset {
            match self.next_line()? {
                Some(line) => self.position.pass(&line),
                None => break,
            }
        }
        Ok(self.position == *position)
    }

    /// The next record; `None` at the end.
    ///
    /// # Errors
    /// The input cannot be read.
    pub fn next_record(&mut self) -> std::io::Result<Option<Record>> {
        let Some(first) = self.next_content()? else { return Ok(None) };
        let (line, start) = (first.number, first.start);
        let row = match self.format {
            Format::Csv => self.csv_row(&first)?,
            Format::Tsv => self.whole(&first).and_then(|text| self.fields_row(&tsv_fields(text))),
            Format::JsonLines => {
                let row = self.whole(&first).map(<[u8]>::to_vec);
                row.and_then(|text| self.json_row(&text))
            }
        };
        Ok(Some(Record { line, span: (start, self.position.offset), row }))
    }

    fn read_header(&mut self, name: &str) -> Result<Columns> {
        let line = self.next_content().with_context(|| format!("cannot read {name}"))?;
        let line = line.with_context(|| format!("{name} is empty: it has no header line"))?;
        let place = format!("{name}, line {}", line.number);
        let text =
            line.text.with_context(|| format!("{place}: the header line is longer than {LINE_BYTES_MAX} bytes"))?;
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&text);
        let names = if self.format == Format::Csv { csv::split(text).unwrap_or_default() } else { tsv_fields(text) };
        let names: Vec<_> = names.iter().map(|name| String::from_utf8_lossy(name)).collect();
        self.header = Some((line.start, line.end));
        Columns::read(&names, &place)
    }

    /// The next line that is neither blank nor a comment. Advances the position past it.
    fn next_content(&mut self) -> std::io::Result<Option<Line>> {
        while let Some(line) = self.next_line()? {
            self.position.pass(&line);
            let blank = line.text.as_ref().is_some_and(|text| text.trim_ascii().is_empty() || text.starts_with(b"#"));
            if !blank {
                return Ok(Some(line));
            }
        }
        Ok(None)
    }

    fn next_line(&mut self) -> std::io::Result<Option<Line>> {
        match self.ahead.pop_front() {
            Some(line) => Ok(Some(line)),
            None => self.lines.next(),
        }
    }

    fn whole<'l>(&self, line: &'l Line) -> Result<&'l [u8], String> {
        let text = line.text.as_ref().ok_or_else(|| format!("the line is longer than {LINE_BYTES_MAX} bytes"))?;
        // A file without a header line may begin with the mark as well.
        Ok(if line.number == 1 { text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text) } else { text })
    }

    /// Parses the record that begins at `first` and may continue over line ends inside quotes. If the quote is not closed within
    /// [`LINE_BYTES_MAX`], only `first` is rejected: a missing quote must not consume the rest of the file.
    fn csv_row(&mut self, first: &Line) -> std::io::Result<Result<TransferRow, String>> {
        let mut record = match self.whole(first) {
            Ok(text) => text.to_vec(),
            Err(why) => return Ok(Err(why)),
        };
        let mut more = Vec::new();
        loop {
            match csv::split(&record) {
                Ok(fields) => {
                    more.iter().for_each(|line| self.position.pass(line));
                    return Ok(self.fields_row(&fields));
                }
                Err(CsvFault::AfterQuote) if more.is_empty() => {
                    return Ok(Err("a closing quote is not followed by a comma".to_owned()));
                }
                Err(CsvFault::AfterQuote) => break,
                Err(CsvFault::Open) => {}
            }
            let Some(line) = self.next_line()? else { break };
            let room = LINE_BYTES_MAX - record.len();
            let text = line.text.clone().filter(|text| text.len() < room);
            more.push(line);
            let Some(text) = text else { break };
            record.push(b'\n');
            record.extend(text);
        }
        more.append(&mut self.ahead.drain(..).collect());
        self.ahead = more.into();
        Ok(Err("a quote is not closed".to_owned()))
    }

    fn fields_row(&self, fields: &[Vec<u8>]) -> Result<TransferRow, String> {
        let Some(columns) = &self.columns else { return Err("there are no columns".to_owned()) };
        if fields.len() > columns.len() {
            return Err(format!("{} fields, but {} columns", fields.len(), columns.len()));
        }
        let mut draft = PartialRow::default();
        for (column, field) in columns.pair(fields) {
            let text = str::from_utf8(field).map_err(|_| format!("{}: not valid UTF-8", column.name()))?;
            if !text.is_empty() {
                draft.set(column, text)?;
            }
        }
        draft.finish()
    }

    fn json_row(&mut self, text: &[u8]) -> Result<TransferRow, String> {
        let object: Map<String, Value> = serde_json::from_slice(text).map_err(|error| match error.column() {
            0 => "not a JSON object".to_owned(),
            column => format!("not a JSON object (error at character {column})"),
        })?;
        let mut draft = PartialRow::default();
        for (name, value) in object {
            let Some(column) = Column::named(&name) else {
                if self.unknown.len() < UNKNOWN_MAX && !self.unknown.contains(&name) {
                    self.unknown.push(name);
                }
                continue;
            };
            match (column, value) {
                // The API's representation of a link with a generated code.
                (Column::Alias, Value::Null) => draft.set_alias(AliasValue::Flag(false)),
                (_, Value::Null) => {}
                (Column::Alias, Value::Bool(flag)) => draft.set_alias(AliasValue::Flag(flag)),
                (Column::Alias, Value::String(name)) => draft.set_alias(AliasValue::Name(name)),
                (Column::Banned, Value::Bool(flag)) => draft.set(column, if flag { "true" } else { "false" })?,
                (Column::Version, Value::Number(number)) => draft.set(column, &number.to_string())?,
                (_, Value::String(text)) => draft.set(column, &text)?,
                (column, other) => return Err(format!("{}: {other} has the wrong type", column.name())),
            }
        }
        draft.finish()
    }
}

fn tsv_fields(line: &[u8]) -> Vec<Vec<u8>> {
    line.split(|byte| *byte == b'\t').map(<[u8]>::to_vec).collect()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests;
