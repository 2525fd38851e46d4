//! Output as tables or as JSON.

use anyhow::Result;
use serde_json::Value;
use std::io::{IsTerminal, Write, stdout};
use web::hex;

/// The id of the codec JSON, which most topics use.
pub(crate) const JSON: u8 = 1;

/// The format of the output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    pub(crate) json: bool,
}

impl Output {
    pub(crate) fn new(json: bool) -> Self {
        Self { json }
    }

    /// Prints `value` with `--json`, otherwise `text`.
    pub(crate) fn print(self, value: &Value, text: &str) -> Result<()> {
        if self.json { write(&format!("{value:#}\n")) } else { write(text) }
    }

    /// Prints one line for each thing that was to be changed. Returns whether each was.
    pub(crate) fn report(self, names: &[impl ToString], answers: impl Iterator<Item = (bool, String)>) -> Result<bool> {
        let answers: Vec<(String, bool, String)> =
            names.iter().zip(answers).map(|(name, (yes, text))| (name.to_string(), yes, text)).collect();
        let values =
            answers.iter().map(|(name, yes, text)| serde_json::json!({ "id": name, "ok": yes, "answer": text }));
        let text: String = answers.iter().map(|(name, _, text)| format!("{name}: {text}\n")).collect();
        self.print(&values.collect(), &text)?;
        Ok(answers.iter().all(|(_, yes, _)| *yes))
    }

    /// Whether the output is a terminal, on which a table can be redrawn.
    pub(crate) fn is_live(self) -> bool {
        !self.json && stdout().is_terminal()
    }
}

/// Writes and flushes. A closed pipe (`| head`) is not an error.
pub(crate) fn write(text: &str) -> Result<()> {
    let mut out = stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// A table with aligned columns; columns of numbers are right-aligned. No cell can send an escape sequence to the terminal.
pub(crate) fn table(headings: &[&str], rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| without_escapes(cell)).collect()).collect();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([headings[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let is_number = |cell: &String| !cell.is_empty() && cell.chars().all(|c| c.is_ascii_digit());
    let right: Vec<bool> = (0..headings.len())
        .map(|column| !rows.is_empty() && rows.iter().filter_map(|row| row.get(column)).all(is_number))
        .collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let cells = cells.zip(&widths).zip(&right);
        let cells = cells
            .map(|((cell, width), right)| if *right { format!("{cell:>width$}") } else { format!("{cell:<width$}") });
        let line = cells.collect::<Vec<_>>().join("  ");
        format!("{}\n", line.trim_end())
    };
    let mut text = line(&mut headings.iter().copied());
    rows.iter().for_each(|row| text.push_str(&line(&mut row.iter().map(String::as_str))));
    text
}

/// The text with a space for each control character, apart from those that lay out text.
fn without_escapes(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && !matches!(c, '\n' | '\t') { ' ' } else { c }).collect()
}

/// The line that says how to print the next page.
pub(crate) fn next_page(next: Option<&str>) -> String {
    next.map(|next| format!("next page: --after {next}\n")).unwrap_or_default()
}

/// A table, or `empty` if there are no rows.
pub(crate) fn table_or(headings: &[&str], rows: &[Vec<String>], empty: &str) -> String {
    if rows.is_empty() { format!("{empty}\n") } else { table(headings, rows) }
}

/// The text on one line, cut to `characters_max`.
pub(crate) fn truncated(text: &str, characters_max: usize) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if plain.chars().count() <= characters_max {
        return plain;
    }
    plain.chars().take(characters_max.saturating_sub(1)).chain(['…']).collect()
}

/// UTF-8 as it is, other bytes in hexadecimal.
pub(crate) fn printable(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => hex(bytes),
    }
}

/// A body as JSON: parsed if it is JSON, a string if it is UTF-8, otherwise an object with its bytes in hexadecimal.
pub(crate) fn body_json(bytes: &[u8]) -> Value {
    if let Ok(value) = serde_json::from_slice(bytes) {
        return value;
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Value::String(text.to_owned()),
        Err(_) => serde_json::json!({ "hex": printable(bytes) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_columns_fit_their_widest_cell() {
        let rows = vec![vec!["mail".to_owned(), "1200".to_owned()], vec!["a long name".to_owned(), "7".to_owned()]];
        let expected = "TOPIC        WAITING\nmail            1200\na long name        7\n";
        assert_eq!(table(&["TOPIC", "WAITING"], &rows), expected);
        assert_eq!(table_or(&["TOPIC", "WAITING"], &rows, "no topic"), expected);
        assert_eq!(table_or(&["TOPIC", "WAITING"], &[], "no topic"), "no topic\n");
    }

    #[test]
    fn table_cells_have_no_escape_sequences() {
        let rows = [vec!["\u{1b}[2Jred\u{9b}31m\r".to_owned()], vec!["two\nlines".to_owned()]];
        assert_eq!(table(&["NAME"], &rows), "NAME\n [2Jred 31m\ntwo\nlines\n");
    }

    #[test]
    fn bodies_are_printed_as_json_text_or_hex() {
        assert_eq!(truncated("two\nlines and more", 9), "two line…");
        assert_eq!(printable(b"\xff\x01"), "ff01");
        assert_eq!(body_json(br#"{"to":1}"#), serde_json::json!({ "to": 1 }));
        assert_eq!(body_json(b"plain"), serde_json::json!("plain"));
        assert_eq!(body_json(b"\xff"), serde_json::json!({ "hex": "ff" }));
    }
}
