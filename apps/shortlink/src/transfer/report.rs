//! [`Report`]: the output of an import, for people or as JSON Lines.

use super::progress::Counts;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use std::io::Write;
use std::path::Path;

/// Rejected lines that are printed for people. The file of rejected lines has all of them.
const SHOWN_MAX: u64 = 20;

/// The output of an import.
pub enum Report {
    /// A progress bar and messages on standard error, the result on standard output.
    Text {
        /// The progress bar; hidden unless standard error is a terminal.
        bar: ProgressBar,
        /// Rejected lines printed so far.
        shown: u64,
    },
    /// JSON Lines on standard output, with the events `start`, `note`, `rejected`, `progress` and `done`.
    JsonLines,
}

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Event<'a> {
    Start { file: &'a Path, bytes: u64, resumed_at_line: u64 },
    Note { text: &'a str },
    Rejected { line: u64, reason: &'a str },
    Progress { line: u64, bytes: u64, created: u64, present: u64, rejected: u64 },
    Done { rows: u64, created: u64, present: u64, rejected: u64, rows_before: u64, rejected_file: Option<&'a Path> },
}

impl Report {
    /// Output for people.
    #[must_use]
    pub fn text() -> Self {
        let bar = ProgressBar::no_length();
        let style = "{bar:30} {bytes}/{total_bytes}, {msg} ({eta} left)";
        if let Ok(style) = ProgressStyle::with_template(style) {
            bar.set_style(style);
        }
        Self::Text { bar, shown: 0 }
    }

    pub(super) fn start(&mut self, file: &Path, bytes: u64, resumed_at_line: u64) {
        match self {
            Self::Text { bar, .. } => {
                bar.set_length(bytes);
                if resumed_at_line > 0 {
                    bar.suspend(|| eprintln!("resuming after line {resumed_at_line}, where an earlier import stopped"));
                }
            }
            Self::JsonLines => emit(&Event::Start { file, bytes, resumed_at_line }),
        }
    }

    pub(super) fn note(&mut self, text: &str) {
        match self {
            Self::Text { bar, .. } => bar.suspend(|| eprintln!("note: {}", printable(text))),
            Self::JsonLines => emit(&Event::Note { text }),
        }
    }

    pub(super) fn rejected(&mut self, line: u64, reason: &str) {
        match self {
            Self::Text { bar, shown } => {
                *shown += 1;
                if *shown <= SHOWN_MAX {
                    bar.suspend(|| eprintln!("line {line}: {}", printable(reason)));
                } else if *shown == SHOWN_MAX + 1 {
                    bar.suspend(|| {
                        eprintln!(
                            "more lines were rejected; the file of rejected lines lists them all with their reasons"
                        );
                    });
                }
            }
            Self::JsonLines => emit(&Event::Rejected { line, reason }),
        }
    }

    pub(super) fn progress(&mut self, line: u64, bytes: u64, counts: &Counts) {
        match self {
            Self::Text { bar, .. } => {
                bar.set_position(bytes);
                bar.set_message(links(counts.rows()));
            }
            Self::JsonLines => {
                let Counts { created, present, rejected } = *counts;
                emit(&Event::Progress { line, bytes, created, present, rejected });
            }
        }
    }

    /// `counts` are the rows of this run, `earlier` those of the interrupted run that it resumed.
    pub(super) fn done(&mut self, counts: &Counts, earlier: &Counts, rejected_file: Option<&Path>) {
        let Counts { created, present, rejected } = *counts;
        match self {
            Self::Text { bar, .. } => {
                bar.finish_and_clear();
                let kept = rejected_file.map(|file| format!(", copied to {}", file.display())).unwrap_or_default();
                let all = links(counts.rows());
                let before = match earlier.rows() {
                    0 => String::new(),
                    rows => format!("; an earlier run had read {} ({} rejected)", links(rows), earlier.rejected),
                };
                say(&format!("{all}: {created} new, {present} already present, {rejected} rejected{before}{kept}"));
                if let Some(file) = rejected_file {
                    let file = file.display();
                    eprintln!("shortlink: some lines were rejected: correct them in {file} and import that file");
                }
            }
            Self::JsonLines => {
                let (rows, rows_before) = (counts.rows(), earlier.rows());
                emit(&Event::Done { rows, created, present, rejected, rows_before, rejected_file });
            }
        }
    }
}

/// A number of links, as text.
pub(crate) fn links(count: u64) -> String {
    if count == 1 { "1 link".to_owned() } else { format!("{count} links") }
}

/// Text of a file that is safe on a terminal: without control characters, which could move the cursor.
fn printable(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { char::REPLACEMENT_CHARACTER } else { letter }).collect()
}

fn emit(event: &Event<'_>) {
    if let Ok(line) = serde_json::to_string(event) {
        say(&line);
    }
}

/// Prints and flushes a line. The import goes on if standard output is closed.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
