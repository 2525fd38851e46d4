//! [`Records`]: parses a file into rows, valid and invalid, with the position after each.

use super::columns::Columns;
use super::csv::{self, CsvFault};
use super::lines::{LINE_BYTES_MAX, Line, Lines};
use super::position::Position;
use super::suspects::{Suspects, code_in};
use crate::transfer::Format;
use crate::transfer::row::{AliasValue, Column, PartialRow, TransferRow};
use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};
use std::collections::VecDeque;
use std::io::BufRead;

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
    /// Of CSV.
    separator: u8,
    /// For TSV and CSV.
    columns: Option<Columns>,
    /// The column that has the codes, if it is not named `code` or `alias`.
    code_column: Option<String>,
    /// `None` if the file names its codes.
    suspects: Option<Suspects>,
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
            separator: csv::SEPARATORS[0],
            columns: None,
            code_column: None,
            suspects: Some(Suspects::default()),
            header: None,
            position: Position::default(),
            unknown: Vec::new(),
        };
        if format != Format::JsonLines {
            let columns = match columns {
                Some(names) => Columns::read(names, "--columns")?,
                None => records.read_header(name)?,
            };
            records.take(columns);
        }
        Ok(records)
    }

    /// Reads the codes from the column `name`: the codes themselves, or the URLs of short links.
    ///
    /// # Errors
    /// The file has no such column, or another column has the codes.
    pub(in crate::transfer) fn read_codes_from(&mut self, name: &str) -> Result<()> {
        if let Some(mut columns) = self.columns.take() {
            if columns.have_codes() {
                bail!("--code-column {name}: the codes are in the column code or alias");
            }
            if !columns.read_codes_from(name) {
                bail!("--code-column {name}: there is no such column");
            }
            self.take(columns);
        }
        self.suspects = None;
        self.code_column = Some(name.to_owned());
        Ok(())
    }

    /// The ignored column that looks like the codes of the links, in the rows read so far.
    pub(super) fn suspect(&self) -> Option<&str> {
        self.suspects.as_ref().and_then(Suspects::found)
    }

    fn take(&mut self, columns: Columns) {
        self.suspects = self.suspects.take().filter(|_| !columns.have_codes());
        self.unknown = columns.unknown();
        self.columns = Some(columns);
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
            Format::Tsv => whole(&first).and_then(|text| self.fields_row(&tsv_fields(text))),
            Format::JsonLines => whole(&first).and_then(|text| self.json_row(text)),
        };
        Ok(Some(Record { line, span: (start, self.position.offset), row }))
    }

    fn read_header(&mut self, name: &str) -> Result<Columns> {
        let line = self.next_content().with_context(|| format!("cannot read {name}"))?;
        let line = line.with_context(|| format!("{name} is empty: it has no header line"))?;
        let place = format!("{name}, line {}", line.number);
        let text =
            line.text.with_context(|| format!("{place}: the header line is longer than {LINE_BYTES_MAX} bytes"))?;
        self.header = Some((line.start, line.end));
        if self.format == Format::Tsv {
            return Columns::read(&names(&tsv_fields(&text)), &place);
        }
        let split = |separator: &u8| names(&csv::split(&text, *separator).unwrap_or_default());
        // The separator with which the file can be read; the errors are those of the comma.
        let read = csv::SEPARATORS.iter().map(|separator| (*separator, Columns::read(&split(separator), &place)));
        let mut read: Vec<_> = read.collect();
        let found = read.iter().position(|(_, columns)| columns.is_ok()).unwrap_or(0);
        let (separator, columns) = read.swap_remove(found);
        self.separator = separator;
        columns
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

    /// Parses the record that begins at `first` and may continue over line ends inside quotes. If the quote is not closed within
    /// [`LINE_BYTES_MAX`], only `first` is rejected: a missing quote must not consume the rest of the file.
    fn csv_row(&mut self, first: &Line) -> std::io::Result<Result<TransferRow, String>> {
        let mut record = match whole(first) {
            Ok(text) => text.to_vec(),
            Err(why) => return Ok(Err(why)),
        };
        let mut more = Vec::new();
        loop {
            match csv::split(&record, self.separator) {
                Ok(fields) => {
                    more.iter().for_each(|line| self.position.pass(line));
                    return Ok(self.fields_row(&fields));
                }
                Err(CsvFault::AfterQuote) if more.is_empty() => {
                    return Ok(Err("a closing quote is not followed by a separator".to_owned()));
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

    fn fields_row(&mut self, fields: &[Vec<u8>]) -> Result<TransferRow, String> {
        let Some(columns) = &self.columns else { return Err("there are no columns".to_owned()) };
        if fields.len() > columns.len() {
            return Err(format!("{} fields, but {} columns", fields.len(), columns.len()));
        }
        let mut draft = PartialRow::default();
        for (column, field) in columns.pair(fields) {
            let text = str::from_utf8(field).map_err(|_| format!("{}: not valid UTF-8", column.name()))?;
            let text = if column == Column::Code && self.code_column.is_some() { code_in(text) } else { text };
            if !text.is_empty() {
                draft.set(column, text)?;
            }
        }
        if let Some(suspects) = &mut self.suspects {
            let ignored = columns.ignored(fields);
            suspects.add(ignored.filter_map(|(name, field)| Some((name, str::from_utf8(field).ok()?))));
        }
        draft.finish()
    }

    fn json_row(&mut self, text: &[u8]) -> Result<TransferRow, String> {
        let object: Map<String, Value> = serde_json::from_slice(text).map_err(|error| match error.column() {
            0 => "not a JSON object".to_owned(),
            column => format!("not a JSON object (error at character {column})"),
        })?;
        let mut draft = PartialRow::default();
        let has_code = object.keys().any(|name| matches!(Column::named(name), Some(Column::Code | Column::Alias)));
        if has_code {
            self.suspects = None;
        } else if let Some(suspects) = &mut self.suspects {
            let texts = object.iter().filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)));
            suspects.add(texts.filter(|(name, _)| Column::named(name).is_none()));
        }
        if let Some(name) = self.code_column.as_ref().filter(|name| !object.contains_key(*name)) {
            return Err(format!("no field {name:?}"));
        }
        for (name, value) in object {
            if self.code_column.as_ref() == Some(&name) {
                if value.is_null() {
                    continue;
                }
                draft.set(Column::Code, code_in(value.as_str().unwrap_or(&value.to_string())))?;
                continue;
            }
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

/// The text of a line that is not too long.
fn whole(line: &Line) -> Result<&[u8], String> {
    line.text.as_deref().ok_or_else(|| format!("the line is longer than {LINE_BYTES_MAX} bytes"))
}

fn names(fields: &[Vec<u8>]) -> Vec<String> {
    fields.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}

fn tsv_fields(line: &[u8]) -> Vec<Vec<u8>> {
    line.split(|byte| *byte == b'\t').map(<[u8]>::to_vec).collect()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests;
