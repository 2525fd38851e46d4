//! Output as tables or as JSON. Names, bodies and errors come from other programs: what is written here neither controls the terminal nor
//! looks like a further line.

use crate::operations::{Answers, Done, Failure, Operation};
use anyhow::{Result, bail};
use serde_json::Value;
use std::fmt::Arguments;
use std::io::{IsTerminal, Write, stderr, stdout};
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
        if self.json { write_json(&format!("{value:#}")) } else { write(text) }
    }

    /// Prints one line for each thing that was to be changed. Returns whether each was.
    pub(crate) fn report(self, names: &[impl ToString], answers: impl Iterator<Item = (bool, String)>) -> Result<bool> {
        let answers: Vec<(String, bool, String)> =
            names.iter().zip(answers).map(|(name, (yes, text))| (name.to_string(), yes, text)).collect();
        let values =
            answers.iter().map(|(name, yes, text)| serde_json::json!({ "id": name, "ok": yes, "answer": text }));
        let text: String = answers.iter().map(|(name, _, text)| format!("{}: {text}\n", foreign(name))).collect();
        self.print(&values.collect(), &text)?;
        Ok(answers.iter().all(|(_, yes, _)| *yes))
    }

    /// Prints one line for each thing on which an operation was done. Returns whether it was done to each.
    ///
    /// # Errors
    /// One was not done for another reason than its state.
    pub(crate) fn answers(self, names: &[impl ToString], answers: Answers) -> Result<bool> {
        let line = |answer| match answer {
            Ok(Done { line, .. }) => Ok((true, line)),
            Err(Failure::Refused(_, line)) => Ok((false, line)),
            Err(failure) => Err(failure.into()),
        };
        self.report(names, answers.0.into_iter().map(line).collect::<Result<Vec<_>>>()?.into_iter())
    }

    /// Whether the output is a terminal, on which a table can be redrawn.
    pub(crate) fn is_live(self) -> bool {
        !self.json && stdout().is_terminal()
    }
}

/// Refuses an operation that was not confirmed; `effect` says what it would do.
pub(crate) fn confirm<T>(operation: &Operation<'_, T>, typed: Option<&str>, effect: &str) -> Result<()> {
    match operation.confirmation {
        Some((_, name)) if !operation.is_confirmed(typed) => bail!("{effect}; to do it, add --confirm {name}"),
        _ => Ok(()),
    }
}

/// A line that tells how far a command is. It goes to standard error, if that is a terminal, so that standard output has only the result.
pub(crate) struct Progress {
    is_live: bool,
}

impl Progress {
    pub(crate) fn new(output: Output) -> Self {
        Self { is_live: !output.json && stderr().is_terminal() }
    }

    /// Overwrites the line.
    pub(crate) fn show(&self, text: Arguments<'_>) {
        if self.is_live {
            // A closed terminal does not stop the command.
            let _ = write!(stderr(), "\r{text}\x1b[K").and_then(|()| stderr().flush());
        }
    }
}

impl Drop for Progress {
    /// Removes the line.
    fn drop(&mut self) {
        self.show(format_args!(""));
    }
}

/// Writes a text and flushes, with a space for what controls the terminal.
pub(crate) fn write(text: &str) -> Result<()> {
    control(&text.chars().map(|c| if is_unsafe(c) && !matches!(c, '\n' | '\t') { ' ' } else { c }).collect::<String>())
}

/// Writes a JSON document and a line break.
pub(crate) fn write_json(document: &str) -> Result<()> {
    control(&(escaped(document) + "\n"))
}

/// Writes a message on one line to standard error.
pub(crate) fn warn(message: &str) {
    eprintln!("{}", foreign(message));
}

/// Writes a text and flushes, with its escape sequences. A closed pipe (`| head`) is not an error.
pub(crate) fn control(text: &str) -> Result<()> {
    let mut out = stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Whether a character controls the terminal, ends a line, or changes the order of the characters around it.
fn is_unsafe(c: char) -> bool {
    let is_bidi = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    is_bidi || c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

/// A text of another program on one line, with a space for each unsafe character.
pub(crate) fn foreign(text: &str) -> String {
    text.chars().map(|c| if is_unsafe(c) { ' ' } else { c }).collect()
}

/// A JSON document, with escapes for the unsafe characters of its strings. Outside of strings there are line breaks only.
pub(crate) fn escaped(document: &str) -> String {
    let mut text = String::with_capacity(document.len());
    for c in document.chars() {
        if is_unsafe(c) && c != '\n' {
            text.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            text.push(c);
        }
    }
    text
}

/// A table with aligned columns; columns of numbers are right-aligned. Each row is one line.
pub(crate) fn table(headings: &[&str], rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(|cell| foreign(cell)).collect()).collect();
    // A heading may be the name of what is shown.
    let headings: Vec<String> = headings.iter().map(|heading| foreign(heading)).collect();
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
        // A width of `format!` has 16 bits, and a body may be longer.
        let cells = cells.map(|((cell, width), right)| {
            let space = " ".repeat(width - cell.chars().count());
            if *right { space + cell } else { cell.to_owned() + &space }
        });
        let line = cells.collect::<Vec<_>>().join("  ");
        format!("{}\n", line.trim_end())
    };
    let mut text = line(&mut headings.iter().map(String::as_str));
    rows.iter().for_each(|row| text.push_str(&line(&mut row.iter().map(String::as_str))));
    text
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
    let plain = foreign(text);
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

    // shows: hazard S14
    #[test]
    fn table_columns_fit_their_widest_cell() {
        let rows = vec![vec!["mail".to_owned(), "1200".to_owned()], vec!["a long name".to_owned(), "7".to_owned()]];
        let expected = "TOPIC        WAITING\nmail            1200\na long name        7\n";
        assert_eq!(table(&["TOPIC", "WAITING"], &rows), expected);
        assert_eq!(table_or(&["TOPIC", "WAITING"], &rows, "no topic"), expected);
        assert_eq!(table_or(&["TOPIC", "WAITING"], &[], "no topic"), "no topic\n");
    }

    /// An error or a name with an escape sequence, a C1 control, a line break or a bidirectional control rewrote what `lock show` and
    /// `queue job` printed.
    // shows: hazard CL4
    #[test]
    fn foreign_text_controls_no_terminal_and_forges_no_line() {
        let rows = [vec!["\u{1b}[2Jred\u{9b}31m\r".to_owned()], vec!["two\nlines\u{202e}\u{2028}".to_owned()]];
        assert_eq!(table(&["NAME"], &rows), "NAME\n [2Jred 31m\ntwo lines\n");
        assert_eq!(table(&["a\nb"], &[]), "a b\n");
        let document = serde_json::json!({ "name": "\u{1b}\u{9b}\u{7f}\u{202e}\u{2066}\n\u{fc}" });
        let text = escaped(&format!("{document:#}"));
        assert!(text.contains(r"\u001b\u009b\u007f\u202e\u2066\n") && text.contains('\u{fc}'), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap_or_default(), document);
    }

    /// `queue job` panicked for a body of 64 KiB: a width of `format!` has 16 bits.
    // shows: hazard CL5
    #[test]
    fn table_cells_of_any_width_are_aligned() {
        let (wide, number) = ("x".repeat(70_000), "1".repeat(70_000));
        let rows =
            [vec![wide.clone(), number.clone(), "a".to_owned()], vec!["b".to_owned(), "2".to_owned(), wide.clone()]];
        let text = table(&["NAME", "NUMBER", "BODY"], &rows);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], format!("{wide}  {number}  a"));
        assert_eq!(lines[2], format!("b{}2  {wide}", " ".repeat(69_999 + 2 + 69_999)));
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
