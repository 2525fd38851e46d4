//! `shortlink export`.

use super::format::Format;
use super::read::csv::push_field;
use super::remote::{self, Remote};
use super::row::{Column, TransferRow};
use crate::store::Store;
use anyhow::{Context, Result};
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;
use std::vec;

/// Rows read from the database at a time.
const ROWS_AT_ONCE: u32 = 1000;

/// The source of an export.
pub enum ExportSource {
    /// A database.
    Store(Store),
    /// A running service.
    Server(Box<Remote>),
}

/// Writes all links to `file` (`-`: standard output) in the order in which they were stored. Returns their number.
///
/// The file appears under its name once it is complete. Not a snapshot, see [`Store::rows_after`].
///
/// # Errors
/// The source cannot be read, or the file cannot be written.
pub async fn export(origin: ExportSource, file: &Path, format: Format) -> Result<u64> {
    let mut rows = match origin {
        ExportSource::Store(store) => Rows::Store { store, after: 0, ready: Vec::new().into_iter() },
        ExportSource::Server(mut remote) => Rows::Server(Box::new(remote.export().await?)),
    };
    if file == Path::new("-") {
        return match write_rows(&mut rows, io::stdout().lock(), format).await {
            // The reader closed the pipe (`| head`).
            Err(error) if is_closed_pipe(&error) => Ok(0),
            other => other,
        };
    }
    // A device or a pipe is written directly, because it cannot be replaced by a rename.
    if file.symlink_metadata().is_ok_and(|known| !known.is_file()) {
        let out = File::options().write(true).open(file).with_context(|| cannot_write(file))?;
        return write_rows(&mut rows, out, format).await;
    }
    let partial = file.with_added_extension("partial");
    let out = File::create(&partial).with_context(|| cannot_write(&partial))?;
    let written = async {
        let count = write_rows(&mut rows, &out, format).await?;
        out.sync_all()?;
        std::fs::rename(&partial, file)?;
        Ok(count)
    };
    let written: Result<u64> = written.await;
    if written.is_err() {
        // Best effort: the error of the export is reported.
        let _ = std::fs::remove_file(&partial);
    }
    written.with_context(|| cannot_write(file))
}

/// The rows of an export.
enum Rows {
    Store { store: Store, after: i64, ready: vec::IntoIter<(i64, TransferRow)> },
    Server(Box<remote::Lines>),
}

impl Rows {
    async fn next(&mut self) -> Result<Option<TransferRow>> {
        match self {
            Self::Server(lines) => lines.next().await,
            Self::Store { store, after, ready } => {
                if ready.len() == 0 {
                    let links = store.rows_after(*after, ROWS_AT_ONCE).await?;
                    *ready = TransferRow::with_clicks(store, links).await?.into_iter();
                }
                let Some((id, row)) = ready.next() else { return Ok(None) };
                *after = id;
                Ok(Some(row))
            }
        }
    }
}

async fn write_rows(rows: &mut Rows, out: impl Write, format: Format) -> Result<u64> {
    let mut out = BufWriter::new(out);
    if let Some(header) = header(format) {
        writeln!(out, "{header}")?;
    }
    let mut count = 0;
    while let Some(row) = rows.next().await? {
        writeln!(out, "{}", line(&row, format)?)?;
        count += 1;
    }
    out.flush()?;
    Ok(count)
}

/// The header line of an export; `None` for JSON Lines.
#[must_use]
pub fn header(format: Format) -> Option<String> {
    let separator = match format {
        Format::Tsv => "\t",
        Format::Csv => ",",
        Format::JsonLines => return None,
    };
    Some(Column::ALL.map(Column::name).join(separator))
}

/// A row of an export, without the line end; the fields are in the order of [`header`].
///
/// # Errors
/// The row cannot be serialized.
pub fn line(row: &TransferRow, format: Format) -> Result<String> {
    match format {
        Format::JsonLines => Ok(serde_json::to_string(row)?),
        // No value of a link contains a tab or a line end.
        Format::Tsv => Ok(Column::ALL.map(|column| row.text(column)).join("\t")),
        Format::Csv => {
            let mut line = String::new();
            for (index, column) in Column::ALL.into_iter().enumerate() {
                if index > 0 {
                    line.push(',');
                }
                push_field(&mut line, &row.text(column));
            }
            Ok(line)
        }
    }
}

fn cannot_write(file: &Path) -> String {
    format!("cannot write {}", file.display())
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}
